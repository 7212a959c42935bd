"""Writes a form as the JSON Schema for a server, within the subset that strict modes accept.

Strict modes demand that every property is required, that none is undeclared, and that the root is an object; they
forbid the keywords that combine or bound. So every place is present and nullable, and null stands for absence. The
description says in words what a slot's automaton demands beyond the type; the reader of the answer enforces it.
Open properties become a list of names and values. Prefix items become properties named by their index. Known values
are left out. A list with known rows becomes an object: its properties are the rows with something to ask, by index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.form.fitting import branch_of, group_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import above, escape, items_named

#: The limits of strict modes: properties, levels, options, and characters of names and options.
PROPERTIES, LEVELS, OPTIONS, CHARACTERS = 5000, 10, 1000, 120_000
#: The name of a root that is no object, of open properties, and of the items after the prefix items.
ROOT, OPEN, MORE = "value", "other properties", "more"


class Wire:
    """The schema of a form's values that are not known; `schema` is None if all are.

    The lists of `counted` have known rows alone, maybe none.
    """

    def __init__(
        self, form: Form, known: Mapping[str, str | None], counted: frozenset[int] = frozenset()
    ) -> None:
        self.form, self.known, self._counted = form, known, counted
        self._above = {place for pointer in known for place in above(pointer.rpartition("/")[0])}
        self.schema: dict[str, Any] | None = None
        if self.asks(form.root, ""):
            root = self._node(form.root, "", True)
            self.schema = root if isinstance(form.root, ObjectNode) else _object({ROOT: root})

    @property
    def strict(self) -> bool:
        """Whether the schema is within the limits of strict modes."""
        assert self.schema is not None
        properties, levels, options, characters = _measure(self.schema)
        within = properties <= PROPERTIES and levels <= LEVELS
        return within and options <= OPTIONS and characters <= CHARACTERS

    def asks(self, node: Node, pointer: str) -> bool:
        """Returns whether the schema asks for anything at this place."""
        if isinstance(node, Slot) or pointer in self.known:
            return pointer not in self.known
        if pointer not in self._above:
            return not (isinstance(node, ArrayNode) and node.index in self._counted)
        if isinstance(node, ChoiceNode):
            return False  # either all of a choice's values are known or none
        return bool(self.lists(node, pointer)) or any(True for _ in self.members(node, pointer))

    def known_items(self, pointer: str) -> int:
        """Returns how many items of the array at this place are known, at least in part."""
        return items_named(pointer, self.known) if pointer in self._above else 0

    def places(self, node: ObjectNode | ArrayNode, pointer: str) -> Iterator[tuple[str, Node, str]]:
        """Yields name, node and pointer of each property, known item or prefix item, whose name is its index."""
        if isinstance(node, ObjectNode):
            parts: Iterable[tuple[str, Node | None]] = ((place.name, place.node) for place in node.properties)
        else:
            known = range(self.known_items(pointer) or len(node.prefix))
            parts = ((str(at), node.prefix[at] if at < len(node.prefix) else node.item) for at in known)
        for name, part in parts:
            if part is not None:
                yield name, part, f"{pointer}/{escape(name)}"

    def members(self, node: ObjectNode | ArrayNode, pointer: str) -> Iterator[tuple[str, Node, str]]:
        """Yields the places that the schema asks for."""
        return (place for place in self.places(node, pointer) if self.asks(place[1], place[2]))

    def lists(self, node: ObjectNode | ArrayNode, pointer: str) -> list[tuple[str, ArrayNode]]:
        """Returns the lists beside these places, by name: of open properties, and of the items behind prefix items."""
        if isinstance(node, ObjectNode):
            return list(zip(open_names(node), node.rest, strict=True))
        return [] if node.item is None or self.known_items(pointer) else [(MORE, node)]

    def is_list(self, node: Node, pointer: str) -> bool:
        """Returns whether the schema has a list for this node, rather than an object of places."""
        return isinstance(node, ArrayNode) and not node.prefix and not self.known_items(pointer)

    def answer(self, record: Any) -> str | None:
        """Returns the answer that says this record; None if the schema asks for rows of a known list."""
        try:
            root = self._answer_of(self.form.root, "", record)
        except LookupError:
            return None
        return json_text(root if isinstance(self.form.root, ObjectNode) else {ROOT: root})

    def _answer_of(self, node: Node, pointer: str, value: Any) -> Any:
        if isinstance(node, Slot) or value is None:
            return value
        if isinstance(node, ChoiceNode):
            branch = branch_of(node, value)
            return None if branch is None else self._answer_of(node.branches[branch], pointer, value)
        if isinstance(node, ArrayNode):
            return self._items_of(node, pointer, value)
        members: dict[str, Any] = {}
        for name, part, below in self.members(node, pointer):
            members[name] = self._answer_of(part, below, value.get(name))
            if members[name] is None and isinstance(part, ArrayNode) and not part.prefix:
                members[name] = []
        declared = {place.name for place in node.properties}
        for opened, rest in zip(open_names(node), node.rest, strict=True):
            mine = [name for name in value if name not in declared and group_of(node, name, value[name]) is rest]
            assert rest.item is not None
            pairs = ((name, self._answer_of(rest.item, f"{pointer}/*", value[name])) for name in mine)
            members[opened] = [{"name": name, "value": answer} for name, answer in pairs]
        return members

    def _items_of(self, node: ArrayNode, pointer: str, value: Any) -> Any:
        if self.known_items(pointer):
            raise LookupError(pointer)
        more = value[len(node.prefix) :] if node.item is not None else []
        items = [self._answer_of(node.item, f"{pointer}/*", item) for item in more] if node.item is not None else []
        if not node.prefix:
            return items
        pairs = enumerate(zip(node.prefix, value, strict=False))
        first = [self._answer_of(part, f"{pointer}/{at}", one) for at, (part, one) in pairs]
        first += [None] * (len(node.prefix) - len(first))
        return {str(at): one for at, one in enumerate(first)} | ({MORE: items} if node.item is not None else {})

    def _node(self, node: Node, pointer: str, there: bool = False) -> dict[str, Any]:
        if isinstance(node, Slot):
            return _slot(node)
        if isinstance(node, ChoiceNode):
            branches = [self._node(branch, pointer) for branch in node.branches]
            return _with_note({"anyOf": [*branches, {"type": "null"}]}, node.title, node.description)
        if isinstance(node, ArrayNode) and self.is_list(node, pointer):
            return _with_note(self._list(node, pointer), node.title, node.description)
        known = isinstance(node, ArrayNode) and self.known_items(pointer) > 0
        properties = {name: self._node(part, below, known) for name, part, below in self.members(node, pointer)}
        properties |= {name: self._list(rest, pointer) for name, rest in self.lists(node, pointer)}
        schema = _with_note(_object(properties), node.title, node.description)
        if isinstance(node, ObjectNode) and not there:
            schema["type"] = ["object", "null"]
        return schema

    def _list(self, node: ArrayNode, pointer: str) -> dict[str, Any]:
        item = {"type": "null"} if node.item is None else self._node(node.item, f"{pointer}/*", True)
        if node.key is not None:
            item = _object({"name": _slot(node.key), "value": item})
        return {"type": "array", "items": item}


def open_names(node: ObjectNode) -> list[str]:
    """Returns a name for each group of an object's open properties; no declared property has it."""
    names: list[str] = []
    name, taken = OPEN, {place.name for place in node.properties}
    for _ in node.rest:
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def expected_values(slot: Slot) -> str:
    """Describes in words the values that a slot allows."""
    if slot.options:
        return f"one of {', '.join(slot.options[:20])}{' …' if len(slot.options) > 20 else ''}"
    parts = [_FORMATS.get(slot.format) or (f"a {slot.kind}" if slot.kind != "integer" else "an integer")]
    if slot.format and slot.format not in _FORMATS:
        parts.append(f"of the format {slot.format}")
    if slot.pattern:
        parts.append(f"that matches the pattern {slot.pattern}")
    if slot.bounds:
        parts.append(f"of {slot.bounds}" if slot.kind == "string" else f"({slot.bounds})")
    return " ".join(parts)


