"""Counts the house: lines, statements, names, walks, what hangs on a command, words, packages, options.

    python -m bench house_report --record

A statement is a node of Python's tree that is one, docstrings apart. A bare participle is one word that ends with -ed
or -ing. `bench/walks.py` says what a walk is. A place that parses a record is a call of `parse` or `loads` with
something that is called a record; one that writes a record is a call of `Writer`, of a schema's `canonical`, or of
`json_text` with a record or the draft of one.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from importlib.metadata import requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from tests.support import ROOT
from tests.support.documentation import cinnabar
from tests.support.import_graph import FOLDERS, TOP, imports, modules

from bench import walks
from bench.recording import Row, record
from bench.reporting import table

#: Lines of Python that the owners want at most: of the product, of tests, of benches, of all.
WANTED_LINES = {"the product's Python": 84_500, "tests": 62_000, "bench": 9_500, "all Python": 180_000}
#: Bare participles that they want at most.
WANTED_PARTICIPLES = 60
WANTED_SLOTS = 240
#: Pages of docs/ but the card; words of README, of these pages, and of these with the card.
WANTED_PAGES, WANTED_WORDS = 14, (900, 22_000, 24_000)
#: 15% below those of 54974fdf.
WANTED_STATEMENTS = 44_822
#: Modules that hang on `cinnabar extract`, and their lines.
WANTED_HANGING = (330, 66_000)
#: Stays, returns and climbs.
WANTED_WALKS = {"a batch into the store": (40, 25, 0), "a correction": (10, 4, 0), "a request": (18, 8, 0)}
WANTED_PARSING, WANTED_WRITING = 2, 1
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def product() -> list[Path]:
    """The files of the product."""
    files = [*TOP.glob("*.py"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
    return sorted(files)


def all_python() -> list[Path]:
    """The files of Python that git knows, in every folder."""
    names = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in names.stdout.splitlines()]


def lines(files: Iterable[Path]) -> int:
    """The lines of these files."""
    return sum(path.read_bytes().count(b"\n") for path in files)


def statements(tree: ast.AST) -> int:
    """The statements of a tree, docstrings apart."""
    texts = sum(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in ast.walk(tree))
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) - texts


def participles(tree: ast.AST) -> int:
    """The functions whose names are bare participles."""
    names = [node.name for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    return sum(bool(re.fullmatch(r"_?[a-z]+(ed|ing)", name)) for name in names)


def record_places(tree: ast.AST) -> tuple[int, int]:
    """The places that parse a record, and those that write one."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    calls = [(ast.unparse(node.func), ast.unparse(node.args[0])) for node in found]
    parsing = sum(bool(re.search(r"(^|\.)(parse|loads)$", func)) and "record" in given for func, given in calls)
    own = r"Writer|.*\.canonical"
    writing = sum(bool(re.fullmatch(own, f) or (f == "json_text" and re.search("record|draft", g))) for f, g in calls)
    return parsing, writing


def walk_rows() -> Iterator[Row]:
    """The walks of three calls."""
    for name, (whole, _) in walks.measured().items():
        (stays, _, *others), wanted = whole.counts(), WANTED_WALKS[name]
        got = (stays, *others)
        missed = any(one > most for one, most in zip(got, wanted, strict=True))
        limits, shown = (", ".join(map(str, numbers)) for numbers in (wanted, got))
        yield Row(f"walk of {name}: stays, returns, climbs", limits, shown, missed)


def core_packages() -> int:
    """The packages that a plain install holds, ours included: what is required without an extra, at any distance."""
    seen: set[str] = set()
    waiting = ["cinnabar-extract"]
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name not in seen:
            seen.add(name)
            needed = map(Requirement, requires(name) or ())
            waiting += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return len(seen)


def hanging_on(command: str) -> list[Path]:
    """The product's modules that hang on the module of a command.

    A module hangs on it if it is imported at any distance, also within functions and for types alone.
    """
    known, below = modules(), imports()
    seen, waiting = set[str](), {f"cinnabar.apps.cli.{command}"}
    while waiting:
        seen |= waiting
        waiting = {other for one in waiting for other in below[one]} - seen
    return [known[one] for one in seen]


def options_of(command: Any, words: str = "") -> Iterator[tuple[str, int]]:
    """Yields each command below this one, by its words, with the number of options that its help shows."""
    for name, below in getattr(command, "commands", {}).items():
        own = f"{words} {name}".strip()
        shown = [one for one in below.params if one.param_type_name == "option" and not one.hidden]
        yield own, sum(one.name != "help" for one in shown)
        yield from options_of(below, own)


def words_of(pages: Iterable[Path]) -> int:
    """The words of these pages."""
    return sum(len(page.read_text("utf-8").split()) for page in pages)


def at_most(what: str, limit: int, got: int) -> Row:
    """A row that is missed above its limit."""
    return Row(what, f"{limit:,}", f"{got:,}", got > limit)


def measured() -> Iterator[Row]:
    """The figures."""
    files, every = product(), all_python()
    trees = [ast.parse(path.read_text("utf-8")) for path in files]
    counted = {"tests": "tests", "bench": "bench", "all Python": "."}
    own = {name: lines(one for one in every if one.is_relative_to(ROOT / top)) for name, top in counted.items()}
    for name, count in {"the product's Python": lines(files), **own}.items():
        yield at_most(f"lines of {name}", WANTED_LINES[name], count)
    yield at_most("statements of the product", WANTED_STATEMENTS, sum(map(statements, trees)))
    yield at_most("functions that are bare participles", WANTED_PARTICIPLES, sum(map(participles, trees)))
    parsing, writing = (sum(places) for places in zip(*map(record_places, trees), strict=True))
    yield at_most("places that parse a record", WANTED_PARSING, parsing)
    yield at_most("places that write a record", WANTED_WRITING, writing)
    yield from walk_rows()
    hanging = hanging_on("extract")
    for what, limit, count in zip(("modules", "lines"), WANTED_HANGING, (len(hanging), lines(hanging)), strict=True):
        yield at_most(f"{what} that hang on `cinnabar extract`", limit, count)
    pages = {name: [*(ROOT / "docs").rglob(name)] for name in ("*.md", "model-card.md")}
    yield at_most("pages of docs/ but the card", WANTED_PAGES, len(pages["*.md"]) - 1)
    yield at_most("words of README", WANTED_WORDS[0], words_of([ROOT / "README.md"]))
    card = words_of(pages["model-card.md"])
    yield at_most("words of docs/ without the card", WANTED_WORDS[1], words_of(pages["*.md"]) - card)
    yield at_most("words of docs/", WANTED_WORDS[2], words_of(pages["*.md"]))
    yield at_most("packages of a core install", 76, core_packages())
    yield at_most("option slots of all commands", WANTED_SLOTS, sum(count for _, count in options_of(cinnabar())))


def main() -> None:
    """Prints the figures, and records them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write them to bench/results/house.json")
    asked = parser.parse_args()
    rows = [*measured()]
    print(table(("what", "wanted", "got"), [(row.what, row.wanted, row.got) for row in rows]))
    if asked.record:
        record("house", "The house", "python -m bench house_report", rows, precision="")


if __name__ == "__main__":
    main()
