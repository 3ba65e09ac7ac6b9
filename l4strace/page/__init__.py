"""Analysis -> Report (plain data) -> one offline page."""

from l4strace.page import figures
from l4strace.page.render import encoded, render

__all__ = ["encoded", "figures", "render"]
