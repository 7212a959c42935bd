"""How far the reading of one schema has come: what it may not go beyond, what it left out, and why it stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from cinnabar.schemas.errors import UnsupportedSchema
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.reading.shape import Shape

#: Shapes that a form is laid out from; references are inlined, so schemas may grow without bound. Up to the
#: second number where even the optional values of the root are more, for what is demanded beside them.
MAX_SHAPES, MAX_DEMANDED = 2_000, 4_000
CUT = "left out, for the form is as large as it gets"


class TooMany(Exception):
    """More values than a form is laid out from; `pointer` is where the reading stopped."""

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer
        super().__init__(pointer)


@dataclass(slots=True)
class ReadingState(ABC):
    """One reading of one schema; the keywords ask it for the shapes of the places below theirs."""

    documents: Documents
    levels: int
    unrolled: int
    denying: bool = False
    #: Whether what is optional is left out from where it would be too much, and not refused.
    sparing: bool = False
    left_out: list[tuple[str, str]] = field(default_factory=list)
    shapes: int = 0
    #: The pointer of the last value that was read.
    reached: str = ""
    problem: UnsupportedSchema | None = None

    @abstractmethod
    def read(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of the schema at a place, `level` containers deep; None where nothing can be written.

        `types` are the JSON types that its surroundings leave.
        """

    @property
    def full(self) -> bool:
        """Whether nothing is read any more that may be left out."""
        return self.sparing and self.shapes >= MAX_SHAPES

    def go_on_without(self, stopped: TooMany, needed: bool) -> None:
        """Leave room for what is demanded beside a part that is too large; raises again if it is needed."""
        if needed or not self.sparing:
            raise stopped
        self.shapes = MAX_SHAPES

    def count(self, pointer: str) -> None:
        """One value more, at this place of the schema."""
        self.shapes += 1
        self.reached = pointer
        if self.shapes > (MAX_DEMANDED if self.sparing else MAX_SHAPES):
            raise TooMany(pointer)

    def nothing(self, problem: UnsupportedSchema) -> None:
        """Why nothing can be written here; the first reason is the one that is told."""
        self.problem = self.problem or problem

    def optional(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of a place that need not be written under."""
        before = self.problem
        found = self.read(place, types, level)
        self.problem = before
        return found
