"""Builds a document: text, parts and words, appended in reading order with correct offsets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.document import Document, Fact, Part, PartKind, Picture, Places, Words
from cinnabar.extraction.documents.content.limits import (
    MAX_CHARACTERS,
    MAX_DOCUMENT_PARTS,
    MAX_MEDIA_TYPE,
    MAX_PART_NAME,
    MAX_PART_NAMES,
    MAX_PICTURE_BYTES,
    MAX_PLACE_NAME,
    MAX_PLACE_NAMES,
    MAX_PLACES,
)
from cinnabar.schemas.facts import FactValue

# Whether a character is blank, as `\s` of `re` has it, by its code; the last entry stands for all greater codes.
_BLANK = np.array([chr(code).isspace() for code in range(0x3001)] + [False])
# Line ends of every kind become \n. Other control codes and lone surrogates become U+FFFD, so that a reader sees their
# place and every output is valid UTF-8.
_CONTROLS: dict[int, str] = dict.fromkeys((*range(32), *range(127, 160)), "�")
_CONTROLS |= {0x09: "\t", 0x0A: "\n", 0x0B: "\n", 0x0C: "\n", 0x0D: "\n", 0x85: "\n"}
_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Letters without a width: soft hyphens (with the line end that one divides a word at), marks of direction, joiners.
# Scripts of Asia spell with joiners, and pictures are made with them; the letter before them tells. Each pattern begins
# with one class of characters: alternatives would take 8 s for 20 million characters in place of 2 s.
_UNSEEN = re.compile(
    "[\xad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]+"
    "(?:(?<=\xad)\r?\n)?"
)
_JOINED = "\u0620-\u064a\u066e-\u06d3\u06fa-\u109f\u1780-\u18aa\u1900-\u1cff\u231a-\u27bf\ufe0f\U0001f000-\U0001ffff"
_JOINER = re.compile(f"[\u200c\u200d]+(?<![{_JOINED}].)")


def clean(text: str) -> str:
    """Returns `text` with `\\n` as its only line end, U+FFFD for control codes, and no letters without a width."""
    if not str.isascii(text):
        text = _JOINER.sub("", _UNSEEN.sub("", text))
    if _BAD.search(text) is None:
        return text
    text = text.replace("\r\n", "\n").translate(_CONTROLS)
    # A pair of surrogates in two code units is one character; lone ones become U+FFFD.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def word_bounds(text: str) -> npt.NDArray[np.int32]:
    """Returns the runs of non-blank characters, [W, 2]: start, end.

    For 20 million characters of prose it takes .5 s and 300 MiB on a busy processor. A regular expression took twice as
    long, and its list of words more than the 1 GiB that a parser may have.
    """
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    printed = np.zeros(len(codes) + 2, bool)
    printed[1:-1] = ~_BLANK.take(codes, mode="clip")
    return np.flatnonzero(printed[1:] != printed[:-1]).astype(np.int32).reshape(-1, 2)


def _clean_value(value: FactValue) -> FactValue:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value
    texts = tuple(clean(one) for one in value if isinstance(one, str))
    return texts or value


class DocumentBuilder:
    """Builds one document.

    Parts are opened and closed like brackets; an open part is the parent of the next one. The builder cuts text beyond
    `limit` characters and flags the document `truncated`.
    """

    def __init__(self, limit: int = MAX_CHARACTERS) -> None:
        self.flags: set[str] = set()
        self.parsers: set[str] = set()
        self.metadata: dict[str, str] = {}
        self.facts: dict[str, Fact] = {}
        self.length = 0
        self._limit = limit
        self._pieces: list[str] = []
        self._parts: list[Part] = []
        self._open: list[int] = []
        self._start: list[npt.NDArray[np.int32]] = [np.empty(0, np.int32)]
        self._end: list[npt.NDArray[np.int32]] = [np.empty(0, np.int32)]
        self._box: list[npt.NDArray[np.float32]] = [np.empty((0, 4), np.float32)]
        self._part: list[npt.NDArray[np.int32]] = [np.empty(0, np.int32)]
        self._separate = False
        self._places: list[int] = []
        self._labels: list[str] = []
        self._labelled = self._named = 0
        self._pictures: list[Picture] = []
        self.pictured = 0

    @property
    def full(self) -> bool:
        """Returns True if the limit of characters or of parts is reached; whoever appends in a loop stops then."""
        return self.length >= self._limit or len(self._parts) >= MAX_DOCUMENT_PARTS

    @property
    def part_count(self) -> int:
        """Returns the number of parts so far, closed or open; the next part has this index."""
        return len(self._parts)

    @property
    def open_count(self) -> int:
        """Returns the number of parts that are open."""
        return len(self._open)

    def close_down_to(self, count: int) -> None:
        """Closes the innermost parts until `count` are open, after a reader gave up."""
        while len(self._open) > count:
            self.close()

    def mark(self, label: str, ahead: int = 0) -> None:
        """Names the place where the text goes on, such as a cell or a paragraph, up to the next mark.

        ahead: characters that will be written before it.
        """
        if label != (self._labels[-1] if self._labels else ""):
            if len(self._places) >= MAX_PLACES or self._labelled > MAX_PLACE_NAMES:
                # The frame of a document has room for so many; text after them has no place.
                label = ""
                if self._labels[-1] == "":
                    return
            self._places.append(min(self.length + ahead, self._limit))
            self._labelled += len(label[:MAX_PLACE_NAME])
            self._labels.append(clean(label)[:MAX_PLACE_NAME])

    def show(self, picture: bytes, scale: float = 1.0) -> None:
        """Adds a picture of the open part, to be read by OCR; beyond the bound the document is flagged `ocr_limit`.

        picture: an encoded image; scale: its pixels to a point of the part's width and height.
        """
        if self.pictured + len(picture) > MAX_PICTURE_BYTES:
            self.flags.add("ocr_limit")
            return
        self.pictured += len(picture)
        self._pictures.append(Picture(self._open[-1], picture, scale))

    def forget_parts(self, count: int) -> None:
        """Drops all parts after the first `count`; they must be closed and hold no words."""
        del self._parts[count:]

    def open(
        self,
        kind: PartKind,
        name: str = "",
        *,
        page: int = 0,
        width: float = 0.0,
        height: float = 0.0,
        media_type: str = "text/plain",
        inline: bool = False,
    ) -> None:
        """Begins a part at the end of the text, after a blank line; `inline`: within running text, without one."""
        begun = bool(self._open) and self.length > self._parts[self._open[-1]].start
        if (self._separate or begun) and not inline:
            self._raw("\n\n")
            self._separate = False
        name, media_type = clean(name)[:MAX_PART_NAME], clean(media_type)[:MAX_MEDIA_TYPE]
        self._named += len(name)
        if self._named > MAX_PART_NAMES:
            # The frame of a document has room for so many; the part keeps its text.
            self.flags.add("truncated")
            name = ""
        parent = self._open[-1] if self._open else -1
        self._open.append(len(self._parts))
        self._parts.append(Part(kind, self.length, self.length, name, page, width, height, parent, media_type))

    def close(self) -> None:
        """Ends the part that was opened last."""
        index = self._open.pop()
        self._parts[index] = part = replace(self._parts[index], end=self.length)
        self._separate = self._separate or self.length > part.start

    def write(self, text: str) -> None:
        """Appends text; its words are its runs of non-blank characters, without boxes."""
        room = max(0, self._limit - self.length)
        # The rest of a long text need not be cleaned: nearly always cleaning makes one character of two at most.
        cut, text = len(text) > 2 * room + 2, clean(text[: 2 * room + 2])
        if cut or len(text) > room:
            text = text[:room]
            self.flags.add("truncated")
        array = word_bounds(text)
        self._words(array[:, 0], array[:, 1], np.full((len(array), 4), np.nan, np.float32))
        self._raw(text)

    def write_words(self, words: Sequence[str], gaps: Sequence[str], box: npt.NDArray[np.float32]) -> None:
        """Appends words with boxes.

        words: [W] non-blank, cleaned; gaps: [W] the blanks before each word; box: [W, 4] points from the page's top
        left corner.
        """
        if not words:
            return
        gap = np.fromiter(map(len, gaps), np.int64, len(gaps))
        size = np.fromiter(map(len, words), np.int64, len(words))
        end = np.cumsum(gap + size)
        keep = int(np.searchsorted(end, self._limit - self.length, side="right"))
        if keep < len(words):
            self.flags.add("truncated")
            if keep == 0:
                self._limit = self.length
                return
        self._words((end - size)[:keep], end[:keep], box[:keep])
        pieces = [""] * (2 * keep)
        pieces[::2] = gaps[:keep]
        pieces[1::2] = words[:keep]
        self._raw("".join(pieces))

    def build(self, data: bytes, path: str, media_type: str) -> Document:
        """Returns the document; all parts must be closed. `data` are the bytes that it was read from."""
        if self._open:
            raise RuntimeError(f"{len(self._open)} part(s) still open in {path!r}: close() each open()")
        return Document(
            digest=hashlib.sha256(data).hexdigest(),
            path=path,
            media_type=media_type,
            size=len(data),
            text="".join(self._pieces),
            parts=tuple(self._parts),
            words=Words(
                np.concatenate(self._start),
                np.concatenate(self._end),
                np.concatenate(self._box),
                np.concatenate(self._part),
            ),
            flags=tuple(sorted(self.flags)),
            metadata={name: clean(value) for name, value in self.metadata.items()},
            facts={name: self._fact(fact) for name, fact in self.facts.items()},
            places=Places(tuple(self._places), tuple(self._labels)),
            pictures=tuple(self._pictures),
            parsers=tuple(sorted(self.parsers | ({"ocr"} if self._pictures else set()))),
        )

    def _fact(self, fact: Fact) -> Fact:
        """Returns the fact as valid Unicode, without spans beyond the end of the text."""
        within = all(end <= self.length for _, end in fact.spans)
        return Fact(_clean_value(fact.value), fact.spans if within else ())

    def _raw(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)

    def _words(
        self, start: npt.NDArray[np.integer], end: npt.NDArray[np.integer], box: npt.NDArray[np.float32]
    ) -> None:
        if not self._open:
            raise RuntimeError("text outside of a part: open() one first")
        if len(start):
            self._start.append((start + self.length).astype(np.int32))
            self._end.append((end + self.length).astype(np.int32))
            self._box.append(box.astype(np.float32))
            self._part.append(np.full(len(start), self._open[-1], np.int32))
