"""The mutants of a program that may be drawn, and a reproducible draw of them.

Some kinds of code are never drawn, since their mutants tell nothing: annotations, decorators (`slots`, sizes of
caches), the texts of errors, `strict=` of `zip`, and `==` exchanged for `is`. A single mutant that cannot change any
output is listed in equivalent_mutants.toml with the reason, and is not drawn either.
"""

from __future__ import annotations

import ast
import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
#: Operators that need parameters, or that only change code of the kinds left out.
OTHER_OPERATORS = re.compile(r"Variable|RemoveDecorator|Operator_(?!Is)\w+_Is|Operator_Is(Not)?_(?!Is)")


@dataclass(frozen=True, slots=True)
class Mutant:
    """The change number `occurrence` of a Cosmic Ray operator in a file; `start` is (line, column)."""

    path: str
    operator: str
    occurrence: int
    start: tuple[int, int]
    #: The line as it stands, and the number of this change among the operator's changes in equal lines of the file.
    #: With `path` and `operator` they name the mutant as long as the line stays.
    text: str
    nth: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.path, self.operator, self.text, self.nth

    @property
    def place(self) -> tuple[str, tuple[int, int], str]:
        return self.path, self.start, self.operator.partition("_")[0]


def left_out(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The intervals [start, end) of code of the kinds left out, as (line, column in characters)."""
    lines = source.splitlines()

    def place(line: int, column: int) -> tuple[int, int]:
        return line, len(lines[line - 1].encode()[:column].decode())

    nodes: list[ast.AST | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes += [*node.decorator_list, node.returns]
        elif isinstance(node, ast.ClassDef):
            nodes += node.decorator_list
        elif isinstance(node, ast.arg | ast.AnnAssign):
            nodes.append(node.annotation)
        elif isinstance(node, ast.Raise):
            nodes += [below for below in ast.walk(node) if isinstance(below, ast.JoinedStr)]
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            nodes.append(node.value)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes.append(node)
    return [
        (place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset))
        for node in nodes
        if node is not None
    ]


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file that may be drawn, operator by operator in the order of Cosmic Ray."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    lines, spans = source.splitlines(), left_out(source)
    nodes = list(ast_nodes(get_ast(source)))
    for name in sorted(operator_names()):
        if OTHER_OPERATORS.search(name):
            continue
        operator, seen = get_operator(name)(), Counter[str]()
        places = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(places):
            text = lines[start[0] - 1].strip()
            if not any(first <= start < end for first, end in spans):
                yield Mutant(path, name, occurrence, start, text, seen[text])
            seen[text] += 1


def mutated(mutant: Mutant, source: str) -> str | None:
    """The file with the change; None if the result is no program, or the same one."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    changed: str | None = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None:
        return None
    try:
        same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source))
        compile(changed, mutant.path, "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return None if same else changed


def entries() -> list[dict[str, Any]]:
    """The mutants that are known to change no output, each with its reason."""
    return cast("list[dict[str, Any]]", tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", []))


def equivalent() -> set[tuple[str, str, str, int]]:
    """The keys of the mutants that are known to change no output."""
    return {(one["path"], one["operator"], one["text"], one.get("nth", 0)) for one in entries()}


def draw(sources: dict[str, str], seed: int, count: int) -> Iterator[tuple[Mutant, str]]:
    """At most `count` mutants at different places, each with its program; `seed` decides the order."""

    def rank(mutant: Mutant) -> bytes:
        # The rank depends on the mutant alone, so a change to other lines does not move it.
        return sha256(repr((seed, *mutant.key)).encode()).digest()

    known, places = equivalent(), dict[tuple[str, tuple[int, int], str], list[Mutant]]()
    for path, source in sources.items():
        for mutant in mutants_of(path, source):
            places.setdefault(mutant.place, []).append(mutant)
    order = sorted(places.values(), key=lambda here: rank(here[0]))
    for mutant in (min(here, key=rank) for here in order):
        if count == 0:
            return
        if mutant.key in known:
            continue
        changed = mutated(mutant, sources[mutant.path])
        if changed is not None:
            count -= 1
            yield mutant, changed


def difference(source: str, changed: str) -> str:
    """The differing lines, as in a patch."""
    lines = difflib.unified_diff(source.splitlines(), changed.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++") and line[:2] != "@@")
