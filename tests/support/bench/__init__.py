"""What `tests/bench.py` is made of: inputs, what a process costs, figures that are kept."""
