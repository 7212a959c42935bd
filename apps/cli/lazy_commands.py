"""Commands that are imported when they are asked for, so that the list of all commands comes at once."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cinnabar.apps.cli.local_paths import take_local_paths
from cinnabar.apps.cli.quiet import give_quiet


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
    def loaded(self) -> TyperCommand | TyperGroup:
        """The command itself, which takes paths of this machine only, and `--quiet`."""
        return _loaded(*self._key)

    def make_context(self, *args: Any, **settings: Any) -> Any:
        """Returns a context of the command itself, so that its parent invokes and completes that one."""
        return self.loaded.make_context(*args, **settings)


class LazyGroup(TyperGroup):
    """A group of the commands in `ENTRIES`, which a subclass sets."""

    ENTRIES: Mapping[str, CommandEntry] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({name: LazyCommand(name, entry) for name, entry in self.ENTRIES.items()})


@cache
def _loaded(name: str, entry: CommandEntry) -> TyperCommand | TyperGroup:
    module, _, attribute = entry.place.partition(":")
    target = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    # The callback makes it a group also around a single command.
    around = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, callback=lambda: None)
    if isinstance(target, typer.Typer):
        around.add_typer(target, name=name)
    else:
        around.command(name)(target)
    take_local_paths(around)
    give_quiet(around)
    group = typer.main.get_command(around)
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    assert isinstance(command, TyperCommand | TyperGroup)
    return command
