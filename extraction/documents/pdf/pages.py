"""Appends the pages of a PDF to a document, within a clock."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cinnabar.closing import Closing
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.document import PartKind
from cinnabar.extraction.documents.content.limits import MAX_PAGE_ANSWER, MAX_PDF_PAGES
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.pdf.annotations import Entry
from cinnabar.extraction.documents.pdf.page_content import (
    Lines,
    PageContent,
    Spent,
    loaded_page,
    page_content,
    plain_content,
)
from cinnabar.extraction.documents.processes.serving import end_with, read_whole, write_whole

#: Shares of a document's time: after the first, pages are read as plain text; after the second, none. In a second try a
#: page may take the third.
PLAIN_AFTER, STOP_AFTER, PAGE_SHARE = 0.5, 0.75, 0.15


@dataclass(slots=True)
class PagesRead:
    """The state of a file's pages.

    words: that were appended, with those of fields and notes. images: true if a page without words holds an image.
    pictures: pages that are shown to OCR. files: pdfium's handles of the files at comments. field_values: those of
    fields.
    """

    words: int = 0
    images: bool = False
    pictures: int = 0
    failed: int = 0
    silent: int = 0
    files: list[Any] = field(default_factory=list)
    field_values: set[str] = field(default_factory=set)


def read_pages(reading: ParseContext, pdf: Any, layered: bool) -> PagesRead:
    """Appends the pages, of which drawings may lie on optional layers if it is `layered`.

    Raises DocumentError if there is no page or none can be loaded.
    """
    builder, totals, pages = reading.builder, PagesRead(), len(pdf)
    if pages <= 0:
        raise DocumentError("broken", "the file opens and holds no page")
    if pages > MAX_PDF_PAGES:
        builder.flags.add("truncated")
        builder.metadata["pages_seen"] = str(pages)
    first, last = reading.settings.pages or (1, pages)
    wanted = range(first - 1, min(last, pages, MAX_PDF_PAGES))
    count, number = len(wanted), 0
    spent = Spent(layered)
    contents = (_from_copies if reading.settings.careful else _in_turn)(reading, pdf, wanted, spent)
    for number, content in enumerate(contents, 1):
        if content is None:
            totals.failed += 1
        else:
            _add_page(reading, content, wanted[number - 1] + 1, totals)
        if builder.full and number < count:
            builder.flags.add("truncated")
            break
    else:
        if number < count:
            builder.flags.add("slow_pages")
    if totals.failed == number:
        if "slow_pages" in builder.flags:
            raise DocumentError("timeout", f"none of {pages} pages can be read within the limits")
        raise DocumentError("broken", f"none of {pages} pages can be loaded")
    if totals.failed:
        builder.flags.add("broken_pages")
    if totals.silent and (totals.words or totals.pictures):
        builder.flags.add("no_text_pages")
    return totals


def _in_turn(reading: ParseContext, pdf: Any, wanted: range, spent: Spent) -> Iterator[PageContent | None]:
    """Yields the pages until the clock ends; None for a page that cannot be loaded."""
    for index in wanted:
        if reading.is_late(STOP_AFTER):
            return
        with loaded_page(pdf, index, spent.groups, reading.settings) as (page, entries):
            if not page:
                yield None
            elif reading.is_late(PLAIN_AFTER):
                reading.builder.flags.add("slow_pages")
                yield plain_content(page, entries, reading.settings)
            else:
                yield page_content(page, entries, reading.settings, spent)


def _from_copies(reading: ParseContext, pdf: Any, wanted: range, spent: Spent) -> Iterator[PageContent | None]:
    """Yields the pages until the clock ends, of a file that ended its parser; None for a page that does so again.

    A page whose layout ends the copy that reads it is yielded as plain text.
    """
    settings = reading.settings

    def work(index: int) -> Iterator[PageContent]:
        before = set(spent.groups)
        with loaded_page(pdf, wanted[index], spent.groups, settings) as (page, entries):
            if not page:
                return
            new = spent.groups - before
            plain = plain_content(page, entries, settings)
            plain.groups |= new
            yield replace(plain, files=[])
            content = page_content(page, entries, settings, spent)
            content.groups |= new
            if content.files:
                content.flags.add("attachment_skipped")
            yield replace(content, files=[])

    until = reading.begun + STOP_AFTER * settings.seconds
    for answers, whole in copied_answers(work, len(wanted), PAGE_SHARE * settings.seconds, until):
        if not whole:
            reading.builder.flags.add("slow_pages")
        content = answers[-1] if answers else None
        if content is not None:
            spent.groups |= content.groups
            spent.pictures += content.picture is not None
        yield content


def _add_page(reading: ParseContext, content: PageContent, number: int, totals: PagesRead) -> None:
    builder = reading.builder
    width, height = content.size
    builder.open("page", page=number, width=width, height=height)
    begun = builder.length
    builder.flags |= content.flags
    if content.picture is not None:
        builder.show(*content.picture)
        totals.pictures += 1
    totals.words += _write(reading, content.words)
    if content.plain:
        builder.write(content.plain)
        totals.words += len(content.plain.split())
    if not (content.words.text or content.plain or content.picture):
        totals.silent += 1
        totals.images |= content.image
    if content.hidden.text:
        _separate(reading, begun)
        builder.open("hidden", "hidden", page=number, width=width, height=height)
        totals.words += _write(reading, content.hidden)
        builder.close()
    kinds: tuple[tuple[PartKind, list[Entry]], ...] = (("fields", content.fields), ("notes", content.notes))
    for kind, kept in kinds:
        if kept:
            _separate(reading, begun)
            totals.words += add_entries(reading, kind, kept, number, content.size)
    totals.field_values.update(content.field_values)
    totals.files += content.files
    builder.close()


def _write(reading: ParseContext, lines: Lines) -> int:
    reading.builder.write_words(lines.text, lines.gaps, lines.box)
    return len(lines.text)


def _separate(reading: ParseContext, begun: int) -> None:
    """Ends the text of the open page, which began at this character, with a blank line."""
    if reading.builder.length > begun:
        reading.builder.write("\n\n")


def add_entries(
    reading: ParseContext,
    kind: PartKind,
    entries: Sequence[Entry],
    number: int = 0,
    size: tuple[float, float] = (0.0, 0.0),
) -> int:
    """Appends a part with a line for each entry, `label: text`, and returns its words; they have the entry's box.

    size: width and height of the page; the boxes are as displayed on it.
    """
    builder = reading.builder
    words: list[str] = []
    gaps: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    for entry in entries:
        lines = clean(f"{entry.label}: {entry.text}" if entry.label else entry.text).split("\n")
        for line in lines:
            for place, word in enumerate(line.split()):
                gaps.append(" " if place else "\n" if words else "")
                words.append(word)
                boxes.append(entry.box)
    builder.open(kind, kind, page=number, width=size[0], height=size[1])
    builder.write_words(words, gaps, np.array(boxes, np.float32).reshape(-1, 4))
    builder.close()
    return len(words)


# Copies of this process that read hostile pages: one that dies or hangs loses a page, never the file.

#: Yields the answers for a number, the best one last.
Work = Callable[[int], Iterator[Any]]


def copied_answers(work: Work, count: int, seconds: float, until: float) -> Iterator[tuple[list[Any], bool]]:
    """Yields, for each number below `count`, the answers that a copy of this process gave, and whether it gave all.

    A copy that dies, or takes more than `seconds` for a number, is replaced by one that goes on with the next number.
    The answers end early at `until`, a monotonic time.
    """
    number = 0
    while number < count and time.monotonic() < until:
        with _Copy(work, number, count) as copy:
            whole = True
            while whole and number < count and time.monotonic() < until:
                answers: list[Any] = []
                whole = copy.receive(answers, min(time.monotonic() + seconds, until))
                yield answers, whole
                number += 1


class _Copy(Closing):
    """A copy of this process that works on the numbers from `first` to `count`; a context manager that ends it."""

    def __init__(self, work: Work, first: int, count: int) -> None:
        self._reader, writer = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            # Nothing of the parent may run on in the copy, whatever happens.
            try:
                os.close(self._reader)
                end_with(parent)
                _serve(writer, work, first, count)
            finally:
                os._exit(0)
        os.close(writer)

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._reader)

    def receive(self, answers: list[Any], deadline: float) -> bool:
        """Appends the answers for the next number; returns False if the copy died or was late."""
        with suppress(TimeoutError, EOFError):
            while size := int.from_bytes(read_whole(self._reader, 8, deadline), "little"):
                if size > MAX_PAGE_ANSWER:
                    return False
                # The copy may do no more than this process, which reads the same bytes.
                answers.append(pickle.loads(read_whole(self._reader, size, deadline)))
            return True
        return False


def _serve(writer: int, work: Work, first: int, count: int) -> None:
    """Sends the answers for these numbers behind their sizes, and no size behind those for each."""
    for number in range(first, count):
        for answer in map(pickle.dumps, work(number)):
            write_whole(writer, len(answer).to_bytes(8, "little"), answer)
        write_whole(writer, bytes(8))
