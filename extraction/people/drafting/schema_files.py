"""Schemas as YAML files for people to edit, with a comment at the head."""

from __future__ import annotations

from typing import Any

from cinnabar.schemas.reading.yaml_texts import yaml_text

#: The comment at the head of a schema of the library.
OFFERED = """The schema `{name}` of the library: leave out fields that you do not want, and add your own.
The reader sees names, titles, descriptions and choices only: say in each description what the field is.
Documents may lack a value: `'null'` among the types allows that."""


def schema_document(schema: dict[str, Any], comment: str) -> str:
    """Returns a schema as the text of a YAML file."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + yaml_text(schema)
