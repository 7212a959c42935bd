"""Counts the house: lines, files, statements, rooms, circles, imports, names, walks, cold starts.

    python -m bench house_report --record

A statement is a node of Python's tree that is one, docstrings apart. A bare participle is one word that ends with -ed
or -ing. `bench/walks.py` says what a walk is. A place that parses a record is a call of `parse` or `loads` with
something that is called a record; one that writes a record is a call of `Writer`, of a schema's `canonical`, or of
`json_text` with a record or the draft of one.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import requires
from pathlib import Path
from statistics import median
from typing import Any

from packaging.requirements import Requirement
from tests.support import ROOT
from tests.support.documentation import cinnabar
from tests.support.import_graph import FOLDERS, TOP, floors, folders, imports, in_circles, modules

from bench import walks
from bench.recording import Row, record
from bench.reporting import table

#: Lines of Python that the owners want at most: of the product, of tests, of benches, of all.
WANTED_LINES = {"the product's Python": 84_500, "tests": 62_000, "bench": 9_500, "all Python": 180_000}
#: Bare participles that they want at most.
WANTED_PARTICIPLES = 60
#: Options of a command, commands at the top, option slots of all, extras and words of docs/ without the card.
WANTED_OPTIONS = {"extract": 28, "flows serve": 26, "backfill": 24}
WANTED_COMMANDS, WANTED_SLOTS, WANTED_EXTRAS, WANTED_WORDS = 20, 240, 14, 37_000
#: 15% below those of 54974fdf.
WANTED_STATEMENTS = 44_822
#: The longest function that needs no second look.
LONG = 60
STARTS = 5
STARTED = (
    "modules that `cinnabar extract` imports at start",
    "lines of these modules",
    "modules that hang on `cinnabar extract`",
    "lines that hang on `cinnabar extract`",
)
WANTED_START = (120, 20_000, 330, 66_000)
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


def long_functions(tree: ast.AST) -> Iterator[str]:
    """The names of functions of more than `LONG` lines."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and (node.end_lineno or 0) - node.lineno >= LONG:
            yield node.name


def repeated_classes(trees: Iterable[ast.AST]) -> int:
    """The names of classes that stand in several files."""
    own = [{node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} for tree in trees]
    counted = Counter(name for names in own for name in names)
    return sum(count > 1 for count in counted.values())


def participles(tree: ast.AST) -> int:
    """The functions whose names are bare participles."""
    names = [node.name for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    return sum(bool(re.fullmatch(r"_?[a-z]+(ed|ing)", name)) for name in names)


def imports_within(tree: ast.AST) -> int:
    """The imports within functions."""
    inner = {id(one) for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) for one in ast.walk(node)}
    return sum(isinstance(node, ast.Import | ast.ImportFrom) and id(node) in inner for node in ast.walk(tree))


