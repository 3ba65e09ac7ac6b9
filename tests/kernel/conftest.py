"""The collectors have the layouts too; as programs, not as a package, they are found by path."""

import sys
from pathlib import Path

COLLECTORS = Path(__file__).resolve().parents[2] / "collectors"
sys.path.append(str(COLLECTORS))
