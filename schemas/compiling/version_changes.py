"""The differences between two versions of a schema: new fields, fields with another meaning, removed fields.

The comparison is between normalised shapes, so writing the same schema another way is no change. The title,
description and examples of a field count, since the model reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.parsing.shape import Array, Object, Shape, drop_null, is_nullable, is_open, notes_of
from cinnabar.schemas.pointers import escape, lies_within, lies_within_template, unescape


@dataclass(frozen=True, slots=True)
class Renames:
    """The places that have another name in the new version: `pairs` of templates, the deepest first."""

    pairs: tuple[tuple[str, str], ...] = ()

    def pointer(self, pointer: str) -> str:
        """This pointer or template of the old version as the new one names it."""
        steps = pointer.split("/")
        for old, new in self.pairs:
            if lies_within_template(pointer, old):
                here = [step if name == "*" else name for name, step in zip(new.split("/"), steps, strict=False)]
                return "/".join(here + steps[old.count("/") + 1 :])
        return pointer

    def value(self, value: Any, pointer: str = "") -> Any:
        """A value that stands at this pointer of the old version, with the new names."""
        if not self.pairs or not isinstance(value, dict | list):
            return value
        if isinstance(value, list):
            return [self.value(part, f"{pointer}/{at}") for at, part in enumerate(value)]
        named = {}
        for name, part in value.items():
            below = f"{pointer}/{escape(name)}"
            named[unescape(self.pointer(below).rpartition("/")[2])] = self.value(part, below)
        return named


@dataclass(frozen=True, slots=True)
class Changes:
    """Places by their templates, with `*` for an index (`/lines/*/price`), in the order of the schemas.

    They have the names of the new version, those that are `gone` within its names.
    """

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    renames: Renames = Renames()

    @property
    def asked_places(self) -> tuple[str, ...]:
        """The places that must be filled."""
        return self.new + self.changed

    @property
    def only_renames(self) -> bool:
        """Whether places have other names, and that is all."""
        return bool(self.renames.pairs) and not (self.asked_places or self.gone)

    def asks(self, path: str) -> bool:
        """Whether all of this place must be filled."""
        return any(lies_within(path, place) for place in self.asked_places)

    def within(self, path: str) -> bool:
        """Whether this place, or anything below it, must be filled."""
        return any(lies_within(path, place) or lies_within(place, path) for place in self.asked_places)

    def drops(self, pointer: str) -> bool:
        """Whether the new version has no such place."""
        return any(lies_within_template(pointer, place) for place in self.gone)


def changes(old: CompiledSchema, new: CompiledSchema) -> Changes:
    """The places to fill when records of the old version become records of the new one.

    If an object or a list differs only in its contents, its fields are compared one by one. A field that becomes
    required or optional is no change: an existing value stays. With other pages of the documents all fields change.
    """
    if notes_of(old.shape).pages != notes_of(new.shape).pages:
        return Changes(changed=("",))
    walk = _ChangeWalk()
    walk.visit(old.shape, new.shape, "", "")
    deepest = sorted(walk.renamed, key=lambda pair: -pair[0].count("/"))
    return Changes(tuple(walk.new), tuple(walk.changed), tuple(walk.gone), Renames(tuple(deepest)))


@dataclass(slots=True)
class _ChangeWalk:
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)

    def visit(self, old: Shape, new: Shape, was: str, path: str) -> None:
        """Compares the shape of a place in the old version, where it `was`, with that in the new one."""
        if old == new:
            return
        before, after = _only(old), _only(new)
        framed = not path or (notes_of(old), is_nullable(old)) == (notes_of(new), is_nullable(new))
        if not framed or _frame(before) != _frame(after):
            self.changed.append(path)
        elif isinstance(before, Object) and isinstance(after, Object):
            self._fields(before, after, was, path)
        elif isinstance(before, Array) and isinstance(after, Array) and before.item and after.item:
            self.visit(before.item, after.item, f"{was}/*", f"{path}/*")
        else:
            self.changed.append(path)

    def _fields(self, old: Object, new: Object, was: str, path: str) -> None:
        before = {place.name: place.shape for place in old.fields}
        named = {place.name for place in new.fields}
        for place in new.fields:
            below = f"{path}/{escape(place.name)}"
            former = (place.name, *(name for name in notes_of(place.shape).was if name not in named))
            name = next((name for name in former if name in before), None)
            if name is None:
                self.new.append(below)
                continue
            above = f"{was}/{escape(name)}"
            if name != place.name:
                self.renamed.append((above, below))
            self.visit(before.pop(name), place.shape, above, below)
        self.gone += [f"{path}/{escape(name)}" for name in before]


def _only(shape: Shape) -> Shape | None:
    """The one kind of value beside null; None if there are several."""
    others = drop_null(shape)
    return others[0] if len(others) == 1 else None


def _frame(shape: Shape | None) -> object:
    """Everything of a list but its items; of an object with open properties, everything but its declared ones."""
    if isinstance(shape, Array):
        contained = shape.contained, shape.min_contained
        return shape.min_items, shape.max_items, shape.prefix, shape.unique, contained
    if isinstance(shape, Object) and is_open(shape):
        return shape.additional, shape.patterns, shape.names
    return None
