"""Short ways to write schemas and their shapes."""

from __future__ import annotations

from typing import Any

from cinnabar.schemas.parsing.shape import Enum, Field, Object, Shape
from cinnabar.schemas.parsing.shape_reader import normalise

TEXT = {"type": "string"}
OPEN = {"type": "object", "properties": {"a": TEXT}}
CLOSED = {**OPEN, "additionalProperties": False}
DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}


def shape(schema: Any) -> Shape:
    return normalise(schema).shape


def fields(found: Shape) -> dict[str, Field]:
    assert isinstance(found, Object)
    return {field.name: field for field in found.fields}


def chain(name: str, part: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"$defs": {name: part}, "$ref": f"#/$defs/{name}", **more}


def one(text: str) -> Enum:
    return Enum((text,), ("",))
