"""Translates the patterns and `nullable` of a schema for jsonschema-rs.

jsonschema-rs runs patterns in a regular expression engine of Rust. Most patterns mean the same there. Any other is
rewritten without ambiguous parts: classes become plain ranges of code points, and `\\b` becomes lookarounds.
`cinnabar.schemas.regex.patterns` matches the patterns that the engine refuses even then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from typing import Any

import jsonschema_rs

from cinnabar.schemas.errors import RegexError
from cinnabar.schemas.reading.texts import schema_text
from cinnabar.schemas.regex.codepoints import WORD, Ranges
from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree, parse
from cinnabar.schemas.regex.patterns import pattern_matches

#: A keyword of our own, for patterns that the validator's engine cannot run.
ECMA_PATTERN = "x-cinnabar-pattern"
#: Keywords whose values are data, and keywords that map any name to a schema.
_DATA = ("const", "default", "enum", "example", "examples")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")

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
        if key in _NAMED and isinstance(value, dict):
            copy[key] = {name: rewritten(part, change) for name, part in value.items()}
        else:
            copy[key] = value if key in _DATA else rewritten(value, change)
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
        rust = pattern if same else _rust(parse(pattern))
        jsonschema_rs.validator_for({"pattern": rust})
    except RegexError:
        return pattern
    except ValueError:
        return pattern if same and not _is_pattern(pattern) else None
    return rust


def _is_pattern(text: str) -> bool:
    with suppress(RegexError):
        parse(text)
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
    plain = "".join(rf"\x{{{a:x}}}-\x{{{b:x}}}" if a < b else rf"\x{{{a:x}}}" for a, b in kept)
    return f"[{plain}]" if kept else r"[^\x{0}-\x{10ffff}]"


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
