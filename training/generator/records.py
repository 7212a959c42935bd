"""Makes the record of a printed document under a schema, with the places of its values and rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from training.generator.drawing import Drawing
from training.generator.schema_plan import Plan


@dataclass(slots=True)
class Record:
    """A document's record under a plan: truth, spans and rows by JSON pointer, and values printed in pieces."""

    truth: Any
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class PrintedDrawing:
    """The source of a record: the drawing, its text, the intervals of printings, and values printed in pieces."""

    drawing: Drawing
    text: str
    spans: Mapping[str, list[tuple[int, int]]]
    broken: set[str]
    row_starts: Mapping[str, int]


def make_record(plan: Plan, source: PrintedDrawing) -> Record:
    """Returns the record of the printed document under this plan."""
    record = Record(None)
    record.truth = _truth(plan, source, (), "", record)
    return record


def _concrete(path: str, indices: tuple[int, ...]) -> str:
    for i in indices:
        path = path.replace("[]", f"[{i}]", 1)
    return path


def _pointer(parent: str, key: str) -> str:
    return f"{parent}/{key.replace('~', '~0').replace('/', '~1')}"


def _truth(plan: Plan, s: PrintedDrawing, indices: tuple[int, ...], pointer: str, record: Record) -> Any:
    if plan.kind == "object":
        out = {}
        for c in plan.children:
            value = _truth(c, s, indices, _pointer(pointer, c.name), record)
            if value is None and not c.required:
                continue
            out[c.name] = value
        return out
    if plan.kind == "array":
        if not plan.path:
            return []
        path = _concrete(plan.path, indices)
        items: list[Any] = []
        for i in range(s.drawing.rows.get(path, 0)):
            inner = f"{pointer}/{len(items)}"
            value = _truth(plan.children[0], s, (*indices, i), inner, record)
            if f"{path}[{i}]" in s.row_starts:
                record.rows[inner] = s.row_starts[f"{path}[{i}]"]
            items.append(value)
        return items
    value = _leaf_truth(plan, s, _concrete(plan.path, indices), pointer, record) if plan.path else None
    if value is None:
        return plan.default
    return abs(value) if plan.unsigned and not isinstance(value, str) else value


def _leaf_truth(plan: Plan, s: PrintedDrawing, path: str, pointer: str, record: Record) -> Any:
    found = s.spans.get(path)
    if found is None and plan.fallback and path not in s.drawing.told:
        path = _concrete(plan.fallback, ())
        found = s.spans.get(path)
    if found is None:
        # A value told in other words ("free of charge") has no words to copy.
        if path not in s.drawing.told or plan.verbatim:
            return None
        value = s.drawing.value(path)
        return plan.choices.get(value.raw, value.truth) if plan.choices else value.truth
    value = s.drawing.value(path)
    pieces = path in s.broken
    if pieces:
        record.broken.add(pointer)
    if plan.choices:
        record.spans[pointer] = found
        return plan.choices.get(value.raw, value.raw)
    if value.kind == "compact":
        record.spans[pointer] = found
        return "".join("".join(s.text[a:b].split()) for a, b in (found if pieces else found[:1]))
    if value.kind not in ("string", "email") and not plan.verbatim:
        record.spans[pointer] = found
        return value.truth
    texts = [" ".join(s.text[a:b].split()) for a, b in found]
    if s.text.startswith("> "):
        texts = [re.sub(r" ?> ", " ", t) for t in texts]
    if pieces:
        record.spans[pointer] = found
        return " ".join(texts)
    record.spans[pointer] = [span for span, t in zip(found, texts, strict=True) if t == texts[0]]
    return texts[0]