_FORMATS = {
    "date": "a date as YYYY-MM-DD",
    "time": "a time as HH:MM:SS with its offset (RFC 3339)",
    "date-time": "a date and time as YYYY-MM-DDTHH:MM:SS with its offset (RFC 3339)",
    "duration": "a duration as ISO 8601 writes it, such as P3D",
    "email": "an e-mail address",
    "uri": "a URI",
}
_TEXTS = {"number": (b"0", b"1", b"0.5", b"10", b"-1"), "boolean": (b"true", b"false")}


def _slot(slot: Slot) -> dict[str, Any]:
    schema: dict[str, Any]
    if slot.options:
        values = [json.loads(option) for option in slot.options]
        kinds = dict.fromkeys(_kind(value) for value in values)
        schema = {"type": [*kinds, "null"], "enum": [*values, None]}
        pairs = zip(slot.options, slot.option_notes, strict=False)
        notes = "; ".join(
            f"{option}: {note}" for option, note in pairs if note and note not in slot.description
        )
    else:
        kinds = dict.fromkeys(_kinds(slot))
        schema = {"type": [*kinds, "null"] if "null" not in kinds else "null"}
        notes = expected_values(slot)[:1].upper() + expected_values(slot)[1:] if slot.kind != "null" else ""
        if slot.examples:
            notes += f", such as {', '.join(slot.examples[:2])}"
        if slot.default:
            notes += f", {slot.default} where the document has none"
    return _with_note(schema, slot.title, slot.description, notes)


def _kinds(slot: Slot) -> list[str]:
    """Returns the JSON types that a slot allows beside null."""
    if slot.kind != "string":
        return [slot.kind]
    others = [kind for kind, texts in _TEXTS.items() if any(map(slot.automaton.accepts, texts))]
    return ["string", *others]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _with_note(schema: dict[str, Any], title: str, description: str, more: str = "") -> dict[str, Any]:
    """Returns the schema with a description of these texts."""
    parts = [part.strip().rstrip(".") for part in (title, description, more) if part.strip()]
    return schema | {"description": ". ".join(dict.fromkeys(parts)) + "."} if parts else schema


def _measure(schema: Any) -> tuple[int, int, int, int]:
    """Counts properties, levels of objects, options, and characters of names and options of a wire schema."""
    if isinstance(schema, list):
        return _sum([_measure(part) for part in schema])
    if not isinstance(schema, dict):
        return 0, 0, 0, 0
    options = [value for value in schema.get("enum", []) if value is not None]
    properties = schema.get("properties", {})
    parts = [*properties.values(), schema.get("items"), *schema.get("anyOf", [])]
    inside = _sum([_measure(part) for part in parts])
    characters = sum(map(len, properties)) + sum(len(str(option)) for option in options)
    level = 1 if "properties" in schema else 0
    return len(properties) + inside[0], inside[1] + level, len(options) + inside[2], characters + inside[3]


def _sum(parts: list[tuple[int, int, int, int]]) -> tuple[int, int, int, int]:
    deepest = max((part[1] for part in parts), default=0)
    return sum(p[0] for p in parts), deepest, sum(p[2] for p in parts), sum(p[3] for p in parts)
