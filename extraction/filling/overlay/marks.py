"""Gives boolean fields, choices and lists of options the state of the boxes beside their labels.

A box in doubt makes a field null, and a list unsure. A field and a label belong together if their words do, and if no
other label is as near to the field, and no other field to the label. Fields that no label is near to keep what the
model read. The description of a list of texts may name its options.
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
from cinnabar.extraction.filling.overlay.given import Given, made_up
from cinnabar.schemas.automata.strings import json_text, scalar_value
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape, lies_within, value_at

# A changed one changes values: raise the part `merging` (engine/version.py).
#: The confidence of a value from a box, and of a null from one in doubt: their shares of right ones in `bench.marks`.
BOX_CONFIDENCE, DOUBTFUL_BOX_CONFIDENCE = 0.98, 0.8
#: That of a list with a box in doubt, or with a ticked box that is none of its options.
DOUBTFUL_BOXES_CONFIDENCE = 0.4
#: The least likeness of a field and a label, and how much nearer they are than others.
LABEL_LIKENESS, LABEL_NEARER = 0.5, 0.04
#: A faint likeness counts if it is twice that of all others.
FAINT_LABEL_LIKENESS = 0.3
#: In a form boxes answer so many boolean fields at least, and this share of them.
ANSWERED_FIELDS, ANSWERED_SHARE = 2, 0.5
#: Words are of one family if they begin alike, by so many letters and this share of the shorter one.
FAMILY_LETTERS, FAMILY_SHARE = 4, 0.66
_MOST_TEXT, _MAX_OPTIONS = 2_000_000, 30
# Where a name in one piece has its next word.
_INNER = re.compile(r"_|(?<=[^\W\d_A-Z])(?=[A-Z])")
_Words = Sequence[str]
# What boxes say of a field: a JSON text, None in doubt, and the places that tell it.
_Told = tuple[str | None, tuple[Interval, ...]]


@dataclass(frozen=True, slots=True)
class _Ticked:
    """The ticked options of a list, JSON texts, each with the places that tell it; `sure` if no box is in doubt."""

    options: tuple[tuple[str, tuple[Interval, ...]], ...]
    sure: bool


@dataclass(frozen=True, slots=True)
class _MarkedField:
    """A field of the document: its place, its slot, and the words of its name, its title and its description.

    array: the list whose items the slot stands for, None for a single value.
    """

    pointer: str
    slot: Slot
    optional: bool
    names: tuple[_Words, ...]
    array: ArrayNode | None = None

    @property
    def is_boolean(self) -> bool:
        """Returns True for a field of true and false."""
        return self.array is None and set(self.slot.options) == {"true", "false"}


def boxes_of(form: Form, filled: Filled, document: Document) -> list[Given]:
    """Returns what the document's boxes say of boolean fields and choices outside of lists and alternatives."""
    fields = list(_marked_fields(form.root, "", False))
    if not fields or len(document.text) > _MOST_TEXT:
        return []
    told = _told(fields, [one for one in marks_in(document.text) if one.label.strip() and _is_seen(document, one)])
    asked = {one.pointer: one for one in fields}
    given = (_given(asked[pointer], own, filled) for pointer, own in told.items())
    return [one for one in given if one is not None]


def _given(asked: _MarkedField, told: _Told | _Ticked, filled: Filled) -> Given | None:
    """Returns what boxes say of a field; None if the record does not have it."""
    pointer = asked.pointer
    if not isinstance(told, _Ticked):
        own = filled.leaves.get(pointer)
        return None if own is None else Given.scalar(pointer, asked.slot, "box", _leaf(asked, told, own))
    assert asked.array is not None, "only lists have several options"
    if len(told.options) < asked.array.min_items and not (asked.optional or asked.array.nullable):
        under = {at: leaf for at, leaf in filled.leaves.items() if lies_within(at, pointer)}
        cells = {at: replace(leaf, spans=(), missing=True, demanded=True) for at, leaf in under.items()}
        rows = {at: row for at, row in filled.rows.items() if lies_within(at, pointer)}
        lists = {at: sure for at, sure in filled.lists.items() if lies_within(at, pointer)}
        if not cells:
            return None
        return Given(pointer, asked.array, "box", value_at(filled.value, pointer), cells, rows, lists)
    cells, rows = dict[str, Leaf](), dict[str, tuple[int, float]]()
    for number, (text, spans) in enumerate(told.options):
        sure = BOX_CONFIDENCE
        cells[f"{pointer}/{number}"] = Leaf(text, sure, spans, posterior=sure, slot=asked.slot.index)
        rows[f"{pointer}/{number}"] = spans[0][0], BOX_CONFIDENCE
    lists = {pointer: BOX_CONFIDENCE if told.sure else DOUBTFUL_BOXES_CONFIDENCE}
    items = [scalar_value(text) for text, _ in told.options]
    return Given(pointer, asked.array, "box", items, cells, rows, lists)


def _leaf(asked: _MarkedField, told: _Told, own: Leaf) -> Leaf:
    slot, (value, spans) = asked.slot, told
    if value is not None:
        return Leaf(value, BOX_CONFIDENCE, spans, posterior=BOX_CONFIDENCE, slot=slot.index)
    if slot.nullable or asked.optional:
        text = "null" if slot.nullable else None
        doubt = DOUBTFUL_BOX_CONFIDENCE
        return Leaf(text, doubt, (), "absent", absence=doubt, slot=slot.index)
    return made_up(own.text, slot.index)


