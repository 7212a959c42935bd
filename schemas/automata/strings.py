"""JSON scalars as texts and as languages: canonical texts, any string and bounded ones, all spellings."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from decimal import MAX_EMAX, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import numpy as np

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata import numbers
from cinnabar.schemas.automata.automaton import MAX_STATES, Automaton, from_dfa
from cinnabar.schemas.automata.numbers import canonical_number
from cinnabar.schemas.automata.operations import concat, difference, intersect, literal, union
from cinnabar.schemas.automata.spelling import lift

# The states for the spelling of one code point: between two, within UTF-8 and within escapes.
_STATES_EACH = 14


def canonical_string(text: str) -> bytes:
    """The canonical JSON text of this string, with quotes.

    Raises ValueError if the string has a lone surrogate, which UTF-8 cannot spell.
    """
    return json.dumps(text, ensure_ascii=False).encode("utf-8")


def content_of(text: str) -> bytes:
    """The canonical text of this string without its quotes."""
    return canonical_string(text)[1:-1]


@lru_cache(maxsize=256)
def bounded_length(min_length: int, max_length: int | None) -> Automaton:
    """The content of all strings with this many code points, both ends inclusive; None is no bound.

    Raises TooLarge above some 1,400 code points; 128 take 10 ms and 1,000 take 200 ms to compile.
    """
    last = min_length if max_length is None else max_length
    if last * _STATES_EACH > MAX_STATES:
        raise TooLarge(last * _STATES_EACH, MAX_STATES)
    table = [[n + 1] for n in range(last)] + [[last if max_length is None else -1]]
    return lift(table, (0,), (0,), [n >= min_length for n in range(last + 1)])


@lru_cache(maxsize=512)
def string(content: Automaton) -> Automaton:
    """The automaton of this content between quotes."""
    return concat(_QUOTE, content, _QUOTE)


@lru_cache(maxsize=1)
def any_string() -> Automaton:
    """The canonical JSON text of any string, with quotes."""
    return string(bounded_length(0, None))


@lru_cache(maxsize=1)
def any_escaped_string() -> Automaton:
    """Any string, with quotes, each character as it is or escaped in any way of JSON; no lone surrogate."""
    plain = any_string()
    inside, escape, size = plain.run(b'"'), plain.run(b'"\\'), plain.states
    # Four digits follow `u`, or those of two surrogates with `\u` between them.
    four, three, two, one, high, paired, pair, mark, letter, low, lower = range(size, size + 11)
    table = np.full((size + 11, 256), -1, np.int32)
    table[:size] = plain.transitions[:, plain.byte_class]
    digits = b"0123456789abcdefABCDEF"
    for state, those, target in (
        (escape, b"/", inside), (escape, b"u", four), (four, digits, three), (four, b"dD", high),
        (three, digits, two), (two, digits, one), (one, digits, inside), (high, b"01234567", two),
        (high, b"89abAB", paired), (paired, digits, pair), (pair, digits, mark), (mark, b"\\", letter),
        (letter, b"u", low), (low, b"dD", lower), (lower, b"cdefCDEF", two),
    ):  # fmt: skip
        table[state, [*those]] = target
    return from_dfa(table, np.arange(256), np.append(plain.accepting, np.zeros(11, np.bool_)))


_QUOTE = literal(b'"')


@lru_cache(maxsize=1024)
def spellings(canonical: Automaton, free: bool = False) -> Automaton:
    """The JSON spellings of these scalars; `free` tells that any string may be among them.

    Other strings, and numbers that would take too many states, keep their canonical spelling.
    """
    parts = [canonical]
    if any(canonical.run(bytes((byte,))) >= 0 for byte in b"-0123456789"):
        try:
            every = numbers.number()
            parts = [difference(canonical, every), numbers.spelled_numbers(intersect(canonical, every))]
        except TooLarge:
            return canonical
    if free and difference(any_string(), canonical).is_empty:
        parts.append(any_escaped_string())
    return parts[0] if len(parts) == 1 else union(*parts)


def decimal(value: int | float | Decimal) -> Decimal:
    """A JSON number as the decimal of its shortest spelling.

    Raises ValueError if the value is infinite or not a number.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a JSON number, got {value}")
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"expected a JSON number, got {value}")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def scalar_text(value: str | int | float | Decimal | bool | None) -> str:
    """The canonical text of null, a boolean, a number or a string.

    Raises ValueError if a string has a lone surrogate, which no UTF-8 text can hold, or if a number is not finite.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return canonical_string(value).decode("utf-8")
    return canonical_number(decimal(value))


def scalar_value(text: str) -> Any:
    """The value of a scalar's JSON text, as of `parse`: a record has thousands, and most need no parser."""
    if text[0] == '"':
        return parse(text) if "\\" in text else text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    return parse(text) if "e" in text.lower() else Decimal(text) if "." in text else _integer(text)


_WORDS = {"null": None, "true": True, "false": False}


def json_text(value: Any) -> str:
    """The canonical text of any JSON value: no spaces, properties in the order of the value."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{scalar_text(str(k))}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(json_text(v) for v in value) + "]"
    return scalar_text(value)


@lru_cache(maxsize=16)
def shared_value(text: str) -> Any:
    """The value of a JSON text as of `parse`: one object for all who read it, and no one changes it.

    The stages of a run look at one record in turn; the last sixteen are kept.
    """
    return parse(text)


def copied(value: Any) -> Any:
    """A JSON value that is equal to this one, and may be changed."""
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else value


def parse(text: str) -> Any:
    """The value of a JSON text in any spelling (RFC 8259), with exact numbers.

    Numbers come as int, or as Decimal if they have a fraction, an exponent or too many digits for Python's limit on
    integer texts. Raises ValueError if the text is not JSON (NaN and Infinity are not), or if it has a construct on
    which readers of JSON disagree: two properties of one name in an object, a lone surrogate, an exponent past that
    of Decimal, nesting that is too deep.
    """
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_object
        )
        if _SURROGATE.search(text):
            # A pair of surrogates is one code point; a lone one is not valid Unicode.
            json.dumps(value, ensure_ascii=False, default=str).encode()
    except RecursionError:
        raise ValueError("expected JSON with fewer nested values") from None
    except UnicodeEncodeError:
        raise ValueError("expected valid Unicode, got a lone surrogate") from None
    except InvalidOperation:
        raise ValueError(f"expected a number with an exponent of at most {MAX_EMAX}") from None
    return value


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def _refuse(name: str) -> None:
    raise ValueError(f"expected JSON, got {name}")


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < 4000 else Decimal(digits)


def most_repeated(pairs: list[tuple[str, Any]]) -> str:
    """The most frequent name among these pairs, for the error message about a repeated property."""
    ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
    return name


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"expected properties of different names, got {most_repeated(pairs)!r:.80} twice")
    return found
