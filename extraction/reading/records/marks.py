"""Gives boolean fields and choices the state of the boxes beside their labels; a box in doubt makes them null.

A field and a label belong together if their words do, and if no other label is as near to the field, and no other field
to the label. Fields that no label is near to keep what the model read.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from cinnabar.engine.readings.marks import Interval, MarkRead, marks_in, words_of
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.reading.records.facts import put_value
from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.errors import NotAccepted
from cinnabar.schemas.form.fitting import fit
from cinnabar.schemas.form.form import Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape

# The confidence of a value from a box, and of a null from one in doubt: their shares of right ones in `bench.marks`.
_SURE, _DOUBT = 0.98, 0.8
# The least likeness of a field and a label, and how much nearer they are than others.
_LIKE, _NEARER = 0.5, 0.04
# A faint likeness counts if it is twice that of all others.
_FAINT = 0.3
# In a form boxes answer so many boolean fields at least, and this share of them.
_ANSWERED, _FORM = 2, 0.5
# Words are of one family if they begin alike, by so many letters and this share of the shorter one.
_STEM, _SHARE = 4, 0.66
_MOST_TEXT, _MAX_OPTIONS = 2_000_000, 30
# Where a name in one piece has its next word.
_INNER = re.compile(r"_|(?<=[^\W\d_A-Z])(?=[A-Z])")
_Words = Sequence[str]
# What boxes say of a field: a JSON text, None in doubt, and the places that tell it.
_Told = tuple[str | None, tuple[Interval, ...]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A field of the document: its place, its slot, and the words of its name, its title and its description."""

    pointer: str
    slot: Slot
    optional: bool
    names: tuple[_Words, ...]

    @property
    def is_boolean(self) -> bool:
        """Returns True for a field of true and false."""
        return set(self.slot.options) == {"true", "false"}


def with_marks(form: Form, filled: Filled, document: Document) -> Filled:
    """Returns a record whose boolean fields and choices have the states of the document's boxes.

    Fields within lists and alternatives, and those that are known or facts, stay. So does the record if its schema does
    not allow what the boxes say.
    """
    fields = list(_asked(form.root, "", False))
    if not fields or len(document.text) > _MOST_TEXT:
        return filled
    told = _told(fields, [one for one in marks_in(document.text) if one.label.strip() and _is_seen(document, one)])
    leaves, record = dict(filled.leaves), parse(filled.record)
    for one in fields:
        leaf = leaves.get(one.pointer)
        if one.pointer in told and leaf is not None and leaf.origin not in ("known", "fact"):
            leaves[one.pointer] = own = _leaf(one, told[one.pointer], leaf)
            put_value(record, one.pointer, *([] if own.text is None else [parse(own.text)]))
    if leaves == filled.leaves:
        return filled
    try:
        text = fit(form, record).text
    except NotAccepted:
        return filled
    allowed = form.judge is None or form.judge.accepts(parse(text))
    return replace(filled, record=text, leaves=leaves) if allowed else filled


def _leaf(asked: _Asked, told: _Told, own: Leaf) -> Leaf:
    slot, (value, spans) = asked.slot, told
    if value is not None:
        return Leaf(value, _SURE, spans, posterior=_SURE, slot=slot.index, demanded=own.demanded)
    if slot.nullable or asked.optional:
        text = "null" if slot.nullable else None
        return Leaf(text, _DOUBT, (), "absent", absence=_DOUBT, slot=slot.index, demanded=own.demanded)
    return Leaf(own.text, 0.0, (), "minimal", missing=True, slot=slot.index, demanded=True)


def _asked(node: Node, pointer: str, optional: bool) -> Iterator[_Asked]:
    if isinstance(node, ObjectNode):
        for place in node.properties:
            yield from _asked(place.node, f"{pointer}/{escape(place.name)}", not place.required)
    elif isinstance(node, Slot) and node.binding is None and 1 < len(node.options) <= _MAX_OPTIONS:
        name = pointer.rsplit("/", 1)[-1]
        names = (_INNER.sub(" ", name), node.title, node.description)
        yield _Asked(pointer, node, optional, tuple(filter(None, map(words_of, names))))


def _is_seen(document: Document, mark: MarkRead) -> bool:
    """Returns False for an empty line in a text without pages: what may lie on it nobody has looked for."""
    if not mark.line or mark.state is not False:
        return True
    at = int(np.searchsorted(document.words.end, mark.spans[0][0], side="right"))
    return at < len(document.words) and bool(np.isfinite(document.words.box[at]).all())


