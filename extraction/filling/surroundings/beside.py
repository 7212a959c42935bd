"""A value with what stands beside it in its document, and what a kind of surroundings finds there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from cinnabar.engine.evidence.words_behind import words_behind
from cinnabar.engine.models.reader.inputs.questions import Question, form_questions
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.stems import NAME_STEM, stems
from cinnabar.engine.request import Leaf
from cinnabar.extraction.documents.content.document import Document
from cinnabar.schemas.form.form import Form, Slot

#: The most confidence of a value whose surroundings speak against it, and of one that they correct.
DOUBTED, CORRECTED = 0.45, 0.85
#: The most characters of a text in which a label, or the one period, is looked for.
LONGEST_REGION = 40_000
#: The most characters between a cell of a table and the head of its column.
FARTHEST_HEAD = 4_000
#: Surroundings that agree with a value leave its confidence as it is.
AGREED = 1.0

Span = tuple[int, int]
# A cell of a row that is printed in columns.
_CELL = re.compile(r"[^\s|]+(?: [^\s|]+)*")
# Blank lines, and lines that are drawn below heads.
_NO_CELLS = re.compile(r"[\s|:+=-]*\n")


@dataclass(frozen=True, slots=True)
class Effect:
    """What surroundings do to a value: the flag of the kind that found them, and what becomes of the value.

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

    `region` has the characters of its row, or of the whole text. `others` are the leaves of the record by pointer.
    """

    form: Form
    pointer: str
    leaf: Leaf
    document: Document
    locale: Locale
    region: Span
    others: Mapping[str, Leaf]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The words of the value, () if none are known: a search, which many kinds need not."""
        return words_behind(self.form, self.leaf, self.document.text, self.region)

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

    def siblings(self) -> Iterator[tuple[str, Leaf]]:
        """Yields the other leaves of the same object, with their pointers."""
        parent = self.pointer.rpartition("/")[0]
        for pointer, leaf in self.others.items():
            if pointer != self.pointer and pointer.rpartition("/")[0] == parent:
                yield pointer, leaf

    def labels(self) -> Iterator[Span]:
        """Yields the places in the value's region where a line prints the words of the field's label."""
        text, (start, end) = self.document.text, self.region
        for label in filter(stems, label_texts(self.asked.label, self.slot.path)):
            wanted = stems(label)
            found = _label_words(frozenset(wanted)).finditer(text, start, min(end, start + LONGEST_REGION))
            for _, words in groupby(found, lambda word: self.line_of(*word.span())):
                own = [*words]
                if all(any(word[0].lower().startswith(stem) for word in own) for stem in wanted):
                    begin = own[0].start()
                    whole = text[begin : begin + len(label)].lower() == label.lower()
                    yield begin, begin + len(label) if whole else own[-1].end()

    def cells(self, at: int) -> list[Span]:
        """Returns the cells of the line that holds this character, or of the next one with any letters."""
        text, begun = self.document.text, _NO_CELLS.match(self.document.text, at)
        at = at if begun is None else begun.end()
        return [one.span() for one in _CELL.finditer(text, *self.line_of(at, at))] if at < len(text) else []

    def below(self, start: int, end: int) -> Span | None:
        """Returns the cell below [start, end), if that is a cell of a row of heads and another row follows."""
        begin, stop = self.line_of(start, end)
        heads, own = self.cells(begin), stems(self.document.text[start:end])
        start, end = next((a, b) for a, b in [*heads, (start, end)] if a <= start and end <= b)
        if len(heads) < 2 or (start, end) not in heads or stems(self.document.text[start:end]) != own:
            return None
        cells = self.cells(stop + 1)
        if not cells or len(cells) == len(heads):
            return cells[heads.index((start, end))] if cells else None
        down = self.line_of(*cells[0])[0] - begin
        return next((cell for cell in cells if cell[0] < end + down and start + down < cell[1]), None)

    def head(self) -> str:
        """Returns the cell with letters above the column of a value that begins a cell of a row; "" for none."""
        begin, at = self.line[0], self.spans[0][0]
        first, last, top = at - begin, self.spans[-1][1] - begin, max(0, begin - FARTHEST_HEAD)
        over = "0" if at in [start for start, _ in self.cells(begin)] else ""
        while over and not over[0].isalpha() and begin > top:
            begin = self.line_of(begin - 1, begin - 1)[0]
            row = self.cells(begin)
            cells = (self.document.text[a:b] for a, b in row if a - begin < last and first < b - begin)
            over = next(cells, "") if len(row) > 1 else ""
        return over


def label_texts(label: str, path: str) -> tuple[str, ...]:
    """Returns the title and the name of a field, if its label has both: "Net weight (weight)"."""
    title, _, name = label.removesuffix(")").rpartition(" (")
    last = path.rpartition("/")[2]
    whole = (last,) if re.search("[a-z][A-Z]", last) else ()  # a key of JSON in one word
    return (title, name, *whole) if title and plain(name) == plain(last) else (label, *whole)


def plain(words: str) -> str:
    """Returns the letters and digits of a name, in small letters."""
    return re.sub(r"[\W_]", "", words).lower()


@lru_cache(maxsize=256)
def _label_words(wanted: frozenset[str]) -> re.Pattern[str]:
    """Returns a pattern of whole words that begin so; a short word has an ending of two letters at most."""
    begun = (re.escape(stem) + ("[^\\W_]*" if len(stem) == NAME_STEM else "[^\\W_]{0,2}") for stem in sorted(wanted))
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(begun)})(?![^\W_])", re.IGNORECASE)


#: Looks at a value; None if its kind finds nothing there.
Kind = Callable[[Beside], Effect | None]
