"""`--sink` of extract and `export --to` an address, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.held_by_sinks import differing
from tests.support.object_stores import s3_server

import cinnabar
from cinnabar.apps.cli.main import run
from cinnabar.apps.cli.plans import check_plan, flow_parameters
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.sinks.delta import DeltaSink


@pytest.fixture
def begun(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of a run over two documents, in a folder with both."""
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for number in range(2):
        Path("docs", f"{number}.txt").write_text(f"Note {number}\nAuthor: Anna\n")
    properties = {"author": {"type": ["string", "null"]}}
    Path("note.json").write_text(json.dumps({"title": "note", "type": "object", "properties": properties}))
    how = ["--schema", "note.json", "--model", str(tiny_model), "--on-empty", "write", "--on-missing", "guess"]
    return ["extract", "docs", *how, "--out", "out"]


def test_a_run_brings_its_results_to_each_sink(begun: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*begun, "--sink", "delta:tables", "--sink", "delta:others"]) == 0
    told = capsys.readouterr().err
    assert "delta:tables: " in told and "delta:others: " in told and "sent" in told
    for address in ("delta:tables", "delta:others"):
        assert differing(Path("out"), address) == []
    assert run(["export", "--out", "out", "--to", "delta:tables", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"address": "delta:tables", "sent": 0, "unit": "row"}


def test_a_sink_that_fails_harms_no_record_and_the_same_command_goes_on(
    begun: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_sink: DeltaSink, _out: Path) -> None:
        raise RunError("delta:tables: the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaSink, "bring", full)
        assert run([*begun, "--sink", "delta:tables"]) == 1
    told = capsys.readouterr().err
    assert "the disk is full; the records are safe in" in told and "cinnabar export --out" in told
    assert query(Path("out"), "select count(*) from note").rows == [(2,)]
    assert run([*begun, "--sink", "delta:tables"]) == 0
    assert differing(Path("out"), "delta:tables") == []


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("postgresql://me:geheim@127.0.0.1:1/x", "without a password"),
        ("postgresql://me@127.0.0.1:1/x", "postgresql://me@127.0.0.1:1/x"),
        ("https://host/x", "begins with one of"),
        ("delta:note.json/tables", "could not be opened"),
        ("delta:out/tables", "lies in the output folder"),
        ("delta:docs/tables", "delta:docs/tables: lies where documents are read"),
        ("delta:docs", "lies where documents are read"),
        ("delta:a%41b", "percent escape"),
        ("delta:a\\b", "backslash"),
        ("delta+file://pub", "file:///FOLDER"),
        ("postgresql://me@127.0.0.1:1/x?schema=a b", "write blanks, @ and # as %20"),
    ],
)
def test_a_wrong_sink_is_told_before_any_document_is_read(
    begun: list[str], capsys: pytest.CaptureFixture[str], address: str, wanted: str
) -> None:
    before = {*Path().rglob("*")}
    assert run([*begun, "--sink", address]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and wanted in told and "geheim" not in told
    assert not [*Path().glob("out/data/*")]
    assert {path for path in Path().rglob("*") if path.parts[0] != "out"} == before


def test_a_sink_in_a_folder_of_the_run_is_refused_and_so_is_a_flow_of_it(
    begun: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"delta+file://{tmp_path}/docs/copy"
    assert run([*begun, "--sink", address]) == 2
    assert "lies where documents are read" in capsys.readouterr().err and not Path("docs/copy").exists()
    plan = RunPlan.of(["note.json"], Path("out"), model=begun[begun.index("--model") + 1], sink=[address])
    with pytest.raises(UsageError, match="lies where documents are read"):
        check_plan(["docs"], plan, Assignment.of(plan))


@pytest.mark.parametrize("words", [["nothing", "--out", "out"], ["--out", "nowhere"]])
def test_a_wrong_export_leaves_nothing_where_results_should_go(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("delta:place", f"delta+file://{tmp_path}/place"):
        assert run(["export", *words, "--to", place]) == 2
        assert "--sink" not in capsys.readouterr().err and not Path("place").exists()


def test_flows_and_python_have_the_option(tmp_path: Path) -> None:
    plan = RunPlan.of(["note"], tmp_path, sink=["delta:tables"])
    assert flow_parameters(["docs"], plan)["sink"] == ["delta:tables"]
    with pytest.raises(UsageError, match="begins with one of"):
        cinnabar.extract([("a.txt", b"a")], "invoice", out=tmp_path / "out", sink=["nowhere"])
    with pytest.raises(UsageError, match="expected `out` beside it"):
        cinnabar.extract([("a.txt", b"a")], "invoice", sink=["delta:tables"])


@pytest.mark.slow
def test_a_run_brings_tables_to_s3(begun: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with s3_server() as bucket:
        assert run([*begun, "--sink", f"delta+{bucket}/notes"]) == 0
        assert differing(Path("out"), f"delta+{bucket}/notes") == []
        assert "a-secret" not in capsys.readouterr().err
