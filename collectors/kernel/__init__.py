"""Congestion-control state of the kernel: `bcc`, `tracefs` and `diag` are the programs."""
