"""Nothing is overwritten or guessed in silence: sources, columns, spellings, names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from l4strace import errors
from l4strace.studies import pool, study, summary
from l4strace.studies.cells import Tables
from l4strace.studies.planned import Done, Options
from l4strace.studies.sources import discover, elsewhere, plan

NO_OPTIONS = Options()


def swept(tmp_path: Path, *sources: Path, **how: object) -> Done:
    order = study.Order(
        tuple(map(str, sources)),
        str(tmp_path / "out"),
        discover.How(**how),  # type: ignore[arg-type]
        page=False,
    )
    return study.sweep(order, pool.on_cores(1))


def values(tables: Tables, measure: str) -> list[float]:
    own = tables["measures"].filter(name=measure).sort("run")
    return [round(value, 6) for value in own["value"]]


def table(folder: Path, text: str, name: str = "results.csv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_two_tables_of_one_name_keep_the_numbers_of_both(tmp_path: Path):
    head = "aqm,i,prague goodput mbps\n"
    patched = table(tmp_path / "patched", head + "a,0,5\na,1,6\n")
    unpatched = table(tmp_path / "unpatched", head + "a,0,1\na,1,2\n")
    done = swept(tmp_path, patched, unpatched)
    runs = done.tables["runs"].sort("run")
    assert runs["p_source"].to_list() == ["patched"] * 2 + ["unpatched"] * 2
    assert values(done.tables, "l4s_goodput") == [5e6, 6e6, 1e6, 2e6]
    with pytest.raises(errors.UsageError, match="named twice"):
        swept(tmp_path, patched, patched)


def test_labels_are_the_shortest_ends_that_differ():
    assert discover.labels(["a/x.csv", "b/y.csv"]) == {"a/x.csv": "x", "b/y.csv": "y"}
    found = discover.labels(["1/a/r.csv", "2/a/r.csv", "s.csv"])
    assert found == {"1/a/r.csv": "1/a", "2/a/r.csv": "2/a", "s.csv": "s"}


def test_a_number_with_its_unit_in_name_or_value_is_a_number(tmp_path: Path):
    head = "aqm,rate,prague_mbps,cubic throughput,fct\n"
    text = head + "a,50mbit,4.5,1.5 Mbps,12\nb,50mbit,3,3 Mbps,14\n"
    done = swept(tmp_path, table(tmp_path, text))
    assert values(done.tables, "l4s_share") == [0.75, 0.5]
    assert values(done.tables, "fct") == [12, 14]
    assert values(done.tables, "utilization") == [0.12, 0.12]


def test_semicolons_and_decimal_commas(tmp_path: Path):
    text = "aqm;i;prague goodput mbps;cubic goodput mbps\na;0;4,5;1,5\nb;1;3,0;3,0\n"
    done = swept(tmp_path, table(tmp_path, text))
    assert values(done.tables, "l4s_share") == [0.75, 0.5]
    assert any("decimal commas" in note for note in done.notes)


def test_which_column_is_what_is_printed_and_options_decide(tmp_path: Path):
    rows = "".join(f"a,{n},{n * 10 + 1},{n}\n" for n in range(12))
    place = table(tmp_path, "aqm,round,load,q\n" + rows)
    done = swept(tmp_path, place)
    assert summary.text("out", done).count("Note: ") == 1
    (note,) = done.notes
    assert "parameters aqm" in note
    assert "measures by their many values" in note
    roles = elsewhere.Roles(("load",), ("q",), "round")
    done = swept(tmp_path, place, roles=roles)
    assert done.notes == ("results: parameters aqm, load; repetition round; measures q",)
    with pytest.raises(errors.UsageError, match="no table has a column 'nonsense'"):
        swept(tmp_path, place, roles=elsewhere.Roles(("nonsense",)))


def test_one_json_object_a_run(tmp_path: Path):
    for number, (aqm, mbit) in enumerate([("codel", 2.0), ("dualpi2", 4.0)]):
        run = {
            "config": {"aqm": aqm, "rate": "8mbit"},
            "flows": [{"cca": "prague", "throughput_mbps": mbit},
                      {"cca": "cubic", "throughput_mbps": 8 - mbit}],
            "samples": [1, 2, 3],
        }  # fmt: skip
        table(tmp_path / "in", json.dumps(run), f"r{number}.json")
    done = swept(tmp_path, tmp_path / "in")
    assert done.tables["runs"]["p_config.aqm"].to_list() == ["codel", "dualpi2"]
    assert values(done.tables, "l4s_share") == [0.25, 0.5]
    assert any("series samples left out" in note for note in done.notes)


def test_a_list_of_runs_in_json(tmp_path: Path):
    rows = [{"aqm": "a", "rep": n, "drops": 3 + n} for n in range(3)]
    for name, document in (
        ("list.json", json.dumps(rows)),
        ("inner.json", json.dumps({"study": "x", "runs": rows})),
        ("lines.ndjson", "\n".join(map(json.dumps, rows))),
    ):
        done = swept(tmp_path, table(tmp_path / name, document, name))
        assert values(done.tables, "drops") == [3, 4, 5], name
        assert done.tables["runs"]["repetition"].to_list() == ["0", "1", "2"]


def test_numbers_under_the_names_of_runs(tmp_path: Path):
    """The shape of public results: a file a quantity, parameters in the names."""
    names = [f"{bdp}_100_10_{aqm}_{rep}" for bdp in ("0.5", "2.0") for aqm in ("FIFO", "FQ_Codel")
             for rep in (1, 2)]  # fmt: skip
    parts = (("tput_tx_L4S", "prague", 60.0), ("tput_tx_legacy", "cubic", 20.0),
             ("srtt_tx_L4S", "prague", 11.0), ("srtt_tx_legacy", "cubic", 20.0))  # fmt: skip
    sources = [
        table(
            tmp_path,
            json.dumps({f"{cca}_{name}": value for name in names}),
            f"cubic_ecn_{what}.json",
        )
        for what, cca, value in parts
    ]
    done = swept(tmp_path, *sources, name="{bdp:}_{rate:}_{rtt:}_{aqm}_{rep:}")
    runs = done.tables["runs"]
    assert runs.height == 8
    assert set(runs["p_aqm"]) == {"FIFO", "FQ_Codel"}
    assert set(runs["repetition"]) == {"1", "2"}
    assert set(values(done.tables, "l4s_share")) == {0.75}
    assert set(values(done.tables, "relative_queue_delay")) == {0.1}
    assert any("tput taken as mbps" in note for note in done.notes)


def test_names_that_fit_only_some_runs_are_said(tmp_path: Path):
    for name in ("a-20ms.pcap", "b-40ms.pcap", "other.pcap"):
        table(tmp_path / "in", "", name)
    found = discover.discover([str(tmp_path / "in")], discover.How("{cca}-{rtt:ms}"), NO_OPTIONS)
    assert found.notes == ["--name fits 2 of 3 runs; not other"]
    text = plan.text(found)
    assert text.startswith("3 runs to measure, 0 runs from tables\n  a-20ms: 1 file")
    assert "Parameter rtt: 20 (1), 40 (1)" in text
    assert plan.document(found)["parameters"]["cca"][0] == {"value": "a", "runs": 1}


def test_two_spellings_and_repeated_rows_are_said(tmp_path: Path):
    text = "rtt,rate,i,drops\n80,50mbit,0,1\n80ms,50 Mbit/s,0,2\n80ms,50mbit,1,3\n80ms,50mbit,1,3\n"
    notes = swept(tmp_path, table(tmp_path, text)).notes
    assert "parameter rtt: 80ms and 80 (3 and 1 runs) look like one value in two spellings" in notes
    assert any("50 Mbit/s and 50mbit" in note for note in notes)
    assert "results: rows that repeat another in every column: 1" in notes
    assert "parameters and repetition are those of an earlier run: results:4" in notes


def test_a_broken_manifest_is_a_row(tmp_path: Path):
    table(tmp_path / "in/a", "", "x.pcap")
    table(tmp_path / "in/a", "{no json", "manifest.json")
    done = swept(tmp_path, tmp_path / "in")
    assert done.tables["runs"]["status"].to_list() == ["failed"]
    assert "manifest.json" in done.tables["runs"]["error"][0]
