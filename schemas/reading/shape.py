"""The shape of a schema: a small closed algebra that JSON Schema is normalised to.

Every shape is a set of JSON values and carries the words that its author wrote about it. Nothing here knows
JSON Schema's keywords, and nothing knows automata: `normalise` comes before, `language` and `layout` after.
A shape says what may be *written*: where the algebra has no exact word for what a schema allows (conditions,
exclusive alternatives, counts), the shape has the nearest one, and the judge decides on the whole record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Notes:
    """What a schema says about a value without constraining it.

    `examples` and `default` are canonical JSON texts.
    """

    title: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    default: str | None = None

    def over(self, other: Notes) -> Notes:
        """These notes, with those of `other` where nothing is said here."""
        return Notes(
            self.title or other.title,
            self.description or other.description,
            self.examples or other.examples,
            other.default if self.default is None else self.default,
        )


NO_NOTES = Notes()


@dataclass(frozen=True, slots=True)
class Null:
    """The value null."""

    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Boolean:
    """True and false."""

    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Number:
    """Numbers between bounds that are multiples of all of `multiples`."""

    integer: bool = False
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    exclusive_minimum: Decimal | None = None
    exclusive_maximum: Decimal | None = None
    multiples: tuple[Decimal, ...] = ()
    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class String:
    """Strings in which every pattern (ECMA-262) is found, of every format; lengths count code points.

    `max_length` is inclusive.
    """

    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    min_length: int = 0
    max_length: int | None = None
    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Enum:
    """A few scalars, as canonical JSON texts without null, and what each means ("" where unknown)."""

    options: tuple[str, ...]
    meanings: tuple[str, ...]
    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value. Written is any scalar."""

    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Array:
    """Arrays that begin with `prefix` and go on with items of `item`, or end there where that is None.

    `max_items` is inclusive. `unique`: no two items are equal. At least `min_contained` items are of
    `contained`.
    """

    item: Shape | None
    min_items: int = 0
    max_items: int | None = None
    notes: Notes = NO_NOTES
    prefix: tuple[Shape, ...] = ()
    unique: bool = False
    contained: Shape | None = None
    min_contained: int = 0


@dataclass(frozen=True, slots=True)
class Field:
    """A declared property of an object."""

    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True, slots=True)
class Object:
    """Objects with these properties, in schema order.

    `patterns` are the shapes of undeclared properties whose names match a pattern, `additional` that of all
    others, None where there may be none. `names` is what all names are. Undeclared properties are written
    only where their values are described; `Anything` is no description.
    """

    fields: tuple[Field, ...]
    additional: Shape | None = None
    notes: Notes = NO_NOTES
    patterns: tuple[tuple[str, Shape | None], ...] = ()
    names: Shape | None = None
    min_properties: int = 0
    max_properties: int | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """The values of any of two or more branches, none of which is a union."""

    branches: tuple[Shape, ...]
    notes: Notes = NO_NOTES


Shape = Null | Boolean | Number | String | Enum | Anything | Array | Object | Union


def branches(shape: Shape) -> tuple[Shape, ...]:
    """The branches of a union, or the shape itself as the only one."""
    return shape.branches if isinstance(shape, Union) else (shape,)


def with_notes(shape: Shape, notes: Notes) -> Shape:
    """The same values, with these notes laid over the shape's own."""
    return replace(shape, notes=notes.over(shape.notes))


def is_scalar(shape: Shape) -> bool:
    """Whether no value of this shape that is written is an object or an array."""
    return not any(isinstance(b, (Array, Object)) for b in branches(shape))


def is_open(shape: Object) -> bool:
    """Whether properties are written that the object does not declare."""
    described = (shape.additional, *(value for _, value in shape.patterns))
    return any(value is not None and not isinstance(value, Anything) for value in described)


def is_nullable(shape: Shape) -> bool:
    """Whether null is a value of this shape."""
    return any(isinstance(b, (Null, Anything)) for b in branches(shape))


def without_null(shape: Shape) -> tuple[Shape, ...]:
    """The branches that are not null."""
    return tuple(b for b in branches(shape) if not isinstance(b, Null))


def notes_of(shape: Shape) -> Notes:
    """What is said about a shape, or else about its only branch beside null."""
    others = without_null(shape)
    return shape.notes.over(others[0].notes) if len(others) == 1 else shape.notes
