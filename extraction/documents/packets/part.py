"""A part of a packet: pages of a PDF that are a document of their own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, Fact
from cinnabar.extraction.documents.content.inputs import Content, content_of
from cinnabar.schemas.facts import LANGUAGE

#: The fact with the schema that a person chose for a part.
KIND = "packet.kind"
_PERSON = b"packet part"
_NAMED = re.compile(r"(.+)#pages=([1-9]\d{0,4})-([1-9]\d{0,4})((?:&turn=\d+:\d+)*)(?:&kind=([^&#]+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PageRange:
    """The pages from `first` to `last` of a packet, with what a person said of them.

    turns: pages and the degrees by which they are turned clockwise, kind: the name of a schema. As text it is the
    fragment of a part's path: `pages=3-5&turn=4:90&kind=receipt`.
    """

    first: int
    last: int
    turns: tuple[tuple[int, int], ...] = ()
    kind: str = ""

    def __str__(self) -> str:
        turned = "".join(f"&turn={page}:{degrees}" for page, degrees in self.turns)
        return f"pages={self.first}-{self.last}{turned}{self.kind and '&kind='}{quote(self.kind, safe=' ')}"

    def digest(self, packet: str) -> str:
        """Returns the name of these pages of a packet with this digest; no bytes of a file have it."""
        return hashlib.blake2b(f"{packet}#{self}".encode(), digest_size=32, person=_PERSON).hexdigest()


def named_part(path: str) -> tuple[str, PageRange] | None:
    """Returns the packet's path and the pages that the path of a part names; None for another path."""
    if (match := _NAMED.fullmatch(path)) is None:
        return None
    turns = tuple((int(page), int(degrees)) for page, degrees in re.findall(r"(\d+):(\d+)", match[4]))
    return match[1], PageRange(int(match[2]), int(match[3]), turns, unquote(match[5] or ""))


@dataclass(frozen=True, slots=True)
class PacketPart(Content):
    """Pages of the packet `content`, whose path is `packet` and whose bytes have the SHA-256 `packet_digest`.

    `certainty` is the probability, in percent, that they are one whole document; None if it is not known here.
    """

    content: Path | Content
    packet: str
    packet_digest: str
    pages: PageRange
    certainty: int | None = None

    @property
    def path(self) -> str:
        """Returns the path of the packet and the pages."""
        return f"{self.packet}#{self.pages}"

    @property
    def digest(self) -> str:
        """Returns the digest of the pages."""
        return self.pages.digest(self.packet_digest)

    def read(self) -> bytes:
        """Returns the bytes of the packet. Raises DocumentError if they cannot be read."""
        return content_of(self.content).read()

    @property
    def name(self) -> PurePath:
        """Returns the name that the packet is parsed under."""
        return content_of(self.content).name

    @property
    def modified(self) -> float | None:
        """Returns the time of the packet's last change."""
        return content_of(self.content).modified

    @property
    def first_page(self) -> int:
        """Returns the first page of its pages in the packet."""
        return self.pages.first

    def find_digest(self) -> str:
        """Returns the digest of the pages."""
        return self.digest

    def parser_data(self) -> bytes | None:
        """Returns the bytes of the packet that a parser gets."""
        return content_of(self.content).parser_data()

    def load_bytes(self) -> Content:
        """Returns it with the packet's bytes."""
        return replace(self, content=content_of(self.content).load_bytes())

    @property
    def settings(self) -> dict[str, Any]:
        """Returns what a parser of the packet must know to read these pages (`ParserSettings`)."""
        return {"pages": (self.pages.first, self.pages.last), "turns": self.pages.turns}

    def own_document(self, found: Document | DocumentError) -> Document | DocumentError:
        """Returns the parsed pages as the document that they are, which knows its place in the packet."""
        if isinstance(found, DocumentError):
            return found
        if found.digest != self.packet_digest:
            return DocumentError("unreadable", "the packet has changed since it was split")
        own = self.pages
        told = {"document.pages": Fact(own.last - own.first + 1), "packet.pages": Fact(f"{own.first}-{own.last}")}
        told |= {KIND: Fact(own.kind)} if own.kind else {}
        told |= {"packet.certainty": Fact(self.certainty)} if self.certainty is not None else {}
        # What the PDF's properties say is of the packet.
        kept = {name: fact for name, fact in found.facts.items() if name == LANGUAGE or name.startswith("file.")}
        return replace(found, digest=self.digest, facts=kept | told)
