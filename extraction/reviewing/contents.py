"""Reads the documents behind records again: text, words with boxes, and pictures of pages, for a person to look at.

A file is parsed in the sandbox, once for many requests. Mails behind IMAP are not fetched: looking at results must not
cause a connection.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from cinnabar.extraction.backfill.document_lookup import Content, DocumentLookup
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.ingest.page_pictures import page_pictures
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.ingest.settings import DEFAULT, ParserSettings
from cinnabar.extraction.mailboxes.address import is_address
from cinnabar.schemas.errors import DocumentError

_T = TypeVar("_T")
#: Documents and pictures that are kept, and the threads that read them.
_KEPT, _PICTURED, _THREADS = 48, 12, 2


@dataclass(frozen=True, slots=True)
class Missing:
    """A document that cannot be shown, and the reason in plain words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
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


class Contents:
    """The documents of an output folder. Threads may share it. A context manager."""

    def __init__(self, out: Path, settings: ParserSettings = DEFAULT) -> None:
        self._out = out
        self._settings, self._pages = settings, PageStore(out / PAGES)
        # One for documents with their hidden text and one for the others, once there is such a document.
        self._pools: dict[bool, ParserPool] = {}
        self._opening = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="contents")
        self._read = _Kept[Document | Missing](self._threads, _KEPT)
        # Pictures wait for each other, not for texts.
        self._drawers = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._drawn = _Kept[dict[int, bytes]](self._drawers, _PICTURED)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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

    def document(self, wanted: Wanted) -> Document | Missing:
        """Returns the parsed document, or why it cannot be shown."""
        return self._read.get(wanted.name, lambda: self._parsed(wanted)).result()

    def picture(self, wanted: Wanted, part: int) -> bytes | None:
        """Returns the picture of the page that is this part, as a JPEG; None if there is none."""
        return self._drawn.get(wanted.name, lambda: self._pictures(wanted)).result().get(part)

    def prefetch(self, wanted: Wanted) -> None:
        """Begins to read a document that will soon be asked for."""
        self._read.get(wanted.name, lambda: self._parsed(wanted))
        self._drawn.get(wanted.name, lambda: self._pictures(wanted))

    def _pictures(self, wanted: Wanted) -> dict[int, bytes]:
        with self._found(wanted) as content:
            if isinstance(content, Missing):
                return {}
            document = self.document(wanted)
            if isinstance(document, Missing) or not any(part.width for part in document.parts):
                return {}
            drawn = page_pictures(self._pool(wanted.hidden), content, wanted.document, document)
            return {one.part: one.jpeg for one in drawn}

    def _parsed(self, wanted: Wanted) -> Document | Missing:
        with self._found(wanted) as content:
            if isinstance(content, Missing):
                return content
            found = self._pool(wanted.hidden).submit(content).result()
        if isinstance(found, DocumentError):
            return Missing(f"{found.code}: {found.detail}" if found.detail else found.code)
        if found.digest != wanted.document:
            return Missing("the file has changed since it was read")
        return found

    @contextlib.contextmanager
    def _found(self, wanted: Wanted) -> Iterator[Content | Missing]:
        """Yields the file or mail with these bytes."""
        near = [path for path in wanted.paths if not is_address(path)]
        if not near:
            yield Missing("the mail lies on a server, and this page makes no connections")
            return
        with DocumentLookup(self._out) as lookup:
            try:
                content = lookup.find(near, wanted.document, wanted.size)
            except (OSError, ValueError) as error:
                yield Missing(f"{near[0]}: cannot be read: {error}")
                return
            if content is None:
                yield Missing(f"{near[0]}: the file is not there any more, or has changed since it was read")
            else:
                yield content


class _Kept(Generic[_T]):
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


def reads_hidden_text(arguments: str) -> bool:
    """Returns whether the run with these arguments read hidden text, which moves all characters behind it."""
    said: Any = json.loads(arguments or "{}")
    return bool(isinstance(said, dict) and said.get("hidden"))
