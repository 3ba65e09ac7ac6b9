"""Capture -> Evidence: the tables that follow from the capture's.

A module named like a field of `evidence.Evidence` makes that table with ``table(capture)``; the
others answer one question for all of them: `vantage` (which capture counts), `queue_delay`,
`neighbors` (who shares a path), `steps` (Prague's detector), `queue_features`.
"""
