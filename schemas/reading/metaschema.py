"""The check of a schema against the standard's own meta-schema, and the schema's fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import jsonschema_rs

from cinnabar.schemas.errors import SchemaError
from cinnabar.schemas.judging.dialects import Dialect, dialect_named
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.reading.complaints import complaint
from cinnabar.schemas.reading.limits import check_limits
from cinnabar.schemas.reading.texts import schema_text

META_SCHEMAS = {
    Dialect.DRAFT_4: "http://json-schema.org/draft-04/schema#",
    Dialect.DRAFT_6: "http://json-schema.org/draft-06/schema#",
    Dialect.DRAFT_7: "http://json-schema.org/draft-07/schema#",
    Dialect.DRAFT_2019_09: "https://json-schema.org/draft/2019-09/schema",
    Dialect.DRAFT_2020_12: "https://json-schema.org/draft/2020-12/schema",
}


def check_schema(
    schema: dict[str, Any] | bool, name: str = "schema", line_of: Callable[[str], int] | None = None
) -> None:
    """Raises SchemaError if the schema breaks the meta-schema that `$schema` names (2020-12 by default).

    Raises UnsupportedSchema if the schema is beyond the limits in `limits.py`. Nothing is fetched: a meta-schema
    that is not the standard's own is refused. `line_of` gives the line of a JSON pointer in the schema's file.
    """
    check_limits(schema, name)
    if isinstance(schema, dict) and isinstance(schema.get("$schema"), str):
        dialect = dialect_named(schema["$schema"])
        if dialect is None:
            wanted = "the meta-schema of a draft of JSON Schema from 4 to 2020-12"
            raise SchemaError(f"{name}: /$schema: expected {wanted}, got {schema['$schema']:.80}")
        schema = {**schema, "$schema": META_SCHEMAS[dialect]}
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as problem:
        pointer = "".join(f"/{escape(str(step))}" for step in problem.instance_path)
        where = f"{name}, line {line_of(pointer)}" if line_of else name
        raise SchemaError(f"{where}: {complaint(problem)}") from None
    except (jsonschema_rs.ReferencingError, ValueError, TypeError) as problem:
        raise SchemaError(f"{name}: expected a JSON Schema of draft 4 to 2020-12, got {problem}") from None


def fingerprint(schema: dict[str, Any] | bool) -> str:
    """SHA-256, in hexadecimal, of the schema as JSON with sorted keys, annotations included."""
    text = schema_text(schema, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
