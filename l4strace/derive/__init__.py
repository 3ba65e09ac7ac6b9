"""Capture -> Evidence: the tables that follow from the capture's, one module a table."""
