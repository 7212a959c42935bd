"""Conversion of a JSON Schema to a shape: the values that may be written under it, from which the form is laid out.

Whatever the closed algebra of shapes can express is taken over exactly: bounds, choices, alternatives, keywords beside
a reference, `allOf` as an intersection, closed objects. For the rest the shape has the nearest values that can be
written: a condition becomes two alternatives, a recursive schema is followed a few levels, and a schema of thousands of
values loses its deepest optional ones. The judge (`cinnabar.schemas.judging`) decides whether a record is allowed, and
it sees every record before it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cinnabar.schemas.errors import UnsupportedSchema
from cinnabar.schemas.judging.resources import LISTS, MAPS, Documents
from cinnabar.schemas.reading.named_types import ANY_TYPE
from cinnabar.schemas.reading.reading_state import MAX_DEMANDED, TooMany
from cinnabar.schemas.reading.shape import Shape
from cinnabar.schemas.reading.shape_reader import ShapeReader
from cinnabar.schemas.refusals import Refusal, refused

#: The depths of nested containers that are tried, the most first; the last level has only required properties.
LEVELS = (40, 7, 5, 4, 3, 2, 1)
#: The numbers of times that a reference is followed within itself; larger ones are tried if nothing can be written.
UNROLLED = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A shape, and the parts of its schema that the form leaves out, as (pointer, description) in its order."""

    shape: Shape
    left_out: tuple[tuple[str, str], ...]


def normalise(schema: dict[str, Any] | bool, denying: bool = False) -> Normalised:
    """The shape of a JSON Schema, of the draft that it names.

    With `denying`, all values that `not` denies are taken away if they have shapes. The form then has more
    alternatives, and more records can be found.

    Raises UnsupportedSchema with the pointer of a keyword if no value can be written under it, and NoValue if
    none exists.
    """
    documents = Documents(schema)
    problem: UnsupportedSchema | None = None
    for unrolled in UNROLLED[1:] if denying else UNROLLED:
        deepest = LEVELS[0]
        for levels, sparing in (*((levels, False) for levels in LEVELS), (LEVELS[-1], True)):
            if levels > deepest and not sparing:
                continue  # The result would be the same as before.
            reader = ShapeReader(documents, levels, unrolled, denying, sparing)
            try:
                shape = reader.read(documents.root, ANY_TYPE, 0)
            except TooMany as stopped:
                problem = refused(Refusal.DEMANDS, stopped.pointer, _keyword(stopped.pointer), most=MAX_DEMANDED)
                deepest = reader.deepest
                continue
            except RecursionError:
                problem = refused(Refusal.NESTED_SHAPES, reader.reached, _keyword(reader.reached))
                continue
            if shape is not None:
                return Normalised(shape, tuple(dict.fromkeys(reader.left_out)))
            problem = reader.problem
            break
        if not reader.stopped:
            break
    raise problem or refused(Refusal.NOTHING, "", "type")


def _keyword(pointer: str) -> str:
    """The keyword that holds the schema at this pointer."""
    *above, last = pointer.split("/")
    return above[-1] if above and above[-1] in (*LISTS, *MAPS) else last
