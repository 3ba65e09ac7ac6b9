"""The live view: a recording is followed while it grows."""
