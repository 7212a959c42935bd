"""Answers: the yes or no that is printed beside a field, and a negation before a choice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cinnabar.engine.readings.readings import BOOLEANS
from cinnabar.extraction.filling.records.indirect_evidence import stems
from cinnabar.extraction.filling.surroundings.beside import Beside, Effect, Kind, Span
from cinnabar.extraction.filling.surroundings.flags import ANSWERED, CONTRADICTED, UNSTATED
from cinnabar.extraction.filling.surroundings.thresholds import (
    CORRECTED,
    DENIAL_WORDS,
    DOUBTED,
    LONGEST_REGION,
    UNLABELLED,
)

#: Words that deny what follows them within a clause.
_DENIALS = (
    r"not(?! only)|no(?!\.)|never|no longer|no more|cannot|can't|isn't|aren't|wasn't|weren't|hasn't|haven't|won't"
    r"|without|nicht(?! nur)|nie|niemals|keine?n?|ohne|ne|pas|jamais|aucune?|sans|non|senza|nunca|ningún|niet|geen"
)
_DENIED = re.compile(rf"\b(?:{_DENIALS})\b", re.IGNORECASE)
# What ends a clause: a denial before it says nothing of what follows.
_CLAUSE = re.compile(r"[.;:!?|\t]|,\s|\bbut\b|\baber\b|\bsondern\b|\bmais\b", re.IGNORECASE)
# An answer right behind a label, with what may stand between.
_ANSWER = re.compile(r"[\s:?=\-–→.|\"']*([^\W\d_]+)(?=$|[\s,.;:!|)\"'])", re.IGNORECASE)
# A line of a form: a label and one word.
_LABELLED = re.compile(r"^(?:[ \t]*\w[^\n:?]{1,40}:|\w[^\n:?]{1,40}\?)[ \t]*([^\W\d_]+)[ \t.]*$", re.MULTILINE)
_BOX = re.compile(r"\[\s?[xX]?\s?\]|[☐☑☒✓✔✗✘]")


def _boolean(one: Beside) -> Effect | None:
    """A boolean takes the answer printed beside its label; a denied statement is false."""
    if set(one.slot.options) != {"true", "false"}:
        return None
    told, sure = dict(_told(one)), CORRECTED
    if not told:
        told, sure = _same_answers(one), UNLABELLED
    values = {*told.values()}
    if len(values) == 2:
        return Effect(CONTRADICTED, spans=tuple(told), most=DOUBTED)
    if len(values) == 1 and (answer := values.pop()) is not one.value:
        return Effect(ANSWERED, json.dumps(answer), tuple(told)[:1], sure)
    return None


def _same_answers(one: Beside) -> dict[Span, bool]:
    """Returns the answers of a form whose labels are in other words, if all are the same and each field has one."""
    fields = sum({*slot.options} == {"true", "false"} for slot in one.form.slots)
    text, start = one.document.text, one.region[0]
    lines = _LABELLED.finditer(text, start, min(one.region[1], start + LONGEST_REGION))
    found = [match for match in lines if match[1].lower() in BOOLEANS]
    # Who speaks in a conversation is no label.
    found = [match for match in found if text.count(f"\n{match[0].partition(':')[0]}:") < 2]
    told = {match.span(1): BOOLEANS[match[1].lower()] for match in found}
    return told if len(told) == fields and len({*told.values()}) == 1 else {}


def _told(one: Beside) -> Iterator[tuple[Span, bool]]:
    """Yields the answers beside the field's label, with their places; a denial counts where no answer stands."""
    text = one.document.text
    for start, end in one.labels():
        line_start, line_end = one.line_of(start, end)
        if _BOX.search(text, line_start, line_end):  # `records/marks.py` reads boxes
            continue
        answer = _ANSWER.match(text, end, line_end)
        value = BOOLEANS.get(answer[1].lower()) if answer is not None else None
        if answer is not None and value is not None:
            yield answer.span(1), value
        elif (cell := one.below(start, end)) and (below := BOOLEANS.get(text[slice(*cell)].lower())) is not None:
            yield cell, below
        elif (denial := denied(text[line_start:end])) is not None:
            yield (line_start + denial.start(), end), False


