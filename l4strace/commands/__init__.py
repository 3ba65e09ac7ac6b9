"""One file per command: parse, call, print.

A command is a plain function in a module of its own name. Its docstring is its help and ends with
two real examples. Modules import only the standard library and typer at their top: polars and the
native core load inside the function, so that `--help` stays instant. The switches that all
commands share are added by `cli`.
"""
