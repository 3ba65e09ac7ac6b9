"""Remove the trace instances and probes of collectors that were killed with -9.

python3 collectors sweep
"""

from kernel import kprobes, tracefs, tracing
from process import tell


def main(_arguments=None):
    try:
        folder = tracing.folder()
        tracefs.sweep(folder)
        kprobes.sweep(folder)
    except OSError as error:
        tell({"note": "not swept: %s" % error})
        raise SystemExit(1) from None
