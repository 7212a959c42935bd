"""Reads the pictures of documents in processes of their own; a picture that fails leaves its page empty."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import replace
from enum import Enum

import orjson

from cinnabar.engine.child_process import python_command
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, Fact, Picture
from cinnabar.extraction.documents.content.language import language_of
from cinnabar.extraction.documents.content.limits import (
    DOCUMENT_SECONDS,
    MAX_OCR_ANSWER,
    MAX_READ_PICTURES,
    OCR_MEMORY,
    OCR_PICTURES,
    PAGE_SECONDS,
    PICTURE_SECONDS,
    PROCESSOR_SECONDS,
)
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ocr.engines import OcrEngine
from cinnabar.extraction.documents.ocr.merging import merge_pages
from cinnabar.extraction.documents.ocr.page_store import PageKeeper
from cinnabar.extraction.documents.ocr.page_text import PageText, unpack_page
from cinnabar.extraction.documents.ocr.worker import ANSWER, TEXT
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerPool, WorkerProcess, WorkerTimedOut
from cinnabar.schemas.facts import LANGUAGE
from cinnabar.wording import with_noun


class UnreadPage(Enum):
    """The reason why a picture was not read, in words for one picture or several."""

    DAMAGED = "damaged"
    LARGE = "too large for the memory"
    SLOW = "too slow"
    CRASHED = "crashed"
    FAILED = "failed for another reason"
    BEYOND = "beyond the limit of a document"


_PageResult = PageText | UnreadPage
# By the names of the errors that decoders raise.
_FAILURES = {
    **dict.fromkeys(("OSError", "UnidentifiedImageError", "SyntaxError", "ValueError", "EOFError"), UnreadPage.DAMAGED),
    **dict.fromkeys(("TooManyPixels", "MemoryError"), UnreadPage.LARGE),
}


class _PictureReader(WorkerProcess):
    """One process that reads one picture at a time; `spent` is the processor time of the last one in seconds."""

    def __init__(self, command: list[str], languages: str, time_limit: float) -> None:
        super().__init__(command, orjson.dumps(languages) + b"\n", time_limit, "OCR")
        self.spent = 0.0

    def ask(self, picture: bytes) -> _PageResult:
        """Returns the words of a picture, if it can be read.

        Raises WorkerDied or WorkerTimedOut; the process cannot be used afterwards.
        """
        self.send(b"%d\n" % len(picture), picture)
        deadline = self.deadline()
        kind, self.spent, size = ANSWER.unpack(self.receive(ANSWER.size, deadline))
        if size > MAX_OCR_ANSWER:
            raise WorkerDied(f"an answer of {size} bytes, at most {MAX_OCR_ANSWER} are allowed")
        answer = self.receive(size, deadline)
        self.served += 1
        if kind != TEXT:
            return _FAILURES.get(answer.decode("ascii", "replace"), UnreadPage.FAILED)
        try:
            return unpack_page(answer)
        except ValueError as error:
            raise WorkerDied(f"the answer is malformed: {error}") from error


class _Budget:
    """The processor time that the pictures of one document may take together."""

    def __init__(self, pictures: int) -> None:
        self._left = DOCUMENT_SECONDS + PICTURE_SECONDS * pictures
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        """Returns True if no time is left."""
        return self._left <= 0

    def take(self, seconds: float) -> None:
        """Takes the seconds that a picture took from those that are left for its document."""
        with self._lock:
            self._left -= seconds


class OcrPool:
    """Fills documents with the words of their pictures, as the settings say.

    workers: processes; the first one starts when the first picture comes. pages: keeps what was read. reader:
    `module:class` that a process imports instead of the engine's, a `worker.PictureReader`.
    """

    def __init__(
        self,
        workers: int,
        settings: ParserSettings,
        pages: PageKeeper | None = None,
        *,
        time_limit: float = PAGE_SECONDS,
        memory_limit: int = OCR_MEMORY,
        reader: str | None = None,
    ) -> None:
        self._choice, self._engine, self._pages = settings.ocr, OcrEngine.parse(settings.ocr_engine), pages
        self._workers, self._time_limit, self._reader = workers, time_limit, reader
        limits = [str(min(time_limit, PROCESSOR_SECONDS)), str(memory_limit)]
        module = "cinnabar.extraction.documents.ocr.worker"
        self._command = python_command("-m", module, reader or self._engine.reader_name, *limits)
        self._pool = WorkerPool[_PictureReader](workers, "OCR")

    def close(self) -> None:
        """Ends all processes; pages in progress stay empty."""
        self._pool.close()

    def fill(self, document: Document) -> Document | DocumentError:
        """Returns the document with the words of its pictures, or the error `image_only` if it has no word at all."""
        if not document.pictures:
            return document
        missing = self._why_off()
        read = [] if missing else self._read(document)
        unread = {page for _, page in read if isinstance(page, UnreadPage)}
        pages = [(picture, page) for picture, page in read if isinstance(page, PageText)]
        whole = merge_pages(document, pages)
        flags = set(whole.flags)
        if unread - {UnreadPage.BEYOND}:
            flags.add("ocr_failed")
        if UnreadPage.BEYOND in unread:
            flags.add("ocr_limit")
        if any(page.damaged for _, page in pages):
            flags.add("repaired")
        if not len(whole.words):
            return DocumentError("image_only", missing or self._why_empty([page for _, page in read]))
        if unread or missing:
            flags.add("no_text_pages")
        elif all(part.start < part.end for part in whole.parts if part.kind == "page"):
            flags.discard("no_text_pages")
        return replace(whole, flags=tuple(sorted(flags)), facts=_with_language(whole))

    def _why_off(self) -> str:
        """Returns why no picture is read, "" if OCR works."""
        if self._choice == "never":
            return "there are images and no text; --ocr auto reads them"
        if self._reader is None and (needed := self._engine.setup_advice()):
            return f"there are images and no text; {needed}"
        return ""

    @staticmethod
    def _why_empty(read: list[_PageResult]) -> str:
        counts = {reason: read.count(reason) for reason in UnreadPage}
        unread = [f"{count} {reason.value}" for reason, count in counts.items() if count]
        return f"OCR found no text in {with_noun(len(read), 'image')}" + (f": {', '.join(unread)}" if unread else "")

    def _read(self, document: Document) -> list[tuple[Picture, _PageResult]]:
        """Returns the pictures of a document with their words.

        The pictures wait outside of the pool, except for a few, so that other documents have their turn.
        """
        keys = [hashlib.sha256(one.data).digest() for one in document.pictures]
        # A picture that occurs often, such as a logo, is read once.
        distinct = dict(zip(keys[:MAX_READ_PICTURES], document.pictures, strict=False))
        budget = _Budget(len(distinct))
        pages: dict[bytes, _PageResult] = {}
        coming: dict[Future[_PageResult], bytes] = {}
        for key, picture in distinct.items():
            if len(coming) >= 2 * self._workers:
                done, _ = wait(coming, return_when=FIRST_COMPLETED)
                pages |= {coming.pop(one): one.result() for one in done}
            coming[self._pool.submit(self._page, document.digest, picture.data, budget)] = key
        pages |= {key: one.result() for one, key in coming.items()}
        return [(one, pages.get(key, UnreadPage.BEYOND)) for key, one in zip(keys, document.pictures, strict=True)]

    def _page(self, document: str, picture: bytes, budget: _Budget) -> _PageResult:
        """Returns the words of a picture, from the store or a process."""
        engine = self._reader or self._engine.fingerprint()
        if self._pages is not None and (known := self._pages.get(document, picture, engine)) is not None:
            return known
        if budget.spent:
            return UnreadPage.BEYOND
        page = self._ask(picture, budget)
        if self._pages is not None and isinstance(page, PageText):
            self._pages.put(document, picture, engine, page)
        return page

    def _ask(self, picture: bytes, budget: _Budget) -> _PageResult:
        worker = self._pool.take()
        try:
            worker = worker or self._pool.start(self._made())
            begun = time.monotonic()
            try:
                page = worker.ask(picture)
            except (WorkerDied, WorkerTimedOut) as error:
                budget.take(time.monotonic() - begun)
                self._pool.end(worker)
                worker = None
                return UnreadPage.CRASHED if isinstance(error, WorkerDied) else UnreadPage.SLOW
            # A process that lies about its time has as many seconds of wall clock as a picture may take, and no more.
            least = (time.monotonic() - begun) * PROCESSOR_SECONDS / PAGE_SECONDS
            budget.take(max(least, worker.spent))
            if worker.served >= OCR_PICTURES:
                self._pool.end(worker)
                worker = None
            return page
        finally:
            self._pool.give(worker)

    def _made(self) -> Callable[[], _PictureReader]:
        languages = self._engine.chosen_languages()
        return lambda: _PictureReader(self._command, languages, self._time_limit)


def _with_language(document: Document) -> dict[str, Fact]:
    """Returns the facts of a document, with the language of its text if the parser saw too little of it."""
    facts = dict(document.facts)
    if LANGUAGE not in facts:
        # The classifier must not lose a document that was read.
        with suppress(Exception):
            if language := language_of(document):
                facts[LANGUAGE] = Fact(language)
    return facts
