"""DSCPs between two captures."""

import polars as pl
import pytest

from l4strace.model import Finding, Severity
from l4strace.rules.l4s118_dscp_remarked import RULE
from tests.support.ends import findings, path, recorded
from tests.support.frames import evidence, frame


def at_both(left: int, arrived: int, **columns: int) -> list[Finding]:
    ends = [frame("directions", source=0, dscp=left), frame("directions", source=1, dscp=arrived)]
    return findings(RULE, evidence(directions=pl.concat(ends), paths=path(**columns)))


def test_fires_with_the_names_of_both():
    (found,) = at_both(45, 0, dscp_changed=990)
    assert found.severity is Severity.WARNING
    assert found.message == (
        "The path rewrites the DSCP of 990 of 1,000 packets: "
        "most left as DSCP 45 (NQB) and arrived as DSCP 0 (best effort)."
    )
    (mild,) = at_both(46, 10, dscp_changed=990)
    assert mild.severity is Severity.NOTICE


@pytest.mark.parametrize(("changed", "lost"), [(0, 0), (9, 0), (500, 500)])
def test_silent_on_few_and_on_what_losses_explain(changed: int, lost: int):
    assert at_both(45, 45, dscp_changed=changed, lost=lost) == []


def test_silent_on_recorded_paths():
    for run in ("pq1", "pqbleach", "up1"):
        assert findings(RULE, recorded(run)) == []
