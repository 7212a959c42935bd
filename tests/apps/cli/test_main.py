"""The command line: its output, on which stream, and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.support.effort import some

from cinnabar.apps.cli.main import run
from cinnabar.engine.models.reader.priors.config import RULES
from cinnabar.schemas.library import LIBRARY

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


def test_json_is_one_object_and_a_second_run_does_nothing(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    assert extract(notes, tiny_model, tmp_path / "out", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert {"inputs", "written", "quarantined", "skipped", "seconds", "schema", "steps"} <= set(first)
    assert (first["inputs"], first["written"], first["quarantined"]) == (4, 3, 1)
    assert (first["schema"], first["steps"] > 0) == ("note", True)
    assert extract(notes, tiny_model, tmp_path / "out", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["skipped"], again["steps"]) == (4, 0)


def test_a_person_gets_a_summary_and_some_rows(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    assert extract(notes, tiny_model, tmp_path / "out") == 0
    said = capsys.readouterr().out
    for part in (
        "written",
        "quarantined",
        "truncated 1",
        "author",
        "0.txt",
        "3 of the records",
        str(tmp_path / "out"),
    ):
        assert part in said


def test_too_much_in_quarantine_is_status_3_and_a_sentence(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    assert extract(notes, tiny_model, tmp_path / "out", "--max-error-rate", "0.1") == 3
    told = "cinnabar: 1 of 4 documents in quarantine, more than 0.1 of them: truncated 1"
    assert f"{told} ({notes / 'broken.pdf'}" in capsys.readouterr().err
    assert extract(notes, tiny_model, tmp_path / "out2", "--max-error-rate", "0.25") == 0
    assert "in quarantine" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["extract", "nowhere", "--schema", "receipt", "--out", "o", "--model", "m"],
            "nowhere: no such file",
        ),
        (
            ["extract", ".", "--schema", "nothing", "--out", "o", "--model", "m"],
            "expected a JSON Schema file",
        ),
        (
            ["extract", ".", "--schema", "falso.json", "--out", "o", "--model", "m"],
            "'falso.json': there is no such file, and no schema of this name (is it false.json?)",
        ),
        (["schema", "check", "Invoices"], "(is it invoice?)"),
        (["extract", ".", "--schema", "bad.json", "--out", "o", "--model", "m"], "/properties/a"),
        (["extract", ".", "--schema", "receipt", "--out", "bad.json", "--model", "m"], "cannot be written"),
        (["extract", ".", "--schema", "receipt", "--out", "o", "--model", "empty"], "model.json"),
        (
            ["extract", ".", "--schema", "receipt", "--out", "o", "--max-error-rate", "7", "--model", "m"],
            "0 to 1",
        ),
        (
            ["extract", ".", "--schema", "receipt", "--out", "o", "--effort", "huge", "--model", "m"],
            "instant",
        ),
        (["extract", ".", "--out", "o", "--model", "m"], "--schema"),
        (["extract"], "PATH"),
        (["schema", "check", "bad.json"], "/properties/a"),
        (
            ["extract", ".", "--schema", "receipt", "--out", "o", "--min-confidence", "80", "--model", "m"],
            "min-confidence: expected 0 to 1",
        ),
        (["schema", "check", "false.json"], "no value is allowed here"),
        (["extract", ".", "--schema", "false.json", "--out", "o", "--model", "m"], "no value is allowed"),
        (["sql", "select 1", "--out", "nowhere"], "no results"),
        (["show", "x", "--out", "nowhere"], "no results"),
        (["eval", "empty"], "truth.jsonl"),
        (["eval", "nowhere", "--limit", "0"], "at least 1"),
        (["eval", ""], "got an empty one"),
        (["extract", ".", "--schema", "receipt", "--out=", "--model", "m"], "got an empty one"),
        (["nonsense"], "No such command"),
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


def test_a_failure_is_one_line_and_status_1(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("cinnabar.extraction.run.batched_run.BatchedRun.finish", fail)
    assert extract(notes, tiny_model, tmp_path / "out") == 1
    assert "no space left" in capsys.readouterr().err
    monkeypatch.setenv("CINNABAR_DEBUG", "1")
    assert extract(notes, tiny_model, tmp_path / "out") == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupted_run_says_what_is_done_and_how_to_resume(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cinnabar.extraction.run.batched_run.BatchedRun.finish", interrupt)
    assert extract(notes, tiny_model, tmp_path / "out", "--json") == 1
    said = capsys.readouterr()
    *_, so_far, resume = said.err.splitlines()
    assert said.out == ""
    assert re.fullmatch(r"cinnabar: so far 4 of 4 documents, .*/.*: .* written, .*\(.*\).*, in .*/out", so_far)
    assert "interrupted; committed batches are kept; run the same command again" in resume


def test_sql_prints_a_table_or_json(done: Path, capsys: CaptureResult) -> None:
    capsys.readouterr()
    assert run(["sql", "select n, 1.5 as x from bill", "--out", str(done)]) == 0
    assert "1 row" in capsys.readouterr().out
    assert run(["sql", "select code from quarantine", "--out", str(done), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"code": "empty"}]
    assert run(["sql", "select nonsense", "--out", str(done)]) == 2


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
    assert run(["show", "a.txt", "--out", str(done), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["record"] == json.loads(shown["record_json"])


def test_the_version_is_that_of_the_distribution(capsys: CaptureResult) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"cinnabar {version('cinnabar-extract')}\n"


def test_schema_list_names_the_schemas_of_the_library_with_their_fields(capsys: CaptureResult) -> None:
    assert run(["schema", "list"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in LIBRARY) and "gross_total" in told
    assert run(["schema", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found] == [*LIBRARY] and "merchant" in found[1]["fields"]


def test_an_empty_folder_is_nothing_to_do_and_no_failure(
    tiny_model: Path, notes: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    for path in notes.iterdir():
        path.unlink()
    assert extract(notes, tiny_model, tmp_path / "out") == 0
    told = capsys.readouterr().out
    assert "Nothing to do: there is no file to read" in told and "documents/s" not in told
    assert extract(notes, tiny_model, tmp_path / "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == 0


def test_a_run_that_read_nothing_tells_no_speed(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    assert extract(notes, tiny_model, tmp_path / "out") == 0
    assert "documents/" in capsys.readouterr().out
    assert extract(notes, tiny_model, tmp_path / "out") == 0
    told = capsys.readouterr().out
    assert "documents/" not in told and "denoising steps" not in told


def test_schema_check_says_what_is_enforced(capsys: CaptureResult) -> None:
    assert run(["schema", "check", "receipt", "--details"]) == 0
    said = capsys.readouterr().out
    assert "/items/*/price" in said or "/items" in said
    assert "automaton" in said


def test_schema_check_says_of_a_bound_choice_that_it_is_a_fact(tmp_path: Path, capsys: CaptureResult) -> None:
    language = {"enum": ["German", "French", "Dutch"], "x-cinnabar-from": "document.language"}
    items = {"enum": ["a.txt", "b.txt", "c.txt"]}
    names = {"type": "array", "items": items, "x-cinnabar-from": "mail.attachments.name"}
    schema = {"title": "letter", "type": "object", "properties": {"language": language, "files": names}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    assert run(["schema", "check", str(tmp_path / "s.json"), "--details"]) == 0
    ways = capsys.readouterr().out.partition("decided")[2]
    assert "the fact document.language" in ways and "the fact mail.attachments.name" in ways
    assert "compared with the document" not in ways


def test_the_schema_true_allows_any_value(tmp_path: Path, capsys: CaptureResult) -> None:
    (tmp_path / "s.json").write_text("true")
    assert run(["schema", "check", str(tmp_path / "s.json"), "--details"]) == 0
    assert "string or number or boolean or null" in capsys.readouterr().out


def test_schema_check_shows_alternatives_and_refuses_what_no_record_meets(
    tmp_path: Path, capsys: CaptureResult
) -> None:
    person = {"type": "object", "title": "Person", "properties": {"name": {"type": "string"}}}
    fleet = {"type": "object", "title": "Fleet", "additionalProperties": {"type": "integer"}}
    schema: dict[str, Any] = {"type": "object", "properties": {"owner": {"anyOf": [person, fleet]}}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    assert run(["schema", "check", str(tmp_path / "s.json"), "--details"]) == 0
    said = capsys.readouterr().out
    for part in ("the whole record", "one of Person; Fleet", "Fleet: object", "names of open properties"):
        assert part in said
    schema |= {"required": ["owner"], "maxProperties": 0}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    assert run(["schema", "check", str(tmp_path / "s.json")]) == 2
    assert "/maxProperties" in capsys.readouterr().err


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


def test_eval_prints_the_figures_of_rows_where_there_are_lists_of_objects(
    labelled: Path, capsys: CaptureResult
) -> None:
    assert run(["eval", str(labelled), "--constant"]) == 0
    assert "rows_found" not in capsys.readouterr().out
    truth = {"file": "docs/0.txt", "truth": {"lines": [{"n": 1}]}}
    (labelled / "truth.jsonl").write_text(json.dumps(truth) + "\n")
    assert run(["eval", str(labelled), "--constant"]) == 0
    assert "rows_found" in capsys.readouterr().out


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


def test_improve_says_which_truths_of_a_set_break_their_schema(
    labelled: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    lines = [json.loads(text) for text in (labelled / "truth.jsonl").read_text().splitlines()]
    lines[1]["truth"]["day"] = "tomorrow"
    (labelled / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(["improve", "--set", str(labelled), "--out", str(tmp_path / "own")]) == 2
    assert not (tmp_path / "own").exists()
    said = capsys.readouterr().err
    assert "1 of the truths break schema.json" in said and "docs/1.txt does at /day: " in said
    assert "expected at least 10" in said


def test_eval_takes_some_files_of_several_sets(labelled: Path, tmp_path: Path, capsys: CaptureResult) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("docs/0.txt\ndocs/broken.pdf\n")
    assert run(["eval", str(labelled), "--constant", "--json", "--files", str(listed)]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["documents"], summary["f1"]) == (2, 0.5)
    assert run(["eval", str(labelled), "--constant", "--limit", "3"]) == 0
    assert " 3 " in capsys.readouterr().out
    listed.write_text("docs/0.txt\ndocs/none.txt\nother.txt\n")
    assert run(["eval", str(labelled), "--constant", "--files", str(listed)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "no document of these sets is 'docs/none.txt', nor 1 more that it names" in said


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


def test_the_command_is_there() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("cinnabar"), "schema"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "check" in done.stdout) == (0, True)


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
    for line in (f"{command} {closed}", f"{command} --words {closed}"):
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert ("text" in done.stdout) is (" >&-" not in f" {closed}")


def test_a_schema_that_no_record_meets_is_refused_before_any_work(
    notes: Path, tiny_model: Path, tmp_path: Path, capsys: CaptureResult
) -> None:
    schema = {"type": "object", "allOf": [{"required": ["a"]}, {"not": {"required": ["a"]}}]}
    (tmp_path / "never.json").write_text(json.dumps(schema))
    arguments = ["extract", str(notes), "--schema", str(tmp_path / "never.json")]
    assert run([*arguments, "--out", str(tmp_path / "none"), "--model", str(tiny_model)]) == 2
    assert "no record was found" in capsys.readouterr().err


def test_a_schema_may_have_numbers_of_any_size(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": ["integer", "null"], "minimum": 10**30}}}
    (tmp_path / "big.json").write_text(json.dumps(schema))
    arguments = ["extract", str(notes), "--schema", str(tmp_path / "big.json")]
    assert run([*arguments, "--out", str(tmp_path / "big"), "--model", str(tiny_model)]) == 0


def test_a_schema_is_refused_before_the_model_is_looked_at(tmp_path: Path, capsys: CaptureResult) -> None:
    (tmp_path / "deep.json").write_text('{"items":' * 10_000 + "{}" + "}" * 10_000)
    (tmp_path / "none.json").write_text('{"type": "object", "properties": {"a": false}, "required": ["a"]}')
    for name, said in (("deep", "more than 200 objects and lists"), ("none", "/properties/a")):
        arguments = [str(tmp_path), "--out", str(tmp_path / "out"), "--model", "no such model"]
        assert run(["extract", *arguments, "--schema", str(tmp_path / f"{name}.json")]) == 2
        assert said in capsys.readouterr().err
