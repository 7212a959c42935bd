"""What a new version of a schema changes: which fields are new, which mean something else, which are gone.

Compared are normalised shapes, so that another way to write the same schema is no change; what is said about
a field (title, description, examples) is part of it, for the model reads that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cinnabar.schemas.compile import CompiledSchema
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.reading.shape import Array, Object, Shape, is_nullable, is_open, notes_of, without_null


@dataclass(frozen=True, slots=True)
class Changes:
    """Places by their templates, `*` for an index (`/lines/*/price`), in the order of the schemas."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """The places that are to be filled."""
        return self.new + self.changed

    def asks(self, path: str) -> bool:
        """Whether all of this place is to be filled."""
        return any(covers(place, path) for place in self.asked)

    def within(self, path: str) -> bool:
        """Whether this place, or anything below it, is to be filled."""
        return any(covers(place, path) or covers(path, place) for place in self.asked)

    def drops(self, path: str) -> bool:
        """Whether the new version has no such place."""
        return any(covers(place, path) for place in self.gone)


def covers(place: str, path: str) -> bool:
    """Whether a pointer or template lies at or below another."""
    return path == place or path.startswith(f"{place}/")


def changes(old: CompiledSchema, new: CompiledSchema) -> Changes:
    """What is to be filled where records of the old version become records of the new one.

    An object or a list is gone through field by field where only what lies in it differs. Whether a field is
    required is no change: a value that is there stays.
    """
    walk = _Walk()
    walk.visit(old.shape, new.shape, "")
    return Changes(tuple(walk.new), tuple(walk.changed), tuple(walk.gone))


@dataclass(slots=True)
class _Walk:
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def visit(self, old: Shape, new: Shape, path: str) -> None:
        if old == new:
            return
        before, after = _only(old), _only(new)
        framed = not path or (notes_of(old), is_nullable(old)) == (notes_of(new), is_nullable(new))
        if not framed or _frame(before) != _frame(after):
            self.changed.append(path)
        elif isinstance(before, Object) and isinstance(after, Object):
            self._fields(before, after, path)
        elif isinstance(before, Array) and isinstance(after, Array) and before.item and after.item:
            self.visit(before.item, after.item, f"{path}/*")
        else:
            self.changed.append(path)

    def _fields(self, old: Object, new: Object, path: str) -> None:
        before = {place.name: place.shape for place in old.fields}
        for place in new.fields:
            below = f"{path}/{escape(place.name)}"
            if place.name in before:
                self.visit(before.pop(place.name), place.shape, below)
            else:
                self.new.append(below)
        self.gone += [f"{path}/{escape(name)}" for name in before]


def _only(shape: Shape) -> Shape | None:
    """The one kind of value beside null, None where there are several."""
    others = without_null(shape)
    return others[0] if len(others) == 1 else None


def _frame(shape: Shape | None) -> object:
    """All of a list but its items, and all of an object that is written but its declared properties."""
    if isinstance(shape, Array):
        contained = shape.contained, shape.min_contained
        return shape.min_items, shape.max_items, shape.prefix, shape.unique, contained
    if isinstance(shape, Object) and is_open(shape):
        return shape.additional, shape.patterns, shape.names
    return None
