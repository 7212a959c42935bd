"""The shape of a schema: a small closed algebra that JSON Schema is normalised to.

Every shape is a set of JSON values with the notes of its author. This file uses no keywords of JSON Schema and no
automata: `normalise` comes before, `language` and `layout` after. A shape describes the values that may be *written*:
if the algebra cannot express a schema exactly (conditions, exclusive alternatives, counts), the shape is the nearest
one, and the judge decides on the whole record.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal

from cinnabar.schemas.keywords import PageRanges


@dataclass(frozen=True, slots=True)
class Binding:
    """The fact that a value is taken from, and the pointer of the keyword that says so; equal for one fact."""

    fact: str
    pointer: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Notes:
    """The annotations of a value, which do not constrain it.

    `examples` and `default` are canonical JSON texts. With a `binding` the value is a fact, and no model reads it.
    `words` are options with other words for them, in any language (`x-cinnabar-options`). `day_first` says whether
    documents write the day before the month (`x-cinnabar-day-first`). `was` has the former names of the property
    (`x-cinnabar-was`); no two notes differ by them. `written` says that a person would word the value anew
    (`x-cinnabar-written`), `pages` of the root what is read of a document (`x-cinnabar-pages`), and `told` that a form
    which the description asks for holds (`x-cinnabar-told`).
    """

    title: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    default: str | None = None
    binding: Binding | None = None
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    day_first: bool | None = None
    was: tuple[str, ...] = field(default=(), compare=False)
    written: bool = False
    pages: PageRanges | None = None
    told: bool = True

    def over(self, other: Notes) -> Notes:
        """These notes; an empty one is taken from `other`."""
        return Notes(
            self.title or other.title,
            self.description or other.description,
            self.examples or other.examples,
            other.default if self.default is None else self.default,
            self.binding or other.binding,
            self.words or other.words,
            other.day_first if self.day_first is None else self.day_first,
            self.was or other.was,
            self.written or other.written,
            self.pages or other.pages,
            self.told and other.told,
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
    """Numbers between bounds that are multiples of all of `multiples` and of none of `apart`."""

    integer: bool = False
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    exclusive_minimum: Decimal | None = None
    exclusive_maximum: Decimal | None = None
    multiples: tuple[Decimal, ...] = ()
    notes: Notes = NO_NOTES
    apart: tuple[Decimal, ...] = ()


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
    """A few scalars, as canonical JSON texts without null, each with its meaning ("" if unknown)."""

    options: tuple[str, ...]
    meanings: tuple[str, ...]
    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value; only scalars are written for it."""

    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Array:
    """Arrays that begin with `prefix` and continue with items of `item`; they end there if `item` is None.

    `max_items` is inclusive. With `unique` no two items are equal. At least `min_contained` items have the shape
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

    `patterns` are the shapes of undeclared properties with names that match a pattern. `additional` is the shape of
    all others, None if they are forbidden. `names` is the shape of all names. Undeclared properties are written only
    if their values are described; `Anything` is no description. `demands` are names with those that must be there
    beside them.
    """

    fields: tuple[Field, ...]
    additional: Shape | None = None
    notes: Notes = NO_NOTES
    patterns: tuple[tuple[str, Shape | None], ...] = ()
    names: Shape | None = None
    min_properties: int = 0
    max_properties: int | None = None
    demands: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Union:
    """The values of any of two or more branches, none of which is a union."""

    branches: tuple[Shape, ...]
    notes: Notes = NO_NOTES


Shape = Null | Boolean | Number | String | Enum | Anything | Array | Object | Union


def branches(shape: Shape) -> tuple[Shape, ...]:
    """The branches of a union, or the shape itself as the only one."""
    return shape.branches if isinstance(shape, Union) else (shape,)


def set_notes(shape: Shape, notes: Notes) -> Shape:
    """The same shape, with these notes laid over its own."""
    return replace(shape, notes=notes.over(shape.notes))


def is_open(shape: Object) -> bool:
    """Whether undeclared properties of the object are written."""
    described = (shape.additional, *(value for _, value in shape.patterns))
    return any(value is not None and not isinstance(value, Anything) for value in described)


def is_nullable(shape: Shape) -> bool:
    """Whether null is a value of this shape."""
    return any(isinstance(b, (Null, Anything)) for b in branches(shape))


def drop_null(shape: Shape) -> tuple[Shape, ...]:
    """The branches that are not null."""
    return tuple(b for b in branches(shape) if not isinstance(b, Null))


def notes_of(shape: Shape) -> Notes:
    """The notes of a shape, completed by those of its only branch beside null."""
    others = drop_null(shape)
    return shape.notes.over(others[0].notes) if len(others) == 1 else shape.notes
