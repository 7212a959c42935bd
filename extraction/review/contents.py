"""Reads the documents behind records again: text, words with boxes, and pictures of pages, for a person to look at.

A file is parsed in the sandbox, once for many requests. Mails behind IMAP and objects in stores are not fetched:
looking at results must not cause a connection.
"""

from __future__ import annotations

import contextlib
import math
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from cinnabar.closing import Closing
from cinnabar.engine.tables.table import tables_of
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.addresses import is_address
from cinnabar.extraction.documents.content.document import Document, Part
from cinnabar.extraction.documents.content.inputs import Content
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.documents.ingest.page_drawing import PDF
from cinnabar.extraction.documents.ingest.page_pictures import page_pictures
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.schemas.kept_by_weight import KeptByWeight

_T = TypeVar("_T")
# Documents that are kept, bytes of pictures that are kept, and the threads that read documents.
_KEPT, _PICTURED, _THREADS = 48, 64 << 20, 2


@dataclass(frozen=True, slots=True)
class UnshownDocument:
    """A document that cannot be shown, and the reason in plain words."""

    reason: str


@dataclass(frozen=True, slots=True)
class WantedDocument:
    """A document to show: its digest, the paths where it may be, its size in bytes (None if unknown).

    `hidden` is true of one that was read with its hidden text.
    """

    document: str
    paths: tuple[str, ...]
    size: int | None
    hidden: bool = False

    @property
    def name(self) -> str:
        """Returns the name of what is read of it."""
        return f"{self.document} {self.hidden}"


