"""The closed table of refusals: no schema is refused otherwise."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from cinnabar.errors import NoValue, UnsupportedSchema
from cinnabar.schemas.refusals import Refusal, refused

ROOT = Path(__file__).parents[2]
FOLDERS = ("schemas", "kernels", "engine", "extraction", "flows", "apps", "src")
#: A file without one of these names refuses no schema, and is not parsed.
NAMES = (UnsupportedSchema.__name__, NoValue.__name__, Refusal.__name__)


@cache
def trees() -> dict[Path, ast.Module]:
    """The product's files that may refuse a schema."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    texts = {path: path.read_text("utf-8") for path in paths}
    return {path: ast.parse(text) for path, text in texts.items() if any(name in text for name in NAMES)}


def test_no_schema_is_refused_outside_of_the_table() -> None:
    made = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) in (UnsupportedSchema.__name__, NoValue.__name__)
    ]
    assert made == []


def test_each_refusal_is_used() -> None:
    used = {
        node.attr
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == Refusal.__name__
    }
    assert {refusal.name for refusal in Refusal} == used


def test_a_refusal_fills_its_reason_and_names_its_keyword() -> None:
    error = refused(Refusal.LEAST, "/minItems", "minItems", most=512, got=600)
    assert str(error) == "/minItems: minItems: expected at most 512, got 600 (lower the bound)"
    assert isinstance(refused(Refusal.NOTHING, "/type", "type"), NoValue)


def test_a_schema_as_a_whole_is_refused_without_a_keyword() -> None:
    error = refused(Refusal.DEMANDS, "", most=4000)
    assert "more than 4,000 parts" in str(error)
