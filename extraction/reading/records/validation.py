"""Validates records with an independent JSON Schema validator, then with the Pydantic class if there is one.

jsonschema-rs checks the text itself, with exact numbers and asserted `format`, under the draft of the schema's
`$schema` (2020-12 by default). Our own schema code takes no part, except for the parser of patterns
(`extraction/reading/records/translation.py`).
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import jsonschema_rs
from pydantic import TypeAdapter, ValidationError

from cinnabar.extraction.reading.records.translation import ECMA_PATTERN, DecimalPlaces, EcmaPattern, translate
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.decimals import DECIMALS
from cinnabar.schemas.errors import SchemaError
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

_Kind = jsonschema_rs.ValidationErrorKind
_NONE_FITS = (_Kind.AnyOf, _Kind.OneOfNotValid)
#: A message tells at most so many alternatives.
_REASONS = 3


@dataclass(frozen=True, slots=True)
class RecordViolation:
    """A place in a record, by JSON pointer (RFC 6901), and the rule that it breaks."""

    pointer: str
    message: str


class Validator:
    """Checks records against one schema; threads may share it.

    It never fetches a reference outside of the schema. Raises UnsupportedSchema, with the pointer, for a reference that
    leads nowhere (also in an unused part) or an `unevaluated…` keyword with too many ways. Raises SchemaError if the
    schema cannot be used for another reason.
    """

    def __init__(self, source: SchemaSource) -> None:
        self._model: TypeAdapter[Any] | None = None if source.model is None else TypeAdapter(source.model)
        check_routes(source.schema)
        try:
            named = isinstance(source.schema, dict) and "$schema" in source.schema
            schema, self._patterns = translate(source.schema, nullable=not named)
            keywords: dict[str, Any] = {ECMA_PATTERN: EcmaPattern, DECIMALS: DecimalPlaces}
            self._validator = jsonschema_rs.validator_cls_for(schema)(
                schema, validate_formats=True, offline=True, keywords=keywords
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            # The validator reads unused parts as well, and does not tell the places of references.
            unresolved = Documents(source.schema).first_unresolved()
            if unresolved is not None:
                raise unresolved from error
            raise SchemaError(f"{source.name}: refused by the validator of records: {error}") from error

    def check(self, record_text: str) -> list[RecordViolation]:
        """Returns the violations in this JSON text; [] if it is valid."""
        try:
            value = exact(record_text)
        except (ValueError, RecursionError) as error:
            return [RecordViolation("", f"expected one JSON text, got {error}")]
        try:
            violations = [
                RecordViolation(pointer(error.instance_path), self._message(error))
                for error in self._validator.iter_errors(value)
            ]
        except ValueError as error:  # nested too deep, or a string that is not valid Unicode
            return [RecordViolation("", f"the validator refuses the record: {error}")]
        return violations or self._check_model(record_text)

    def _message(self, error: jsonschema_rs.ValidationError) -> str:
        """Returns the error's message: patterns as the schema has them, and why each alternative does not fit."""
        if isinstance(error.kind, _NONE_FITS):
            return self._none_fits(error, error.kind.context)
        pattern = getattr(error.kind, "pattern", None)
        return error.message.replace(pattern, self._patterns.get(pattern, pattern)) if pattern else error.message

    def _none_fits(self, error: jsonschema_rs.ValidationError, ways: list[list[jsonschema_rs.ValidationError]]) -> str:
        # An alternative of another type tells nothing, if one of the right type is nearly right.
        near = [way for way in ways if way and not any(_is_of_another_type(one, error) for one in way)]
        depth = len(error.instance_path)
        reasons = []
        for way in near or ways:
            for first in way[:1]:
                place = pointer(first.instance_path[depth:])
                reasons.append(f"{place}: {self._message(first)}" if place else self._message(first))
        distinct = list(dict.fromkeys(reasons))
        if len(near) == 1 and distinct:
            return distinct[0]
        rest = f"; and {len(distinct) - _REASONS} more" if len(distinct) > _REASONS else ""
        return f"fits none of {len(ways)} alternatives: {'; '.join(distinct[:_REASONS])}{rest}"

    def _check_model(self, record_text: str) -> list[RecordViolation]:
        if self._model is None:
            return []
        try:
            self._model.validate_json(record_text)
        except ValidationError as error:
            # Pydantic's locations also hold union branches; such a pointer names the nearest place it can.
            return [RecordViolation(pointer(part["loc"]), part["msg"]) for part in error.errors(include_url=False)]
        except Exception as error:  # The user's validators may raise anything.
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error}"
            where = f"{last.filename}, line {last.lineno}"
            return [RecordViolation("", f"the class's own code failed at {where}: {reason}")]
        return []


