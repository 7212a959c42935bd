"""Reads the value of words that a person picked, for a place of a form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from cinnabar.engine.readings.readings import around, readings
from cinnabar.extraction.documents.content.document import Document, Span
from cinnabar.extraction.reading.planning import locale_of
from cinnabar.schemas.automata.canonical import json_text

_MOST = 8
_KINDS = {"date": ("date",), "date-time": ("datetime",), "time": ("time",), "duration": ("duration",)}


def picked_values(place: Mapping[str, Any], document: Document, spans: Sequence[Span]) -> list[str]:
    """Returns the values that these spans of a document may stand for at a place, the likeliest first.

    Values are JSON texts; a date is read with both orders of day and month. The list is empty if no value of the
    place's types stands there.
    """
    text = document.text
    picked = " ".join(" ".join(text[span.start : span.end].split()) for span in spans).strip()
    if not picked:
        return []
    if place["kind"] != "value":
        return [json_text(picked)]
    locale = locale_of(document, spans[0].start, spans[-1].end).in_order(place["day_first"])
    orders = (locale, locale.in_order(not locale.day_first))
    beside = around(text, spans[0].start, spans[-1].end)
    read = [one for order in orders for one in readings(picked, order, *beside)]
    types, texts = place["types"], dict[str, None]()
    if options := place.get("options"):
        meant = {picked.casefold(), *(str(one.value).casefold() for one in read)}
        return [one for one in options if str(json.loads(one)).casefold() in meant]
    wanted = _KINDS.get(place["format"])
    for one in read:
        if one.kind == "number" and {"number", "integer"} & set(types):
            if (number := _number(str(one.value), "number" in types)) is not None:
                texts[number] = None
        elif one.kind == "boolean" and "boolean" in types:
            texts[json_text(one.value)] = None
        elif "string" in types and (one.kind in wanted if wanted else one.kind in ("text", "code")):
            texts[json_text(str(one.value))] = None
    return list(texts)[:_MOST]


def _number(text: str, fraction: bool) -> str | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    whole = value == value.to_integral_value()
    return json_text(value) if fraction or whole else None
