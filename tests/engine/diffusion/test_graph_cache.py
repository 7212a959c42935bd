"""Graphs are made once, and kept on disk."""

from __future__ import annotations

import ast
import importlib
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.tiny_models import TOKENIZER, VOCABULARY, TinyTokenizer

from cinnabar.engine.diffusion import graph_cache as module
from cinnabar.engine.diffusion.forced import spelled_graph
from cinnabar.engine.diffusion.graph_cache import cached_graph, fresh_graph
from cinnabar.engine.diffusion.record_graph import RecordGraph, graph_of
from cinnabar.errors import TooLarge
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata import cache
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_language import record_language

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "date": {"type": ["string", "null"], "format": "date"}},
    "required": ["name", "date"],
    "additionalProperties": False,
}


class Other(TinyTokenizer):
    """The same tokens under another name."""

    fingerprint = "other"


def form_of(schema: Any) -> Form:
    return compile_schema(schema).form


def forget() -> None:
    cached_graph.cache_clear()
    fresh_graph.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CINNABAR_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "WORTH", 0.0)
    forget()
    return tmp_path


def same(a: RecordGraph, b: RecordGraph) -> bool:
    arrays = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in module._NUMBERS)
    others = (a.classes, a.end_class, a.left_to_judge) == (b.classes, b.end_class, b.left_to_judge)
    return arrays and others and a.automaton.fingerprint == b.automaton.fingerprint


def test_a_graph_is_read_from_the_disk_that_keeps_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = form_of(SCHEMA)
    made = cached_graph(form, TOKENIZER)
    assert cached_graph(form, TOKENIZER) is made, "from memory"
    assert same(made, spelled_graph(graph_of(record_language(form), VOCABULARY), TOKENIZER))
    kept = len(list(folder.iterdir()))
    forget()
    with monkeypatch.context() as patched:
        patched.setattr(module, "spelled_graph", None)
        assert same(cached_graph(form, TOKENIZER), made)
        with pytest.raises(TypeError):
            cached_graph(form, Other())
    assert len(list(folder.iterdir())) == kept


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_broken_entry_is_made_again(folder: Path, damage: str) -> None:
    form = form_of(SCHEMA)
    before = set(folder.iterdir())
    made = cached_graph(form, TOKENIZER)
    for path in set(folder.iterdir()) - before:
        data = path.read_bytes()
        middle = len(data) // 2
        flipped = data[:middle] + bytes(byte ^ 0xFF for byte in data[middle : middle + 40]) + data[middle + 40 :]
        path.write_bytes({"cut": data[:middle], "flipped": flipped, "empty": b""}[damage])
    forget()
    assert same(cached_graph(form, TOKENIZER), made)


def test_other_code_has_other_entries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = form_of(SCHEMA)
    made = cached_graph(form, TOKENIZER)
    kept = set(folder.iterdir())
    for place, name in ((module, "_code"), (cache, "_code")):
        forget()
        with monkeypatch.context() as patched:
            patched.setattr(place, name, lambda: "the code of another release")
            assert same(cached_graph(form, TOKENIZER), made)
            fresh = set(folder.iterdir()) - kept
            assert fresh
            kept |= fresh
    forget()
    assert same(cached_graph(form, TOKENIZER), made) and set(folder.iterdir()) == kept


def test_all_code_that_a_graph_is_made_with_is_part_of_its_name() -> None:
    used = {name for name in _imported(module.__name__) if not name.startswith("cinnabar.schemas.")}
    used -= {"cinnabar.engine.diffusion.arrays", "cinnabar.engine.model"}  # names of types, and one number that is PAD
    assert {Path(sys.modules[name].__file__ or "").name for name in used} == {Path(file).name for file in module.CODE}


def _imported(name: str) -> set[str]:
    """Returns the modules of this project that a module imports, and so on."""
    found, waiting = set[str](), [name]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        tree = ast.parse(Path(importlib.import_module(one).__file__ or "").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cinnabar.engine"):
                package = hasattr(importlib.import_module(node.module or ""), "__path__")
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                waiting += inner if package else [node.module or ""]
    return found


def _make_often(folder: str) -> str:
    os.environ["CINNABAR_CACHE"] = folder
    cache.WORTH = 0.0
    found = set[str]()
    for _ in range(10):
        forget()
        found.add(cached_graph(form_of(SCHEMA), TOKENIZER).automaton.fingerprint)
    (only,) = found
    return only


def test_processes_that_make_the_same_graph_at_once_leave_one_whole_entry(folder: Path) -> None:
    made = cached_graph(form_of(SCHEMA), TOKENIZER)
    kept = {path.name for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert set(pool.map(_make_often, [str(folder)] * 3)) == {made.automaton.fingerprint}
    assert {path.name for path in folder.iterdir()} <= kept
    forget()
    assert same(cached_graph(form_of(SCHEMA), TOKENIZER), made)


@pytest.mark.usefixtures("folder")
def test_what_is_left_to_the_judge_is_kept_with_the_graph() -> None:
    many = {"type": "array", "items": {"type": "string", "maxLength": 30}, "maxItems": 500}
    form = form_of(many)
    for _ in range(2):
        assert cached_graph(form, TOKENIZER).left_to_judge == ("/: 0 to 500 items",)
        forget()


@pytest.mark.usefixtures("folder")
def test_a_form_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    form = form_of({**SCHEMA, "title": "refused in this test"})
    monkeypatch.setattr("cinnabar.schemas.automata.automaton.MAX_STATES", 20)
    with pytest.raises(TooLarge, match="the largest are"):
        cached_graph(form, TOKENIZER)
