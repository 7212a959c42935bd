"""What a description tells of a value: the form in which it is written, and when it is null."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import READING_CONTEXT, surroundings
from cinnabar.engine.readings.scan import scan
from cinnabar.engine.readings.told_spelling import spelled
from cinnabar.extraction.filling.surroundings.beside import LONGEST_REGION, Beside, Effect, Kind, Span, plain
from cinnabar.extraction.filling.surroundings.flags import NOT_AS_TOLD, NULL_AS_TOLD
from cinnabar.schemas.form.told_forms import ToldForm

_NULL_IF = re.compile(
    r"\b(?:null|empty|leer|vide|vac[ií]o|vuoto|leeg),? (?:if|when|where|for|wenn|falls|bei|si|se|als|indien)"
    r" ([^.;\n]{1,80})",
    re.IGNORECASE,
)
_IS = r"(?:(?:it|this|that|the [a-z]+(?: [a-z]+)?) (?:is|was|equals|says|reads) )?"
_ZERO = re.compile(rf"{_IS}(?:equal to )?(?:zero|0(?:[.,]0+)?)", re.IGNORECASE)
_SAME = re.compile(rf"{_IS}(?:the same as|same as|equal to|identical (?:to|with)) (?:the )?(.+)", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'“‘„«]([^\"'“”‘’„«»]{1,40})[\"'”’“»]")


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
    others = [
        (name, leaf.text)
        for at, leaf in one.siblings()
        for name in (at.rpartition("/")[2], one.form.slots[leaf.slot].title)
        if name
    ]
    if same := _SAME.fullmatch(condition):
        return any(plain(name) == plain(same[1]) and text == one.leaf.text for name, text in others)
    # A condition that names another field first is about that one's value.
    about = re.split(_QUOTED, condition, maxsplit=1)[0]
    is_other = any(re.search(rf"\b{re.escape(name)}\b", about, re.IGNORECASE) for name, _ in others)
    texts = () if is_other else map(plain, _QUOTED.findall(condition))
    return isinstance(one.value, str) and plain(one.value) in texts


def _number(value: Any) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _form(one: Beside) -> Effect | None:
    """A text has the form that its description asks for, or is in doubt.

    What the words in the document mean goes first: a text may have the form and mean another day in it. Models write
    these words, and are not held to the form while they write: so held, Qwen2.5-Coder-0.5B had 76 of 132 values right
    that it has 119 of now, 40 of them null instead of 4.
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
        read = (
            spelled(form, words, locale, *surroundings(one.document.text, start, end))
            for words, (start, end) in _stretches(form, one, locale)
        )
        printed = next(filter(None, read), ())
        # A model that wrote the value may have read more than these words.
        if printed and (one.leaf.origin == "copied" or not form.fits(one.value)):
            return printed
    own = (one.value,) if form.fits(one.value) else spelled(form, one.value, locale)
    return own if one.spans else _in_shown_order(form, one, own)


def _in_shown_order(form: ToldForm, one: Beside, own: tuple[str, ...]) -> tuple[str, ...]:
    """Returns a day without words as the document has it, if that has it with day and month the other way round."""
    orders = {told for first in (True, False) for told in spelled(form, one.value, one.locale.in_order(first))}
    if form.kind != "moment" or not orders - {*own}:
        return own
    start, end = one.region
    text, shown = one.document.text[start : min(end, start + LONGEST_REGION)], list[str]()
    for part in scan(text, one.locale):
        shown += spelled(form, text[part.start : part.end], one.locale)
    return own if {*own} & {*shown} else tuple(told for told in dict.fromkeys(shown) if told in orders) or own


def _stretches(form: ToldForm, one: Beside, locale: Locale) -> Iterator[tuple[str, Span]]:
    """Yields the words that a value may stand for, with their place: for a moment the whole of which it is a part."""
    text, own = one.document.text, (one.spans[0][0], one.spans[-1][1])
    is_moment = form.kind == "moment"
    if is_moment:
        begin = max(0, own[0] - READING_CONTEXT)
        found = scan(text[begin : own[1] + READING_CONTEXT], locale)
        held = ((begin + part.start, begin + part.end) for part in found if part.kind in ("date", "time", "datetime"))
        wider = [(start, end) for start, end in held if start <= own[0] and own[1] <= end and (start, end) != own]
        if wider:
            start, end = max(wider, key=lambda place: place[1] - place[0])
            yield text[start:end], (start, end)
    yield one.printed, own
    if is_moment:
        # The month stands before its year, which may have been all that was read.
        yield " ".join([*one.before.split()[-1:], one.printed]), own


#: These are asked last, of the value that the other kinds leave.
DESCRIBED: tuple[Kind, ...] = (_null, _form)
