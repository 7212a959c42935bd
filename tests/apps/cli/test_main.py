"""The command line: its output, on which stream, and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.support.effort import some

from cinnabar.apps.cli.evaluate import print_figures, select_sets
from cinnabar.apps.cli.main import run
from cinnabar.engine.models.reader.priors.config import RULES
from cinnabar.errors import UsageError
from cinnabar.extraction.learning.evaluation import best_constant_of, summarise
from cinnabar.extraction.store.reading import query

CaptureResult = pytest.CaptureFixture[str]


def extract(notes: Path, model: Path, out: Path, *more: str) -> int:
    schema = str(notes.parent / "note.json")
    arguments = ["extract", str(notes), "--schema", schema, "--out", str(out), "--model", str(model)]
    # The model is untrained, so that its records may be empty.
    return run([*arguments, "--on", "empty=write", *more])


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A folder `out` with results, read from `docs`."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("Invoice 77\n")
    (folder / "docs" / "empty.txt").write_text("")
    (folder / "s.json").write_text(
        '{"title": "bill", "type": "object", "required": ["n"], "properties": {"n": {"enum": ["[x]", "y"]}}}'
    )
    arguments = [str(folder / "docs"), "--schema", str(folder / "s.json"), "--out", str(folder / "out")]
    assert (
        run(["extract", *arguments, "--model", str(tiny_model), "--on", "missing=guess"])
        == 0
    )
    return folder / "out"


def test_a_person_gets_a_summary_and_some_rows_and_a_second_run_does_nothing(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    out = tmp_path / "out"
    assert extract(notes, tiny_model, out) == 0
    said = capsys.readouterr().out
    for part in ("written", "truncated 1", "author", "0.txt", "3 of the records", str(out), " a document, "):
        assert part in said
    assert extract(notes, tiny_model, out, "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["schema"], again["inputs"], again["skipped"], again["steps"]) == ("note", 4, 4, 0)
    assert extract(notes, tiny_model, out) == 0
    said = capsys.readouterr().out
    assert " a document, " not in said and "denoising steps" not in said
    for path in notes.iterdir():
        path.unlink()
    assert extract(notes, tiny_model, out) == 0
    assert "Nothing to do: there is no file to read" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["extract", "nowhere", "--schema", "receipt", "--out", "o", "--model", "m"], "nowhere: no such file"),
        (["extract", ".", "--schema", "falso.json", "--out", "o", "--model", "m"], "(is it false.json?)"),
        (["extract", ".", "--schema", "bad.json", "--out", "o", "--model", "no such model"], "/properties/a"),
        (["extract", ".", "--schema", "receipt", "--out", "bad.json", "--model", "m"], "cannot be written"),
        (["extract", ".", "--schema", "receipt", "--out", "o", "--model", "empty"], "model.json"),
        (["extract", ".", "--schema", "receipt", "--out", "o", "--effort", "huge", "--model", "m"], "instant"),
        (["extract", ".", "--schema", "false.json", "--out", "o", "--model", "m"], "no value is allowed"),
        (["schema", "check", "false.json"], "no value is allowed here"),
        (["show", "x", "--out", "nowhere"], "no results"),
        (["eval", "empty"], "truth.jsonl"),
        (["extract", ".", "--schema", "receipt", "--out=", "--model", "m"], "got an empty one"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    arguments: list[str], said: str, tmp_path: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text(
        '{"type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\\\1"}}}'
    )
    (tmp_path / "false.json").write_text("false")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model.json").write_text('{"files": {}, "size": {}}')
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1 and captured.err.startswith("cinnabar: ")
    assert not (tmp_path / "o").exists()


def test_a_failure_is_one_line_and_status_1(capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("cinnabar.apps.cli.schema.load_schema", fail)
    for debug in ("", "1"):
        monkeypatch.setenv("CINNABAR_DEBUG", debug)
        assert run(["schema", "check", "x"]) == 1
        told = capsys.readouterr().err
        assert "no space left" in told and ("Traceback" in told) is bool(debug)


def test_sql_results_are_strict_json_with_every_column(done: Path, capsys: CaptureResult) -> None:
    capsys.readouterr()
    query = (
        "select 'nan'::double a, '-inf'::float a, 1.50::decimal(9,2) b, date '2024-05-01' c, 'x'::blob d,"
        " {'e': ['inf'::double, 1.5]} e, true f"
    )
    assert run(["sql", query, "--out", str(done), "--json"]) == 0
    wanted = {"a": None, "a_1": None, "b": "1.50", "c": "2024-05-01", "d": "78", "e": {"e": [None, 1.5]}}
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == [wanted | {"f": True}]


def test_terminal_control_codes_in_values_are_made_visible(done: Path, capsys: CaptureResult) -> None:
    capsys.readouterr()
    query = "select chr(27) || '[31m' as x, chr(155) || chr(8238) || chr(8203) || chr(0) as y, chr(9) || 'z' as z"
    assert run(["sql", query, "--out", str(done)]) == 0
    said = capsys.readouterr().out
    assert r"\x1b[31m" in said and r"\x9b\u202e\u200b\x00" in said
    assert not set("\x1b\x9b\u202e\u200b\x00") & set(said)
    assert run(["extract", "\x1b[31m", "--schema", "receipt", "--out", "o"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_show_prints_the_record_with_its_evidence_or_the_reason(done: Path, capsys: CaptureResult) -> None:
    capsys.readouterr()
    assert run(["show", "a.txt", "--out", str(done)]) == 0
    said = capsys.readouterr().out
    assert "/n" in said and ("[x]" in said or '"y"' in said)
    assert run(["show", "empty.txt", "--out", str(done)]) == 0
    assert "quarantined empty" in capsys.readouterr().out


def test_the_version_is_that_of_the_distribution(capsys: CaptureResult) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"cinnabar {version('cinnabar-extract')}\n"


@pytest.fixture
def labelled(notes: Path) -> Path:
    folder = notes.parent
    (folder / "schema.json").write_text((folder / "note.json").read_text())
    lines = [{"file": f"docs/{n}.txt", "truth": {"author": "Anna", "day": None}} for n in range(3)]
    lines.append({"file": "docs/broken.pdf", "truth": {"author": "Bert", "day": None}})
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_eval_scores_the_whole_path_and_writes_its_predictions(
    labelled: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / "predictions.jsonl"
    monkeypatch.chdir(tmp_path)
    Path("cinnabar.toml").write_text("steps = 1\ncontext = 64\n")
    arguments = ["eval", str(labelled), "--model", str(tiny_model), "--json"]
    assert run([*arguments, "--predictions", str(wanted)]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["documents"], summary["answered"]) == (4, 3)
    assert {"f1", "precision", "recall", "fields", "sets"} <= set(summary)
    lines = [json.loads(line) for line in wanted.read_text().splitlines()]
    assert [line["record"] is None for line in lines] == [False, False, False, True]
    assert set(lines[0]["confidence"]) == {"/author", "/day"}
    for line in lines:
        text = (labelled / line["file"]).read_bytes().decode()
        assert all(value in text for value in line["evidence"].values())


def test_eval_switches_rules_off_by_name(labelled: Path, tiny_model: Path, capsys: CaptureResult) -> None:
    arguments = ["eval", str(labelled), "--model", str(tiny_model), "--json"]
    assert run([*arguments, *(word for rule in RULES for word in ("--without", rule))]) == 0
    assert json.loads(capsys.readouterr().out)["answered"] == 3
    assert run([*arguments, "--without", "proximity", "--without", "nonsense"]) == 2
    assert "expected some of label_prior, table_prior" in capsys.readouterr().err


def test_eval_says_which_truths_break_their_schema(
    labelled: Path, tiny_model: Path, capsys: CaptureResult
) -> None:
    lines = [json.loads(text) for text in (labelled / "truth.jsonl").read_text().splitlines()]
    lines[1]["truth"]["day"] = "tomorrow"
    (labelled / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(["eval", str(labelled), "--model", str(tiny_model), "--json"]) == 0
    said = capsys.readouterr().err
    assert "1 of the truths break schema.json" in said and "docs/1.txt does at /day: " in said


def test_eval_refuses_a_folder_for_the_predictions_of_one_set_before_it_reads(
    labelled: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    (tmp_path / "folder").mkdir()
    arguments = ["eval", str(labelled), "--model", str(tiny_model)]
    assert run([*arguments, "--predictions", str(tmp_path / "folder")]) == 2
    assert "expected a file that can be written: Is a directory" in capsys.readouterr().err


def test_the_first_documents_of_each_set_are_chosen(labelled: Path) -> None:
    assert [len(one.truths) for one in select_sets([labelled], 3)] == [3]
    with pytest.raises(UsageError, match="--limit: expected at least 1, got 0"):
        select_sets([labelled], 0)


def test_figures_of_rows_stand_where_there_are_lists_of_objects(labelled: Path, capsys: CaptureResult) -> None:
    for truth, shown in (({"author": "Anna"}, False), ({"lines": [{"n": 1}]}, True)):
        (labelled / "truth.jsonl").write_text(json.dumps({"file": "docs/0.txt", "truth": truth}) + "\n")
        (one,) = select_sets([labelled])
        figures = best_constant_of(one)
        print_figures(summarise({one.name: figures}), {one.name: figures["f1"]})
        told = capsys.readouterr().out
        assert ("rows_found" in told) is shown and "constant" in told


def test_the_help_is_printed_without_loading_slow_libraries() -> None:
    code = (
        "import sys\n"
        "from cinnabar.apps.cli.main import run\n"
        "assert run(['extract', '--help']) == 0\n"
        "assert run(['extract', 'nowhere', '--schema', 'receipt', '--out', 'o']) == 2\n"
        "slow = {'torch', 'prefect', 'scipy'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "100"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cinnabar extract mails --schema insurance_mail --out tables" in done.stdout


@pytest.mark.parametrize("wrong", [["nowhere", "o"], ["docs", "note.json"]])
def test_wrong_use_of_the_flow_is_an_error_before_prefect_is_loaded(
    wrong: list[str], notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: CaptureResult
) -> None:
    monkeypatch.chdir(notes.parent)
    monkeypatch.setitem(sys.modules, "cinnabar.flows.extract", None)
    path, out = wrong
    arguments = [path, "--schema", "note.json", "--out", out, "--model", str(tiny_model), "--flow"]
    assert run(["extract", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_ends_with_its_whole_output_after_the_handlers_of_the_exit() -> None:
    code = (
        "import atexit, sys\n"
        "from cinnabar.apps.cli.main import main\n"
        "atexit.register(print, 'handled')\n"
        "sys.argv = ['cinnabar', *sys.argv[1:]]\n"
        "main()\n"
    )
    for arguments, status in (["schema", "list"], 0), (["schema", "check", "nowhere.json"], 2):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.endswith("handled\n")) == (status, True), done


@pytest.mark.parametrize("encoding", some({"shift_jis"}, ["ascii", "latin-1", "cp1252", "shift_jis", "utf-8"]))
def test_letters_that_a_stream_cannot_show_are_escaped(tmp_path: Path, encoding: str) -> None:
    text = "Büro 東京 😀 → 1 €"
    (tmp_path / "東京.txt").write_text(text, encoding="utf-8")
    (tmp_path / os.fsdecode(b"stray\xff.txt")).write_text("x")
    command = [sys.executable, "-m", "cinnabar.apps.cli.main", "text"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}

    def said(*arguments: str) -> str:
        done = subprocess.run(
            [*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=60
        )
        assert done.stderr == b""
        return done.stdout.decode(encoding)

    assert said("東京.txt").startswith(("B\\u00fcro", "Büro"))
    objects = [json.loads(line) for line in said(".", "--json").splitlines()]
    assert {one["path"] for one in objects} == {"東京.txt", "stray\udcff.txt"}
    assert text in [one["text"].strip() for one in objects]


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_failure(tmp_path: Path, closed: str) -> None:
    (tmp_path / "a.txt").write_text("a text")
    command = f'"{sys.executable}" -m cinnabar.apps.cli.main text a.txt'
    for line in (f"{command} {closed}", f"{command} --json {closed}"):
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert ("text" in done.stdout) is (" >&-" not in f" {closed}")


def test_the_option_that_tools_call_goes_on_working_unlisted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing of that kind")
    words = ["extract", str(tmp_path / "a.txt"), "--schema", "receipt", "--out", str(tmp_path / "out"), "-q"]
    assert run([*words, "--on-empty", "write"]) == 0
    assert query(tmp_path / "out", "SELECT count(*) FROM records").rows == [(1,)]