def _marked_fields(node: Node, pointer: str, optional: bool) -> Iterator[_MarkedField]:
    if isinstance(node, ObjectNode):
        for place in node.properties:
            yield from _marked_fields(place.node, f"{pointer}/{escape(place.name)}", not place.required)
        return
    array, slot = (node, node.item) if isinstance(node, ArrayNode) and not node.prefix else (None, node)
    if isinstance(node, ChoiceNode) or not isinstance(slot, Slot) or node.binding is not None:
        return
    if 1 < len(slot.options) <= _MAX_OPTIONS or (array is not None and slot.free):
        name = pointer.rsplit("/", 1)[-1]
        names = (_INNER.sub(" ", name), node.title, node.description)
        yield _MarkedField(pointer, slot, optional, tuple(filter(None, map(words_of, names))), array)


def _is_seen(document: Document, mark: MarkRead) -> bool:
    """Returns False for an empty line in a text without pages: what may lie on it nobody has looked for."""
    if not mark.line or mark.state is not False:
        return True
    at = int(np.searchsorted(document.words.end, mark.spans[0][0], side="right"))
    return at < len(document.words) and bool(np.isfinite(document.words.box[at]).all())


def _told(fields: Sequence[_MarkedField], marks: Sequence[MarkRead]) -> dict[str, _Told | _Ticked]:
    """Returns what the marks say of the fields, by their pointers."""
    labels = [words_of(mark.label) for mark in marks]
    if not marks:
        return {}
    told: dict[str, _Told | _Ticked] = {}
    free = np.ones(len(marks), np.bool_)
    booleans = [one for one in fields if one.is_boolean]
    like = np.array([[_likeness(one.names, label) for label in labels] for one in booleans]).reshape(-1, len(marks))
    for one in (_with_options(one, marks, labels) for one in fields):
        if not one.is_boolean and (own := _options(one, marks, labels)):
            # The boxes of a choice are no other field's, and those of others may stand right below them.
            free[[*own.values()]] = False
            foreign = {*np.flatnonzero((like >= LABEL_LIKENESS).any(axis=0)).tolist()}.difference(own.values())
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
        if near >= max(LABEL_LIKENESS, next_ + LABEL_NEARER) or near >= max(FAINT_LABEL_LIKENESS, 2 * next_):
            told[one.pointer] = None if mark.state is None else json.dumps(mark.state), mark.spans
    others = [one.pointer for one in booleans if one.pointer not in told and (one.slot.nullable or one.optional)]
    if sum(one.pointer in told for one in booleans) >= max(ANSWERED_FIELDS, ANSWERED_SHARE * len(booleans)):
        # The boxes of the others were lost, and the model would guess: scanned designs of `bench.marks` had .90 right
        # of those given with its guesses, .97 without.
        told |= dict.fromkeys(others, (None, ()))
    return told


def _with_options(asked: _MarkedField, marks: Sequence[MarkRead], labels: Sequence[_Words]) -> _MarkedField:
    """Returns the field, with the labels that its name and description name as the options of a list of texts."""
    if asked.slot.options:
        return asked
    words = {word for name in asked.names for word in name}
    named = (mark.label.strip() for mark, label in zip(marks, labels, strict=True) if _share(label, words) == 1.0)
    return replace(asked, slot=replace(asked.slot, options=tuple(dict.fromkeys(map(json_text, named)))))


def _options(asked: _MarkedField, marks: Sequence[MarkRead], labels: Sequence[_Words]) -> dict[int, int]:
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
            if scores[best] >= LABEL_LIKENESS and best not in groups[group].values():
                groups[group][option] = best
                total[group] += 1 + scores[best]
    if not total:
        return {}
    first, *others = sorted(total, key=total.__getitem__, reverse=True)
    own = {option: at for group in groups.values() for option, at in group.items()}
    if len(own) < sum(map(len, groups.values())):
        own = groups[first] if not others or total[others[0]] < total[first] - LABEL_NEARER else {}
    return own if len(own) >= max(2, len(asked.slot.options) / 2) else {}


def _chosen(
    asked: _MarkedField, marks: Sequence[MarkRead], own: Mapping[int, int], others: Collection[int]
) -> _Told | _Ticked | None:
    """Returns the option whose box alone is ticked in its lists, but for those of others; None if no option's is.

    Of a list of options it returns all that are ticked.
    """
    groups = {marks[at].group for at in own.values()}
    boxes = [at for at, one in enumerate(marks) if one.group in groups and not (one.line or one.pair)]
    ticked = [at for at in boxes if marks[at].state and at not in others]
    chosen = sorted((at, asked.slot.options[option]) for option, at in own.items() if at in ticked)
    if asked.array is not None:
        foreign = {*boxes}.difference(own.values(), others)
        unmatched = foreign.intersection(ticked) or (foreign and len(own) < len(asked.slot.options))
        doubt = unmatched or any(marks[at].state is None for at in own.values())
        return _Ticked(tuple((text, marks[at].spans) for at, text in chosen), not doubt)
    if len(ticked) == 1 and chosen:
        return chosen[0][1], marks[ticked[0]].spans
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
    size = max(FAMILY_LETTERS, math.ceil(FAMILY_SHARE * least))
    return least >= FAMILY_LETTERS and one[:size] == other[:size]
