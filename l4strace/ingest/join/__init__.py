"""Kernel logs and captures on one clock, sockets matched to the captures' flows."""
