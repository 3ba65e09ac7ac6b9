"""Diagnose L4S, TCP Prague and Accurate ECN from captures and kernel logs."""
