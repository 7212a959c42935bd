"""The judge of every record: an independent validator of JSON Schema, then the Pydantic model where there is
one.

The text itself is judged, with its numbers exact, by jsonschema-rs under the draft that the schema's
`$schema` names (2020-12 where it names none), `format` asserted. Of our own schema code none takes part but
the parser of patterns, where these have to be said in other words (`translation.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import jsonschema_rs
from pydantic import ValidationError

from cinnabar.extraction.records.routes import check_routes
from cinnabar.extraction.records.translation import ECMA_PATTERN, EcmaPattern, translated
from cinnabar.schemas.errors import SchemaError
from cinnabar.schemas.judging.resources import Documents
from cinnabar.schemas.loading import SchemaSource
from cinnabar.schemas.pointers import escape


@dataclass(frozen=True, slots=True)
class Violation:
    """A place in a record, by JSON pointer (RFC 6901), and what is wrong there."""

    pointer: str
    message: str


class Validator:
    """Checks records against one schema; threads may share it.

    No reference outside of the schema is ever fetched. Raises UnsupportedSchema with the pointer of a
    reference that leads nowhere, also in a part that nothing refers to, or of an `unevaluated…` that is
    reached in too many ways, and SchemaError where the schema cannot be used otherwise.
    """

    def __init__(self, source: SchemaSource) -> None:
        self._model = source.model
        check_routes(source.schema)
        try:
            named = isinstance(source.schema, dict) and "$schema" in source.schema
            schema, self._patterns = translated(source.schema, nullable=not named)
            self._validator = jsonschema_rs.validator_cls_for(schema)(
                schema, validate_formats=True, offline=True, keywords={ECMA_PATTERN: EcmaPattern}
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            # It reads what nothing refers to as well, and does not tell the places of references.
            unresolved = Documents(source.schema).unresolved()
            if unresolved is not None:
                raise unresolved from error
            raise SchemaError(f"{source.name}: refused by the validator of records: {error}") from error

    def check(self, record_text: str) -> list[Violation]:
        """What is wrong with this JSON text; nothing where it is valid."""
        try:
            value = exact(record_text)
        except (ValueError, RecursionError) as error:
            return [Violation("", f"expected one JSON text, got {error}")]
        try:
            found = [
                Violation(pointer(error.instance_path), self._told(error))
                for error in self._validator.iter_errors(value)
            ]
        except ValueError as error:  # deeper than the validator goes, or a string that is no valid Unicode
            return [Violation("", f"the validator refuses the record: {error}")]
        return found or self._check_model(record_text)

    def _told(self, error: jsonschema_rs.ValidationError) -> str:
        """What is wrong, with the pattern of the schema where another one was put in its place."""
        said = getattr(error.kind, "pattern", None)
        return error.message.replace(said, self._patterns.get(said, said)) if said else error.message

    def _check_model(self, record_text: str) -> list[Violation]:
        if self._model is None:
            return []
        try:
            self._model.model_validate_json(record_text)
        except ValidationError as error:
            # Union branches stand in Pydantic's places too; such a pointer names the nearest it can.
            return [Violation(pointer(part["loc"]), part["msg"]) for part in error.errors(include_url=False)]
        return []


def exact(text: str) -> Any:
    """The value of this JSON text, numbers as int or Decimal.

    Raises ValueError where it is not JSON (RFC 8259), or has a key twice in one object.
    """
    return json.loads(
        text,
        parse_float=Decimal,
        parse_int=_integer,
        parse_constant=_no_constant,
        object_pairs_hook=_object,
    )


def pointer(steps: Iterable[str | int]) -> str:
    """The JSON pointer of these steps."""
    return "".join("/" + escape(str(step)) for step in steps)


def _integer(digits: str) -> int | Decimal:
    # Python refuses to read integers of more than 4300 digits, as that takes quadratic time.
    return int(digits) if len(digits) <= 4000 else Decimal(digits)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name}, which is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} twice in one object")
    return found
