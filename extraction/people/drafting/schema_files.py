"""Schemas as files for people to edit: YAML with a comment at its head, or JSON. No file is overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.reading.texts import schema_text
from cinnabar.schemas.reading.yaml_texts import is_yaml, yaml_text

#: The comments at the head of a proposed schema.
OFFERED = """The schema `{name}` of the library: leave out fields that you do not want, and add your own.
The reader sees names, titles, descriptions and choices only: say in each description what the field is.
Documents may lack a value: `'null'` among the types allows that."""
INFERRED = """A proposal, inferred from {source}: edit it.
The reader sees names, titles, descriptions and choices only: say in each description what the field is.
Documents may lack a value: let it be null there, as in `type: [string, 'null']`."""


def schema_document(schema: dict[str, Any], comment: str = "", *, as_yaml: bool = True) -> str:
    """The schema as the text of a file; JSON has no place for the comment."""
    if not as_yaml:
        return schema_text(schema, ensure_ascii=False, indent=2) + "\n"
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + yaml_text(schema)


def write_schema(schema: dict[str, Any], to: Path, comment: str = "") -> None:
    """Writes a new file, YAML or JSON by its ending. Raises UsageError if there is one, or if it cannot be written."""
    if not is_yaml(to.name) and to.suffix != ".json":
        raise UsageError(f"--to {to}: expected a file that ends in .yaml, .yml or .json")
    write_new(to, schema_document(schema, comment, as_yaml=is_yaml(to.name)), "--to ")


def write_new(path: Path, text: str, option: str = "") -> None:
    """Writes a file that must not exist yet. Raises UsageError else."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{option}{path}: it exists already, and no file is overwritten; name another one") from None
    except OSError as problem:
        raise UsageError(f"{option}{path}: it cannot be written: {problem.strerror or problem}") from None
