"""A schema in the words of jsonschema-rs, so that it reads the schema as the standard says.

Patterns are rewritten for its linear engine, classes as ranges of code points;
`cinnabar.schemas.regex.patterns` matches those that it refuses even then. Names by a pattern with lookarounds need its
other engine, which takes `X+Y?X+` for matched by one X, unless each repeat is a group. Formats that it does not know in
an older draft are ours, and so are `x-cinnabar-decimals` and numbers of more than 15 digits.
"""

from __future__ import annotations

import json
import operator
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
from cinnabar.schemas.keywords import DATA, DECIMALS, MAPS, schemas_in
from cinnabar.schemas.pointers import escape, unescape
from cinnabar.schemas.regex.codepoints import WORD, Ranges
from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree, parse
from cinnabar.schemas.regex.patterns import pattern_matches

#: A keyword of our own, for patterns that the validator's engine cannot run.
ECMA_PATTERN = "x-cinnabar-pattern"
#: Keywords of our own beside those of numbers, which jsonschema-rs compares as floats.
EXACT_NUMBERS = {
    name: f"x-cinnabar-{name}"
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
}
#: The most digits of a number that a float holds.
_FLOAT_DIGITS = 15


def translate(schema: Any, looks: bool) -> tuple[Any, dict[str, str]]:
    """Returns the schema for jsonschema-rs, and the original patterns and keywords by their translations.

    looks: whether the schema `looks_around`.
    """
    patterns = {ECMA_PATTERN: "pattern"} | {own: name for name, own in EXACT_NUMBERS.items()}
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
            part["$ref"] = _NAMED.sub(lambda named: named[1] + _renamed(named[2], looks), part["$ref"])
        _add_exact_numbers(part)
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            rust = None if looks else rust_pattern(pattern)
            if rust is None:
                del part["pattern"]
                part[ECMA_PATTERN] = pattern
            else:
                part["pattern"], patterns[rust] = rust, pattern
        by_pattern = part.get("patternProperties")
        if isinstance(by_pattern, dict):
            properties: dict[str, Any] = {}
            for key, value in by_pattern.items():
                rust = name_pattern(key, looks) or key
                # Two patterns may have one translation.
                while rust in properties:
                    rust += "(?:)"
                properties[rust], patterns[rust] = value, key
            part["patternProperties"] = properties

    return rewritten(schema, change), patterns


#: A pattern that a reference leads through.
_NAMED = re.compile("(/patternProperties/)([^/]+)")


def _renamed(token: str, looks: bool) -> str:
    pattern = unescape(unquote(token))
    return quote(escape(name_pattern(pattern, looks) or pattern), safe="")


def looks_around(schema: Any) -> bool:
    """Returns whether names of the schema have a pattern that the linear engine cannot run."""
    named = (part.get("patternProperties") for _, part in schemas_in(schema))
    return any(rust_pattern(pattern) is None for own in named if isinstance(own, dict) for pattern in own)


def _add_exact_numbers(part: dict[str, Any]) -> None:
    for name, own in EXACT_NUMBERS.items():
        limit = part.get(name)
        # In draft 4 `exclusiveMinimum` says how `minimum` counts.
        limit = part.get(name[9:].lower()) if limit is True and name.startswith("exclusive") else limit
        if isinstance(limit, (int, float, Decimal)) and not isinstance(limit, bool):
            part[own] = str(decimal(limit))


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
    """Returns this ECMA-262 pattern in the syntax of jsonschema-rs; None if its linear engine cannot run it."""
    return _run_by_engine(lambda: _rust(parse(pattern)), pattern_options=jsonschema_rs.RegexOptions())


@lru_cache(maxsize=1024)
def name_pattern(pattern: str, looks: bool = True) -> str | None:
    """Returns a pattern of names as `rust_pattern`, or, if one of the schema looks around, for the other engine."""
    return _run_by_engine(lambda: _rust(parse(pattern), "(")) if looks else rust_pattern(pattern)


def _run_by_engine(write: Callable[[], str], **engine: Any) -> str | None:
    """Returns a pattern in Rust's syntax, None if it cannot be written or this engine cannot run it."""
    try:
        rust = write()
        jsonschema_rs.validator_for({"pattern": rust}, **engine)
    except (RegexError, ValueError):
        return None
    return rust


