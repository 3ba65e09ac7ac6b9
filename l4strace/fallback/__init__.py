"""What Prague's classic-ECN fallback does in each flow direction, why, and what shows it."""
