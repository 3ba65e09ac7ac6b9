"""What several rules read from the evidence: subjects, detector summaries, host settings."""
