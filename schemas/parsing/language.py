"""Automata of scalar shapes over canonical JSON texts; equal languages share one object."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache, reduce
from weakref import WeakValueDictionary

from cinnabar.errors import RegexError, TooLarge, UnsupportedNumber
from cinnabar.schemas.automata import numbers, strings
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.operations import difference, intersect, literals, union
from cinnabar.schemas.formats.formats import format_content
from cinnabar.schemas.parsing.shape import (
    Anything,
    Boolean,
    Enum,
    Null,
    Number,
    Shape,
    String,
    Union,
    branches,
)
from cinnabar.schemas.regex.patterns import written

# A length bound up to this becomes states. A larger upper bound is checked on the finished text instead: nearly every
# value is far below it, and a string of 3,000 states costs 280 ms a canvas. The same applies if a bound multiplies the
# states of a pattern beyond FEW_STATES.
UNROLLED_LENGTH = 64
FEW_STATES = 2_000
# A lower bound, and an upper one of a slot with several kinds of strings, cannot be checked on the finished text.
MAX_UNROLLED_LENGTH = 512

#: The values that are written if any value is allowed.
SCALARS = Union((Null(), Boolean(), Number(), String()))

#: The errors raised if a scalar shape has no automaton of acceptable size.
NO_AUTOMATON = (RegexError, UnsupportedNumber, TooLarge)

_INTERNED: WeakValueDictionary[str, Automaton] = WeakValueDictionary()


def intern(language: Automaton) -> Automaton:
    """The one object for this language."""
    return _INTERNED.setdefault(language.fingerprint, language)


def language(shape: Shape, unroll: int | None = None) -> Automaton:
    """The canonical texts of a scalar shape, without its upper bounds on length if they are large.

    A bound above `unroll` code points (by default that of `_largest_bound`) is left out; see `left_out`.
    Raises one of NO_AUTOMATON if the automaton would be too large.
    """
    unroll = _largest_bound(shape) if unroll is None else unroll
    parts = [_branch(branch, unroll) for branch in branches(shape)]
    return parts[0] if len(parts) == 1 else _union(*sorted(parts, key=lambda part: part.fingerprint))


def left_out(shape: Shape) -> int | None:
    """The bound on length, in code points, that `language` left out; None if it left out none."""
    bounds = [b.max_length for b in branches(shape) if isinstance(b, String) and b.max_length is not None]
    return max((bound for bound in bounds if bound > _largest_bound(shape)), default=None)


def _largest_bound(shape: Shape) -> int:
    """The largest bound on length that becomes states; a larger one must hold for all strings of the shape."""
    strings_of = [b for b in branches(shape) if isinstance(b, (String, Enum))]
    if len(strings_of) > 1:
        return MAX_UNROLLED_LENGTH
    for only in strings_of:
        if isinstance(only, String) and only.patterns and (only.max_length or 0) <= UNROLLED_LENGTH:
            try:
                few = _branch(only, UNROLLED_LENGTH).states <= FEW_STATES
            except TooLarge:
                few = False
            return UNROLLED_LENGTH if few else 0
    return UNROLLED_LENGTH


def holds(shape: Shape, text: str) -> bool:
    """Whether a scalar shape has this canonical text, under all bounds on length."""
    bound = left_out(shape)
    return language(shape).accepts(text.encode()) and (bound is None or _length(text) <= bound)


def smallest(shape: Shape) -> str | None:
    """A shortest canonical text of a scalar shape under all bounds on length; None if it has no value.

    Raises the exceptions of `language`.
    """
    text, bound = language(shape).shortest(), left_out(shape)
    if text is not None and bound is not None and _length(text.decode()) > bound:
        # The text of fewest bytes may not have the fewest code points, so the bound becomes states here.
        text = language(shape, bound).shortest()
    return None if text is None else text.decode()


def _length(text: str) -> int:
    """The number of code points of the string that this canonical text spells; 0 if it is no string."""
    return len(json.loads(text)) if text.startswith('"') else 0


def _branch(shape: Shape, unroll: int) -> Automaton:
    if isinstance(shape, Null):
        return _literals(("null",))
    if isinstance(shape, Anything):
        return language(SCALARS, unroll)
    if isinstance(shape, Boolean):
        return _literals(("false", "true"))
    if isinstance(shape, Enum):
        return _literals(shape.options)
    if isinstance(shape, Number):
        made = _number(
            shape.integer,
            shape.minimum,
            shape.maximum,
            shape.exclusive_minimum,
            shape.exclusive_maximum,
            shape.multiples,
        )
        for step in shape.apart:
            made = _without(made, _number(False, None, None, None, None, (step,)))
        return made
    if isinstance(shape, String):
        bound = shape.max_length if shape.max_length is not None and shape.max_length <= unroll else None
        return _string(shape.patterns, shape.formats, shape.min_length, bound)
    raise TypeError(f"expected a scalar shape, got {type(shape).__name__}")


@lru_cache(maxsize=4096)
def _union(*parts: Automaton) -> Automaton:
    return intern(union(*parts))


@lru_cache(maxsize=4096)
def _without(texts: Automaton, others: Automaton) -> Automaton:
    return intern(difference(texts, others))


@lru_cache(maxsize=4096)
def _literals(texts: tuple[str, ...]) -> Automaton:
    return intern(literals(text.encode() for text in texts))


@lru_cache(maxsize=4096)
def _number(
    integer: bool,
    minimum: Decimal | None,
    maximum: Decimal | None,
    exclusive_minimum: Decimal | None,
    exclusive_maximum: Decimal | None,
    multiples: tuple[Decimal, ...],
) -> Automaton:
    bounds = minimum, maximum, exclusive_minimum, exclusive_maximum
    parts = [numbers.number(*bounds, multiple, integer) for multiple in multiples or (None,)]
    return intern(reduce(intersect, parts))


@lru_cache(maxsize=4096)
def _string(
    patterns: tuple[str, ...], formats: tuple[str, ...], min_length: int, max_length: int | None
) -> Automaton:
    parts = [written(pattern).content for pattern in patterns]
    parts += [content for name in formats if (content := format_content(name)) is not None]
    if min_length or max_length is not None:
        parts.append(strings.bounded_length(min_length, max_length))
    return intern(strings.string(reduce(intersect, parts)) if parts else strings.any_string())
