"""Analysis -> Report (plain data) -> one offline page."""

from l4strace.report import figures
from l4strace.report.render import render

__all__ = ["figures", "render"]
