"""The state of reading one schema: its limits, the parts left out, and the reason for a stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from cinnabar.schemas.errors import UnsupportedSchema
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.reading.shape import Shape

#: The most shapes of a form; references are inlined, so schemas may grow without bound. The second number applies if
#: even the optional values of the root are too many; the rest is for required values.
MAX_SHAPES, MAX_DEMANDED = 2_000, 4_000
CUT = "left out, because the form has reached its largest size"


class TooMany(Exception):
    """A schema has more values than a form may have; `pointer` is the place at which the reading stopped."""

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer
        super().__init__(pointer)


@dataclass(slots=True)
class ReadingState(ABC):
    """One reading of one schema; the keywords ask it for the shapes of the places below them."""

    documents: Documents
    levels: int
    unrolled: int
    denying: bool = False
    #: Whether optional values are left out once the form is too large, instead of refusing the schema.
    sparing: bool = False
    left_out: list[tuple[str, str]] = field(default_factory=list)
    shapes: int = 0
    #: The pointer of the last value that was read.
    reached: str = ""
    problem: UnsupportedSchema | None = None

    @abstractmethod
    def read(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of the schema at a place, `level` containers deep; None if no value can be written.

        `types` are the JSON types that the surrounding keywords leave.
        """

    @property
    def full(self) -> bool:
        """Whether optional values are no longer read."""
        return self.sparing and self.shapes >= MAX_SHAPES

    def go_on_without(self, stopped: TooMany, needed: bool) -> None:
        """Leaves room for required values beside a part that is too large; raises again if the part is needed."""
        if needed or not self.sparing:
            raise stopped
        self.shapes = MAX_SHAPES

    def count(self, pointer: str) -> None:
        """Counts one more value, at this place of the schema; raises TooMany past the limit."""
        self.shapes += 1
        self.reached = pointer
        if self.shapes > (MAX_DEMANDED if self.sparing else MAX_SHAPES):
            raise TooMany(pointer)

    def note_no_value(self, problem: UnsupportedSchema) -> None:
        """Records the reason why no value can be written here; the first reason is reported."""
        self.problem = self.problem or problem

    def optional(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of a place; a failure there is not recorded as a problem."""
        before = self.problem
        found = self.read(place, types, level)
        self.problem = before
        return found
