"""Validates records with jsonschema-rs, independent of our own judge, then with the Pydantic class if there is one.

It checks the text itself, with exact numbers and asserted `format`, under the schema's draft. Patterns that its engine
would read otherwise are rewritten, classes as ranges of code points and `\\b` as lookarounds;
`cinnabar.schemas.regex.patterns` matches those that it refuses even then.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import jsonschema_rs
from pydantic import TypeAdapter, ValidationError

from cinnabar.errors import RegexError, SchemaError
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.keywords import DATA, DECIMALS, MAPS
from cinnabar.schemas.parsing.texts import schema_text
from cinnabar.schemas.pointers import parts_of, pointer_of
from cinnabar.schemas.refusals import Refusal, refused
from cinnabar.schemas.regex.codepoints import WORD, Ranges
from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree
from cinnabar.schemas.regex.ecma import parse as parse_pattern
from cinnabar.schemas.regex.patterns import pattern_matches

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
            value = parse(record_text)
        except ValueError as error:
            return [RecordViolation("", f"expected one JSON text, got {error}")]
        try:
            violations = [
                RecordViolation(pointer_of(error.instance_path), self._message(error))
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
                place = pointer_of(first.instance_path[depth:])
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
            return [RecordViolation(pointer_of(part["loc"]), part["msg"]) for part in error.errors(include_url=False)]
        except Exception as error:  # The user's validators may raise anything.
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error}"
            where = f"{last.filename}, line {last.lineno}"
            return [RecordViolation("", f"the class's own code failed at {where}: {reason}")]
        return []


def _is_of_another_type(one: jsonschema_rs.ValidationError, whole: jsonschema_rs.ValidationError) -> bool:
    return isinstance(one.kind, _Kind.Type) and one.instance_path == whole.instance_path


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
    if not any(keyword in part for _, part in parts_of(schema) if isinstance(part, dict) for keyword in _ASKING):
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


#: A keyword of our own, for patterns that the validator's engine cannot run.
ECMA_PATTERN = "x-cinnabar-pattern"

# Syntax that ECMA-262 and Rust read alike: letters and marks, escaped marks, sets of these, groups, counts.
_MARK = r"[A-Za-z0-9 _@#%=!,;:/'\"<>`]"
_ESCAPED = r"\\[-d./+*?()\[\]{}^$|\\]"
_SET = rf"\[\^?(?:{_MARK}|{_ESCAPED}|[.+*?(){{}}|$]|-(?!-))+\]"
_SAME = re.compile(rf"(?:{_MARK}|{_ESCAPED}|{_SET}|-|[\^$|)*+?]|\((?:\?[:=!])?|\{{[0-9]+(?:,[0-9]*)?\}})*")


def translate(schema: Any, nullable: bool) -> tuple[Any, dict[str, str]]:
    """Returns the schema for jsonschema-rs, and the original patterns by their translations.

    `nullable` says if OpenAPI's keyword counts.
    """
    patterns: dict[str, str] = {}
    # A reference may name a part by its pattern, so these patterns keep their names.
    named = "/patternProperties/" in schema_text(schema)

    def change(part: dict[str, Any]) -> None:
        if nullable:
            _allow_null(part)
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            rust = rust_pattern(pattern)
            if rust is None:
                del part["pattern"]
                part[ECMA_PATTERN] = pattern
            else:
                part["pattern"], patterns[rust] = rust, pattern
        by_pattern = part.get("patternProperties")
        if isinstance(by_pattern, dict) and not named:
            properties: dict[str, Any] = {}
            for key, value in by_pattern.items():
                rust = rust_pattern(key) or key
                properties[rust] = {"allOf": [properties[rust], value]} if rust in properties else value
            part["patternProperties"] = properties

    return rewritten(schema, change), patterns


def rewritten(schema: Any, change: Callable[[dict[str, Any]], None]) -> Any:
    """Returns a copy of the schema; `change` edits each object that is a schema in place, inner ones first."""
    if isinstance(schema, list):
        return [rewritten(part, change) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy: dict[str, Any] = {}
    for key, value in schema.items():
        if key in MAPS and isinstance(value, dict):
            copy[key] = {name: rewritten(part, change) for name, part in value.items()}
        else:
            copy[key] = value if key in DATA else rewritten(value, change)
    change(copy)
    return copy


def _allow_null(schema: dict[str, Any]) -> None:
    """Rewrites OpenAPI 3.0's `nullable: true` beside a `type` as null among the types."""
    if schema.get("nullable") is True and isinstance(schema.get("type"), (str, list)):
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = [*kinds, *(() if "null" in kinds else ("null",))]


