"""Collectors are programs, not a package: tests find their modules by path."""

import sys
from pathlib import Path

COLLECTORS = Path(__file__).resolve().parents[2] / "collectors"
sys.path.insert(0, str(COLLECTORS))
