"""Writes docs/cli.md from the help of the commands: `make command-page`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from cinnabar.apps.cli.main import app

#: Two blanks keep the lines of a paragraph apart.
LINE_END = "  \n"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
SETTINGS = PAGE.parents[1] / "extraction" / "review" / "drafting" / "template" / "cinnabar.toml"
BEGINNING = """# Commands

```sh
cinnabar extract --help
```

The commands' help, from which this page is made, tells more. Each has `--json` for programs, most have `--quiet`, and
`--out DIR` is the folder of the results where nothing else is told.
"""
SET_ONCE = """## What is set once

`cinnabar.toml` of the working folder says what a command does not. `cinnabar init` writes it:
"""


def commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields each command and group with its name, a group before its commands."""
    command = getattr(command, "command", command)
    yield name, command
    for inner, one in getattr(command, "commands", {}).items():
        yield from commands(one, f"{name} {inner}".strip())


def block(text: str, heading: str) -> list[str]:
    """Returns the lines under a heading of a help text, to the next empty line."""
    return [line.strip() for line in text.partition(f"{heading}:\n")[2].partition("\n\n")[0].splitlines()]


def parameters(command: Any, known: set[tuple[str, str]]) -> Iterator[str]:
    """Yields a line for each argument and option, and one with the names of those that `known` has from before."""
    context, before = command.make_context("", [], resilient_parsing=True), []
    for one in command.params:
        name, written = one.opts[0] if one.opts[0][0] == "-" else one.metavar, one.get_help_record(context)
        if (name, one.help) in known:
            before.append(name)
        elif written and name not in ("--json", "--quiet") and one.help != "The folder of the results.":
            known.add((name, one.help))
            told = re.sub(r"  \[default: ([^( ]+)\]$", r" (`\1`)", written[1])
            shown = re.sub(r" <(?:str|path|list\[\w+\])>", "", written[0])
            yield f"`{shown}` " + re.sub(r"  \[[^\]]+\]$", "", told)
    if before:
        yield f"as above: `{'`, `'.join(before)}`"


def page() -> str:
    """Returns docs/cli.md."""
    (_, start), *found = commands(typer.main.get_command(app))
    parts, known = [BEGINNING], set[tuple[str, str]]()
    for name, command in found:
        if "--json" in {one.opts[0] for one in command.params}:  # Else it is a group that does nothing by itself.
            parts += [f"## {name}\n", " ".join(command.help.partition("\n\n")[0].split()) + "\n", "```sh"]
            parts += [*block(command.help, "Examples"), "```\n", LINE_END.join(parameters(command, known)), ""]
    settings = re.findall(r"^(?:# )?(\w+) =", SETTINGS.read_text("utf-8"), re.MULTILINE)
    parts += [SET_ONCE, f"`{'`, `'.join(settings)}`\n"]
    for heading in ("Exit status", "Environment"):
        lines = (re.sub(r"(\S+) +", r"`\1` ", line, count=1) for line in block(start.help, heading))
        parts += [f"## {heading}\n", LINE_END.join(lines), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
