"""Keeps the words of pages that OCR read, so that another schema or another run need not read them again.

The folder has a folder for each document, so that forgetting a document removes its pages, and in it a file for each
picture. A broken file counts as missing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from cinnabar.extraction.documents.content.limits import MAX_KEPT_PAGES
from cinnabar.extraction.documents.ocr.page_text import PageText, unpack_page
from cinnabar.schemas.cache_files import CacheFiles, mark_used

#: The folder within an output folder.
PAGES = "pages"


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
        data = page.pack()
        # A file that a crash tore is no JSON, and the page is read again.
        self._files.write(self.folder / document / f"{_name(picture, engine)}.json", [data], len(data))


def _name(picture: bytes, engine: str) -> str:
    return hashlib.sha256(engine.encode() + b"\0" + picture).hexdigest()
