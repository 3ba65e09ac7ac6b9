"""The Rust core: the compiled module `_native`, built from `l4strace/native`.

It lies in a package of its own so that whoever imports it does not import what `l4strace` offers.
"""
