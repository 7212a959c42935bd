"""A parsed file: one text, its parts, and its words with their places on the page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from cinnabar.errors import DocumentError
from cinnabar.schemas.facts import FactValue

#: `notes` are comments and annotations, `fields` the values of form fields that no page shows, `hidden` is text that no
#: reader sees; `quote` and `signature` are parts of a mail's body, `sheet` and `slide` those of office files; `invoice`
#: is the data of an electronic invoice, which its pages repeat.
PartKind = Literal[
    "page", "headers", "body", "attachment", "message",
    "sheet", "slide", "notes", "fields", "hidden", "quote", "signature", "invoice",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A page of a PDF, or a part of a mail: an interval of the document's text.

    `start` inclusive and `end` exclusive, in characters (code points) of `Document.text`. `width` and
    `height` are in points, 0 without a page. `name` is an attachment's file name or a message's
    subject; it is data, never a path. `page` is the page's number from 1 within its PDF, else 0. `parent` is
    the index of the part this one lies in (a page of an attached PDF lies in the attachment, a nested
    message's body in the message), -1 at the top.
    """

    kind: PartKind
    start: int
    end: int
    name: str = ""
    page: int = 0
    width: float = 0.0
    height: float = 0.0
    parent: int = -1
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a document in reading order, as arrays of one length W.

    start, end: [W] int32, characters of `Document.text`, end exclusive; sorted, disjoint.
    box: [W, 4] float32 (x0, top, x1, bottom) in points from the page's top left corner; NaN if none.
    part: [W] int32, index into `Document.parts`.
    sure: [W] float32, the probability that OCR read a word as it is printed, 1 for all other words; None without OCR.
    """

    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    box: npt.NDArray[np.float32]
    part: npt.NDArray[np.int32]
    sure: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.start)

    def chosen(self, which: slice | npt.NDArray[np.bool_]) -> Words:
        """Returns some of the words: a slice of them, or those of a mask [W]."""
        sure = None if self.sure is None else self.sure[which]
        return Words(self.start[which], self.end[which], self.box[which], self.part[which], sure)


@dataclass(frozen=True, slots=True)
class Places:
    """Names of places in the text, such as cells and paragraphs.

    start: where each begins, in characters, sorted; it ends where the next one begins. label: their names.
    """

    start: tuple[int, ...] = ()
    label: tuple[str, ...] = ()

    def at(self, character: int) -> str:
        """Returns the name of the place of a character, "" if it has none."""
        number = bisect_right(self.start, character) - 1
        return self.label[number] if number >= 0 else ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that OCR may read: encoded bytes, the index of its part, and its pixels to a point of the part."""

    part: int
    data: bytes
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Fact:
    """A value that the parser or the file system knows about a document.

    `spans` are the places [start, end) in the document's text where its header is printed: one for each value of a
    list, at most one for a single value, none if the text does not print it.
    """

    value: FactValue
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A file as text.

    `digest` is the SHA-256 of the file's bytes in hex and identifies the document. `text` holds all parts in order; it
    is valid Unicode without lone surrogates and without NUL. `flags` are warnings about the file (`repaired`,
    `truncated`, `charset_guess`, `active_content`, `duplicate_header`, `depth_limit`, `no_text_pages`, …), sorted, each
    once. `facts` holds the known values by the names in `schemas/facts.py`. `pictures` wait for OCR.
    `parsers` are the families of formats that read it (engine/version.py), sorted; none if that is not known.
    """

    digest: str
    path: str
    media_type: str
    size: int
    text: str
    parts: tuple[Part, ...]
    words: Words
    flags: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)
    places: Places = Places()
    pictures: tuple[Picture, ...] = ()
    parsers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A character range [start, end) of a document's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page, in points from the page's top left corner."""

    page: int
    x0: float
    top: float
    x1: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """The place where a value was read: its spans in the whole document, with their text and boxes (one box a line).

    `place` names it in words: the parts that it lies in, from outside to inside, and the cell or paragraph.
    """

    spans: tuple[Span, ...]
    text: str
    boxes: tuple[Box, ...] = ()
    place: str = ""


#: Text with more characters to a token than this is no text that a model could read.
CHARACTERS_PER_TOKEN = 32


def check_length(document: Document, most: int) -> None:
    """Raises DocumentError: too_long, if the words or the characters alone exceed `most` tokens.

    A word is at least one token.
    """
    if len(document.words) > most:
        raise too_long(f"{len(document.words)} words", most)
    if len(document.text) > CHARACTERS_PER_TOKEN * most:
        raise too_long(f"{len(document.text)} characters", most)


def too_long(size: str, most: int) -> DocumentError:
    """Returns the error of a document in which so much was found."""
    advice = "cut the file, or allow more with max_tokens and --retry-quarantined"
    return DocumentError("too_long", f"{size}, the limit is {most} tokens; {advice}")


def moment(time: datetime) -> str:
    """Returns the moment with its offset; a time without one is in UTC, as in a mail with the offset -0000.

    Raises ValueError if RFC 3339 cannot write it.
    """
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    text = time.isoformat(timespec="seconds")
    offset = text[19:]
    if len(offset) != len("+00:00"):
        raise ValueError(f"expected an offset in whole minutes, got {offset}")
    return text[:19] + ("Z" if offset == "+00:00" else offset)
