"""The differences between two versions of a schema: new fields, fields with another meaning, removed fields.

The comparison is between normalised shapes, so writing the same schema another way is no change. The title,
description and examples of a field count, since the model reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.pointers import escape, lies_within
from cinnabar.schemas.reading.shape import Array, Object, Shape, is_nullable, is_open, notes_of, without_null


@dataclass(frozen=True, slots=True)
class Changes:
    """Places by their templates, with `*` for an index (`/lines/*/price`), in the order of the schemas."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """The places that must be filled."""
        return self.new + self.changed

    def asks(self, path: str) -> bool:
        """Whether all of this place must be filled."""
        return any(covers(place, path) for place in self.asked)

    def within(self, path: str) -> bool:
        """Whether this place, or anything below it, must be filled."""
        return any(covers(place, path) or covers(path, place) for place in self.asked)

    def drops(self, path: str) -> bool:
        """Whether the new version has no such place."""
        return any(covers(place, path) for place in self.gone)


def covers(place: str, path: str) -> bool:
    """Whether the pointer or template `path` lies at or below `place`."""
    return lies_within(path, place)


def changes(old: CompiledSchema, new: CompiledSchema) -> Changes:
    """The places to fill when records of the old version become records of the new one.

    If an object or a list differs only in its contents, its fields are compared one by one. A field that becomes
    required or optional is no change: an existing value stays.
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
    """The one kind of value beside null; None if there are several."""
    others = without_null(shape)
    return others[0] if len(others) == 1 else None


def _frame(shape: Shape | None) -> object:
    """Everything of a list but its items; of an object with open properties, everything but its declared ones."""
    if isinstance(shape, Array):
        contained = shape.contained, shape.min_contained
        return shape.min_items, shape.max_items, shape.prefix, shape.unique, contained
    if isinstance(shape, Object) and is_open(shape):
        return shape.additional, shape.patterns, shape.names
    return None
