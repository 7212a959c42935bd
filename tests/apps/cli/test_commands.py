"""What holds for every command: examples in its help, `--json`, `--quiet`, exit status, completion."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from cinnabar.apps.cli.lazy_commands import COMMANDS, SHOWING
from cinnabar.apps.cli.main import app, run

CaptureResult = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[3]
CONTRACT = ROOT / "data" / "samples" / "contract" / "docs" / "ridgeline_marigold_mca.txt"
ENV = {name: value for name, value in os.environ.items() if not name.startswith("_CINNABAR")}


@cache
def commands() -> dict[str, Any]:
    """Every command by its name, that of its group first."""

    def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        command = getattr(command, "command", command)
        for inner, one in getattr(command, "commands", {}).items():
            yield from walk(one, f"{name} {inner}".strip())
        if not getattr(command, "commands", {}) or "--json" in options(command):
            yield name, command

    return dict(walk(typer.main.get_command(app), ""))


def options(command: Any) -> set[str]:
    return {option for one in command.params for option in one.opts}


def parsed(words: list[str]) -> None:
    """Parses the words of a command line, which raises if they are no use of their command."""
    name = next(name for name in (" ".join(words[:2]), words[0]) if name in commands())
    command = commands()[name]
    context = command.make_context(name, [], resilient_parsing=True)
    command.make_parser(context).parse_args(words[len(name.split()) :])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A folder with documents, one of them broken, a schema, and the results of both in `out`."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "docs").mkdir()
    for number in range(3):
        (folder / "docs" / f"{number}.txt").write_text(f"Note {number}\nAuthor: Anna\nDay: 2024-05-0{number + 1}\n")
    (folder / "docs" / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (folder / "note.json").write_text(
        '{"title": "note", "type": "object", "properties": {'
        '"author": {"type": ["string", "null"], "description": "Who wrote it."},'
        '"day": {"type": ["string", "null"], "format": "date"}}, "required": ["author", "day"]}'
    )
    with chdir(folder):
        assert run(shlex.split(USES["extract"].format(model=tiny_model))) == 0
    return folder


@pytest.fixture
def done(made: Path, tmp_path: Path) -> Path:
    """A copy of those results."""
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made" / "out"


def test_the_list_of_commands_names_them_all_and_imports_none() -> None:
    code = (
        "import sys; from cinnabar.apps.cli.main import run; run(['--help'])\n"
        "own = {name for name in sys.modules if name.startswith('cinnabar.apps.cli.')}\n"
        "print(*sorted(own), {'numpy', 'pydantic', 'rich'} & {*sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, check=True)
    shown = re.findall(r"^  ([a-z]+)  +(.*)$", done.stdout.partition("Commands:")[2], re.MULTILINE)
    assert shown == [(name, entry.help) for name, entry in COMMANDS.items()]
    own = [f"cinnabar.apps.cli.{name}" for name in ("lazy_commands", "main")]
    assert done.stderr.split() == [*own, "set()"]


@pytest.mark.parametrize("name", [name for name, entry in COMMANDS.items() if entry.place.endswith("_app")])
def test_the_list_of_commands_says_of_a_group_what_the_group_says(name: str) -> None:
    group: Any = typer.main.get_command(app)
    assert group.commands[name].command.help.partition("\n")[0] == COMMANDS[name].help


@pytest.mark.parametrize("name", commands())
def test_the_help_of_a_command_has_examples_that_parse(name: str) -> None:
    text = commands()[name].help or ""
    examples = re.findall(r"^ *cinnabar (.*)$", text.partition("Examples:")[2], re.MULTILINE)
    assert examples, "expected `Examples:` in the help, with a line that begins with `cinnabar`"
    assert any(line.startswith(name) for line in examples), f"expected a use of {name}"
    for line in examples:
        parsed(shlex.split(line))


@pytest.mark.parametrize("name", commands())
def test_the_help_of_a_command_fits_a_screen_of_80_columns(name: str) -> None:
    context = commands()[name].make_context(name, [], resilient_parsing=True)
    lines = commands()[name].get_help(context).splitlines()
    assert len(lines) <= 66 and [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("group", ["flows", "model", "quarantine", "schema", "status"])
def test_the_help_of_a_group_has_examples_that_parse(group: str, capsys: CaptureResult) -> None:
    assert run([group, "--help"]) == 0
    examples = re.findall(r"^ *cinnabar (.*)$", capsys.readouterr().out.partition("Examples:")[2], re.MULTILINE)
    assert examples and all(line.startswith(f"{group} ") for line in examples)
    for line in examples:
        parsed(shlex.split(line))


def test_a_mistake_in_the_arguments_names_the_help_of_its_command(capsys: CaptureResult) -> None:
    assert run(["schema", "check"]) == 2
    assert "`cinnabar schema check --help`" in capsys.readouterr().err
    assert run(["frobnicate"]) == 2
    assert "`cinnabar --help`" in capsys.readouterr().err


def test_a_query_of_a_view_that_is_not_there_names_those_that_are(done: Path, capsys: CaptureResult) -> None:
    assert run(["sql", "select * from nothing_here", "--out", str(done)]) == 2
    told = capsys.readouterr().err
    assert "nothing_here does not exist! The views are" in told and "note" in told and "Did you mean" not in told


@pytest.mark.parametrize("name", commands())
def test_every_command_has_json_and_every_one_that_works_has_quiet(name: str) -> None:
    assert "--json" in options(commands()[name])
    assert ("--quiet" in options(commands()[name])) == (name not in SHOWING)


def test_commands_that_only_show_something_exist() -> None:
    assert set(commands()) >= SHOWING


# One use of each command over a folder with results, after which standard output is JSON. The others run until they are
# stopped, or read weights for minutes, and have tests of their own.
USES = {
    "init": "init new",
    "doctor": "doctor",
    "extract": "extract docs --schema note.json --out out --model {model} --on empty=write",
    "backfill": "backfill --schema note.json --out out --model {model} --dry-run",
    "text": "text docs/0.txt",
    "sql": "sql 'select 1 as one' --out out",
    "show": "show 0.txt --out out",
    "export": "export note --out out --to notes.csv",
    "status report": "status report --out out",
    "status runs": "status runs --out out",
    "correct": "correct 0.txt --schema note --list --out out",
    "status": "status --out out",
    "verify": "verify --out out",
    "forget": "forget 0.txt --out out --yes",
    "quarantine list": "quarantine list --out out",
    "quarantine release": "quarantine release --all --out out",
    "quarantine retry": "quarantine retry --out out --model {model}",
    "schema list": "schema list",
    "schema check": "schema check note.json",
}
ELSEWHERE = {
    "serve", "flows serve", "review", "model check", "model fetch", "eval",
    "improve", "flows login",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(USES) & set(commands())))
def test_a_command_prints_words_and_as_json_nothing_else(
    name: str, done: Path, tiny_model: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(done.parent)
    Path("note.py").write_text("from pydantic import BaseModel\nclass Note(BaseModel):\n    author: str | None\n")
    words = shlex.split(USES[name].format(model=tiny_model, contract=CONTRACT))
    capsys.readouterr()
    assert run(words) == 0 and capsys.readouterr().out
    for number, quiet in enumerate(([], ["--quiet"] if name not in SHOWING else []), 1):
        if name == "forget":
            words[1] = f"{number}.txt"
        assert run([*words, "--json", *quiet]) in (0, 1)
        told = capsys.readouterr()
        for line in [told.out] if not name.startswith("text") else told.out.splitlines():
            json.loads(line)
        if quiet:
            assert told.err == ""


def test_every_command_is_tried_or_has_tests_of_its_own() -> None:
    # A new command needs a use above.
    tried = set(USES) | ELSEWHERE
    assert set(commands()) <= tried


def test_a_quiet_command_prints_nothing_but_errors(done: Path, tmp_path: Path, capsys: CaptureResult) -> None:
    capsys.readouterr()
    assert run(["verify", "--out", str(done), "--quiet"]) == 0
    assert run(["init", str(tmp_path / "new"), "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert run(["verify", "--out", str(tmp_path / "nothing"), "--quiet"]) == 2
    assert "no results" in capsys.readouterr().err
    assert run(["forget", "0.txt", "--out", str(done), "--quiet"]) == 2
    assert "--quiet: expected --yes" in capsys.readouterr().err


EXITS: list[tuple[int, str]] = [
    (0, "schema list"),
    (1, "text docs/broken.pdf"),
    (2, "schema check nothing"),
    (2, "sql 'select' --out out"),
    (2, "--nonsense"),
    (3, "extract docs --schema note.json --out fresh --model {model} --max-error-rate 0.1"),
]


@pytest.mark.parametrize(("status", "line"), EXITS)
def test_the_exit_status_is_the_documented_one(
    status: int, line: str, done: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(done.parent)
    Path("file").write_text("")
    assert run(shlex.split(line.format(model=tiny_model))) == status
    told = typer.main.get_command(app).help or ""
    assert re.search(rf"^  {status}  ", told.partition("Exit status:")[2], re.MULTILINE)


def test_an_interrupted_command_ends_with_the_documented_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("cinnabar.apps.cli.schema.load_schema", interrupted)
    assert run(["schema", "check", "x"]) == 1


def said_to_shell(env: dict[str, str], cwd: Path) -> tuple[str, str]:
    """What the command prints with these variables, on standard output and as errors."""
    with pytest.MonkeyPatch.context() as patch, io.StringIO() as out, io.StringIO() as err:
        patch.chdir(cwd)
        for name, value in env.items():
            patch.setenv(name, value)
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit):
            run([])
        return out.getvalue(), err.getvalue()


def test_a_shell_completes_commands_and_options(tmp_path: Path) -> None:
    for line, wanted in (("cinnabar s", {"schema", "show", "sql", "status"}), ("cinnabar sql --o", {"--out"})):
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_CINNABAR_COMPLETE": "complete_bash"}
        told, errors = said_to_shell(words, tmp_path)
        assert wanted <= {*told.split()} and not errors
