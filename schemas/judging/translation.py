"""A schema in the words of jsonschema-rs, so that it reads the schema as the standard says.

Patterns that its engine would read otherwise are rewritten, classes as ranges of code points and `\\b` as lookarounds;
`cinnabar.schemas.regex.patterns` matches those that it refuses even then. Formats that it does not know in an older
draft are ours, and so is `x-cinnabar-decimals`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache, lru_cache, partial
from typing import Any
from urllib.parse import quote, unquote

import jsonschema_rs

from cinnabar.errors import RegexError
from cinnabar.schemas.automata.strings import decimal
from cinnabar.schemas.formats.formats import FORMATS, is_format
from cinnabar.schemas.judging.dialects import Dialect, dialect_named
from cinnabar.schemas.keywords import DATA, DECIMALS, MAPS
from cinnabar.schemas.pointers import escape, unescape
from cinnabar.schemas.regex.codepoints import WORD, Ranges
from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree, parse
from cinnabar.schemas.regex.patterns import pattern_matches

#: A keyword of our own, for patterns that the validator's engine cannot run.
ECMA_PATTERN = "x-cinnabar-pattern"

# Syntax that ECMA-262 and Rust read alike: letters and marks, escaped marks, sets of these, groups, counts.
_MARK = r"[A-Za-z0-9 _@#%=!,;:/'\"<>`]"
_ESCAPED = r"\\[-d./+*?()\[\]{}^$|\\]"
_SET = rf"\[\^?(?:{_MARK}|{_ESCAPED}|[.+*?(){{}}|$]|-(?!-))+\]"
_SAME = re.compile(rf"(?:{_MARK}|{_ESCAPED}|{_SET}|-|[\^$|)*+?]|\((?:\?[:=!])?|\{{[0-9]+(?:,[0-9]*)?\}})*")


def translate(schema: Any) -> tuple[Any, dict[str, str]]:
    """Returns the schema for jsonschema-rs, and the original patterns by their translations."""
    patterns = {ECMA_PATTERN: "pattern"}
    named = schema.get("$schema") if isinstance(schema, dict) else None
    nullable, sixth = named is None, isinstance(named, str) and dialect_named(named) is Dialect.DRAFT_6

    def change(part: dict[str, Any]) -> None:
        if nullable:
            _allow_null(part)
        dialect = dialect_named(part["$schema"]) if isinstance(part.get("$schema"), str) else None
        if dialect is not None:
            part["$schema"] = dialect.meta_schema
        if sixth:
            # They are of draft 7.
            part.pop("contentEncoding", None)
            part.pop("contentMediaType", None)
        if isinstance(part.get("$ref"), str) and "/patternProperties/" in part["$ref"]:
            part["$ref"] = _NAMED.sub(lambda named: named[1] + _renamed(named[2]), part["$ref"])
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            rust = rust_pattern(pattern)
            if rust is None:
                del part["pattern"]
                part[ECMA_PATTERN] = pattern
            else:
                part["pattern"], patterns[rust] = rust, pattern
        by_pattern = part.get("patternProperties")
        if isinstance(by_pattern, dict):
            properties: dict[str, Any] = {}
            for key, value in by_pattern.items():
                rust = rust_pattern(key) or key
                # Two patterns may have one translation.
                while rust in properties:
                    rust += "(?:)"
                properties[rust], patterns[rust] = value, key
            part["patternProperties"] = properties

    return rewritten(schema, change), patterns


#: A pattern that a reference leads through.
_NAMED = re.compile("(/patternProperties/)([^/]+)")


def _renamed(token: str) -> str:
    pattern = unescape(unquote(token))
    return quote(escape(rust_pattern(pattern) or pattern), safe="")


def rewritten(schema: Any, change: Callable[[dict[str, Any]], None], data: frozenset[str] = DATA) -> Any:
    """Returns a copy of the schema; `change` edits each object that is a schema in place, inner ones first.

    data: keywords whose values stay as they are.
    """
    if isinstance(schema, list):
        return [rewritten(part, change, data) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy: dict[str, Any] = {}
    for key, value in schema.items():
        if key in MAPS and isinstance(value, dict):
            copy[key] = {name: rewritten(part, change, data) for name, part in value.items()}
        else:
            copy[key] = value if key in data else rewritten(value, change, data)
    change(copy)
    return copy


def _allow_null(schema: dict[str, Any]) -> None:
    """Rewrites OpenAPI 3.0's `nullable: true` beside a `type` as null among the types."""
    if schema.get("nullable") is True and isinstance(schema.get("type"), (str, list)):
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = [*kinds, *(() if "null" in kinds else ("null",))]


@lru_cache(maxsize=1024)
def rust_pattern(pattern: str) -> str | None:
    """Returns this ECMA-262 pattern in the syntax of jsonschema-rs; None if its engine cannot run it."""
    try:
        rust = pattern if _SAME.fullmatch(pattern) else _rust(parse(pattern))
        jsonschema_rs.validator_for({"pattern": rust})
    except (RegexError, ValueError):
        return None
    return rust


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
        _, digits, exponent = decimal(instance).as_tuple()
        while digits and digits[-1] == 0:
            digits, exponent = digits[:-1], int(exponent) + 1
        if digits and int(exponent) < -self._most:
            raise ValueError(f"{instance!s:.80} has more than {self._most} decimal places")


class EcmaPattern:
    """The keyword ECMA_PATTERN. `validate` raises ValueError if a string has no match."""

    def __init__(self, _parent: dict[str, Any], value: Any, _path: list[str | int]) -> None:
        self._pattern = str(value)

    def validate(self, instance: Any) -> None:
        if isinstance(instance, str) and not pattern_matches(self._pattern, instance):
            raise ValueError(f"{instance!r:.80} does not match {self._pattern!r:.200}")


@cache
def options_of(name: str) -> dict[str, Any]:
    """Returns the options of a validator of the draft with this name in jsonschema-rs, such as Draft7Validator."""
    draft = getattr(jsonschema_rs, name)
    formats: dict[str, Callable[[str], bool]] = {"regex": partial(is_format, "regex")}
    for name in FORMATS:
        try:
            draft({"format": name}, validate_formats=True, ignore_unknown_formats=False)
        except ValueError:
            formats[name] = lru_cache(1024)(partial(is_format, name))
    keywords = {ECMA_PATTERN: EcmaPattern, DECIMALS: DecimalPlaces}
    return {"formats": formats, "validate_formats": True, "offline": True, "keywords": keywords}
