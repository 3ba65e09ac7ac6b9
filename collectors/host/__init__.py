"""What this host is set to (`describe`) and what it can do (`doctor`)."""