class Contents(Closing):
    """The documents of an output folder. Threads may share it. A context manager."""

    def __init__(self, out: Path, settings: ParserSettings = DEFAULT) -> None:
        self._out = out
        self._settings, self._pages = settings, PageStore(out / PAGES)
        # One for documents with their hidden text and one for the others, once there is such a document.
        self._pools: dict[bool, ParserPool] = {}
        self._opening = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="contents")
        self._read = _LastUsed[Document | UnshownDocument](self._threads, _KEPT)
        # Pictures wait for each other, not for texts.
        self._drawers = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        # An empty one cannot be drawn; an entry takes room, too.
        self._pictures = KeptByWeight[tuple[str, int], bytes](_PICTURED, lambda jpeg: len(jpeg) + 256)

    def close(self) -> None:
        """Ends the parser's processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._drawers.shutdown(wait=False, cancel_futures=True)
        with self._opening:
            for pool in self._pools.values():
                pool.close()

    def _pool(self, hidden: bool) -> ParserPool:
        with self._opening:
            if hidden not in self._pools:
                settings = replace(self._settings, hidden=hidden)
                self._pools[hidden] = ParserPool(_THREADS, settings=settings, pages=self._pages)
            return self._pools[hidden]

    def document(self, wanted: WantedDocument) -> Document | UnshownDocument:
        """Returns the parsed document, or why it cannot be shown."""
        return self._read.get(wanted.name, lambda: self._parse(wanted)).result()

    def picture(self, wanted: WantedDocument, part: int) -> bytes | None:
        """Returns the picture of the page that is this part, as a JPEG; None if there is none."""
        jpeg = self._pictures.get((wanted.name, part))
        if jpeg is None:
            document = self.document(wanted)
            if isinstance(document, UnshownDocument) or not 0 <= part < len(document.parts):
                return None
            if document.parts[part].kind != "page" or not document.parts[part].width:
                return None
            jpeg = self._drawers.submit(self._drawn, wanted, document, part).result()
        return jpeg or None

    def _drawn(self, wanted: WantedDocument, document: Document, part: int) -> bytes:
        """Returns the picture of a page, which is drawn now if it is not kept; empty if it cannot be drawn.

        Pages that come with it are kept: the next ones of a PDF, and all of another document.
        """
        if (kept := self._pictures.get((wanted.name, part))) is not None:
            return kept
        with self._found(wanted) as content:
            if isinstance(content, UnshownDocument):
                return b""
            pool, page = self._pool(wanted.hidden), document.parts[part].page
            jpegs = page_pictures(pool, content, wanted.document, document, page)
        # What ends its process, and what is not drawn with the rest, is not tried again for each page.
        over = [part] if jpegs and document.media_type == PDF else range(len(document.parts))
        for at, jpeg in (dict.fromkeys(over, b"") | jpegs).items():
            self._pictures.put((wanted.name, at), jpeg)
        return jpegs.get(part, b"")

    def _parse(self, wanted: WantedDocument) -> Document | UnshownDocument:
        with self._found(wanted) as content:
            if isinstance(content, UnshownDocument):
                return content
            parsed = self._pool(wanted.hidden).submit(content).result()
        if isinstance(parsed, DocumentError):
            return UnshownDocument(f"{parsed.code}: {parsed.detail}" if parsed.detail else parsed.code)
        if parsed.digest != wanted.document:
            return UnshownDocument("the file has changed since it was read")
        return parsed

    @contextlib.contextmanager
    def _found(self, wanted: WantedDocument) -> Iterator[Path | Content | UnshownDocument]:
        """Yields the file or mail with these bytes."""
        near = [path for path in wanted.paths if not is_address(path)]
        if not near:
            yield UnshownDocument("the document lies on a server, and this page makes no connections")
            return
        with DocumentLookup(self._out) as lookup:
            try:
                content = lookup.find(near, wanted.document, wanted.size)
            except (OSError, ValueError) as error:
                yield UnshownDocument(f"{near[0]}: cannot be read: {error}")
                return
            if content is None:
                yield UnshownDocument(f"{near[0]}: the file is not there any more, or has changed since it was read")
            else:
                yield content


class _LastUsed(Generic[_T]):
    """Results by name, the last used ones; each is computed once, in a thread."""

    def __init__(self, threads: ThreadPoolExecutor, most: int) -> None:
        self._threads, self._most = threads, most
        self._lock = threading.Lock()
        self._found: OrderedDict[str, Future[_T]] = OrderedDict()

    def get(self, name: str, compute: Callable[[], _T]) -> Future[_T]:
        with self._lock:
            future = self._found.get(name)
            if future is None or (future.done() and future.exception() is not None):
                future = self._found[name] = self._threads.submit(compute)
            self._found.move_to_end(name)
            while len(self._found) > self._most:
                self._found.popitem(last=False)
            return future


#: Characters of a block of text.
_LONGEST = 12_000
#: The names of parts for people.
_NAMES = {
    "headers": "Mail headers", "body": "Text", "attachment": "Attachment", "message": "Message", "sheet": "Sheet",
    "slide": "Slide", "notes": "Comments", "fields": "Form fields", "hidden": "Hidden text", "quote": "Quoted text",
    "signature": "Signature", "invoice": "Invoice data",
}  # fmt: skip


def _is_page(part: Part) -> bool:
    return part.kind == "page" and part.width > 0 and part.height > 0


def _label(part: Part) -> str:
    if part.kind == "page":
        return f"Page {part.page}"
    name = _NAMES.get(part.kind, part.kind)
    return f"{name}: {part.name}" if part.name else name


def blocks_of(document: Document) -> list[dict[str, Any]]:
    """Returns the blocks of a document in order, as JSON; together they hold all of its text.

    A block is an interval [start, end) in one part, whose index is -1 for none; a page has its size in points.
    """
    blocks = []
    for start, end, index in _innermost(document):
        part = document.parts[index] if index >= 0 else None
        page = part is not None and _is_page(part)
        for a, b in [(start, end)] if page else _pieces(document.text, start, end):
            block = {"part": index, "start": a, "end": b, "kind": "body", "label": "Text", "page": 0}
            if part is not None:
                block |= {"kind": part.kind, "label": _label(part), "page": part.page}
            size = (part.width, part.height) if part is not None and page else (0, 0)
            blocks.append(block | dict(zip(("width", "height"), size, strict=True)))
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
