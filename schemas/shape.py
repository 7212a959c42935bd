"""The shape of a schema: a small closed algebra that JSON Schema is normalised to.

Every shape is a set of JSON values and carries the words that its author wrote about it. Nothing here knows
JSON Schema's keywords, and nothing knows automata: `normalise` comes before, `language` and `compile` after.
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
class Array:
    """Arrays of `item`; `max_items` is inclusive."""

    item: Shape
    min_items: int = 0
    max_items: int | None = None
    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Field:
    """A declared property of an object."""

    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True, slots=True)
class Object:
    """Objects with these properties, in schema order.

    Undeclared properties are never written. `additional` says which are accepted in a record that comes from
    elsewhere: False for none, True for any, or the shape of their values.
    """

    fields: tuple[Field, ...]
    additional: Shape | bool = False
    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Union:
    """The values of any of two or more branches, none of which is a union."""

    branches: tuple[Shape, ...]
    notes: Notes = NO_NOTES


Shape = Null | Boolean | Number | String | Enum | Array | Object | Union


def branches(shape: Shape) -> tuple[Shape, ...]:
    """The branches of a union, or the shape itself as the only one."""
    return shape.branches if isinstance(shape, Union) else (shape,)


def with_notes(shape: Shape, notes: Notes) -> Shape:
    """The same values, with these notes laid over the shape's own."""
    return replace(shape, notes=notes.over(shape.notes))


def is_scalar(shape: Shape) -> bool:
    """Whether no value of this shape is an object or an array."""
    return not any(isinstance(b, (Array, Object)) for b in branches(shape))


def is_nullable(shape: Shape) -> bool:
    """Whether null is a value of this shape."""
    return any(isinstance(b, Null) for b in branches(shape))


def without_null(shape: Shape) -> tuple[Shape, ...]:
    """The branches that are not null."""
    return tuple(b for b in branches(shape) if not isinstance(b, Null))


def notes_of(shape: Shape) -> Notes:
    """What is said about a shape, or else about its only branch beside null."""
    others = without_null(shape)
    return shape.notes.over(others[0].notes) if len(others) == 1 else shape.notes