def denied(clause: str) -> re.Match[str] | None:
    """Returns the denial in the last clause of a text, None if there is none."""
    begin = max((match.end() for match in _CLAUSE.finditer(clause)), default=0)
    return next(_DENIED.finditer(clause, begin), None)


def _choice(one: Beside) -> Effect | None:
    """A choice that is denied where it is printed is its opposite, or is doubted."""
    options = one.slot.options
    if len(options) < 2 or one.value is None or one.leaf.text not in options or not one.spans:
        return None
    near = " ".join(one.before.split(" ")[-DENIAL_WORDS:])
    if (denial := denied(near)) is None:
        return None
    at = one.spans[0][0] - len(near) + denial.start()
    other = _opposite(one.value, [json.loads(option) for option in options])
    if other is None and one.slot.nullable and not near[denial.end() :].split():
        return Effect(CONTRADICTED, "null", most=UNLABELLED)
    if other is None and not stems(one.asked.label) & stems(one.before):
        return None
    told = None if other is None else json.dumps(other, ensure_ascii=False)
    return Effect(CONTRADICTED, told, ((at, one.spans[-1][1]),), CORRECTED if other else DOUBTED)


def _twice(one: Beside) -> Effect | None:
    """A choice of which the field's label tells two is in doubt."""
    if len(one.slot.options) < 2 or not isinstance(one.value, str):
        return None
    told = dict[str, Span]()
    for _, end in one.labels():
        for option in (json.loads(text) for text in one.slot.options if text != "null"):
            said = re.compile(rf"\s*[:=|\t]\s*({re.escape(str(option))})\s*$", re.IGNORECASE | re.MULTILINE)
            if found := said.match(one.document.text, end):
                told.setdefault(str(option), found.span(1))
    return Effect(CONTRADICTED, spans=tuple(told.values()), most=DOUBTED) if len(told) > 1 else None


def _unstated(one: Beside) -> Effect | None:
    """A choice of which the document has no word is none, where the schema allows that; rows may tell it as a whole."""
    in_row = re.search(r"/\d+(?:/|$)", one.pointer)
    chosen = one.leaf.origin == "chosen" and isinstance(one.value, str) and not in_row
    return Effect(UNSTATED, "null", most=UNLABELLED) if chosen and not one.spans and one.slot.nullable else None


# Beginnings of words that make them their opposites, and words that are opposites in a decision.
_OPPOSED = re.compile(r"^(?:un|in|im|ir|il|dis|non|not|no|out of|nicht|non)[ -]?(?=\w)", re.IGNORECASE)
_GRANTED = frozenset(
    ("approved", "accepted", "granted", "confirmed", "passed", "allowed", "genehmigt", "angenommen", "bestätigt",
     "approuvé", "accepté")
)  # fmt: skip
_PAIRS = ("yes/no", "true/false", "on/off", "open/closed", "ja/nein", "offen/geschlossen", "ouvert/fermé")
_REFUSED = frozenset(
    ("rejected", "declined", "denied", "refused", "failed", "forbidden", "abgelehnt", "verweigert", "refusé", "rejeté")
)


def _opposite(value: object, options: list[object]) -> object | None:
    """Returns the option that a denied one leaves, its opposite in words; None if none is."""
    others = [option for option in options if option not in (value, None)]
    plain = {option: _plain(option) for option in others}
    own = _plain(value)
    same = [option for option, words in plain.items() if _bare(words) == _bare(own) and words != own]
    if not same and own in _GRANTED:
        same = [option for option, words in plain.items() if words in _REFUSED]
    if not same:
        same = [option for option, words in plain.items() if {f"{own}/{words}", f"{words}/{own}"} & {*_PAIRS}]
    return same[0] if len(same) == 1 and _bare(own) in (own, own.removeprefix("in ")) else None


def _plain(option: object) -> str:
    return str(option).replace("_", " ").lower()


def _bare(words: str) -> str:
    """Returns the words without what makes them the opposite of others: "in stock" and "out of stock" are one."""
    return _OPPOSED.sub("", words)


ANSWERS: tuple[Kind, ...] = (_boolean, _choice, _twice, _unstated)
