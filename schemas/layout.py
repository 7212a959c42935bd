"""A shape laid out as a form: containers become nodes, and scalars become slots in document order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from cinnabar.schemas.form import ArrayNode, Form, Kind, Node, ObjectNode, Property, Slot
from cinnabar.schemas.language import holds, language, left_out, smallest
from cinnabar.schemas.meanings import meanings
from cinnabar.schemas.normalise import escape
from cinnabar.schemas.shape import (
    Array,
    Boolean,
    Enum,
    Number,
    Object,
    Shape,
    String,
    branches,
    is_nullable,
    notes_of,
    without_null,
)


@dataclass(slots=True)
class Layout:
    """Counts the nodes of one form; `additional` has what each object accepts undeclared, by its index."""

    slots: list[Slot] = field(default_factory=list)
    arrays: list[ArrayNode | None] = field(default_factory=list)
    objects: list[ObjectNode | None] = field(default_factory=list)
    additional: dict[int, Shape | bool] = field(default_factory=dict)

    def node(self, shape: Shape, path: str) -> Node:
        """The node for a shape at this path; parents are numbered before their children."""
        notes, nullable = notes_of(shape), is_nullable(shape)
        for branch in branches(shape):
            if isinstance(branch, Array):
                index = len(self.arrays)
                self.arrays.append(None)
                item = self.node(branch.item, f"{path}/*")
                array = ArrayNode(
                    index,
                    path,
                    item,
                    branch.min_items,
                    branch.max_items,
                    nullable,
                    notes.title,
                    notes.description,
                )
                self.arrays[index] = array
                return array
            if isinstance(branch, Object):
                index = len(self.objects)
                self.objects.append(None)
                self.additional[index] = branch.additional
                properties = tuple(
                    Property(f.name, self.node(f.shape, f"{path}/{escape(f.name)}"), f.required)
                    for f in branch.fields
                )
                made = ObjectNode(index, path, properties, nullable, notes.title, notes.description)
                self.objects[index] = made
                return made
        slot = make_slot(shape, path, len(self.slots))
        self.slots.append(slot)
        return slot


def lay_out(shape: Shape) -> tuple[Form, dict[int, Shape | bool]]:
    """The form of a shape, and what each of its objects accepts beside its declared properties."""
    layout = Layout()
    root = layout.node(shape, "")
    notes = notes_of(shape)
    form = Form(
        root,
        tuple(layout.slots),
        tuple(a for a in layout.arrays if a is not None),
        tuple(o for o in layout.objects if o is not None),
        notes.title,
        notes.description,
    )
    return form, layout.additional


def make_slot(shape: Shape, path: str, index: int) -> Slot:
    """The slot of a scalar shape."""
    notes, nullable, others = notes_of(shape), is_nullable(shape), without_null(shape)
    options, told = _options(others)
    if options and not any(told):
        told = meanings(tuple(_plain(text) for text in options), notes.description)
    strings = [b for b in others if isinstance(b, String)]
    only = strings[0] if len(others) == len(strings) == 1 else None
    minimal = "null" if nullable else smallest(shape)
    assert minimal is not None, f"{path}: a shape without values came through"
    return Slot(
        index=index,
        path=path,
        kind=_kind(others),
        automaton=language(shape),
        nullable=nullable,
        minimal=minimal,
        options=options,
        option_notes=told if any(told) else (),
        format=only.formats[0] if only and only.formats else "",
        pattern=only.patterns[0] if only and only.patterns else "",
        free=any(not b.patterns and not b.formats for b in strings),
        max_length=left_out(shape),
        title=notes.title,
        description=notes.description,
        examples=tuple(text for text in notes.examples if text[:1] not in "{[" and holds(shape, text)),
    )


def _options(others: tuple[Shape, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All texts of closed branches with their meanings; none where a branch is open."""
    options: dict[str, str] = {}
    for branch in others:
        if isinstance(branch, Enum):
            options.update(zip(branch.options, branch.meanings, strict=True))
        elif isinstance(branch, Boolean):
            options = {"true": "", "false": "", **options}
        else:
            return (), ()
    return tuple(options), tuple(options.values())


def _kind(others: tuple[Shape, ...]) -> Kind:
    """The kind of a slot: of its only branch, of numbers both kinds, else enum where closed, else string."""
    kinds: set[Kind] = set()
    for branch in others:
        if isinstance(branch, Number):
            kinds.add("integer" if branch.integer else "number")
        else:
            kinds.add(
                "string"
                if isinstance(branch, String)
                else "boolean"
                if isinstance(branch, Boolean)
                else "enum"
            )
    if not kinds:
        return "null"
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {"integer", "number"}:
        return "number"
    return "enum" if kinds <= {"enum", "boolean"} else "string"


def _plain(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text
