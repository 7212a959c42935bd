"""Keeps the words of pages that OCR read, so that another schema or another run need not read them again.

The folder has a folder for each document, so that forgetting a document removes its pages, and in it a file for each
picture. A broken file counts as missing.

The words that OCR read from a picture, and their form on the pipe between an OCR process and its parent.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import MAX_KEPT_PAGES, MAX_PAGE_WORDS, MAX_WORD
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


@dataclass(frozen=True, slots=True)
class PageText:
    """The words of a picture in reading order.

    text: [W] without blanks. gap: [W] the blanks and line ends before each word, "" before the first one.
    box: [W, 4] float32 (x0, top, x1, bottom) in pixels of the picture as it is displayed.
    sure: [W] float32, the probability that a word is read as it is printed.
    damaged: the end of the image is missing.
    """

    text: tuple[str, ...]
    gap: tuple[str, ...]
    box: npt.NDArray[np.float32]
    sure: npt.NDArray[np.float32]
    damaged: bool = False

    def pack(self) -> bytes:
        """Returns the page as JSON."""
        stored = {
            "text": self.text,
            "gap": self.gap,
            "box": np.round(self.box.astype(float), 1).tolist(),
            "sure": np.round(self.sure.astype(float), 4).tolist(),
            "damaged": self.damaged,
        }
        return orjson.dumps(stored)


def page_text(words: Sequence[tuple[str, str, Sequence[float], float]], damaged: bool = False) -> PageText:
    """Returns a page of words with the gap before, the box and the probability of each."""
    if not words:
        return PageText((), (), np.empty((0, 4), np.float32), np.empty(0, np.float32), damaged)
    text, gap, box, sure = zip(*words, strict=True)
    return PageText(text, gap, np.array(box, np.float32), np.array(sure, np.float32), damaged)


def unpack_page(data: bytes) -> PageText:
    """Returns the page that `pack` wrote.

    Raises ValueError if a correct process could not have written it: the writer has read hostile bytes.
    """
    try:
        stored = orjson.loads(data)
        text, gap, box, sure = stored["text"], stored["gap"], stored["box"], stored["sure"]
        if not len(text) == len(gap) == len(box) == len(sure) <= MAX_PAGE_WORDS:
            raise ValueError(f"expected as many words as gaps, boxes and probabilities, at most {MAX_PAGE_WORDS}")
        return page_text([_word(*one) for one in zip(text, gap, box, sure, strict=True)], bool(stored["damaged"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _word(text: str, gap: str, box: Sequence[float], sure: float) -> tuple[str, str, Sequence[float], float]:
    if not text or text != clean(text) or len(text.split()) != 1 or text != text.strip() or gap.strip(" \n"):
        raise ValueError(f"expected a clean word after blanks, got {text[:40]!r} after {gap[:40]!r}")
    if len(text) + len(gap) > MAX_WORD:
        raise ValueError(f"a word of {len(text)} characters, at most {MAX_WORD} are allowed")
    x0, top, x1, bottom = map(float, box)
    if not all(map(math.isfinite, (x0, top, x1, bottom, sure))) or x1 < x0 or bottom < top or not 0 <= sure <= 1:
        raise ValueError(f"expected a box and a probability, got {box!r} and {sure!r}")
    return text, gap, (x0, top, x1, bottom), sure
