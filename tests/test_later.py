"""What a short command does not need is executed when it is asked for, and not before."""

from __future__ import annotations

import subprocess
import sys

from tests.support.places import FIXTURES

ASKED = """
import sys
from l4strace.later import LATER, load_late
load_late()
import jinja2, polars
late = {name: module for name, module in sys.modules.items() if name in LATER}
assert not [name for name in sys.modules if name.startswith(tuple(f"{one}." for one in LATER))]
assert "email" not in sys.modules
for module in late.values():
    assert "__getattr__" in vars(module), module
    getattr(module, "__all__", None)
named = [(name, vars(late[name])[one].__module__) for name in LATER for one in LATER[name]]
print(all(module.startswith(name) for name, module in named))
"""

CALLED = """
from l4strace.later import load_late
load_late()
import polars
try:
    polars.read_database("SELECT 1", connection=None)
except Exception as error:
    print(error.__traceback__.tb_next.tb_next.tb_frame.f_globals["__name__"].startswith("polars."))
"""

DIAGNOSED = """
import sys
from l4strace.cli import main
sys.argv = ["l4strace", "diagnose", {capture!r}, "-o", {page!r}]
try:
    main()
except SystemExit:
    print("email" in sys.modules or "polars.io.iceberg.functions" in sys.modules)
"""


SIGNED = """
import inspect
from l4strace.later import load_late
load_late()
signature = inspect.signature
import polars as pl
noted = [vars(m).get("__signature__") for m in vars(pl.Series).values() if inspect.isfunction(m)]
late = [one for one in noted if one is not None]
same = [str(one) == str(signature(one.function)) and one.parameters for one in late]
print(signature is inspect.signature, len(late) > 100, all(same),
      "decimals" in inspect.signature(pl.Series.round).parameters)
"""

COMPILED = """
import sys
from l4strace.later import load_late
load_late()
import jinja2
template = jinja2.Environment().from_string("{% for i in n %}{{ i + 1 }}{% endfor %}")
print(template.render(n=[1, 2]))
"""


def printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()[-1]


def test_a_package_that_is_put_off_is_whole_when_it_is_asked_for() -> None:
    assert printed(ASKED) == "True"


def test_what_is_called_is_the_function_itself() -> None:
    assert printed(CALLED) == "True"


def test_a_signature_is_the_same_when_someone_looks_at_it() -> None:
    assert printed(SIGNED) == "True True True True"


def test_templates_that_nobody_prepared_are_compiled() -> None:
    assert printed(COMPILED) == "23"


def test_a_diagnosis_with_its_page_needs_none_of_them(tmp_path) -> None:
    capture = str(FIXTURES / "misfire/misfire.pcap.xz")
    page = tmp_path / "run.html"
    assert printed(DIAGNOSED.format(capture=capture, page=str(page))) == "False"
    assert page.exists()
