"""A run with findings of every weight, and one without, as the page gets them."""

import pytest

from l4strace.model import Analysis
from l4strace.page.case import Case
from tests.support import synthetic


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(synthetic.misfire(), synthetic.misfire_analysis(), "l4strace diagnose a.pcap")


@pytest.fixture(scope="module")
def quiet() -> Case:
    return Case(synthetic.healthy(), Analysis(()))
