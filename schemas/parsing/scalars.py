"""Shapes of the scalar keywords of JSON Schema, each checked to have at least one value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from cinnabar.errors import (
    RegexError,
    TooLarge,
    TooMuchWork,
    UnsupportedNumber,
)
from cinnabar.schemas.automata.automaton import MAX_STATES
from cinnabar.schemas.automata.minimise import MAX_RAW_STATES
from cinnabar.schemas.automata.strings import decimal, scalar_text
from cinnabar.schemas.formats.formats import format_content
from cinnabar.schemas.keywords import DECIMALS, MOST, step_of
from cinnabar.schemas.parsing.algebra import union
from cinnabar.schemas.parsing.language import MAX_UNROLLED_LENGTH, language, smallest
from cinnabar.schemas.parsing.shape import Array, Enum, Field, Null, Number, Object, Shape, String, branches
from cinnabar.schemas.refusals import Refusal, refused
from cinnabar.schemas.regex import patterns as budget
from cinnabar.schemas.regex.patterns import written

# The work of a remainder, in steps of a pattern.
_MULTIPLE_WORK = 30
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


@contextmanager
def locate_errors(pointer: str, keyword: str, too_large: Refusal = Refusal.BOUND) -> Iterator[None]:
    """Gives the errors of the automata their place in the schema."""
    try:
        yield
    except RegexError as problem:
        raise refused(Refusal.PATTERN, pointer, keyword, problem=problem) from None
    except TooMuchWork as problem:
        raise refused(Refusal.PATTERNS, pointer, keyword, problem=problem) from None
    except (TooLarge, UnsupportedNumber) as problem:
        raise refused(too_large, pointer, keyword, problem=problem) from None


def string_shape(schema: Mapping[str, Any], pointer: str) -> String:
    """The strings that `pattern`, known formats, `minLength` and `maxLength` allow."""
    low, high = whole(schema, "minLength", pointer) or 0, whole(schema, "maxLength", pointer)
    place = f"{pointer}/minLength"
    if high is not None and low > high:
        raise refused(Refusal.NO_SIZE, place, "minLength", low=low, high=high, parts="characters")
    if low > MAX_UNROLLED_LENGTH:
        raise refused(Refusal.LEAST, place, "minLength", most=MAX_UNROLLED_LENGTH, got=low)
    name = schema.get("format")
    known = (name,) if name is not None and format_content(name) is not None else ()
    patterns = (schema["pattern"],) if "pattern" in schema else ()
    if patterns:
        with locate_errors(f"{pointer}/pattern", "pattern"):
            # A long count within the pattern is a bound like `maxLength`; as states it would take thousands.
            bounds = [bound for bound in (high, written(patterns[0]).max_length) if bound is not None]
        high = min(bounds, default=None)
    shape = String(patterns, known, low, high)
    if patterns:
        _require_value(String(patterns), f"{pointer}/pattern", "pattern")
    keyword = next((k for k in ("pattern", "minLength", "maxLength") if k in schema), "format")
    _require_value(shape, f"{pointer}/{keyword}", keyword)
    return shape


def number_shape(schema: Mapping[str, Any], pointer: str, integer: bool) -> Number:
    """The numbers, or the integers, that the bounds, `multipleOf` and the number of decimal places allow."""
    bounds = {k: schema.get(k) for k in BOUNDS}
    exact = {k: None if v is None else _exact(v, f"{pointer}/{k}", k) for k, v in bounds.items()}
    multiples: dict[str, Decimal] = {}
    if "multipleOf" in schema:
        multiples["multipleOf"] = _exact(schema["multipleOf"], f"{pointer}/multipleOf", "multipleOf")
    if DECIMALS in schema:
        step = step_of(schema[DECIMALS])
        if step is None:
            raise refused(Refusal.DECIMALS, f"{pointer}/{DECIMALS}", most=MOST, got=schema[DECIMALS])
        multiples[DECIMALS] = step
    shape = Number(
        integer,
        exact["minimum"],
        exact["maximum"],
        exact["exclusiveMinimum"],
        exact["exclusiveMaximum"],
        tuple(dict.fromkeys(multiples.values())),
    )
    keyword = next((k for k in (*multiples, *BOUNDS) if k in schema), "type")
    with locate_errors(f"{pointer}/{keyword}", keyword):
        for name, multiple in multiples.items():
            budget.go_on_with(f"{name} {multiple}")
        _require_value(shape, f"{pointer}/{keyword}", keyword)
        for name, multiple in multiples.items():
            budget.charge(f"{name} {multiple}", _MULTIPLE_WORK * language(shape).states)
    return shape


def choices_shape(values: list[Any], pointer: str, keyword: str) -> Shape | None:
    """The shape of these values of `enum` or `const` alone, without those that no text spells."""
    with locate_errors(pointer, keyword, Refusal.CHOICES):
        chosen = union([shape for value in values if (shape := value_shape(value)) is not None])
        for branch in () if chosen is None else branches(chosen):
            if isinstance(branch, Enum) and _raw_states(branch.options) > MAX_STATES:
                smallest(branch)  # Texts with common ends need fewer states; building the automaton shows it.
    return chosen


def _raw_states(texts: Iterable[str]) -> int:
    """The states of an automaton of these texts that shares only common beginnings.

    Raises TooLarge, before any automaton is built, if there are too many.
    """
    states, before = 1, ""
    for text in sorted(texts):
        pairs = enumerate(zip(before, text, strict=False))
        states += len(text) - next((at for at, (a, b) in pairs if a != b), len(before))
        before = text
    if states > MAX_RAW_STATES:
        raise TooLarge(states, MAX_RAW_STATES)
    return states


def value_shape(value: Any) -> Shape | None:
    """The shape of this value alone; None if no text spells it, such as a string with a lone surrogate.

    Raises TooLarge if the text is too long for any automaton.
    """
    if isinstance(value, Mapping):
        parts = {name: value_shape(part) for name, part in value.items()}
        if any(part is None for part in parts.values()):
            return None
        return Object(tuple(Field(name, part, True) for name, part in parts.items() if part is not None))
    if isinstance(value, list):
        items = [value_shape(part) for part in value]
        if any(item is None for item in items):
            return None
        return Array(
            None, len(items), len(items), prefix=tuple(item for item in items if item is not None)
        )
    try:
        text = scalar_text(value)
    except ValueError:
        return None
    if len(text) > MAX_STATES:
        raise TooLarge(len(text), MAX_STATES)
    return Null() if text == "null" else Enum((text,), ("",))


def constant_meaning(shape: Shape) -> Shape:
    """A constant among alternatives, with its title and description as the meaning of this choice."""
    if not isinstance(shape, Enum) or len(shape.options) != 1:
        return shape
    title, words = shape.notes.title, shape.notes.description
    meaning = f"{title}: {words}" if title and words else title or words
    return Enum(shape.options, (meaning or shape.meanings[0],))


def whole(schema: Mapping[str, Any], keyword: str, pointer: str) -> int | None:
    """The bound under this keyword; None if there is none."""
    value = schema.get(keyword)
    if value is None:
        return None
    exact = _exact(value, f"{pointer}/{keyword}", keyword)
    return int(min(exact, Decimal(2**62)))


def _exact(value: Any, pointer: str, keyword: str) -> Decimal:
    try:
        return decimal(value)
    except ValueError as problem:
        raise refused(Refusal.NUMBER, pointer, keyword, problem=problem) from None


def _require_value(shape: Number | String, pointer: str, keyword: str) -> None:
    with locate_errors(pointer, keyword):
        if smallest(shape) is None:
            raise refused(Refusal.NOTHING, pointer, keyword)
