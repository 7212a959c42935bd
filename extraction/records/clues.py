"""The words behind a value that was not copied: chosen among options, or spelled out.

Where the value itself is printed, in whatever letters and with whatever between its words, these are its
words, and of several places the one that follows the field's name. Where it is not, they are the words of the
option and of its description, or of the field that a boolean says is so, where most of them stand close
together. A value of which neither is found has no words behind it, and that is said.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from cinnabar.engine.models.reader.calibration import NEAR, STEM
from cinnabar.engine.models.reader.inputs.questions import Question, form_questions
from cinnabar.engine.request import Leaf
from cinnabar.schemas.form.form import Form

_Spans = tuple[tuple[int, int], ...]
#: Characters that words which belong together stand within, and characters of a document that are looked
#: through.
_CLOSE, FARTHEST = 80, 400_000
# Values with more letters than this are not looked for as a whole.
_LONGEST = 120
# Fewest letters of a word in an option's name, and in a description, that says something.
_NAME_LETTERS, _NOTE_LETTERS = 4, 5
_WORD = re.compile(r"[^\W_]+")
_BETWEEN = r"[\W_]*"


def words_behind(form: Form, leaf: Leaf, text: str, region: tuple[int, int]) -> _Spans:
    """The spans of a leaf, [start, end) in characters of the document; looked for where it has none.

    `region` is the leaf's row, or the whole text. Absence and `false` say nothing, so nothing stands behind
    them.
    """
    if leaf.spans or leaf.text in (None, "null", "false", '""') or not 0 <= leaf.slot < len(form.slots):
        return leaf.spans
    if leaf.origin in ("absent", "default", "known", "minimal"):
        return ()
    questions = form_questions(form)
    asked, slot = questions.slots[leaf.slot], form.slots[leaf.slot]
    start, end = region
    whole = (0, min(len(text), FARTHEST))
    if leaf.text == "true":
        return _close_words(text, (start, end), asked)
    for lowest, highest in dict.fromkeys([region, whole]):
        found = _printed(leaf.text or "", text, lowest, highest, asked.label)
        if found:
            return found
    if leaf.text in slot.options:
        return _close_words(text, (start, end), questions.options[leaf.slot][slot.options.index(leaf.text)])
    return ()


def row_region(pointer: str, rows: Mapping[str, tuple[int, float]], length: int) -> tuple[int, int]:
    """The characters of the innermost row that a leaf lies in: from its anchor to that of the next row."""
    while pointer and pointer not in rows:
        pointer = pointer.rpartition("/")[0]
    if not pointer:
        return 0, min(length, FARTHEST)
    array, _, index = pointer.rpartition("/")
    start = rows[pointer][0]
    following = rows.get(f"{array}/{int(index) + 1}") if index.isdecimal() else None
    end = following[0] if following is not None and following[0] > start else start + NEAR * STEM
    return start, min(end, length)


def _printed(value: str, text: str, start: int, end: int, label: str) -> _Spans:
    """Where the value is printed; the first place behind words of the label, else the first one."""
    plain = str(json.loads(value))
    letters = "".join(_WORD.findall(plain))
    if not letters or len(letters) > _LONGEST:
        return ()
    # Short ones are whole words: "no" is not printed in "November".
    closing = r"(?![^\W_])" if len(letters) < _NAME_LETTERS or letters.isdecimal() else ""
    pattern = re.compile(r"(?<![^\W_])" + _BETWEEN.join(map(re.escape, letters)) + closing, re.IGNORECASE)
    stems = _stems(label, 3)
    first: _Spans = ()
    for found in pattern.finditer(text, start, end):
        before = _stems(text[max(0, found.start() - NEAR) : found.start()], 3)
        if not stems or stems & before:
            return (found.span(),)
        first = first or (found.span(),)
    return first


def _close_words(text: str, region: tuple[int, int], asked: Question) -> _Spans:
    """The stretch in which most words of a name and its description stand together; () where too few do."""
    names, notes = _stems(asked.label, _NAME_LETTERS), _stems(asked.note, _NOTE_LETTERS)
    places = list(_places(text, region, names | notes))
    often = Counter(stem for _, _, stem in places)
    best, first = 0.0, 0
    spans: _Spans = ()
    for last, (_, end, _) in enumerate(places):
        while end - places[first][0] > _CLOSE:
            first += 1
        together = {stem for _, _, stem in places[first : last + 1]}
        if not together & names and len(together) < 2:
            continue
        # Rare words tell more, those of the name twice as much.
        score = sum((2.0 if stem in names else 1.0) / math.log(2.0 + often[stem]) for stem in together)
        if score > best + 1e-9:
            best, spans = score, ((places[first][0], end),)
    return spans


def _places(text: str, region: tuple[int, int], stems: set[str]) -> Iterator[tuple[int, int, str]]:
    for word in _WORD.finditer(text, *region):
        stem = word[0].lower()[:STEM]
        if stem in stems:
            yield word.start(), word.end(), stem


def _stems(words: str, least: int) -> set[str]:
    return {word.lower()[:STEM] for word in _WORD.findall(words) if len(word) >= least}
