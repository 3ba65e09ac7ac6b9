"""Analysis -> Report (plain data) -> one offline page."""

from l4strace.page import figures
from l4strace.page.render import render

__all__ = ["figures", "render"]
