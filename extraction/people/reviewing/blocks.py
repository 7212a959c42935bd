"""Cuts a document into blocks to show: pages, and stretches of text of at most some thousand characters."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cinnabar.engine.tables.table import tables_of
from cinnabar.extraction.documents.content.document import Document, Part
from cinnabar.extraction.reading.planning import passage_of

#: Characters of a block of text.
_LONGEST = 12_000
#: The names of parts for people.
_NAMES = {
    "headers": "Mail headers", "body": "Text", "attachment": "Attachment", "message": "Message", "sheet": "Sheet",
    "slide": "Slide", "notes": "Comments", "fields": "Form fields", "hidden": "Hidden text", "quote": "Quoted text",
    "signature": "Signature", "invoice": "Invoice data",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextBlock:
    """An interval [start, end) of a document's text that lies in one part; `part` is its index, -1 for none."""

    part: int
    start: int
    end: int

    def as_json(self, document: Document) -> dict[str, Any]:
        """Returns the block as JSON: its place, its name for people, and the size of its page in points."""
        part = document.parts[self.part] if self.part >= 0 else None
        page = part is not None and _is_page(part)
        return {
            "part": self.part,
            "start": self.start,
            "end": self.end,
            "kind": part.kind if part else "body",
            "label": _label(part) if part else "Text",
            "page": part.page if part else 0,
            "width": part.width if part and page else 0,
            "height": part.height if part and page else 0,
        }


def _is_page(part: Part) -> bool:
    return part.kind == "page" and part.width > 0 and part.height > 0


def _label(part: Part) -> str:
    if part.kind == "page":
        return f"Page {part.page}"
    name = _NAMES.get(part.kind, part.kind)
    return f"{name}: {part.name}" if part.name else name


def blocks_of(document: Document) -> list[TextBlock]:
    """Returns the blocks of a document in order; together they hold all of its text."""
    blocks = []
    for start, end, part in _innermost(document):
        if part >= 0 and _is_page(document.parts[part]):
            blocks.append(TextBlock(part, start, end))
        else:
            blocks += [TextBlock(part, a, b) for a, b in _pieces(document.text, start, end)]
    return blocks


def _innermost(document: Document) -> Iterator[tuple[int, int, int]]:
    """Yields intervals of the text, without those of blanks, with the index of the innermost part around each."""
    cuts = sorted({0, len(document.text), *(one.start for one in document.parts), *(one.end for one in document.parts)})
    owner = [-1] * max(0, len(cuts) - 1)
    # Parts come from outside to inside, so the last one that covers an interval is the innermost.
    for index, part in enumerate(document.parts):
        for place in range(bisect_left(cuts, part.start), bisect_left(cuts, part.end)):
            owner[place] = index
    shown = set()
    for place, part_index in enumerate(owner):
        start, end = cuts[place], cuts[place + 1]
        page = part_index >= 0 and _is_page(document.parts[part_index])
        if page and part_index in shown:
            part_index, page = document.parts[part_index].parent, False
        if page or document.text[start:end].strip():
            shown.add(part_index)
            yield start, end, part_index
    # Pages without any text have a picture all the same.
    for index, part in enumerate(document.parts):
        if part.start == part.end and _is_page(part) and index not in shown:
            yield part.start, part.end, index


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > _LONGEST:
        at = text.rfind("\n", start + _LONGEST // 2, start + _LONGEST)
        at = at + 1 if at >= 0 else start + _LONGEST
        yield start, at
        start = at
    yield start, end


def block_text(document: Document, start: int, end: int) -> dict[str, Any]:
    """Returns the text of an interval, its words with their places and boxes, and its tables.

    `words` has a list for each word: start, end, and x0, top, x1, bottom in points if the word has a box. `tables` has
    for each table whose words have boxes its `box`, the heads of its columns, and where each column begins (x).
    """
    start = max(0, min(start, len(document.text)))
    end = max(start, min(end, len(document.text)))
    words = document.words
    first, last = np.searchsorted(words.start, [start, end])
    boxes = np.round(words.box[first:last].astype(float), 2)
    starts, ends = words.start[first:last].tolist(), words.end[first:last].tolist()
    rows = [
        [a, b] if any(map(math.isnan, box)) else [a, b, *box]
        for a, b, box in zip(starts, ends, boxes.tolist(), strict=True)
    ]
    tables = [*_tables(document, start, end)]
    return {"start": start, "end": end, "text": document.text[start:end], "words": rows, "tables": tables}


def _tables(document: Document, start: int, end: int) -> Iterator[dict[str, Any]]:
    passage, words = passage_of(document, start, end), document.words
    for table in tables_of(passage.text, passage.word_start, passage.word_box):
        first, last = np.searchsorted(words.start, [start + table.start, start + table.end])
        boxes = words.box[first:last]
        if not len(boxes) or not np.isfinite(boxes).all():
            continue
        lefts = []
        for column in range(len(table.heads)):
            cells = [table.heads[column], *(row.cells[column] for row in table.rows)]
            begins = [start + span[0] for cell in cells for span in cell]
            lefts.append(float(words.box[np.searchsorted(words.start, begins), 0].min()) if begins else float("nan"))
        if not any(map(math.isnan, lefts)):
            box = [*boxes[:, :2].min(0).tolist(), *boxes[:, 2:].max(0).tolist()]
            heads = [table.head(column, passage.text) for column in range(len(table.heads))]
            yield {"box": np.round(box, 2).tolist(), "heads": heads, "columns": np.round(lefts, 2).tolist()}
