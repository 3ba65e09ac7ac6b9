"""Packets into a pcapng file: `capture` is the program, the others are its backends."""
