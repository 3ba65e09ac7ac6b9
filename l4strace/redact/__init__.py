"""Runs that can be shared: the same findings on TCP, without addresses, names and payload.

What is known to be harmless is kept, everything else is left out: a field that nobody thought of
is not in the copy. `mask` says what becomes of addresses and names, one module a kind of file.
"""
