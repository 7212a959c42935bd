"""Parties: who a defined term names, and one name in two roles that exclude each other."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from cinnabar.engine.readings.defined_terms import DefinedTerm, defined_terms, representations
from cinnabar.extraction.filling.surroundings.beside import (
    CORRECTED,
    LONGEST_REGION,
    Beside,
    Effect,
    Kind,
    Span,
    label_texts,
)
from cinnabar.extraction.filling.surroundings.flags import OTHER_PARTY, TWO_ROLES
from cinnabar.schemas.form.form import Slot

# A term is all of a field's name, or a part of it.
_WHOLE, _PART = 2, 1
# Endings of those who act: the fewest letters of such a word.
_ACTS = re.compile(r"\w{3,}(?:er|or|eur|eure|ant|aire|in|rice|ore|nte|[aeio]dor|ador|ee|é)", re.IGNORECASE)


@lru_cache(maxsize=4)
def _terms(text: str) -> tuple[tuple[DefinedTerm, ...], tuple[Span, ...]]:
    begun = text[:LONGEST_REGION]
    return tuple(defined_terms(begun)), tuple(representations(begun))


def _party(one: Beside) -> Effect | None:
    """A party is the name before its term: not the one behind it, no other party, not half of the name."""
    in_row = "*" in one.slot.path
    if in_row or not _is_name(one.slot) or not isinstance(one.value, str) or not one.spans:
        return None
    terms, clauses = _terms(one.document.text)
    likeness = {term: _likeness(term.words, one.asked.label, one.slot.path) for term in terms}
    most = max(likeness.values(), default=0)
    own = [term for term in terms if likeness[term] == most]
    if not most or len({term.name for term in own}) > 1:
        return None
    (start, end), name, text = (one.spans[0][0], one.spans[-1][1]), own[0].name, one.document.text
    # A lone word that is not all of its stretch may begin a sentence: "Specifically, ... (the "Owner")".
    is_lone = name[1] < own[0].party[1] and not re.search(r"\s", text[slice(*name)])
    if any(_within(start, term.party) for term in terms if term.name != name):
        return Effect(OTHER_PARTY) if most == _PART or is_lone else _named(one, name)
    if most == _PART:
        return None
    if any(_within(start, other) for other in (*clauses, *(term.at for term in own))):
        return _named(one, name)
    if not _within(start, name) or name[1] <= end <= own[0].at[0]:
        return None
    return None if end < name[1] and not text[end].isspace() else _named(one, (start, name[1]))


def _named(one: Beside, name: Span) -> Effect | None:
    printed = " ".join(one.document.text[slice(*name)].split())
    told = json.dumps(printed, ensure_ascii=False)
    if printed == one.value:
        return None
    return Effect(OTHER_PARTY, told, (name,), CORRECTED) if one.slot.accepts(told.encode()) else Effect(OTHER_PARTY)


def _is_name(slot: Slot) -> bool:
    return slot.kind == "string" and not slot.options and not slot.format and not slot.pattern


def _likeness(term: str, label: str, path: str) -> int:
    """Returns how much of a term a field's name is, in one number or the other: 0 for nothing."""
    words = {word.removesuffix("s") for word in term.lower().split()}
    names = [re.findall(r"[^\W_]+", name.lower()) for name in label_texts(label, path)]
    own = [{word.removesuffix("s") for word in name} for name in names]
    return _WHOLE if words in own else _PART if any(words <= name for name in own) else 0


def _within(at: int, span: Span) -> bool:
    return span[0] <= at < span[1]


def _two_roles(one: Beside) -> Effect | None:
    """One name for two fields whose names say two parties is in doubt, in both."""
    if not _is_name(one.slot) or not isinstance(one.value, str) or not one.leaf.spans:
        return None
    alike = (leaf.slot for leaf in one.others.values() if leaf is not one.leaf and leaf.spans == one.leaf.spans)
    slots = (one.form.slots[slot] for slot in alike if 0 <= slot < len(one.form.slots))
    return Effect(TWO_ROLES) if any(_exclude(one.slot.path, slot.path) for slot in slots) else None


def _exclude(one: str, other: str) -> bool:
    """Returns whether two paths differ in one word only, and that word says who acts, as of `/seller/name`."""
    both = [re.findall(r"[^\W_]+", re.sub(r"(?<=[a-zß-ÿ])(?=[A-Z])", " ", path)) for path in (one, other)]
    differ = [pair for pair in zip(*both, strict=False) if pair[0] != pair[1]]
    return len(both[0]) == len(both[1]) and len(differ) == 1 and all(_ACTS.fullmatch(word) for word in differ[0])


PARTIES: tuple[Kind, ...] = (_party, _two_roles)
