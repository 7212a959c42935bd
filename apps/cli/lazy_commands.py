"""The commands, which are imported when they are asked for, so that the list of all of them comes at once."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from cinnabar.errors import UsageError
from cinnabar.extraction.store.names import check_local
from cinnabar.extraction.store.path_safety import check_links


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command or a group of commands, as `module:name` in this folder, and its line in the list of commands."""

    place: str
    help: str


#: All commands, in the order of the help. Their modules are imported when they are asked for.
COMMANDS = {
    "init": CommandEntry("init:init", "Make a folder to begin with."),
    "doctor": CommandEntry("doctor:doctor", "Check this installation."),
    "extract": CommandEntry("extract:extract", "Read documents into tables."),
    "backfill": CommandEntry("backfill:backfill", "Bring records to a new version of a schema."),
    "text": CommandEntry("text:text", "Show what the parser reads from a file."),
    "sql": CommandEntry("results:sql", "Query the results."),
    "show": CommandEntry("results:show", "Show a record with its evidence."),
    "review": CommandEntry("review:review", "Look at records and correct them in the browser."),
    "correct": CommandEntry("correct:correct", "Correct a stored record, or the parts of a packet."),
    "export": CommandEntry("export:export", "Write results as CSV, JSON, Excel or Parquet."),
    "status": CommandEntry("status:status_app", "Show what stands in a folder, and what its last run did."),
    "verify": CommandEntry("status:verify", "Check files, checksums and records."),
    "forget": CommandEntry("forget:forget", "Remove all that is stored of a document."),
    "serve": CommandEntry("serve:serve_model", "Answer clients of Mercury's API, and agents."),
    "eval": CommandEntry("evaluate:evaluate", "Score the whole path on labelled documents."),
    "improve": CommandEntry("improve:improve", "Train a model on corrected documents."),
    "flows": CommandEntry("flows:flows_app", "Run on a schedule, with Prefect."),
    "quarantine": CommandEntry("quarantine:quarantine_app", "See, retry and release documents in quarantine."),
    "schema": CommandEntry("schema:schema_app", "List and check schemas."),
    "model": CommandEntry("model:model_app", "Check and fetch language models."),
}


class LazyCommand(TyperCommand):
    """A name with a line of help; the command or the group behind it is imported when it is used."""

    def __init__(self, name: str, entry: CommandEntry) -> None:
        super().__init__(name, short_help=entry.help, rich_markup_mode=None)
        self._key = name, entry

    @property
    def command(self) -> TyperCommand | TyperGroup:
        """The command itself, which takes paths of this machine only, and `--quiet`."""
        return _load_command(*self._key)

    def make_context(self, *args: Any, **settings: Any) -> Any:
        """Returns a context of the command itself, so that its parent invokes and completes that one."""
        return self.command.make_context(*args, **settings)


class LazyGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({name: LazyCommand(name, entry) for name, entry in COMMANDS.items()})


#: Commands that only show something; the name of a command in a group follows that of the group.
SHOWING = frozenset({
    "sql", "show", "text", "status", "schema list", "quarantine list", "flows login",
})  # fmt: skip


def group_of(about: str) -> typer.Typer:
    """Returns a group of commands, which shows its help where no command follows."""

    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return typer.Typer(help=about, callback=show_help, invoke_without_command=True)


AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for programs.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only, and with --json the result.")]
#: A command yields its answer as a JSON value, then prints it for people, and returns its exit status.
Answer = Generator[Any, None, Any]


def _declare(as_json: AsJson = False, quiet: _Quiet = False) -> None:
    """Has the options that `_load_command` gives to commands: `--json`, and `--quiet` if they do more than show."""


@cache
def _load_command(name: str, entry: CommandEntry) -> TyperCommand | TyperGroup:
    module, _, attribute = entry.place.partition(":")
    target = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    # The callback makes it a group also around a single command.
    around = typer.Typer(
        rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, callback=_declare
    )
    if isinstance(target, typer.Typer):
        around.add_typer(target, name=name)
    else:
        around.command(name)(target)
    group = typer.main.get_command(around)
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    assert isinstance(command, TyperCommand | TyperGroup)
    _refine(command, name, group.params)
    return command


def _refine(command: Any, name: str, options: Sequence[Any]) -> None:
    """Has a command, and all commands of a group, check their paths, and gives them these options."""
    inner = getattr(command, "commands", {})
    for each, one in inner.items():
        _refine(one, f"{name} {each}", options)
    own = {one.name for one in command.params}
    if not inner:
        left_out = own | ({"quiet"} if name in SHOWING else set())
        command.params += [one for one in options if one.name not in left_out]
    command.callback = partial(_run, command.callback, "as_json" in own)


def _run(
    command: Callable[..., Any], takes_json: bool, quiet: bool = False, as_json: bool = False, **arguments: Any
) -> int | None:
    """Runs a command and returns its status; with `quiet` without progress, notices or report.

    With `as_json` the value that it yields is printed, and nothing for people. Addresses are refused where it takes
    paths, and so is a folder of results with strange links. Errors are told by the caller, afterwards. A command that
    would ask a person demands `--yes`.
    """
    for name, value in arguments.items():
        for path in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(path, Path):
                check_local(path, f"--{name.replace('_', '-')}")
                if name == "out":
                    check_links(path, everything=True)
    if quiet and arguments.get("yes") is False and not arguments.get("dry_run"):
        raise UsageError("--quiet: expected --yes beside it, because it asks nothing")
    with ExitStack() as silence:
        nothing = silence.enter_context(Path(os.devnull).open("w", errors="replace", encoding="utf-8"))
        if quiet:
            silence.enter_context(redirect_stderr(nothing))
        if quiet and not as_json:
            silence.enter_context(redirect_stdout(nothing))
        answer = command(**arguments, **({"as_json": as_json} if takes_json else {}))
        if not isinstance(answer, Generator):
            return cast("int | None", answer)
        value = next(answer)
        if as_json:
            print(json.dumps(value, ensure_ascii=False), flush=True)
            silence.enter_context(redirect_stdout(nothing))
        try:
            next(answer)
        except StopIteration as end:
            return cast("int | None", end.value)
    raise AssertionError("a command has one answer")