def _is_of_another_type(one: jsonschema_rs.ValidationError, whole: jsonschema_rs.ValidationError) -> bool:
    return isinstance(one.kind, _Kind.Type) and one.instance_path == whole.instance_path


def exact(text: str) -> Any:
    """Returns the value of this JSON text, with numbers as int or Decimal.

    Raises ValueError if it is not JSON (RFC 8259) or an object has a key twice.
    """
    return json.loads(
        text,
        parse_float=Decimal,
        parse_int=_integer,
        parse_constant=_no_constant,
        object_pairs_hook=_object,
    )


def pointer(steps: Iterable[str | int]) -> str:
    """Returns the JSON pointer of these steps."""
    return "".join("/" + escape(str(step)) for step in steps)


def _integer(digits: str) -> int | Decimal:
    # Python refuses to read integers of more than 4300 digits, because that takes quadratic time.
    return int(digits) if len(digits) <= 4000 else Decimal(digits)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name}, which is not a JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object with the key {twice!r} twice")
    return members


# Refuses schemas that the validator of records would walk for ever.
#
# To prepare an `unevaluated…` keyword jsonschema-rs follows each way through `allOf`, `anyOf`, `$ref` and the like at
# one value. Our own judge visits each part once (`schemas/judging`). This check counts the ways beforehand.


# Most ways: 2**16 of them take half a second to prepare.
_MAX_WAYS = 1 << 16
# Schemas nested at one value that are followed; deeper ones have no form (docs/json-schema.md).
_DEEPEST = 200
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ASKING = ("unevaluatedProperties", "unevaluatedItems")


def check_routes(schema: Any) -> None:
    """Raises UnsupportedSchema, with the pointer of an `unevaluated…` keyword, if too many ways lead through its
    schema."""
    if not _asks(schema):
        return
    documents = Documents(schema)
    counted: dict[int, int] = {}
    pending = [documents.root]
    while pending:
        place = pending.pop()
        if isinstance(place.value, dict):
            for keyword in _ASKING:
                if keyword in place.value and _ways(place, documents, counted) > _MAX_WAYS:
                    raise refused(Refusal.WAYS, f"{place.pointer}/{keyword}", keyword, most=_MAX_WAYS)
        pending += reversed(list(_children(place)))


def _asks(schema: Any) -> bool:
    """Returns True if the schema has such a keyword."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if any(keyword in part for keyword in _ASKING):
                return True
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False


def _ways(place: Place, documents: Documents, counted: dict[int, int], deep: int = 0) -> int:
    """Returns the number of ways from here into parts at the same value, this one included; a loop counts once."""
    if deep > _DEEPEST:
        return _MAX_WAYS + 1
    if id(place) not in counted:
        counted[id(place)] = 1
        parts = _beside(place, documents)
        counted[id(place)] = 1 + sum(_ways(part, documents, counted, deep + 1) for part in parts)
    return counted[id(place)]


def _beside(place: Place, documents: Documents) -> Iterator[Place]:
    """Yields the schemas that also apply to a value here."""
    value = place.value
    if not isinstance(value, dict):
        return
    for keyword in _LISTS:
        yield from (place.child(keyword).child(str(at)) for at in range(len(value.get(keyword, ()))))
    yield from (place.child(keyword) for keyword in _SINGLE if keyword in value)
    for keyword in ("dependentSchemas", "dependencies"):
        yield from (place.child(keyword).child(name) for name in value.get(keyword, ()))
    for keyword in _REFERENCES:
        if isinstance(value.get(keyword), str):
            yield documents.resolve(value[keyword], place, keyword)[0]


def _children(place: Place) -> Iterator[Place]:
    """Yields all objects and lists within this one."""
    value = place.value
    if isinstance(value, (dict, list)):
        keys = value if isinstance(value, dict) else map(str, range(len(value)))
        yield from (place.child(key) for key in keys)
