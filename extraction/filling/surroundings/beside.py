"""A value with what stands beside it in its document, and what a kind of surroundings finds there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from cinnabar.engine.models.reader.inputs.questions import Question, form_questions
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.request import Leaf
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.surroundings.thresholds import DOUBTED, LABEL_STEM, LONGEST_REGION, SHORTEST_STEM
from cinnabar.schemas.form.form import Form, Slot

Span = tuple[int, int]
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a kind finds: its flag, and what becomes of the value.

    value: the JSON text to write in its place, "null" for none, None to keep it; a value that the schema refuses is
    kept. spans: the words of that value, () for those of the value before. most: the most confidence that is left.
    """

    flag: str
    value: str | None = None
    spans: tuple[Span, ...] = ()
    most: float = DOUBTED


@dataclass(frozen=True)
class Beside:
    """A value of a record with its place in the document.

    `spans` are its words, () if none are known. `region` has the characters of its row, or of the whole text.
    `others` are the leaves of the record by pointer.
    """

    form: Form
    pointer: str
    leaf: Leaf
    document: Document
    locale: Locale
    spans: tuple[Span, ...]
    region: Span
    others: Mapping[str, Leaf]

    @cached_property
    def slot(self) -> Slot:
        """The slot of the value."""
        return self.form.slots[self.leaf.slot]

    @cached_property
    def value(self) -> Any:
        """The value, None if it is null or left out."""
        return None if self.leaf.text is None else json.loads(self.leaf.text)

    @cached_property
    def asked(self) -> Question:
        """The label of the field, from its name and title, and the note of its description."""
        return form_questions(self.form).slots[self.leaf.slot]

    @cached_property
    def words(self) -> str:
        """The field's label and description, in small letters."""
        return f"{self.asked.label} {self.asked.note}".lower()

    @property
    def printed(self) -> str:
        """The words of the value as the document prints them."""
        return " ".join(self.document.text[start:end] for start, end in self.spans)

    @cached_property
    def line(self) -> Span:
        """The characters of the line, or lines, on which the value stands; (0, 0) without words."""
        return self.line_of(self.spans[0][0], self.spans[-1][1]) if self.spans else (0, 0)

    @property
    def before(self) -> str:
        """What stands before the value on its line."""
        return self.document.text[self.line[0] : self.spans[0][0]] if self.spans else ""

    @property
    def after(self) -> str:
        """What stands behind the value on its line."""
        return self.document.text[self.spans[-1][1] : self.line[1]] if self.spans else ""

    def line_of(self, start: int, end: int) -> Span:
        """Returns the characters of the lines that hold [start, end)."""
        text = self.document.text
        stop = text.find("\n", end)
        return text.rfind("\n", 0, start) + 1, len(text) if stop < 0 else stop

    def labels(self, least: float = 1.0) -> Iterator[Span]:
        """Yields the places in the value's region that print the words of the field's label, close together on a line.

        `least` is the share of these words that must be there.
        """
        wanted = stems(self.asked.label)
        if not wanted:
            return
        text, (start, end) = self.document.text, self.region
        found = _label_words(frozenset(wanted)).finditer(text, start, min(end, start + LONGEST_REGION))
        for _, words in groupby(found, lambda word: self.line_of(*word.span())):
            own = [*words]
            if len({word[0][:LABEL_STEM].lower() for word in own}) >= least * len(wanted):
                yield own[0].start(), own[-1].end()


@lru_cache(maxsize=256)
def _label_words(wanted: frozenset[str]) -> re.Pattern[str]:
    """Returns a pattern of whole words that begin so."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(map(re.escape, wanted)))})[^\W_]*", re.IGNORECASE)


#: Looks at a value; None if its kind finds nothing there.
Kind = Callable[[Beside], Finding | None]


def stems(text: str) -> set[str]:
    """Returns the beginnings of the words of a text, in small letters; short words are left out."""
    return {word.lower()[:LABEL_STEM] for word in _WORD.findall(text) if len(word) >= SHORTEST_STEM}
