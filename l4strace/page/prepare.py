"""What every page needs, made once when l4strace is built: `python -m l4strace.page.prepare`.

Templates are compiled and plotly's script is compressed into the folder `installed.prepared()`,
under names that state of what. A page has the same bytes without them and takes longer to write.
"""

from __future__ import annotations

import compileall
import shutil
from pathlib import Path

from l4strace.page import fill
from l4strace.page.drawing import bundle


def prepare() -> Path:
    """Replaces the folder of prepared files, and returns it."""
    script, templates = bundle.prepared(bundle.source_file()), fill.prepared()
    folder = script.parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = fill.environment()
    environment.compile_templates(templates, extensions=["j2"], zip=None, ignore_errors=False)
    # Python would do it in the first run, but not where it may not write, and then in every run.
    compileall.compile_dir(templates, quiet=1)
    script.write_text(bundle.compressed(bundle.source_file()), encoding="ascii")
    return folder


if __name__ == "__main__":
    prepare()
