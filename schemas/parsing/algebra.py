"""Operations on shapes: union, restriction to JSON types, and intersection.

If no shape describes the common values of two shapes exactly, the intersection is the nearest shape; the judge still
decides on the whole record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from cinnabar.errors import RegexError
from cinnabar.schemas.parsing.language import holds, smallest
from cinnabar.schemas.parsing.shape import (
    NO_NOTES,
    Anything,
    Array,
    Boolean,
    Enum,
    Field,
    Null,
    Number,
    Object,
    Shape,
    String,
    Union,
    branches,
)
from cinnabar.schemas.regex.patterns import pattern_matches

TYPES: tuple[str, ...] = ("null", "boolean", "integer", "number", "string", "array", "object")


#: The most branches of a union; of more, the first ones are written.
MAX_BRANCHES = 48


def text_type(text: str) -> str:
    """The JSON type of a canonical scalar text; `integer` for numbers without a fraction."""
    if text == "null":
        return "null"
    if text in ("true", "false"):
        return "boolean"
    if text.startswith('"'):
        return "string"
    return "number" if "." in text else "integer"


def types_of(shape: Shape) -> frozenset[str]:
    """The JSON types of a shape's values; `number` stands for numbers that need not be integers."""
    types: set[str] = set()
    for branch in branches(shape):
        if isinstance(branch, Enum):
            types |= {text_type(text) for text in branch.options}
        elif isinstance(branch, Number):
            types.add("integer" if branch.integer else "number")
        elif isinstance(branch, Anything):
            types |= set(TYPES)
        else:
            types.add(_NAMES[type(branch)])
    return frozenset(types)


_NAMES: dict[type, str] = {
    Null: "null",
    Boolean: "boolean",
    String: "string",
    Array: "array",
    Object: "object",
}


def union(parts: list[Shape]) -> Shape | None:
    """The values of any of these shapes, with enums merged and repetitions dropped; None if no shape is left."""
    flat: list[Shape] = []
    seen: set[Shape] = set()
    enums = [b for part in parts for b in branches(part) if isinstance(b, Enum)]
    for branch in (b for part in parts for b in branches(part)):
        if isinstance(branch, Enum):
            if enums:
                flat.append(_join(enums))
                enums = []
        elif (plain := replace(branch, notes=NO_NOTES)) not in seen:
            seen.add(plain)
            flat.append(branch)
    if any(isinstance(branch, Anything) for branch in flat):
        return next(branch for branch in flat if isinstance(branch, Anything))
    if len(flat) < 2:
        return flat[0] if flat else None
    return Union(tuple(flat[:MAX_BRANCHES]))


def _join(enums: list[Enum]) -> Enum:
    meanings: dict[str, str] = {}
    for text, meaning in (pair for enum in enums for pair in zip(enum.options, enum.meanings, strict=True)):
        meanings[text] = meanings.get(text) or meaning
    notes = NO_NOTES
    for enum in enums:
        notes = notes.over(enum.notes)
    return Enum(tuple(meanings), tuple(meanings.values()), notes)


def restrict(shape: Shape, types: frozenset[str]) -> Shape | None:
    """The values of a shape that are of these JSON types; None if there are none."""
    kept: list[Shape] = []
    for branch in branches(shape):
        if isinstance(branch, Enum):
            keep = [i for i, t in enumerate(branch.options) if _is_allowed(text_type(t), types)]
            if keep:
                kept.append(pick(branch, keep))
        elif isinstance(branch, Number):
            if "number" in types:
                kept.append(branch)
            elif "integer" in types:
                kept.append(replace(branch, integer=True))
        elif isinstance(branch, Anything):
            kinds = types - {"integer"} if "number" in types else types
            kept += [anything_of(kind) for kind in TYPES if kind in kinds]
        elif _NAMES[type(branch)] in types:
            kept.append(branch)
    restricted = union(kept)
    return replace(restricted, notes=shape.notes.over(restricted.notes)) if restricted is not None else None


def anything_of(kind: str) -> Shape:
    """All values of a JSON type."""
    if kind == "array":
        return Array(Anything())
    if kind == "object":
        return Object((), Anything())
    if kind in ("integer", "number"):
        return Number(integer=kind == "integer")
    return Null() if kind == "null" else Boolean() if kind == "boolean" else String()


def _is_allowed(kind: str, types: frozenset[str]) -> bool:
    return kind in types or (kind == "integer" and "number" in types)


def pick(shape: Enum, keep: list[int]) -> Enum:
    """The choices with these numbers."""
    return Enum(tuple(shape.options[i] for i in keep), tuple(shape.meanings[i] for i in keep), shape.notes)


def intersect(first: Shape, second: Shape) -> Shape | None:
    """The values of both shapes, with the notes of the first over those of the second; None if there are none.

    Raises the exceptions of `language` if common scalars have no automaton of acceptable size.
    """
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Anything) and one.notes is NO_NOTES:
            return other
    notes = first.notes.over(second.notes)
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Anything):
            return replace(other, notes=notes)
    met: list[Shape | None] = []
    # Choices are filtered as a whole to keep their order.
    for a in branches(first):
        if isinstance(a, Enum):
            met.append(_filter(a, branches(second)))
        else:
            met += [_meet(a, b) for b in branches(second) if not isinstance(b, Enum)]
    open_branches = tuple(a for a in branches(first) if not isinstance(a, Enum))
    met += [_filter(b, open_branches) for b in branches(second) if isinstance(b, Enum)]
    shared = union([shape for shape in met if shape is not None])
    return replace(shared, notes=notes.over(shared.notes)) if shared is not None else None


