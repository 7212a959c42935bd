"""The pages of the documentation and their fences, for the tests of both."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import ROOT

FOLDERS = (
    "apps", "flows", "extraction", "engine", "kernels", "schemas", "training", "data", "docs", "scripts", "tests",
)  # fmt: skip
PAGES = sorted([
    *ROOT.glob("*.md"),
    *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")),
])  # fmt: skip


@dataclass(frozen=True)
class Fence:
    """A block of code: its language, its marks, its text, and its first line's number."""

    page: Path
    line: int
    language: str
    marks: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def fences(page: Path) -> Iterator[Fence]:
    block = r"^```(\S*)[ \t]*([^\n]*)\n(.*?)^```$"
    for match in re.finditer(block, page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        line = match.string.count("\n", 0, match.start()) + 1
        yield Fence(page, line, match[1], tuple(match[2].split()), match[3])


def put_files(page: Path, folder: Path) -> None:
    """Writes the fences of a page that are marked as files."""
    for fence in fences(page):
        for name in (mark.removeprefix("file=") for mark in fence.marks if mark.startswith("file=")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(fence.text, "utf-8")


def words_of(line: str) -> list[str]:
    try:
        words = shlex.split(line.strip().removeprefix("$ "), comments=True)
    except ValueError:
        return []
    while words and "=" in words[0]:
        words = words[1:]
    if words:
        words[0] = words[0].removeprefix(".venv/bin/")
    return words


def check_make(words: list[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    asked = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
    assert set(asked) <= targets, f"expected targets of the Makefile, got {asked}"


def check_module(words: list[str]) -> None:
    if words[1:2] == ["-m"]:
        assert importlib.util.find_spec(words[2]) is not None, f"expected a module, got {words[2]}"
        if words[2] == "bench" and len(words) > 3:
            assert importlib.util.find_spec(f"bench.{words[3]}") is not None, f"expected a bench, got {words[3]}"
    else:
        assert (ROOT / words[1]).is_file(), f"expected a script, got {words[1]}"


@cache
def cinnabar() -> Any:
    """The click command of `cinnabar`, with all its commands imported."""
    import typer

    from cinnabar.apps.cli.main import app

    group: Any = typer.main.get_command(app)
    group.commands = {name: command.command for name, command in group.commands.items()}
    return group


def check_cinnabar(words: list[str]) -> None:
    command = cinnabar()
    context = command.make_context("cinnabar", [], resilient_parsing=True)
    rest = words[1:]
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        if rest[0] == "COMMAND":  # a placeholder for any command
            return
        assert rest[0] in command.commands, f"expected one of {sorted(command.commands)}, got {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
        context = command.make_context(command.name, [], parent=context, resilient_parsing=True)
    if "…" in rest or not rest:  # a hint, not a whole command
        return
    command.make_parser(context).parse_args(list(rest))


