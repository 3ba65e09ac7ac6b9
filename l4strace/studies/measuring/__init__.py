"""What one run shows: rows of its flows and delays, and the numbers of the whole run."""
