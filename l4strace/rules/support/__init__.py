"""What several rules ask of the evidence: subjects, detector summaries, host settings."""
