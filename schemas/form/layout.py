"""Layout of a shape as a form: containers become nodes, and scalars become slots in document order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import TypeGuard

from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Kind, Node, ObjectNode, Property, Slot, walk
from cinnabar.schemas.form.meanings import bounds_in_words, meanings
from cinnabar.schemas.form.opening import open_groups
from cinnabar.schemas.form.told_forms import told_form
from cinnabar.schemas.parsing.algebra import intersect, union
from cinnabar.schemas.parsing.language import NO_AUTOMATON, SCALARS, holds, language, left_out, smallest
from cinnabar.schemas.parsing.shape import (
    NO_NOTES,
    Anything,
    Array,
    Boolean,
    Enum,
    Field,
    Notes,
    Number,
    Object,
    Shape,
    String,
    Union,
    branches,
    drop_null,
    is_nullable,
    notes_of,
)
from cinnabar.schemas.pointers import escape


@dataclass(slots=True)
class FormLayout:
    """Lays out the nodes of one form; the numbers of each kind are given in the order of `walk`.

    `day_first` is the order of day and month of slots that say none.
    """

    day_first: bool | None = None
    slots: Iterator[int] = field(default_factory=count)
    arrays: Iterator[int] = field(default_factory=count)
    objects: Iterator[int] = field(default_factory=count)
    choices: Iterator[int] = field(default_factory=count)

    def node(self, shape: Shape, path: str) -> Node:
        """The node for a shape at this path; parents are numbered before their children."""
        if isinstance(shape, Anything):
            shape = replace(SCALARS, notes=shape.notes)
        notes, nullable = notes_of(shape), is_nullable(shape)
        others = drop_null(shape)
        scalars = tuple(b for b in others if not isinstance(b, (Array, Object)))
        containers = [b for b in others if isinstance(b, (Array, Object))]
        kinds: list[Shape] = [*_merge(containers)]
        if scalars and kinds:
            kinds.append(scalars[0] if len(scalars) == 1 else Union(scalars))
        if not kinds:
            return self._slot(shape, path)
        if len(kinds) > 1:
            return self._choice(kinds, path, nullable, notes)
        (only,) = kinds
        if isinstance(only, Array):
            return self._array(only, path, nullable, notes)
        assert isinstance(only, Object)
        return self._object(only, path, nullable, notes)

    def _slot(self, shape: Shape, path: str) -> Slot:
        slot = make_slot(shape, path, next(self.slots))
        return replace(slot, day_first=self.day_first) if slot.day_first is None else slot

    def _array(self, shape: Array, path: str, nullable: bool, notes: Notes) -> ArrayNode:
        index = next(self.arrays)
        prefix = tuple(self.node(part, f"{path}/{at}") for at, part in enumerate(shape.prefix))
        row, met = shape.item, None
        if shape.contained is not None and shape.item is not None:
            with suppress(*NO_AUTOMATON):
                met = intersect(shape.item, shape.contained)
            row = shape.item if met is None else _with_descriptions(shape.item, met)
        item = None if row is None else self.node(row, f"{path}/*")
        if isinstance(item, Slot):
            item = _explain_item(item, notes)
        contained = None
        if met is not None:
            # It has a layout of its own: its slots are not filled, they only describe a row that is demanded.
            contained = FormLayout().node(met, f"{path}/*")
        return ArrayNode(
            index, path, item, shape.min_items, shape.max_items, nullable, notes.title, notes.description,
            prefix, contained=contained, min_contained=shape.min_contained, unique=shape.unique, binding=notes.binding,
        )  # fmt: skip

    def _object(self, shape: Object, path: str, nullable: bool, notes: Notes) -> ObjectNode:
        index = next(self.objects)
        properties = tuple(
            Property(f.name, self.node(f.shape, f"{path}/{escape(f.name)}"), f.required) for f in shape.fields
        )
        rest = self._rest(shape, path)
        return ObjectNode(
            index, path, properties, nullable, notes.title, notes.description, rest, shape.min_properties,
            shape.max_properties, shape.demands,
        )  # fmt: skip

    def _rest(self, shape: Object, path: str) -> tuple[ArrayNode, ...]:
        """The open properties that are written: those with values that the schema describes or demands."""
        groups = open_groups(shape)
        low = shape.min_properties if len(groups) == 1 and not shape.fields else 0
        most = None if shape.max_properties is None else max(0, shape.max_properties - len(shape.fields))
        arrays: list[ArrayNode] = []
        for key, value in groups:
            index = next(self.arrays)
            name = self._slot(key, f"{path}/*/name")
            arrays.append(ArrayNode(index, path, self.node(value, f"{path}/*"), low, most, key=name))
        return tuple(arrays)

    def _choice(self, kinds: list[Shape], path: str, nullable: bool, notes: Notes) -> ChoiceNode:
        index = next(self.choices)
        names = _names_of(kinds)
        selector = self._slot(
            Enum(tuple(scalar_text(n) for n, _ in names), tuple(note for _, note in names), notes), path
        )
        branches = tuple(self.node(kind, path) for kind in kinds)
        return ChoiceNode(index, path, selector, branches, nullable, notes.title, notes.description)


def _explain_item(item: Slot, notes: Notes) -> Slot:
    """Returns the item of a list; the list's description explains options or tells a form as the item's would."""
    explained = meanings(tuple(map(_plain, item.options)), notes.description)
    if item.options and not item.option_notes and any(explained):
        return replace(item, option_notes=explained)
    if item.kind == "string" and item.free and not item.description and notes.told:
        return replace(item, told=told_form(notes.description))
    return item


def lay_out(shape: Shape) -> Form:
    """The form of a shape."""
    notes = notes_of(shape)
    root = FormLayout(notes.day_first).node(shape, "")
    nodes = list(walk(root))
    return Form(
        root,
        tuple(node for node in nodes if isinstance(node, Slot)),
        tuple(node for node in nodes if isinstance(node, ArrayNode)),
        tuple(node for node in nodes if isinstance(node, ObjectNode)),
        tuple(node for node in nodes if isinstance(node, ChoiceNode)),
        notes.title,
        notes.description,
        pages=notes.pages,
    )


def _merge(containers: Sequence[Shape]) -> list[Shape]:
    """The alternatives, joined if one holds the other; the judge decides which values go together."""
    kept: list[Shape] = []
    for shape in containers:
        made: Shape | None = None
        for at, other in enumerate(kept):
            made = _join(other, shape)
            if made is not None:
                kept[at] = made
                break
        if made is None:
            kept.append(shape)
    return kept


def _join(a: Shape, b: Shape) -> Shape | None:
    """One shape that holds everything that either can write; None if the two are different kinds of value.

    Two objects are one kind if one of them has all the properties of the other, and each shared property is equal in
    both or wider in one. So a condition and its consequence do not make a second object.
    """
    if not isinstance(a, Object) or not isinstance(b, Object):
        return a if a == b else None
    if (a.additional, _open_patterns(a), a.names) != (b.additional, _open_patterns(b), b.names):
        return None
    mine, theirs = ({f.name: f for f in x.fields} for x in (a, b))
    named_apart = a.notes.title and b.notes.title and a.notes.title != b.notes.title
    same = mine.keys() == theirs.keys() and all(mine[n].shape == theirs[n].shape for n in mine)
    if not same and (named_apart or not (mine.keys() <= theirs.keys() or mine.keys() >= theirs.keys())):
        return None
    fields: list[Field] = []
    for name in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(name), theirs.get(name)
        shape = _wider(one.shape, other.shape) if one and other else (one or theirs[name]).shape
        if shape is None:
            return None
        fields.append(Field(name, shape, bool(one and other and one.required and other.required)))
    most = None
    if a.max_properties is not None and b.max_properties is not None:
        most = max(a.max_properties, b.max_properties)
    return Object(
        tuple(fields), a.additional, a.notes.over(b.notes), tuple(p for p in a.patterns if p in b.patterns),
        a.names, min(a.min_properties, b.min_properties), most, tuple(one for one in a.demands if one in b.demands),
    )  # fmt: skip


def _with_descriptions(shape: Shape, some: Shape) -> Shape:
    """The shape with the descriptions of `some`, a part of its values, added if it has none itself."""
    if isinstance(shape, Anything):
        containers = [part for part in branches(some) if isinstance(part, (Array, Object))]
        return union([*containers, SCALARS]) or shape
    if (
        isinstance(shape, Array)
        and isinstance(some, Array)
        and shape.item is not None
        and some.item is not None
    ):
        return replace(shape, item=_with_descriptions(shape.item, some.item))
    if not isinstance(shape, Object) or not isinstance(some, Object):
        return shape
    theirs = {field.name: field for field in some.fields}
    fields = [
        replace(field, shape=_with_descriptions(field.shape, theirs.pop(field.name).shape))
        if field.name in theirs
        else field
        for field in shape.fields
    ]
    return replace(shape, fields=(*fields, *(replace(field, required=False) for field in theirs.values())))


def _open_patterns(shape: Object) -> list[tuple[str, Shape | None]]:
    return [(pattern, value) for pattern, value in shape.patterns if value is not None]


def _wider(a: Shape, b: Shape) -> Shape | None:
    """The wider of two shapes, which holds all values of the other; None if that is not easily seen."""
    if a == b:
        return a
    if isinstance(a, Anything) or isinstance(b, Anything):
        return None
    met = None
    with suppress(*NO_AUTOMATON):
        met = intersect(a, b)
    if met is None:
        return None
    met = replace(met, notes=NO_NOTES)
    for narrow, wide in ((b, a), (a, b)):
        if met == replace(narrow, notes=NO_NOTES):
            return replace(wide, notes=wide.notes.over(narrow.notes))
    return None


def _names_of(kinds: list[Shape]) -> list[tuple[str, str]]:
    """A name for each kind of value, all different, and the description by its author.

    The name is the title, else the constant that tells the kinds apart, else a description of the kind.
    """
    constants = [
        {f.name: f.shape.options[0] for f in kind.fields if f.required and _constant(f.shape)}
        if isinstance(kind, Object)
        else {}
        for kind in kinds
    ]
    shared = [n for n in constants[0] if all(n in c for c in constants)] if constants else []
    distinguishing = next((n for n in shared if len({c[n] for c in constants}) == len(kinds)), None)
    names: list[tuple[str, str]] = []
    taken: set[str] = set()
    for kind, own in zip(kinds, constants, strict=True):
        name = kind.notes.title or (_plain(own[distinguishing]) if distinguishing is not None else _words_for(kind))
        unique = next(n for n in chain((name,), (f"{name} {i}" for i in count(2))) if n not in taken)
        taken.add(unique)
        words = _words_for(kind)
        names.append((unique, kind.notes.description or (words if name != words else "")))
    return names


def _constant(shape: Shape) -> TypeGuard[Enum]:
    return isinstance(shape, Enum) and len(shape.options) == 1


def _words_for(shape: Shape) -> str:
    if isinstance(shape, Object):
        named = ", ".join(f.name for f in shape.fields[:6])
        return f"object with {named}" if named else "object"
    if isinstance(shape, Array):
        return "list"
    kinds = {_KINDS.get(type(b), "text") for b in branches(shape)}
    return " or ".join(sorted(kinds))


_KINDS: dict[type, str] = {Boolean: "yes or no", Number: "number", Enum: "choice"}


def make_slot(shape: Shape, path: str, index: int) -> Slot:
    """The slot of a scalar shape."""
    notes, nullable, others = notes_of(shape), is_nullable(shape), drop_null(shape)
    options, notes_of_options = _options(others)
    if options and not any(notes_of_options):
        notes_of_options = meanings(tuple(_plain(text) for text in options), notes.description)
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
        option_notes=notes_of_options if any(notes_of_options) else (),
        option_words=_words_of(options, [notes, *(branch.notes for branch in others)]),
        format=only.formats[0] if only and only.formats else "",
        pattern=only.patterns[0] if only and only.patterns else "",
        free=any(not b.patterns and not b.formats for b in strings),
        max_length=left_out(shape),
        bounds=bounds_in_words(others[0]) if len(others) == 1 else "",
        title=notes.title,
        description=notes.description,
        examples=tuple(text for text in notes.examples if _is_scalar(shape, text)),
        default=_default(shape, notes.default),
        binding=notes.binding,
        day_first=notes.day_first,
        written=notes.written,
        told=told_form(notes.description) if _is_plain_text(others) and notes.told else None,
    )


def _is_plain_text(others: Sequence[Shape]) -> bool:
    """Whether the values are texts of which the schema itself says nothing but their length."""
    return len(others) == 1 and isinstance(others[0], String) and not (others[0].patterns or others[0].formats)


def _words_of(options: tuple[str, ...], told: Sequence[Notes]) -> tuple[tuple[str, ...], ...]:
    """The other words of each option, from the notes of the choice and of its branches; () if none has any."""
    words = {option: own for notes in reversed(told) for option, own in notes.words}
    found = tuple(words.get(_plain(option), ()) for option in options)
    return found if any(found) else ()


def _default(shape: Shape, text: str | None) -> str:
    return text if text not in (None, "null", '""') and _is_scalar(shape, text) else ""


def _is_scalar(shape: Shape, text: str) -> bool:
    return text[:1] not in "{[" and holds(shape, text)


def _options(others: tuple[Shape, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All texts of closed branches with their meanings; nothing if a branch is open."""
    options: dict[str, str] = {}
    for branch in others:
        if isinstance(branch, Enum):
            options.update(zip(branch.options, branch.meanings, strict=True))
        elif isinstance(branch, Boolean):
            options = {"true": "", "false": "", **options}
        else:
            return (), ()
    return tuple(options), tuple(options.values())


_KIND_OF: dict[type, Kind] = {String: "string", Boolean: "boolean"}


def _kind(others: tuple[Shape, ...]) -> Kind:
    """The kind of a slot: of its only branch, `number` for both kinds of numbers, `enum` if closed, else `string`."""
    kinds: set[Kind] = set()
    for branch in others:
        if isinstance(branch, Number):
            kinds.add("integer" if branch.integer else "number")
        else:
            kinds.add(_KIND_OF.get(type(branch), "enum"))
    if not kinds:
        return "null"
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {"integer", "number"}:
        return "number"
    return "enum" if kinds <= {"enum", "boolean"} else "string"


def _plain(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text
