"""Keeps the words of pages that OCR read, so that another schema or another run need not read them again.

The folder has a folder for each document, so that forgetting a document removes its pages, and in it a file for each
picture. A broken file counts as missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from cinnabar.extraction.documents.content.limits import MAX_KEPT_PAGES
from cinnabar.extraction.documents.ocr.page_text import PageText, unpack_page
from cinnabar.schemas.cache_files import CacheFiles, mark_used

#: The folder within an output folder.
PAGES = "pages"
_HASH = re.compile(r"[0-9a-f]{64}")

#: Packed pages by the hash of their document and their own name.
PackedPages = Mapping[str, Mapping[str, bytes]]


class PageStore:
    """A folder of at most `limit` bytes. On a disk that fails or is full it keeps nothing and raises nothing."""

    def __init__(self, folder: Path, limit: int = MAX_KEPT_PAGES) -> None:
        self.folder = folder
        self._files = CacheFiles(folder, "*/*.json", limit)

    def get(self, document: str, picture: bytes, engine: str) -> PageText | None:
        """Returns the page in a document's picture as this engine read it; None if it is not here."""
        path = self.folder / document / f"{_name(picture, engine)}.json"
        try:
            if path.is_symlink():  # a folder from elsewhere: its pages are its own, or they count as missing
                return None
            page = unpack_page(path.read_bytes())
        except (OSError, ValueError):
            return None
        mark_used(path)
        return page

    def put(self, document: str, picture: bytes, engine: str, page: PageText) -> None:
        """Keeps the page in a document's picture as this engine read it."""
        self._write(document, _name(picture, engine), page.pack())

    def pages_of(self, documents: Iterable[str]) -> PackedPages:
        """Returns the pages of these documents, to be sent to another machine."""
        packed: dict[str, dict[str, bytes]] = {}
        for document in documents:
            with contextlib.suppress(OSError):
                paths = list((self.folder / document).glob("*.json"))
                if paths:
                    packed[document] = {path.stem: path.read_bytes() for path in paths}
                for path in paths:
                    mark_used(path)
        return packed

    def add(self, pages: PackedPages) -> None:
        """Stores pages that another machine read; what has no name of a page is left out."""
        for document, named in pages.items():
            for name, data in named.items():
                if _HASH.fullmatch(document) and _HASH.fullmatch(name):
                    self._write(document, name, data)

    def _write(self, document: str, name: str, data: bytes) -> None:
        # A file that a crash tore is no JSON, and the page is read again.
        self._files.write(self.folder / document / f"{name}.json", [data], len(data))


class CarriedPages:
    """Pages in the memory of a machine of a cluster: those that it was sent, and those that it read."""

    def __init__(self) -> None:
        self._sent: PackedPages = {}
        self._read: defaultdict[str, dict[str, bytes]] = defaultdict(dict)

    def carry(self, pages: PackedPages) -> None:
        """Takes the pages of the documents that come next, instead of all that it had."""
        self._sent, self._read = pages, defaultdict(dict)

    def taken(self) -> PackedPages:
        """Returns the pages that were read since the last call of `carry`."""
        return dict(self._read)

    def get(self, document: str, picture: bytes, engine: str) -> PageText | None:
        """Returns the page in a document's picture as this engine read it; None if it is not here."""
        name = _name(picture, engine)
        data = self._sent.get(document, {}).get(name)
        with contextlib.suppress(ValueError):
            return None if data is None else unpack_page(data)
        return None

    def put(self, document: str, picture: bytes, engine: str, page: PageText) -> None:
        """Keeps the page in a document's picture as this engine read it."""
        self._read[document][_name(picture, engine)] = page.pack()


#: Keeps the words that OCR read from pictures, so that a later run reads none of them again.
PageKeeper = PageStore | CarriedPages


def _name(picture: bytes, engine: str) -> str:
    return hashlib.sha256(engine.encode() + b"\0" + picture).hexdigest()