def record_places(tree: ast.AST) -> tuple[int, int]:
    """The places that parse a record, and those that write one."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    calls = [(ast.unparse(node.func), ast.unparse(node.args[0])) for node in found]
    parsing = sum(bool(re.search(r"(^|\.)(parse|loads)$", func)) and "record" in given for func, given in calls)
    own = r"Writer|.*\.canonical"
    writing = sum(bool(re.fullmatch(own, f) or (f == "json_text" and re.search("record|draft", g))) for f, g in calls)
    return parsing, writing


def walk_rows() -> Iterator[Row]:
    """The walks of three calls; what is met within a few calls stands behind."""
    for name, (whole, near) in walks.measured().items():
        (stays, _, *others), wanted = whole.counts(), WANTED_WALKS[name]
        got, (few, _, back, up) = (stays, *others), near.counts()
        shown = f"{', '.join(map(str, got))} ({few}, {back}, {up} within {walks.NEAR} calls)"
        missed = any(one > most for one, most in zip(got, wanted, strict=True))
        yield Row(f"walk of {name}: stays, returns, climbs", ", ".join(map(str, wanted)), shown, missed)


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


def start_of(command: str) -> tuple[int, int, int, int]:
    """The product's modules and lines that the module of a command imports, and those that hang on it.

    A module hangs on it if it is imported at any distance, also within functions and for types alone.
    """
    name = f"cinnabar.apps.cli.{command}"
    code = f"import sys, {name}; print(*(one for one in sys.modules if one.startswith('cinnabar')))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    known, below = modules(), imports()
    at_start = [known[one] for one in said.split() if one in known]
    seen, waiting = set[str](), {name}
    while waiting:
        seen |= waiting
        waiting = {other for one in waiting for other in below[one]} - seen
    return len(at_start), lines(at_start), len(seen), lines(known[one] for one in seen)


def options_of(command: Any, words: str = "") -> Iterator[tuple[str, int]]:
    """Yields each command below this one, by its words, with the number of options that its help shows."""
    for name, below in getattr(command, "commands", {}).items():
        own = f"{words} {name}".strip()
        shown = [one for one in below.params if one.param_type_name == "option" and not one.hidden]
        yield own, sum(one.name != "help" for one in shown)
        yield from options_of(below, own)


def surface() -> Iterator[Row]:
    """The options and commands of the command line."""
    options = dict(options_of(cinnabar()))
    for command, limit in WANTED_OPTIONS.items():
        yield at_most(f"options of `cinnabar {command}`", limit, options[command])
    yield at_most("commands at the top", WANTED_COMMANDS, sum(" " not in name for name in options))
    yield at_most("option slots of all commands", WANTED_SLOTS, sum(options.values()))


def help_start() -> float:
    """The seconds of processors that `cinnabar --help` takes, the median of `STARTS` after a first one."""
    command = [sys.executable, "-c", "from cinnabar.apps.cli.main import main; main()", "--help"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    seconds = []
    with tempfile.TemporaryDirectory(prefix="cinnabar-") as place:
        for _ in range(STARTS + 1):
            before = os.times()
            subprocess.run(command, env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL)
            after = os.times()
            work = after.children_user + after.children_system - before.children_user - before.children_system
            seconds.append(work)
            time.sleep(0.05)
    return median(seconds[1:])


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
    yield Row("files of the product", "–", f"{len(files):,}")
    yield at_most("statements of the product", WANTED_STATEMENTS, sum(map(statements, trees)))
    rooms = {name: below for name, below in folders(3).items() if name.startswith("cinnabar.extraction.")}
    yield at_most("rooms of extraction/", 9, len(rooms))
    if not in_circles(rooms):
        yield at_most("floors of extraction/", 7, 1 + max(floors(rooms).values()))
    yield at_most("folders in a circle", 0, len(in_circles(folders())))
    yield Row("imports within functions, each with its reason", "–", str(sum(map(imports_within, trees))))
    yield at_most(f"functions of more than {LONG} lines", 0, sum(len([*long_functions(tree)]) for tree in trees))
    yield at_most("class names used twice", 0, repeated_classes(trees))
    yield at_most("functions that are bare participles", WANTED_PARTICIPLES, sum(map(participles, trees)))
    parsing, writing = (sum(places) for places in zip(*map(record_places, trees), strict=True))
    yield at_most("places that parse a record", WANTED_PARSING, parsing)
    yield at_most("places that write a record", WANTED_WRITING, writing)
    yield from walk_rows()
    for count, limit, what in zip(start_of("extract"), WANTED_START, STARTED, strict=True):
        yield at_most(what, limit, count)
    yield at_most("words of docs/structure.md", 900, len((ROOT / "docs" / "structure.md").read_text("utf-8").split()))
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "model-card.md"]
    words = sum(len(page.read_text("utf-8").split()) for page in pages)
    yield at_most("words of docs/ without the card", WANTED_WORDS, words)
    yield at_most("packages of a core install", 76, core_packages())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    yield at_most("extras", WANTED_EXTRAS, len(project["optional-dependencies"]))
    yield from surface()
    seconds = help_start()
    yield Row("cold start of `--help`, seconds of a processor", ".3", f"{seconds:.2f}", seconds > 0.3)


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
