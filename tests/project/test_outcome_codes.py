"""The closed list of reasons: no other code exists in the product, and the documentation has them all."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cinnabar.extraction.plan.outcomes import HELD, NO_ANSWER, REASONS, SKIPPED, UNREADABLE

ROOT = Path(__file__).parents[2]
#: The place of the code in the arguments of what makes an outcome, or a failure that becomes one.
PLACES = {"Outcome": 2, "quarantined": 2, "EngineFailure": 0, "DocumentError": 0}


@cache
def trees() -> dict[Path, ast.Module]:
    """The files that may give an outcome."""
    paths = [path for folder in ("extraction", "engine") for path in (ROOT / folder).rglob("*.py")]
    return {path: ast.parse(path.read_text("utf-8")) for path in paths}


def constants() -> dict[str, set[str]]:
    """The texts that names at the top of modules stand for."""
    found = defaultdict[str, set[str]](set)
    for tree in trees().values():
        for node in tree.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            many = isinstance(names[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = zip(names[0].elts, node.value.elts, strict=False) if many else [(names[0], node.value)]  # type: ignore[attr-defined]
            for name, value in pairs:
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[name.id].add(value.value)
    return found


def codes() -> Iterator[tuple[str, str]]:
    """Each code that the product gives an outcome, with its place."""
    known = constants()
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            given = [word.value for word in node.keywords if word.arg == "code" and called in (*PLACES, "replace")]
            if called in PLACES and len(node.args) > PLACES[called]:
                given.append(node.args[PLACES[called]])
            for code in given:
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                if isinstance(code, ast.Constant) and code.value:
                    yield str(code.value), where
                elif isinstance(code, ast.Name) and code.id in known and not known[code.id] & REASONS.keys():
                    yield ", ".join(known[code.id]), where


def test_each_code_of_an_outcome_is_in_the_list() -> None:
    found = list(codes())
    assert len(found) > 80
    assert [(code, where) for code, where in found if code not in REASONS] == []


def test_no_code_stands_in_two_parts_of_the_list() -> None:
    parts = (UNREADABLE, HELD, NO_ANSWER, SKIPPED)
    assert sum(map(len, parts)) == len(REASONS)


def test_each_reason_is_a_sentence_and_all_but_skipped_ones_say_what_to_do() -> None:
    assert all(reason.meaning.endswith(".") and reason.meaning[0].isupper() for reason in REASONS.values())
    assert all(reason.advice for code, reason in REASONS.items() if code not in SKIPPED)


def test_the_documentation_has_each_reason() -> None:
    rows = [f"| `{code}` | {reason.meaning} |" for code, reason in REASONS.items()]
    lines = (ROOT / "docs/tables.md").read_text("utf-8").splitlines()
    assert [row for row in rows if row not in lines] == []
