"""Operations on shapes: union, restriction to JSON types, and the intersection of scalars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from cinnabar.schemas.language import holds
from cinnabar.schemas.shape import (
    Array,
    Boolean,
    Enum,
    Null,
    Number,
    Object,
    Shape,
    String,
    Union,
    branches,
)

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class NotClosed(Exception):
    """Two shapes whose intersection this algebra cannot express yet."""


def text_type(text: str) -> str:
    """The JSON type of a canonical scalar text; `integer` for numbers without a fraction."""
    if text == "null":
        return "null"
    if text in ("true", "false"):
        return "boolean"
    if text.startswith('"'):
        return "string"
    number = Decimal(text)
    exponent = number.normalize().as_tuple().exponent
    return "integer" if isinstance(exponent, int) and exponent >= 0 else "number"


def types_of(shape: Shape) -> frozenset[str]:
    """The JSON types of a shape's values; `number` is the numbers that need not be integers."""
    found: set[str] = set()
    for branch in branches(shape):
        if isinstance(branch, Enum):
            found |= {text_type(text) for text in branch.options}
        elif isinstance(branch, Number):
            found.add("integer" if branch.integer else "number")
        else:
            found.add(_NAMES[type(branch)])
    return frozenset(found)


_NAMES: dict[type, str] = {
    Null: "null",
    Boolean: "boolean",
    String: "string",
    Array: "array",
    Object: "object",
}


def union(parts: list[Shape]) -> Shape | None:
    """The values of any of these shapes, enums merged and repetitions dropped; None where none is left."""
    flat: list[Shape] = []
    for branch in (b for part in parts for b in branches(part)):
        twin = next((i for i, other in enumerate(flat) if isinstance(other, Enum)), None)
        if isinstance(branch, Enum) and twin is not None:
            flat[twin] = _joined(flat[twin], branch)
        elif not any(replace(branch, notes=other.notes) == other for other in flat):
            flat.append(branch)
    if len(flat) < 2:
        return flat[0] if flat else None
    return Union(tuple(flat))


def _joined(first: Shape, second: Enum) -> Enum:
    assert isinstance(first, Enum)
    meanings = dict(zip(first.options, first.meanings, strict=True))
    for text, meaning in zip(second.options, second.meanings, strict=True):
        meanings[text] = meanings.get(text) or meaning
    return Enum(tuple(meanings), tuple(meanings.values()), first.notes.over(second.notes))


def restrict(shape: Shape, types: frozenset[str]) -> Shape | None:
    """The values of a shape that are of these JSON types; None where there are none."""
    kept: list[Shape] = []
    for branch in branches(shape):
        if isinstance(branch, Enum):
            keep = [i for i, t in enumerate(branch.options) if _allowed(text_type(t), types)]
            if keep:
                kept.append(_picked(branch, keep))
        elif isinstance(branch, Number):
            if "number" in types:
                kept.append(branch)
            elif "integer" in types:
                kept.append(replace(branch, integer=True))
        elif _NAMES[type(branch)] in types:
            kept.append(branch)
    found = union(kept)
    return replace(found, notes=shape.notes.over(found.notes)) if found is not None else None


def _allowed(kind: str, types: frozenset[str]) -> bool:
    return kind in types or (kind == "integer" and "number" in types)


def _picked(shape: Enum, keep: list[int]) -> Enum:
    return Enum(tuple(shape.options[i] for i in keep), tuple(shape.meanings[i] for i in keep), shape.notes)


def intersect(first: Shape, second: Shape) -> Shape | None:
    """The values of both shapes, with the notes of the first over those of the second; None where there are
    none.

    Raises NotClosed for two objects or two arrays.
    """
    notes = first.notes.over(second.notes)
    met: list[Shape | None] = []
    # Choices are filtered as a whole, so that they stay in their order.
    for a in branches(first):
        if isinstance(a, Enum):
            met.append(_filtered(a, branches(second)))
        else:
            met += [_meet(a, b) for b in branches(second) if not isinstance(b, Enum)]
    open_branches = tuple(a for a in branches(first) if not isinstance(a, Enum))
    met += [_filtered(b, open_branches) for b in branches(second) if isinstance(b, Enum)]
    found = union([shape for shape in met if shape is not None])
    return replace(found, notes=notes.over(found.notes)) if found is not None else None


def _filtered(shape: Enum, others: tuple[Shape, ...]) -> Enum | None:
    """The choices that any of the others has too."""
    scalar = [other for other in others if not isinstance(other, (Array, Object))]
    keep = [i for i, text in enumerate(shape.options) if any(holds(other, text) for other in scalar)]
    return _picked(shape, keep) if keep else None


def _meet(a: Shape, b: Shape) -> Shape | None:
    """The values of two branches that are no enums."""
    if isinstance(a, String) and isinstance(b, String):
        bounds = [bound for bound in (a.max_length, b.max_length) if bound is not None]
        return String(
            tuple(dict.fromkeys(a.patterns + b.patterns)),
            tuple(dict.fromkeys(a.formats + b.formats)),
            max(a.min_length, b.min_length),
            min(bounds, default=None),
            a.notes.over(b.notes),
        )
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(
            a.integer or b.integer,
            _tighter(a.minimum, b.minimum, max),
            _tighter(a.maximum, b.maximum, min),
            _tighter(a.exclusive_minimum, b.exclusive_minimum, max),
            _tighter(a.exclusive_maximum, b.exclusive_maximum, min),
            tuple(dict.fromkeys(a.multiples + b.multiples)),
            a.notes.over(b.notes),
        )
    if type(a) is not type(b):
        return None
    if isinstance(a, (Array, Object)):
        raise NotClosed(f"two descriptions of one {_NAMES[type(a)]}")
    return a


def _tighter(
    a: Decimal | None, b: Decimal | None, pick: Callable[[Decimal, Decimal], Decimal]
) -> Decimal | None:
    if a is None or b is None:
        return b if a is None else a
    return pick(a, b)
