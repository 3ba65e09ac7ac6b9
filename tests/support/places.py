"""Where the repository and its folders lie."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "fixtures"
"""Inputs that this project made itself."""
