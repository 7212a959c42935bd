"""Every path of a command line is one of this machine, and no link leads out of a folder of results.

Both are refused before anything is done, for all commands at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from cinnabar.extraction.store.local_paths import check_local
from cinnabar.extraction.store.own_names import check_links


def take_local_paths(app: typer.Typer) -> None:
    """Has all commands of an app and of its groups refuse addresses where they take paths, and strange results."""
    for info in app.registered_commands:
        if info.callback is not None:
            info.callback = _refusing(info.callback)
    if app.registered_callback is not None and app.registered_callback.callback is not None:
        app.registered_callback.callback = _refusing(app.registered_callback.callback)
    for inner in app.registered_groups:
        if inner.typer_instance is not None:
            take_local_paths(inner.typer_instance)


def _refusing(command: Callable[..., Any]) -> Callable[..., Any]:
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
