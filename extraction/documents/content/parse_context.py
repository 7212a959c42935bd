"""A document in the making: readers of all formats append to one, also those of files within a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cinnabar.engine.version import part_with
from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.document import PartKind
from cinnabar.extraction.documents.content.settings import DEFAULT, ParserSettings
from cinnabar.schemas.errors import DocumentError

#: How many files may lie within each other, and the bytes that may be unpacked from a file in all.
MAX_DEPTH, MAX_UNPACKED = 8, 400 << 20
#: Mails in all mailboxes of a document: a mailbox among the attachments of each of its mails may hold others.
MAX_MAILS = 2_000


@dataclass(slots=True)
class ParseContext:
    """A document in the making, and what its readers may still do.

    name: of the file that is read now. depth: files around it. unpacked: bytes that were taken out of files within the
    file. mails: those in mailboxes within the file. begun: monotonic seconds.
    """

    builder: DocumentBuilder = field(default_factory=DocumentBuilder)
    settings: ParserSettings = DEFAULT
    name: str = ""
    depth: int = 0
    unpacked: int = 0
    mails: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def is_top(self) -> bool:
        """Returns True for the file itself: only its reader adds facts and metadata of the whole document."""
        return self.depth == 0

    def is_late(self, share: float) -> bool:
        """Returns True after this share of the document's time."""
        return time.monotonic() - self.begun > share * self.settings.seconds

    def add(self, kind: PartKind, text: str, name: str = "", media_type: str = "text/plain") -> None:
        """Appends a part with this text; within another file, which has a part of its own, only the text."""
        if self.is_top or kind != "body":
            self.builder.open(kind, name, media_type=media_type)
            self.builder.write(text)
            self.builder.close()
        else:
            self.builder.write(text)

    def leaves_out(self, hidden: bool = True) -> bool:
        """Returns True for hidden text unless the settings ask for it; it is flagged in any case."""
        if hidden:
            self.builder.flags.add("hidden_text")
        return hidden and not self.settings.hidden

    def read(self, reader: Reader, data: bytes) -> None:
        """Appends a file by the reader of its format. Raises the errors of the reader."""
        self.note(reader)
        reader(self, data)

    def note(self, function: Callable[..., Any]) -> None:
        """Notes that the document depends on the family of formats whose code this function is."""
        self.builder.parsers.add(part_with(function))

    def count_mails(self, wanted: int) -> int:
        """Returns how many of these mails of a mailbox may still be read, and counts them."""
        granted = min(wanted, MAX_MAILS - self.mails)
        self.mails += granted
        return granted

    def count(self, size: int) -> None:
        """Counts bytes that a reader unpacks, before it does. Raises DocumentError("unpacked") beyond the bound."""
        self.unpacked += size
        if self.unpacked > MAX_UNPACKED:
            raise DocumentError("unpacked", f"more than {MAX_UNPACKED} bytes would be unpacked from one file")


#: Appends the content of a file to a document. Raises DocumentError with one of `CODES`.
Reader = Callable[[ParseContext, bytes], None]
