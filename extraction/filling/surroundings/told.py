"""What a description tells of a value: the form in which it is written, and when it is null."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from cinnabar.engine.readings.readings import surroundings
from cinnabar.engine.readings.told import spelled
from cinnabar.extraction.filling.surroundings.beside import Beside, Effect, Kind, plain
from cinnabar.extraction.filling.surroundings.flags import NOT_AS_TOLD, NULL_AS_TOLD
from cinnabar.schemas.form.told_forms import ToldForm

_NULL_IF = re.compile(r"\b(?:null|empty) (?:if|when|where|for) ([^.;\n]{1,80})", re.IGNORECASE)
_IS = r"(?:(?:it|this|that|the [a-z]+(?: [a-z]+)?) (?:is|was|equals|says|reads) )?"
_ZERO = re.compile(rf"{_IS}(?:equal to )?(?:zero|0(?:[.,]0+)?)", re.IGNORECASE)
_SAME = re.compile(rf"{_IS}(?:the same as|same as|equal to|identical (?:to|with)) (?:the )?(.+)", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'“‘]([^\"'“”‘’]{1,40})[\"'”’]")


@lru_cache(maxsize=4096)
def _null_conditions(description: str) -> tuple[str, ...]:
    return tuple(condition.strip() for condition in _NULL_IF.findall(description))


def _null(one: Beside) -> Effect | None:
    """A value is null if its description says so of zero, of a text in quotes, or of what another field has."""
    if not one.slot.nullable or one.value is None:
        return None
    if any(_holds(condition, one) for condition in _null_conditions(one.slot.description)):
        return Effect(NULL_AS_TOLD, "null", most=one.leaf.confidence)
    return None


def _holds(condition: str, one: Beside) -> bool:
    if _ZERO.fullmatch(condition):
        return _number(one.value) == 0
    if same := _SAME.fullmatch(condition):
        return any(
            plain(name) == plain(same[1]) and leaf.text == one.leaf.text
            for at, leaf in one.siblings()
            for name in (at.rpartition("/")[2], one.form.slots[leaf.slot].title)
        )
    texts = map(plain, _QUOTED.findall(condition))
    return isinstance(one.value, str) and plain(one.value) in texts


def _number(value: Any) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _form(one: Beside) -> Effect | None:
    """A text has the form that its description asks for, or is in doubt.

    What the words in the document mean goes first: a text may have the form and mean another day in it.
    """
    form, value = one.slot.told, one.value
    if form is None or not isinstance(value, str) or not value:
        return None
    meant = _meant(form, one)
    told = value if value in meant or (form.fits(value) and not meant) else next(iter(meant), None)
    if told is None or not one.slot.accepts(json.dumps(told, ensure_ascii=False).encode()):
        return None if form.open else Effect(NOT_AS_TOLD)
    return None if told == value else Effect("", json.dumps(told, ensure_ascii=False), most=one.leaf.confidence)


def _meant(form: ToldForm, one: Beside) -> tuple[str, ...]:
    """Returns what the words of a value mean in this form; without words, or if they mean nothing, the value itself."""
    locale = one.locale.in_order(one.slot.day_first)
    if one.spans and form.kind not in ("upper", "lower", "digits"):
        beside = surroundings(one.document.text, one.spans[0][0], one.spans[-1][1])
        # The hour stands behind the day, which may have been all that was read.
        printed = spelled(form, one.printed, locale, *beside) or spelled(form, one.printed + one.after[:40], locale)
        # A model that wrote the value may have read more than these words.
        if printed and (one.leaf.origin == "copied" or not form.fits(one.value)):
            return printed
    return (one.value,) if form.fits(one.value) else spelled(form, one.value, locale)


#: These are asked last, of the value that the other kinds leave.
TOLD: tuple[Kind, ...] = (_null, _form)
