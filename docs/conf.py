"""Sphinx: the site, from what `docs/generate.py` writes into `build/site-source`."""

from importlib.metadata import version as installed

project = "l4strace"
author = "The l4strace authors"
release = version = installed("l4strace")
extensions = ["myst_parser"]
exclude_patterns = ["CITATION.cff"]
html_theme = "furo"
html_title = f"l4strace {release}"
html_show_copyright = False
html_show_sourcelink = False
myst_heading_anchors = 3
