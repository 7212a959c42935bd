"""Commands that are imported when they are asked for, so that the list of all commands comes at once."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

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
    """A group of the commands in `ENTRIES`, which a subclass sets."""

    ENTRIES: Mapping[str, CommandEntry] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({name: LazyCommand(name, entry) for name, entry in self.ENTRIES.items()})


@cache
def _load_command(name: str, entry: CommandEntry) -> TyperCommand | TyperGroup:
    module, _, attribute = entry.place.partition(":")
    target = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    # The callback makes it a group also around a single command.
    around = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, callback=lambda: None)
    if isinstance(target, typer.Typer):
        around.add_typer(target, name=name)
    else:
        around.command(name)(target)
    refine(around)
    group = typer.main.get_command(around)
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    assert isinstance(command, TyperCommand | TyperGroup)
    return command


def _check_paths(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command, which refuses addresses where it takes paths, and a folder of results with strange links."""

    @functools.wraps(command)
    def run(*args: Any, **arguments: Any) -> Any:
        for name, value in arguments.items():
            for path in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(path, Path):
                    check_local(path, f"--{name.replace('_', '-')}")
                    if name == "out":
                        check_links(path, everything=True)
        return command(*args, **arguments)

    return run


# The option `--quiet`, which every command has that does more than show something.

#: Commands that only show something; the name of a command in a group follows that of the group.
SHOWING = frozenset({
    "sql", "show", "text", "status", "schema list", "quarantine list", "flows login",
})  # fmt: skip

_QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only, and with --json the result.")]


def quietable(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with `--quiet`: no progress, notices or report; with `--json` the result is printed.

    Errors are told by the caller, afterwards. A command that would ask a person demands `--yes`.
    """
    signature = inspect.signature(command, eval_str=True)
    if "quiet" in signature.parameters:
        return command

    @functools.wraps(command)
    def run(*args: Any, quiet: bool = False, **arguments: Any) -> Any:
        if not quiet:
            return command(*args, **arguments)
        if arguments.get("yes") is False and not arguments.get("dry_run"):
            raise UsageError("--quiet: expected --yes beside it, because it asks nothing")
        with ExitStack() as silence:
            nothing = silence.enter_context(Path(os.devnull).open("w", errors="replace", encoding="utf-8"))
            silence.enter_context(redirect_stderr(nothing))
            if not arguments.get("as_json"):
                silence.enter_context(redirect_stdout(nothing))
            return command(*args, **arguments)

    option = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_QUIET)
    parameters = [*signature.parameters.values(), option]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": signature.return_annotation}
    return run


def refine(app: typer.Typer, group: str = "") -> None:
    """Has all commands of an app and of its groups refuse addresses where they take paths, and gives them `--quiet`."""
    for info in app.registered_commands:
        if info.callback is not None:
            checked = _check_paths(info.callback)
            info.callback = checked if f"{group} {info.name}".strip() in SHOWING else quietable(checked)
    above = app.registered_callback
    if above is not None and above.callback is not None:
        above.callback = _check_paths(above.callback)
    for inner in app.registered_groups:
        if inner.typer_instance is not None:
            refine(inner.typer_instance, f"{group} {inner.name}".strip())
