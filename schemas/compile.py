"""A JSON Schema compiled: the form to fill, the texts it accepts, and one canonical text for each record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cinnabar.schemas.canonical import parse, scalar_text
from cinnabar.schemas.errors import NotAccepted
from cinnabar.schemas.form import ArrayNode, Form, Node, ObjectNode
from cinnabar.schemas.layout import lay_out
from cinnabar.schemas.metaschema import fingerprint
from cinnabar.schemas.normalise import escape, normalise
from cinnabar.schemas.shape import Shape


@dataclass(frozen=True, slots=True, eq=False)
class CompiledSchema:
    """A schema ready for the engine.

    `form` is what is filled and written: canonical texts only, undeclared properties never. `accepts` judges
    any JSON text, whoever wrote it. `unenforced` lists what the schema says and nobody checks, as (pointer,
    what). `additional` has what each object accepts undeclared, by its index in `form.objects`.
    """

    form: Form
    shape: Shape
    fingerprint: str
    unenforced: tuple[tuple[str, str], ...]
    additional: dict[int, CompiledSchema | bool]

    def accepts(self, text: str) -> bool:
        """Whether this is a JSON text, in any spelling, of a value that the schema allows."""
        try:
            self._text(self.form.root, parse(text), "", closed=False)
        except (ValueError, RecursionError):
            return False
        return True

    def canonical(self, value: Any) -> str:
        """The one canonical text of a record: properties in schema order, no spaces, one spelling of each
        value.

        `value` is parsed JSON; numbers may be int, float or Decimal. Raises NotAccepted with the place of
        what the schema does not allow; undeclared properties are among it, even where the schema leaves them
        open.
        """
        return self._text(self.form.root, value, "", closed=True)

    def minimal(self) -> str:
        """The canonical text of a smallest record: null where allowed, optional properties left out."""
        return minimal(self.form.root)

    def _text(self, node: Node, value: Any, pointer: str, closed: bool) -> str:
        if isinstance(node, (ObjectNode, ArrayNode)) and value is None and node.nullable:
            return "null"
        if isinstance(node, ObjectNode):
            if not isinstance(value, dict):
                raise NotAccepted(pointer, "an object", repr(value))
            return self._object(node, value, pointer, closed)
        if isinstance(node, ArrayNode):
            if not isinstance(value, (list, tuple)):
                raise NotAccepted(pointer, "an array", repr(value))
            if len(value) < node.min_items or (node.max_items is not None and len(value) > node.max_items):
                most = "more" if node.max_items is None else node.max_items
                raise NotAccepted(pointer, f"{node.min_items} to {most} items", f"{len(value)} items")
            rows = (self._text(node.item, v, f"{pointer}/{i}", closed) for i, v in enumerate(value))
            return "[" + ",".join(rows) + "]"
        if isinstance(value, (dict, list, tuple)):
            raise NotAccepted(pointer, f"a {node.kind}", repr(value))
        text = scalar_text(value)
        if not node.accepts(text.encode()):
            raise NotAccepted(pointer, f"a {node.format or node.kind} that the schema allows", text)
        return text

    def _object(self, node: ObjectNode, value: dict[str, Any], pointer: str, closed: bool) -> str:
        parts, declared = [], set()
        for place in node.properties:
            declared.add(place.name)
            below = f"{pointer}/{escape(place.name)}"
            if place.name in value:
                text = self._text(place.node, value[place.name], below, closed)
                parts.append(f"{scalar_text(place.name)}:{text}")
            elif place.required:
                raise NotAccepted(below, "a value, for it is required", "none")
        rest = self.additional[node.index]
        for name in value.keys() - declared:
            below = f"{pointer}/{escape(name)}"
            if closed or rest is False:
                raise NotAccepted(below, "no undeclared property", repr(value[name]))
            _check_anything(name)
            if isinstance(rest, CompiledSchema):
                rest._text(rest.form.root, value[name], below, closed)
            else:
                _check_anything(value[name])
        return "{" + ",".join(parts) + "}"


def compile_schema(schema: dict[str, Any] | bool) -> CompiledSchema:
    """A schema compiled, with the same result for the same schema.

    Raises SchemaError for what is no schema, and UnsupportedSchema with the pointer of a keyword that cannot
    be enforced or that no value meets.
    """
    found = normalise(schema)
    return _compiled(found.shape, fingerprint(schema), found.unenforced)


def _compiled(shape: Shape, name: str, unenforced: tuple[tuple[str, str], ...]) -> CompiledSchema:
    form, additional = lay_out(shape)
    judged = {i: s if isinstance(s, bool) else _compiled(s, name, ()) for i, s in additional.items()}
    return CompiledSchema(form, shape, name, unenforced, judged)


def minimal(node: Node) -> str:
    """The canonical text of a smallest value of this node."""
    if isinstance(node, (ObjectNode, ArrayNode)) and node.nullable:
        return "null"
    if isinstance(node, ObjectNode):
        needed = (p for p in node.properties if p.required)
        return "{" + ",".join(f"{scalar_text(p.name)}:{minimal(p.node)}" for p in needed) + "}"
    if isinstance(node, ArrayNode):
        return "[" + ",".join([minimal(node.item)] * node.min_items) + "]"
    return node.minimal


def _check_anything(value: Any) -> None:
    """Raise ValueError where a string within this JSON value is not valid Unicode."""
    if isinstance(value, str):
        scalar_text(value)
    for part in value.items() if isinstance(value, dict) else ():
        _check_anything(part[0])
        _check_anything(part[1])
    for part in value if isinstance(value, list) else ():
        _check_anything(part)
