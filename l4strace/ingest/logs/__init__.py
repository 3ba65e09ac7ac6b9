"""Kernel logs in every dialect that l4strace reads: one importer a dialect, each makes a `Log`."""
