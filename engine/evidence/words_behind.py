"""Finds the words behind a value that was not copied but chosen among options or spelled out.

If the text prints the value, or other words of the schema for it, in any letter case and with anything between, these
are its words; of several places the one after the field's name counts. Otherwise they are words of the option and its
description, or of the field that a boolean affirms, where most of them stand close together. Else it gets no words.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product

from cinnabar.engine.evidence.search import behind_label, search_in
from cinnabar.engine.models.reader.inputs.questions import Question, form_questions
from cinnabar.engine.readings.stems import NAME_NEAR, NAME_STEM, stems
from cinnabar.engine.request import Leaf
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import innermost

# A changed one changes values: raise the part `merging` (engine/version.py).
#: The most characters between words that belong together, and the most characters of a document that are searched.
WORDS_CLOSE, FARTHEST = 80, 400_000
#: The fewest letters of a meaningful word in an option's name, and in a description.
OPTION_LETTERS, NOTE_LETTERS = 4, 5
_Spans = tuple[tuple[int, int], ...]
_WORD = re.compile(r"[^\W_]+")


def words_behind(form: Form, leaf: Leaf, text: str, region: tuple[int, int]) -> _Spans:
    """Returns the spans of a leaf, [start, end) in characters of the document; it searches them if the leaf has none.

    `region` is the leaf's row, or the whole text. Absence and `false` have no words behind them.
    """
    if leaf.spans or leaf.text in (None, "null", "false", '""') or not 0 <= leaf.slot < len(form.slots):
        return leaf.spans
    if leaf.origin in ("absent", "default", "known", "fact", "minimal"):
        return ()
    questions = form_questions(form)
    asked, slot = questions.slots[leaf.slot], form.slots[leaf.slot]
    start, end = region
    whole = (0, min(len(text), FARTHEST))
    if leaf.text == "true":
        return _close_words(text, (start, end), asked)
    at = slot.options.index(leaf.text) if leaf.text in slot.options else None
    names = str(json.loads(leaf.text or "")), *(() if at is None else slot.words_of(at))
    for searched, name in product(dict.fromkeys([region, whole]), names):
        if printed := search_in(text).printed(name, searched, name=True):
            return (behind_label(text, printed, asked.label),)
    return () if at is None else _close_words(text, (start, end), questions.options[leaf.slot][at])


def row_region(pointer: str, rows: Mapping[str, tuple[int, float]], length: int) -> tuple[int, int]:
    """Returns the characters of the innermost row around a leaf: from its anchor to that of the next row."""
    if not (pointer := innermost(pointer, rows)):
        return 0, min(length, FARTHEST)
    array, _, index = pointer.rpartition("/")
    start = rows[pointer][0]
    following = rows.get(f"{array}/{int(index) + 1}") if index.isdecimal() else None
    end = following[0] if following is not None and following[0] > start else start + NAME_NEAR * NAME_STEM
    return start, min(end, length)


def _close_words(text: str, region: tuple[int, int], asked: Question) -> _Spans:
    """Returns the stretch that holds most words of a name and its description close together; () for too few words."""
    names, notes = stems(asked.label, OPTION_LETTERS), stems(asked.note, NOTE_LETTERS)
    places = list(_places(text, region, names | notes))
    often = Counter(stem for _, _, stem in places)
    best, first = 0.0, 0
    spans: _Spans = ()
    for last, (_, end, _) in enumerate(places):
        while end - places[first][0] > WORDS_CLOSE:
            first += 1
        together = {stem for _, _, stem in places[first : last + 1]}
        if not together & names and len(together) < 2:
            continue
        # Rare words count more, those of the name twice as much.
        score = sum((2.0 if stem in names else 1.0) / math.log(2.0 + often[stem]) for stem in together)
        if score > best + 1e-9:
            best, spans = score, ((places[first][0], end),)
    return spans


def _places(text: str, region: tuple[int, int], wanted: set[str]) -> Iterator[tuple[int, int, str]]:
    for word in _WORD.finditer(text, *region):
        stem = word[0].lower()[:NAME_STEM]
        if stem in wanted:
            yield word.start(), word.end(), stem
