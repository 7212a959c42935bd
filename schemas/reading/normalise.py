"""JSON Schema to a shape: what may be written under a schema, as the form is laid out from it.

Everything that the closed algebra of shapes can say is taken over exactly: bounds, choices, alternatives,
what stands beside a reference, `allOf` as an intersection, closed objects. Of the rest the shape has the
nearest thing that can be written: a condition becomes two alternatives, a recursive schema is followed a few
levels, of a schema of thousands of values the optional ones that lie deepest are left out. Whether a record
is allowed, the judge decides (`cinnabar.schemas.judging`); nothing is written that it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cinnabar.schemas.errors import NoValue, UnsupportedSchema
from cinnabar.schemas.judging.resources import LISTS, MAPS, Documents
from cinnabar.schemas.reading.named_types import ANY_TYPE
from cinnabar.schemas.reading.reading_state import MAX_DEMANDED, TooMany
from cinnabar.schemas.reading.shape import Shape
from cinnabar.schemas.reading.shape_reader import ShapeReader

#: Containers within containers that are followed, the most first; at the last one only what is required is.
LEVELS = (40, 7, 5, 4, 3, 2, 1)
#: How often a reference is followed within itself; more where nothing could be written otherwise.
UNROLLED = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A shape, and what its schema says and the form leaves out, as (pointer, what) in its order."""

    shape: Shape
    left_out: tuple[tuple[str, str], ...]


def normalise(schema: dict[str, Any] | bool, denying: bool = False) -> Normalised:
    """The shape of a JSON Schema, of the draft that it names.

    `denying` takes all that `not` denies away, as far as there are shapes for it: a form with more
    alternatives, in which more can be found.

    Raises UnsupportedSchema with the pointer of a keyword that cannot be written under, and NoValue where
    nothing can be.
    """
    documents = Documents(schema)
    problem: UnsupportedSchema | None = None
    for unrolled in UNROLLED[1:] if denying else UNROLLED:
        deepest = LEVELS[0]
        for levels, sparing in (*((levels, False) for levels in LEVELS), (LEVELS[-1], True)):
            if levels > deepest and not sparing:
                continue  # It would be read as before.
            reader = ShapeReader(documents, levels, unrolled, denying, sparing)
            try:
                shape = reader.read(documents.root, ANY_TYPE, 0)
            except TooMany as stopped:
                reason = f"there are more than {MAX_DEMANDED:,} parts up to here that cannot be left out"
                keyword = _keyword(stopped.pointer)
                problem = UnsupportedSchema(stopped.pointer, keyword, reason, "demand fewer values at once")
                deepest = reader.deepest
                continue
            except RecursionError:
                reason = "it stands within too many others"
                keyword = _keyword(reader.reached)
                problem = UnsupportedSchema(reader.reached, keyword, reason, "flatten the schema")
                continue
            if shape is not None:
                return Normalised(shape, tuple(dict.fromkeys(reader.left_out)))
            problem = reader.problem
            break
        if not reader.stopped:
            break
    raise problem or NoValue("", "type")


def _keyword(pointer: str) -> str:
    """The keyword under which the schema at this pointer stands."""
    *above, last = pointer.split("/")
    return above[-1] if above and above[-1] in (*LISTS, *MAPS) else last
