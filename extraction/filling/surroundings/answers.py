"""Answers: the yes or no that is printed beside a field, and a negation before a choice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cinnabar.engine.readings.readings import BOOLEANS
from cinnabar.extraction.filling.surroundings.beside import Beside, Finding, Kind, Span
from cinnabar.extraction.filling.surroundings.thresholds import CORRECTED, DOUBTED

#: The flag of an answer that is negated, or told twice against itself.
CONTRADICTED = "contradicted"
#: Words that deny what follows them within a clause.
_DENIALS = (
    r"not|never|no longer|no more|cannot|can't|isn't|aren't|wasn't|weren't|hasn't|haven't|won't|without|un"
    r"|nicht|nie|niemals|nicht mehr|kein|keine|keinen|noch nicht|ne|pas|jamais|plus|aucun|aucune|non|mai|nunca|ningún|niet|geen"
)
_DENIED = re.compile(rf"\b(?:{_DENIALS})\b", re.IGNORECASE)
# What ends a clause: a denial before it says nothing of what follows.
_CLAUSE = re.compile(r"[.;:!?|\t]|,\s|\bbut\b|\baber\b|\bsondern\b|\bmais\b", re.IGNORECASE)
# An answer right behind a label, with what may stand between.
_ANSWER = re.compile(r"[\s:?=\-–→.|\"']*(\[\s?\]|\[x\]|[☐☒☑✓✔✗]|[^\W\d_]+)(?=$|[\s,.;:!|)\"'])", re.IGNORECASE)


def _boolean(one: Beside) -> Finding | None:
    """A boolean takes the answer printed beside its label; a denied statement is false."""
    if set(one.slot.options) != {"true", "false"}:
        return None
    told = dict(_told(one))
    values = {*told.values()}
    if len(values) == 2:
        return Finding(CONTRADICTED, spans=tuple(told), most=DOUBTED)
    if len(values) == 1 and (answer := values.pop()) is not one.value:
        return Finding("answer_beside", json.dumps(answer), tuple(told)[:1], CORRECTED)
    return None


def _told(one: Beside) -> Iterator[tuple[Span, bool]]:
    """Yields the answers beside the field's label, with their places; a denial counts where no answer stands."""
    text = one.document.text
    for start, end in one.labels():
        line_start, line_end = one.line_of(start, end)
        answer = _ANSWER.match(text, end, line_end)
        value = BOOLEANS.get(answer[1].lower()) if answer is not None else None
        if answer is not None and value is not None:
            yield answer.span(1), value
        elif (denial := denied(text[line_start:end])) is not None:
            yield (line_start + denial.start(), end), False


def denied(clause: str) -> re.Match[str] | None:
    """Returns the denial in the last clause of a text, None if there is none."""
    begin = max((match.end() for match in _CLAUSE.finditer(clause)), default=0)
    return next(_DENIED.finditer(clause, begin), None)


KINDS: tuple[Kind, ...] = (_boolean,)
