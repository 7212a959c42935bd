"""Keywords that judge a value by itself: its type, choices, bounds, multiples, lengths, counts, texts.

JSON Schema Validation 2020-12, section 6; `format` is asserted if it is known (section 7.2.2).
"""

# ruff: noqa: ARG002, all keywords share one signature, and few use all of it

from __future__ import annotations

import base64
import operator
from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from cinnabar.errors import RegexError, SchemaError
from cinnabar.schemas.automata.strings import decimal, parse
from cinnabar.schemas.formats.formats import FORMATS, is_format
from cinnabar.schemas.judging.checks import (
    ARRAY,
    KINDS,
    NUMBER,
    OBJECT,
    STRING,
    TYPES,
    KeywordCheck,
    Scope,
    Test,
    frozen,
    is_whole,
    show_value,
    split,
)
from cinnabar.schemas.judging.dialects import Dialect
from cinnabar.schemas.judging.resources import Place
from cinnabar.schemas.keywords import MOST, step_of
from cinnabar.schemas.refusals import Refusal, refused
from cinnabar.schemas.regex.patterns import pattern_matches

# The number of texts with a cached verdict, for each pattern or format: a record is judged again at every
# denoising step, and most of it has not changed.
_CACHED_VERDICTS = 1024


def never(_value: Any, _scope: Scope) -> bool:
    """Holds for no value."""
    return False


def _whole(value: Any, _scope: Scope) -> bool:
    return is_whole(value)


def _digits_alone(value: Any, _scope: Scope) -> bool:
    """Whether an integer is spelled without a fraction and without an exponent, as draft 4 demands."""
    return type(value) is int or (type(value) is Decimal and value.as_tuple().exponent == 0)


class Type(KeywordCheck):
    """`type`: the kinds that it does not name are refused before any other keyword looks at them."""

    __slots__ = ("allowed", "integer", "wanted")

    def __init__(self, place: Place, value: Any) -> None:
        super().__init__(place, "type", KINDS)
        names = value if isinstance(value, list) else [value]
        for name in names:
            if not isinstance(name, str) or name not in TYPES:
                raise broken(place, f"one of {', '.join(TYPES)}")
        self.allowed = {kind for name in names for kind in TYPES[name]}
        self.wanted = " or ".join(names)
        self.integer: Test | None = None
        if "integer" in names and "number" not in names:
            self.integer = _digits_alone if place.resource.dialect is Dialect.DRAFT_4 else _whole

    def tests(self, kind: type) -> tuple[Test, ...]:
        if kind not in self.allowed:
            return (never,)
        return (self.integer,) if self.integer and kind in (Decimal, float) else ()

    def holds(self, value: Any, scope: Scope) -> bool:
        return all(test(value, scope) for test in self.tests(type(value)))

    def admits(self, kind: type) -> bool:
        return kind in self.allowed


class Never(KeywordCheck):
    """The schema `false`."""

    __slots__ = ()
    wanted = "no value at all"

    def __init__(self, place: Place) -> None:
        super().__init__(place, "false", KINDS)

    def holds(self, value: Any, scope: Scope) -> bool:
        return False

    def admits(self, kind: type) -> bool:
        return False


class Assertion(KeywordCheck):
    """A keyword decided by one function."""

    __slots__ = ("test", "wanted")

    def __init__(
        self, place: Place, keyword: str, kinds: tuple[type, ...], test: Callable[[Any], bool], wanted: str
    ) -> None:
        super().__init__(place, keyword, kinds)
        self.test, self.wanted = test, wanted

    def holds(self, value: Any, scope: Scope) -> bool:
        return self.test(value)


def broken(place: Place, wanted: str) -> SchemaError:
    """The error for a keyword with a value that the standard does not allow."""
    return SchemaError(f"{place.pointer or '/'}: expected {wanted}, got {show_value(place.value)}")


def choices(place: Place, keyword: str) -> KeywordCheck:
    """`enum` and `const`: equality of JSON values."""
    if keyword == "enum" and not isinstance(place.value, list):
        raise broken(place, "a list of values")
    values = place.value if keyword == "enum" else [place.value]
    try:
        allowed: frozenset[Hashable] = frozenset(map(frozen, values))
    except RecursionError:
        raise refused(Refusal.NESTED_CHOICE, place.pointer, keyword) from None
    except ValueError:
        raise broken(place, "JSON") from None
    kinds = {type(value) for value in values}
    if kinds & set(NUMBER):
        kinds |= set(NUMBER)
    wanted = ", ".join(map(show_value, values[:6])) + (", …" if len(values) > 6 else "")

    def equal(value: Any) -> bool:
        # A large value of another kind is not worth a key.
        return type(value) in kinds and frozen(value) in allowed

    return Assertion(place, keyword, KINDS, equal, f"one of {wanted}" if len(values) != 1 else wanted)


_ORDER: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "a number of at least"),
    "maximum": (operator.le, "a number of at most"),
    "exclusiveMinimum": (operator.gt, "a number above"),
    "exclusiveMaximum": (operator.lt, "a number below"),
}


def _number(place: Place) -> Decimal:
    value = place.value
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise broken(place, "a number")
    try:
        return decimal(value)
    except ValueError:
        raise broken(place, "a finite number") from None


def bound(place: Place, keyword: str) -> KeywordCheck:
    """`minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`: exact, of any size."""
    compare, words = _ORDER[keyword]
    limit = _number(place)

    def within(value: int | Decimal | float) -> bool:
        return compare(decimal(value) if type(value) is float else value, limit)

    return Assertion(place, keyword, NUMBER, within, f"{words} {limit}")


