"""Whether a schema is one, which the standard's own meta-schema decides, and the schema's fingerprint."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import jsonschema_rs

from cinnabar.schemas.errors import SchemaError


def check_schema(schema: dict[str, Any] | bool, name: str = "schema") -> None:
    """Raise SchemaError where the meta-schema that `$schema` names (2020-12 by default) is not met."""
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as problem:
        place = "".join(f"/{part}" for part in problem.instance_path) or "/"
        raise SchemaError(f"{name}: {place}: {problem.message}") from None
    except UnicodeEncodeError:
        raise SchemaError(f"{name}: expected valid Unicode, got a lone surrogate") from None
    except (jsonschema_rs.ReferencingError, ValueError, TypeError) as problem:
        raise SchemaError(f"{name}: expected a JSON Schema of draft 4 to 2020-12, got {problem}") from None


def fingerprint(schema: dict[str, Any] | bool) -> str:
    """SHA-256, in hexadecimal, of the schema as JSON with sorted keys, annotations included."""
    text = json.dumps(schema, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
