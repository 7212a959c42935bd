"""A part of a packet: pages of a PDF that are a document of their own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from cinnabar.extraction.documents.content.document import Document, Fact
from cinnabar.extraction.documents.content.inputs import Message, Sent
from cinnabar.schemas.errors import DocumentError
from cinnabar.schemas.facts import LANGUAGE

#: The flag of a part that may begin or end elsewhere, and the certainty in percent below which it has the flag.
DOUBTFUL, SURE = "packet_doubtful", 80
_NAMED = re.compile(r"(.+)#pages=([1-9]\d{0,4})-([1-9]\d{0,4})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PacketPart:
    """The pages from `first` to `last` of a packet, whose bytes have the SHA-256 `packet_digest`.

    `name` is the packet's path as outcomes carry it, `content` the packet itself. `certainty` is the probability, in
    percent, that the part is one whole document; None if it is not known here.
    """

    content: Path | Message | Sent
    name: str
    packet_digest: str
    first: int
    last: int
    certainty: int | None = None
    lasting: bool = False

    @property
    def path(self) -> str:
        """Returns the path of the packet and the pages."""
        return f"{self.name}#pages={self.first}-{self.last}"

    @property
    def digest(self) -> str:
        """Returns the name of these pages of these bytes; a part has no bytes of its own."""
        return part_digest(self.packet_digest, self.first, self.last)

    def read(self) -> bytes:
        """Returns the bytes of the packet. Raises DocumentError if they cannot be read."""
        if isinstance(self.content, Sent):
            return self.content.data
        try:
            return self.content.read_bytes() if isinstance(self.content, Path) else self.content.read()
        except OSError as error:
            raise DocumentError("unreadable", error.strerror or str(error)) from error

    def document(self, found: Document) -> Document | DocumentError:
        """Returns the parsed pages as the document that they are, which knows its place in the packet."""
        if found.digest != self.packet_digest:
            return DocumentError("unreadable", "the packet has changed since it was split")
        # What the PDF's properties say is of the packet.
        facts = {name: fact for name, fact in found.facts.items() if name == LANGUAGE or name.startswith("file.")}
        facts |= {"document.pages": Fact(self.last - self.first + 1), "packet.pages": Fact(f"{self.first}-{self.last}")}
        flags = set(found.flags)
        if self.certainty is not None:
            facts["packet.certainty"] = Fact(self.certainty)
            flags |= {DOUBTFUL} if self.certainty < SURE else set()
        return replace(found, digest=self.digest, facts=facts, flags=tuple(sorted(flags)))


def part_digest(packet: str, first: int, last: int) -> str:
    """Returns the digest of pages of a packet with this digest."""
    return hashlib.sha256(f"{packet}#pages={first}-{last}".encode()).hexdigest()


def named_part(path: str) -> tuple[str, int, int] | None:
    """Returns the packet's path and the pages that the path of a part names; None for another path."""
    match = _NAMED.fullmatch(path)
    return (match[1], int(match[2]), int(match[3])) if match else None
