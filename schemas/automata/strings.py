"""JSON strings as languages: any string, bounded ones, the canonical text of one; and all spellings of scalars."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata import numbers
from cinnabar.schemas.automata.automaton import MAX_STATES, Automaton, from_dfa
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
