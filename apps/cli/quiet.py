"""The option `--quiet`, which every command has that does more than show something."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.schemas.errors import UsageError

#: Commands that only show something; the name of a command in a group follows that of the group.
SHOWING = frozenset({
    "sql", "show", "text", "status", "status checks", "status runs", "schema list", "quarantine list", "login",
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


def give_quiet(app: typer.Typer, group: str = "") -> None:
    """Gives `--quiet` to all commands of an app and of its groups, but those that only show something."""
    for info in app.registered_commands:
        if f"{group} {info.name}".strip() not in SHOWING and info.callback is not None:
            info.callback = quietable(info.callback)
    for inner in app.registered_groups:
        if inner.typer_instance is not None:
            give_quiet(inner.typer_instance, f"{group} {inner.name}".strip())