def _told(fields: Sequence[_Asked], marks: Sequence[MarkRead]) -> dict[str, _Told]:
    """Returns what the marks say of the fields, by their pointers."""
    labels = [words_of(mark.label) for mark in marks]
    if not marks:
        return {}
    told: dict[str, _Told] = {}
    free = np.ones(len(marks), np.bool_)
    booleans = [one for one in fields if one.is_boolean]
    like = np.array([[_likeness(one.names, label) for label in labels] for one in booleans]).reshape(-1, len(marks))
    for one in fields:
        if not one.is_boolean and (own := _options(one, marks, labels)):
            # The boxes of a choice are no other field's, and those of others may stand right below them.
            free[[*own.values()]] = False
            foreign = {*np.flatnonzero((like >= _LIKE).any(axis=0)).tolist()}.difference(own.values())
            if (choice := _chosen(one, marks, own, foreign)) is not None:
                told[one.pointer] = choice
    like = like * free
    for at, one in enumerate(booleans):
        best = int(like[at].argmax())
        mark = marks[best]
        # The same label may stand twice, as that of a line and of the name on it.
        rivals = [
            n for n, other in enumerate(marks)
            if (other.state, other.line) != (mark.state, mark.line)
            or (labels[n] != labels[best] and not (other.line and other.state))
        ]  # fmt: skip
        near = like[at, best]
        next_ = max(like[at, rivals].max(initial=0.0), np.delete(like[:, best], at).max(initial=0.0))
        if near >= max(_LIKE, next_ + _NEARER) or near >= max(_FAINT, 2 * next_):
            told[one.pointer] = None if mark.state is None else json.dumps(mark.state), mark.spans
    others = [one.pointer for one in booleans if one.pointer not in told and (one.slot.nullable or one.optional)]
    if sum(one.pointer in told for one in booleans) >= max(_ANSWERED, _FORM * len(booleans)):
        # The boxes of the others were lost, and the model would guess: scanned designs of `bench.marks` had .90 right
        # of those given with its guesses, .97 without.
        told |= dict.fromkeys(others, (None, ()))
    return told


def _options(asked: _Asked, marks: Sequence[MarkRead], labels: Sequence[_Words]) -> dict[int, int]:
    """Returns the numbers of the marks of a field's options, in the one list of boxes that has most options.

    Lists that have no option in common are one, as a page in columns parts them.
    """
    groups: defaultdict[int, dict[int, int]] = defaultdict(dict)
    total: defaultdict[int, float] = defaultdict(float)
    boxes = [at for at, mark in enumerate(marks) if not mark.line and not mark.pair]
    for option, text in enumerate(asked.slot.options):
        names = [words_of(str(json.loads(text)).replace("_", " ")), *map(words_of, asked.slot.words_of(option))]
        scores = {at: _likeness(tuple(filter(None, names)), labels[at]) for at in boxes}
        for group in {marks[at].group for at in boxes}:
            best = max((at for at in boxes if marks[at].group == group), key=scores.__getitem__)
            if scores[best] >= _LIKE and best not in groups[group].values():
                groups[group][option] = best
                total[group] += 1 + scores[best]
    if not total:
        return {}
    first, *others = sorted(total, key=total.__getitem__, reverse=True)
    own = {option: at for group in groups.values() for option, at in group.items()}
    if len(own) < sum(map(len, groups.values())):
        own = groups[first] if not others or total[others[0]] < total[first] - _NEARER else {}
    return own if len(own) >= max(2, len(asked.slot.options) / 2) else {}


def _chosen(
    asked: _Asked, marks: Sequence[MarkRead], own: Mapping[int, int], others: Collection[int]
) -> _Told | None:
    """Returns the option whose box alone is ticked in its lists, but for those of others; None if no option's is."""
    groups = {marks[at].group for at in own.values()}
    boxes = [at for at, one in enumerate(marks) if one.group in groups and not (one.line or one.pair)]
    ticked = [at for at in boxes if marks[at].state and at not in others]
    chosen = [option for option, at in own.items() if at in ticked]
    if len(ticked) == 1 and chosen:
        return asked.slot.options[chosen[0]], marks[ticked[0]].spans
    return None if len(ticked) == 1 else (None, ())


def _likeness(names: Sequence[_Words], label: _Words) -> float:
    """Returns how well a label's words are those of one of the names, from 0 to 1."""
    if not label:
        return 0.0
    every = {word for name in names for word in name}
    shared = _share(label, every)
    return max((0.65 * _share(name, label) + 0.35 * shared for name in names), default=0.0)


def _share(words: _Words, others: Collection[str]) -> float:
    """Returns the share of the words, by letters, that stand among the others or begin as one of them."""
    found = sum(len(word) for word in words if any(_alike(word, other) for other in others))
    return found / sum(map(len, words)) if words else 0.0


@lru_cache(maxsize=1 << 16)
def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    least = min(len(one), len(other))
    size = max(_STEM, math.ceil(_SHARE * least))
    return least >= _STEM and one[:size] == other[:size]
