"""What a short command does not need is executed when it is asked for, and not before."""

from __future__ import annotations

import subprocess
import sys

from tests.support.places import FIXTURES

ASKED = """
import sys
from l4strace.later import LATER, load_late
load_late()
import jinja2, polars, typer.main
late = {name: module for name, module in sys.modules.items() if name in LATER}
inside = [name for name in sys.modules if name.startswith(tuple(f"{one}." for one in LATER))]
assert not set(inside) - set(LATER), inside
assert "email" not in sys.modules
assert all("__getattr__" in vars(module) for module in late.values())
for module in late.values():
    getattr(module, "__all__", None)
listed = [(name, names) for name, names in LATER.items() if name in late and names is not ...]
named = [(name, getattr(late[name], one).__module__) for name, names in listed for one in names]
print(all(module.startswith(name) for name, module in named))
"""

CALLED = """
from l4strace.later import load_late
load_late()
import polars
try:
    polars.read_database("SELECT 1", connection=None)
except Exception as error:
    trace = error.__traceback__
    while trace.tb_next is not None and trace.tb_frame.f_globals["__name__"] != "polars.io":
        trace = trace.tb_next
    print(trace.tb_frame.f_globals["__name__"].startswith("polars."))
"""

DIAGNOSED = """
import sys
from l4strace.__main__ import main
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

TAKEN = """
import sys
from l4strace.later import load_late
load_late()
import polars as pl
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    one = pool.submit(lambda: pl.Series([[1], [2, 3]]).list.len().to_list()).result()
frame = pl.read_csv(b"a,b\\n1,x\\n", schema={"a": pl.Int64, "b": pl.String})
two = frame.select(pl.col("b").str.to_uppercase(), pl.concat_list("a").list.first().alias("c"))
print(one, two.rows(), next(frame.lazy().collect_batches()).height)
"""

ANNOTATED = """
import typing
from l4strace.later import load_late
load_late()
class Row(typing.NamedTuple):
    name: "str"
    more: "typing.Optional[Row]"
hints = typing.get_type_hints(Row)
code = getattr(typing.ForwardRef("int"), "__forward_code__", "int")
print(hints == {"name": str, "more": typing.Optional[Row]}, code)
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


def test_what_polars_takes_as_it_is_imported_works_when_it_is_used() -> None:
    assert printed(TAKEN) == "[1, 2] [('X', 1)] 1"


def test_annotations_are_evaluated_when_someone_asks() -> None:
    assert printed(ANNOTATED) == "True int"


def test_templates_that_nobody_prepared_are_compiled() -> None:
    assert printed(COMPILED) == "23"


def test_a_diagnosis_with_its_page_needs_none_of_them(tmp_path) -> None:
    capture = str(FIXTURES / "misfire/misfire.pcap.xz")
    page = tmp_path / "run.html"
    assert printed(DIAGNOSED.format(capture=capture, page=str(page))) == "False"
    assert page.exists()
