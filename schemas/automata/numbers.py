"""JSON numbers as languages of their canonical spellings: bounds and multiples by automata over digits.

Canonical is `-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?` without `-0`: no exponent, no needless zero. Each value has one
spelling, so bounds are regular and equal numbers are equal texts. Bounds are compared exactly, never as floats, and
exponents are not expanded past `MAX_DIGITS`. `spelled_numbers` gives the other spellings that a model may write.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import product

import numpy as np

from cinnabar.errors import UnsupportedNumber
from cinnabar.schemas.automata.automaton import Automaton, empty, from_dfa
from cinnabar.schemas.automata.operations import concat, difference, intersect, literal, literals, union

MAX_DIGITS = 400
# 65,536 remainders take a second or two to compile; they may need far fewer states, as those of 2 ** 16 do.
MAX_REMAINDERS = 65_536
_SPELLING = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|[+-]?\.[0-9]+([eE][+-]?[0-9]+)?", re.ASCII)

# Byte classes of all tables here: 0 to 9 are the digits, 10 the point, 11 the minus sign, 12 all other bytes.
_BYTES = np.full(256, 12, np.int32)
_BYTES[ord("0") : ord("9") + 1] = np.arange(10)
_BYTES[ord(".")] = 10
_BYTES[ord("-")] = 11
_POINT, _CLASSES = 10, 13


def canonical_number(value: Decimal | int | float | str) -> str:
    """The canonical spelling of this number; a float counts as its shortest decimal, 0.1 as 0.1.

    Raises ValueError if the value is not a finite number, or, before writing any digit, if it has more than
    `MAX_DIGITS` digits.
    """
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {value!r}")
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        raise ValueError(f"expected at most {MAX_DIGITS} digits")
    text = str(value)
    if isinstance(value, str) and not _SPELLING.fullmatch(text):
        raise ValueError(f"expected a decimal number, got {value!r}")
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        raise ValueError(f"expected a number of at most {MAX_DIGITS} digits, got {value!r:.80}") from None
    if not isinstance(exponent, int):
        raise ValueError(f"expected a finite number, got {value!r}")
    figures = "".join(map(str, digits)).lstrip("0")
    if not figures:
        return "0"
    exponent += len(figures) - len(figures.rstrip("0"))
    figures = figures.rstrip("0")
    if max(len(figures), len(figures) + exponent, -exponent) > MAX_DIGITS:
        raise ValueError(f"expected at most {MAX_DIGITS} digits, got {value!r:.80}")
    if exponent >= 0:
        body = figures + "0" * exponent
    else:
        padded = figures.rjust(1 - exponent, "0")
        body = f"{padded[:exponent]}.{padded[exponent:]}"
    return "-" + body if sign else body


@lru_cache(maxsize=1024)
def number(
    minimum: Decimal | None = None,
    maximum: Decimal | None = None,
    exclusive_minimum: Decimal | None = None,
    exclusive_maximum: Decimal | None = None,
    multiple_of: Decimal | None = None,
    whole: bool = False,
) -> Automaton:
    """All numbers, or integers, within these bounds; raises UnsupportedNumber if the automaton would be too large."""
    positive = negative = _unsigned_numbers(whole)
    if multiple_of is not None:
        positive = negative = intersect(positive, _multiples(multiple_of))
    negative = difference(negative, _ZERO)
    # A bound above zero rules out all negative numbers; one below zero bounds their size from the other side.
    for bound, strict, above in (
        (minimum, False, True),
        (exclusive_minimum, True, True),
        (maximum, False, False),
        (exclusive_maximum, True, False),
    ):
        if bound is None:
            continue
        text = _spell(bound)
        size, below_zero = text.removeprefix("-"), text.startswith("-")
        kept = ("" if strict else "=") + (">" if above else "<")
        mirrored = ("" if strict else "=") + ("<" if above else ">")
        if below_zero:
            negative = intersect(negative, _compare_unsigned(size, mirrored))
            positive = positive if above else empty()
        else:
            positive = intersect(positive, _compare_unsigned(size, kept))
            negative = empty() if above else negative
    return union(positive, concat(_MINUS, negative))


def spelled_numbers(canonical: Automaton) -> Automaton:
    """All JSON spellings of these numbers, but for exponents under bounds.

    Zeros may end a fraction (`190.00`, `5.0`), and zero may have a sign. Where the sign alone decides, an exponent of
    one or two digits may follow, for integers none below zero; other bounds would take a copy of the states for each
    exponent and place of the point. Raises TooLarge if the automaton would be too large.
    """
    plain, zero = _spelled_plainly(canonical), Decimal(0)
    for whole, signs in ((False, ("", "+", "-")), (True, ("", "+"))):
        below, above = number(exclusive_maximum=zero, whole=whole), number(exclusive_minimum=zero, whole=whole)
        parts = below, number(zero, zero), above
        held = [part for part in parts if not intersect(part, canonical).is_empty]
        if held and union(*held).fingerprint == canonical.fingerprint:
            powers = [*map(str, range(10)), *(f"{power:02}" for power in range(100))]
            exponents = literals("".join(one).encode() for one in product("eE", signs, powers))
            return union(plain, concat(plain, exponents))
    return plain


def _spelled_plainly(canonical: Automaton) -> Automaton:
    """The spellings of these numbers without an exponent."""
    whole = intersect(canonical, number(whole=True))
    fraction = difference(canonical, whole)
    if whole.accepts(b"0"):
        whole = union(whole, literal(b"-0"))
    zeros = from_dfa([[0] + [-1] * (_CLASSES - 1)], _BYTES, [True])
    return union(whole, concat(union(fraction, concat(whole, literal(b".0"))), zeros))


def _spell(bound: Decimal) -> str:
    try:
        return canonical_number(bound)
    except ValueError as error:
        raise UnsupportedNumber(f"the bound {bound!s:.40}: {error}") from None


@lru_cache(maxsize=2)
def _unsigned_numbers(whole: bool) -> Automaton:
    """Canonical spellings of the numbers from zero on."""
    table = np.full((5, _CLASSES), -1, np.int32)
    # A fraction begins with the point and continues after each zero, since a zero cannot end it.
    zero, more, fraction, ended = 1, 2, 3, 4
    table[0, 0], table[0, 1:10], table[more, :10] = zero, more, more
    if not whole:
        table[[zero, more], _POINT] = fraction
        for state in (fraction, ended):
            table[state, 0], table[state, 1:10] = fraction, ended
    return from_dfa(table, _BYTES, np.isin(np.arange(5), (zero, more, ended)))


@lru_cache(maxsize=1024)
def _compare_unsigned(size: str, kept: str) -> Automaton:
    """Unsigned canonical spellings that compare to `size` in one of the ways in `kept`, a subset of `<=>`.

    The result may hold spellings that are not canonical; the caller intersects it with the canonical ones.
    """
    head, _, tail = size.partition(".")
    digits, places = [int(d) for d in head], [int(d) for d in tail]
    n, m = len(digits), len(places)
    # States: 0 .. n, equal so far after i digits; then smaller and larger so far after 1 .. n digits; then equal
    # so far after j places; then settled as smaller or larger, by the places or by too many digits.
    smaller, larger, place = n, 2 * n, 3 * n + 1
    less = place + m + 1
    greater = less + 1
    table = np.full((greater + 1, _CLASSES), -1, np.int32)
    verdict = ["?"] * (greater + 1)
    for i in range(n):
        table[i, : digits[i]], table[i, digits[i] + 1 : 10] = smaller + i + 1, larger + i + 1
        table[i, digits[i]] = i + 1
        if i:
            table[smaller + i, :10], table[larger + i, :10] = smaller + i + 1, larger + i + 1
            for state in (i, smaller + i, larger + i):
                table[state, _POINT], verdict[state] = less, "<"
    for state, target, order in (
        (n, place, "=" if not m else "<"),
        (smaller + n, less, "<"),
        (larger + n, greater, ">"),
    ):
        table[state, :10], table[state, _POINT], verdict[state] = greater, target, order
    for j in range(m + 1):
        digit = places[j] if j < m else 0
        table[place + j, :digit], table[place + j, digit + 1 : 10] = less, greater
        table[place + j, digit] = place + j + 1 if j < m else place + j
        verdict[place + j] = "<" if j < m else "="
    table[less, : _POINT + 1], verdict[less] = less, "<"
    table[greater, : _POINT + 1], verdict[greater] = greater, ">"
    return from_dfa(table, _BYTES, [v in kept for v in verdict])


@lru_cache(maxsize=256)
def _multiples(step: Decimal) -> Automaton:
    """Unsigned canonical spellings of the multiples of `step`, including zero; the caller intersects.

    The value times 10 ** places must be divisible by the integer step * 10 ** places.
    """
    text = _spell(step)
    head, _, tail = text.partition(".")
    places, divisor = len(tail), int(head + tail)
    if divisor <= 0:
        raise UnsupportedNumber(f"multipleOf {step}: expected a number above 0")
    zeros = 0
    while not places and divisor % 10 == 0:
        zeros, divisor = zeros + 1, divisor // 10
    if divisor * (places + 1) > MAX_REMAINDERS:
        reason = f"multipleOf {step}: expected at most {MAX_REMAINDERS} remainders, it has {divisor}"
        raise UnsupportedNumber(reason + f" with {places} decimal places")
    # State 0 is before the first digit. Then come the remainders of the whole part, then those after the point with
    # 0 .. places digits.
    table = np.full((1 + (places + 2) * divisor, _CLASSES), -1, np.int32)
    final = np.zeros(len(table), np.bool_)
    left = np.arange(divisor)
    moved = (left[:, None] * 10 + np.arange(10)) % divisor
    blocks = [1 + k * divisor + left for k in range(places + 2)]
    table[blocks[0], :10] = blocks[0][moved]
    table[0] = table[1]
    table[blocks[0], _POINT] = blocks[1]
    final[blocks[0]] = left * pow(10, places, divisor) % divisor == 0
    for j in range(places + 1):
        if j < places:
            table[blocks[j + 1], :10] = blocks[j + 2][moved]
        final[blocks[j + 1]] = left * pow(10, places - j, divisor) % divisor == 0
    result = from_dfa(table, _BYTES, final)
    return union(concat(result, literal(b"0" * zeros)), _ZERO) if zeros else result


_ZERO = literal(b"0")
_MINUS = literal(b"-")