@lru_cache(maxsize=1024)
def rust_pattern(pattern: str) -> str | None:
    """Returns this ECMA-262 pattern in the syntax of jsonschema-rs; None if its engine cannot run it.

    An invalid pattern is returned unchanged, for the validator to refuse.
    """
    same = _SAME.fullmatch(pattern) is not None
    try:
        rust = pattern if same else _rust(parse_pattern(pattern))
        jsonschema_rs.validator_for({"pattern": rust})
    except RegexError:
        return pattern
    except ValueError:
        return pattern if same and not _is_pattern(pattern) else None
    return rust


def _is_pattern(text: str) -> bool:
    with suppress(RegexError):
        parse_pattern(text)
        return True
    return False


def _rust(tree: Tree) -> str:
    match tree:
        case Chars(ranges):
            return _set(ranges)
        case Sequence(parts):
            return "".join(_rust(part) for part in parts)
        case Choice(branches):
            return f"(?:{'|'.join(_rust(branch) for branch in branches)})"
        case Repeat(body, least, most):
            return f"(?:{_rust(body)}){{{least},{'' if most is None else most}}}"
        case Look(body, ahead, negative):
            return f"(?{'' if ahead else '<'}{'!' if negative else '='}{_rust(body)})"
        case Edge("b" | "B" as kind):
            word = _set(WORD)
            after, before = ("!", "=") if kind == "b" else ("=", "!")
            return f"(?:(?<={word})(?{after}{word})|(?<!{word})(?{before}{word}))"
        case Edge(kind):
            return kind


def _set(ranges: Ranges) -> str:
    """Returns a class of these code points without surrogates, which Rust text cannot hold."""
    kept: list[tuple[int, int]] = []
    for first, last in ranges:
        kept += ((a, b) for a, b in ((first, min(last, 0xD7FF)), (max(first, 0xE000), last)) if a <= b)
    plain = "".join(rf"\u{{{a:x}}}-\u{{{b:x}}}" if a < b else rf"\u{{{a:x}}}" for a, b in kept)
    return f"[{plain}]" if kept else r"[^\u{0}-\u{10ffff}]"


class DecimalPlaces:
    """The keyword `x-cinnabar-decimals`. `validate` raises ValueError if a number has more decimal places."""

    def __init__(self, _parent: dict[str, Any], value: Any, _path: list[str | int]) -> None:
        self._most = int(value)

    def validate(self, instance: Any) -> None:
        if isinstance(instance, bool) or not isinstance(instance, (int, float, Decimal)):
            return
        exponent = Decimal(str(instance)).normalize().as_tuple().exponent
        if not isinstance(exponent, int) or -exponent > self._most:
            raise ValueError(f"{instance!s:.80} has more than {self._most} decimal places")


class EcmaPattern:
    """The keyword ECMA_PATTERN. `validate` raises ValueError if a string has no match."""

    def __init__(self, _parent: dict[str, Any], value: Any, _path: list[str | int]) -> None:
        self._pattern = str(value)

    def validate(self, instance: Any) -> None:
        if isinstance(instance, str) and not pattern_matches(self._pattern, instance):
            raise ValueError(f"{instance!r:.80} does not match {self._pattern!r:.200}")