def multiple(place: Place, keyword: str) -> KeywordCheck:
    """`multipleOf`, exactly: of 10 to the difference of exponents only the remainder is computed."""
    step = _number(place)
    if step <= 0:
        raise broken(place, "a number above 0")
    return _multiple(place, keyword, step, f"a multiple of {step}")


def decimal_places(place: Place, keyword: str) -> KeywordCheck:
    """`x-cinnabar-decimals`: at most so many decimal places."""
    step = step_of(place.value)
    if step is None:
        raise broken(place, f"a whole number from 0 to {MOST}")
    return _multiple(place, keyword, step, f"a number with at most {int(place.value)} decimal places")


def _multiple(place: Place, keyword: str, step: Decimal, expected: str) -> KeywordCheck:
    divisor, places = split(step)

    def divides(value: int | Decimal | float) -> bool:
        mantissa, exponent = split(value)
        shift = exponent - places
        if shift >= 0:
            return mantissa * pow(10, shift, divisor) % divisor == 0
        # The mantissa ends in no zero, so it is a multiple of no power of ten; a divisor cannot change that.
        return mantissa == 0

    whole = int(step) if places >= 0 and places < 30 else 0

    def divides_quickly(value: int | Decimal | float) -> bool:
        return value % whole == 0 if type(value) is int else divides(value)

    return Assertion(place, keyword, NUMBER, divides_quickly if whole else divides, expected)


_COUNTED: dict[str, tuple[tuple[type, ...], bool, str]] = {
    "minLength": (STRING, True, "characters"),
    "maxLength": (STRING, False, "characters"),
    "minItems": (ARRAY, True, "items"),
    "maxItems": (ARRAY, False, "items"),
    "minProperties": (OBJECT, True, "properties"),
    "maxProperties": (OBJECT, False, "properties"),
}


def natural(place: Place) -> int:
    """The value of a keyword that counts; 2.0 counts as 2."""
    value = place.value
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or not 0 <= value < 1e18:
        raise broken(place, "a whole number from 0 on")
    if not is_whole(value):
        raise broken(place, "a whole number from 0 on")
    return int(value)


def count(place: Place, keyword: str) -> KeywordCheck:
    """Lengths in code points, numbers of items and of properties."""
    kinds, least, unit = _COUNTED[keyword]
    limit = natural(place)
    if least:
        return Assertion(place, keyword, kinds, lambda value: len(value) >= limit, f"at least {limit} {unit}")
    return Assertion(place, keyword, kinds, lambda value: len(value) <= limit, f"at most {limit} {unit}")


def required(place: Place, keyword: str) -> KeywordCheck:
    """`required`: each of these names is a property."""
    names = strings(place)
    if len(names) == 1:
        (name,) = names
        return Assertion(place, keyword, OBJECT, lambda value: name in value, f"the property {name}")
    wanted = frozenset(names)
    return Assertion(
        place, keyword, OBJECT, lambda value: value.keys() >= wanted, f"the properties {', '.join(names)}"
    )


def strings(place: Place) -> list[str]:
    """The value of a keyword that lists names."""
    if not isinstance(place.value, list) or not all(isinstance(name, str) for name in place.value):
        raise broken(place, "a list of names")
    return place.value


def unique(place: Place, keyword: str) -> KeywordCheck | None:
    """`uniqueItems`: no two items are equal; 1 and 1.0 are equal."""
    if not isinstance(place.value, bool):
        raise broken(place, "true or false")

    def differ(value: list[Any]) -> bool:
        return len(value) < 2 or len(set(map(frozen, value))) == len(value)

    wanted = "items of which no two are equal"
    return Assertion(place, keyword, ARRAY, differ, wanted) if place.value else None


def matcher(place: Place, keyword: str, pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a pattern is found within a string.

    No automaton is built: patterns with large counts have large ones, and most texts have been seen before. Raises
    UnsupportedSchema if no automaton can express the pattern.
    """
    try:
        pattern_matches(pattern, "")
    except RegexError as problem:
        raise refused(
            Refusal.PATTERN_OF_NAMES, place.pointer, keyword, pattern=pattern, problem=problem
        ) from None
    return lru_cache(_CACHED_VERDICTS)(partial(pattern_matches, pattern))


def pattern(place: Place, keyword: str) -> KeywordCheck:
    """`pattern`: ECMA-262, found anywhere in the string."""
    if not isinstance(place.value, str):
        raise broken(place, "a pattern")
    found = matcher(place, keyword, place.value)
    return Assertion(place, keyword, STRING, found, f"a string with the pattern {place.value:.80}")


def format_of(place: Place, keyword: str) -> KeywordCheck | None:
    """`format`, if it is known; others are annotations."""
    name = place.value
    if not isinstance(name, str):
        raise broken(place, "the name of a format")
    if name not in FORMATS:
        return None
    meets = lru_cache(_CACHED_VERDICTS)(partial(is_format, name))
    return Assertion(place, keyword, STRING, meets, f"a string of the format {name}")


def encoding(place: Place, keyword: str) -> KeywordCheck | None:
    """`contentEncoding` for base64 (RFC 4648), which draft 7 may assert and later drafts made an annotation."""
    if place.resource.dialect is not Dialect.DRAFT_7 or place.value != "base64":
        return None
    return Assertion(place, keyword, STRING, lambda text: _decode(text) is not None, "a string in base64")


def media_type(place: Place, encoded: bool) -> KeywordCheck | None:
    """`contentMediaType` of draft 7 for JSON, which may be in base64."""
    if place.resource.dialect is not Dialect.DRAFT_7 or place.value != "application/json":
        return None

    def is_json(text: str) -> bool:
        try:
            content = (_decode(text) or b"").decode() if encoded else text
            parse(content)
        except ValueError:
            return False
        return True

    return Assertion(place, "contentMediaType", STRING, is_json, "a string that holds JSON")


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None