def _rust(tree: Tree, group: str = "(?:") -> str:
    """Returns a tree in Rust's syntax; `group` opens what is repeated."""
    match tree:
        case Chars(ranges):
            return _set(ranges)
        case Sequence(parts):
            return "".join(_rust(part, group) for part in parts)
        case Choice(branches):
            return f"(?:{'|'.join(_rust(branch, group) for branch in branches)})"
        case Repeat(body, least, most):
            repeated = f"(?:{_rust(body, group)}){{{least},{'' if most is None else most}}}"
            return repeated if group == "(?:" else f"({repeated})"
        case Look(body, ahead, negative):
            return f"(?{'' if ahead else '<'}{'!' if negative else '='}{_rust(body, group)})"
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
        mantissa, exponent = _split(decimal(instance))
        if mantissa and exponent < -self._most:
            raise ValueError(f"{instance!s:.80} has more than {self._most} decimal places")


class EcmaPattern:
    """The keyword ECMA_PATTERN. `validate` raises ValueError if a string has no match."""

    def __init__(self, _parent: dict[str, Any], value: Any, _path: list[str | int]) -> None:
        self._pattern = str(value)

    def validate(self, instance: Any) -> None:
        if isinstance(instance, str) and not pattern_matches(self._pattern, instance):
            shown = json.dumps(instance, ensure_ascii=False)
            raise ValueError(f'{shown:.80} does not match "{self._pattern:.200}"')


class ExactNumber:
    """A keyword of EXACT_NUMBERS. `validate` raises ValueError if a number of many digits breaks its limit."""

    def __init__(self, _parent: dict[str, Any], value: Any, path: list[str | int]) -> None:
        self._keyword, self._limit = str(path[-1]).removeprefix("x-cinnabar-"), Decimal(str(value))

    def validate(self, instance: Any) -> None:
        if isinstance(instance, bool) or not isinstance(instance, (int, float, Decimal)):
            return
        number = decimal(instance)
        is_short = max(len(number.as_tuple().digits), len(self._limit.as_tuple().digits)) <= _FLOAT_DIGITS
        if is_short or _MEETS[self._keyword](number, self._limit):
            return
        # What floats tell as well is told once.
        if self._keyword == "multipleOf" or _MEETS[self._keyword](Decimal(float(number)), Decimal(float(self._limit))):
            raise ValueError(f"{instance!s:.80} breaks {self._keyword} {self._limit!s:.80}")


def _is_multiple(number: Decimal, step: Decimal) -> bool:
    """Of 10 to the difference of exponents only the remainder is computed."""
    mantissa, exponent = _split(number)
    divisor, places = _split(step)
    shift = exponent - places
    # The mantissa ends in no zero, so it is a multiple of no power of ten; a divisor cannot change that.
    return mantissa * pow(10, shift, divisor) % divisor == 0 if shift >= 0 else mantissa == 0


def _split(number: Decimal) -> tuple[int, int]:
    """Returns the digits of a number without zeros at their end, and its exponent."""
    _, digits, exponent = number.as_tuple()
    last = next((at for at in range(len(digits), 0, -1) if digits[at - 1]), 1)
    # Python makes no whole number of thousands of digits from a text.
    return int(Decimal((0, digits[:last], 0))), int(exponent) + len(digits) - last


_MEETS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "minimum": operator.ge, "maximum": operator.le, "exclusiveMinimum": operator.gt, "exclusiveMaximum": operator.lt,
    "multipleOf": _is_multiple,
}  # fmt: skip


@cache
def options_of(name: str, looks: bool) -> dict[str, Any]:
    """Returns the options of a validator of the draft with this name in jsonschema-rs, such as Draft7Validator.

    looks: whether names of its schema need the engine that looks around.
    """
    draft = getattr(jsonschema_rs, name)
    formats: dict[str, Callable[[str], bool]] = {"regex": partial(is_format, "regex")}
    for name in FORMATS:
        try:
            draft({"format": name}, validate_formats=True, ignore_unknown_formats=False)
        except ValueError:
            formats[name] = lru_cache(1024)(partial(is_format, name))
    keywords = {ECMA_PATTERN: EcmaPattern, DECIMALS: DecimalPlaces} | dict.fromkeys(EXACT_NUMBERS.values(), ExactNumber)
    engine = {} if looks else {"pattern_options": jsonschema_rs.RegexOptions()}
    return {"formats": formats, "validate_formats": True, "offline": True, "keywords": keywords, **engine}