def _filter(shape: Enum, others: tuple[Shape, ...]) -> Enum | None:
    """The choices that any of the others also has."""
    scalar = tuple(other for other in others if not isinstance(other, (Array, Object)))
    keep = [i for i, text in enumerate(shape.options) if any(holds(other, text) for other in scalar)]
    return pick(shape, keep) if keep else None


def _meet(a: Shape, b: Shape) -> Shape | None:
    """The common values of two branches that are no enums."""
    if isinstance(a, String) and isinstance(b, String):
        bounds = [bound for bound in (a.max_length, b.max_length) if bound is not None]
        strings = String(
            tuple(dict.fromkeys(a.patterns + b.patterns)),
            tuple(dict.fromkeys(a.formats + b.formats)),
            max(a.min_length, b.min_length),
            min(bounds, default=None),
            a.notes.over(b.notes),
        )
        return None if smallest(strings) is None else strings
    if isinstance(a, Number) and isinstance(b, Number):
        numbers = Number(
            a.integer or b.integer,
            _tighter(a.minimum, b.minimum, max),
            _tighter(a.maximum, b.maximum, min),
            _tighter(a.exclusive_minimum, b.exclusive_minimum, max),
            _tighter(a.exclusive_maximum, b.exclusive_maximum, min),
            tuple(dict.fromkeys(a.multiples + b.multiples)),
            a.notes.over(b.notes),
            tuple(dict.fromkeys(a.apart + b.apart)),
        )
        return None if smallest(numbers) is None else numbers
    if isinstance(a, Array) and isinstance(b, Array):
        return _arrays(a, b)
    if isinstance(a, Object) and isinstance(b, Object):
        return _objects(a, b)
    return a if type(a) is type(b) else None


def _both(a: Shape | None, b: Shape | None) -> Shape | None:
    return None if a is None or b is None else intersect(a, b)


def _arrays(a: Array, b: Array) -> Array | None:
    bounds = [bound for bound in (a.max_items, b.max_items) if bound is not None]
    least, most = max(a.min_items, b.min_items), min(bounds, default=None)
    prefix: list[Shape] = []
    item = _both(a.item, b.item)
    for at in range(max(len(a.prefix), len(b.prefix))):
        met = _both(
            a.prefix[at] if at < len(a.prefix) else a.item, b.prefix[at] if at < len(b.prefix) else b.item
        )
        if met is None:
            item = None
            break
        prefix.append(met)
    longest = most if item is not None else min(len(prefix), len(prefix) if most is None else most)
    if longest is not None and least > longest:
        return None
    contained = a.contained or b.contained
    if a.contained is not None and b.contained is not None:
        contained = intersect(a.contained, b.contained) or a.contained
    return Array(
        item, least, most, a.notes.over(b.notes), tuple(prefix), a.unique or b.unique, contained,
        max(a.min_contained, b.min_contained),
    )  # fmt: skip


def _objects(a: Object, b: Object) -> Object | None:
    ours = {f.name: f for f in a.fields}
    theirs = {f.name: f for f in b.fields}
    fields: list[Field] = []
    never: list[tuple[str, Shape | None]] = []
    for name in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(name), theirs.get(name)
        met = _both(
            one.shape if one else undeclared_shape(a, name), other.shape if other else undeclared_shape(b, name)
        )
        required = bool(one and one.required) or bool(other and other.required)
        if met is not None:
            fields.append(Field(name, met, required))
        elif required:
            return None
        else:
            never.append(forbidden(name))
    additional = _both(a.additional, b.additional)
    patterns = dict(a.patterns)
    for pattern, shape in b.patterns:
        patterns[pattern] = _both(patterns[pattern], shape) if pattern in patterns else shape
    # If only one side has a pattern, the names that match it are undeclared for the other side.
    for pattern, one_sided in patterns.items():
        for side in (a, b):
            if pattern not in dict(side.patterns) and one_sided is not None:
                patterns[pattern] = _both(one_sided, side.additional)
                one_sided = patterns[pattern]
    if additional is not None or patterns:
        # Without such a pattern a forbidden name would count as an undeclared one.
        patterns.update(never)
    names = a.names or b.names
    if a.names is not None and b.names is not None:
        names = intersect(a.names, b.names)
    bounds = [bound for bound in (a.max_properties, b.max_properties) if bound is not None]
    return Object(
        tuple(fields), additional, a.notes.over(b.notes), tuple(patterns.items()), names,
        max(a.min_properties, b.min_properties), min(bounds, default=None),
        tuple(dict.fromkeys((*a.demands, *b.demands))),
    )  # fmt: skip


def forbidden(name: str) -> tuple[str, None]:
    """A pattern that only this name matches, with None for its shape, so the property is forbidden."""
    literally = "".join(c if c.isalnum() else f"\\u{{{ord(c):x}}}" for c in name)
    return f"^{literally}$", None


def undeclared_shape(shape: Object, name: str) -> Shape | None:
    """The shape of an undeclared property of this name; None if the object forbids it."""
    described_shape: Shape | None = None
    matched = False
    for pattern, described in shape.patterns:
        if _finds(pattern, name):
            described_shape = _both(described_shape, described) if matched else described
            matched = True
    return described_shape if matched else shape.additional


def _finds(pattern: str, name: str) -> bool:
    try:
        return pattern_matches(pattern, name)
    except RegexError:
        return False


def _tighter(
    a: Decimal | None, b: Decimal | None, pick: Callable[[Decimal, Decimal], Decimal]
) -> Decimal | None:
    if a is None or b is None:
        return b if a is None else a
    return pick(a, b)
