"""What several rules ask of the evidence and how they word it, and the lines of the verdict."""
