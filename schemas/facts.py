"""The facts of documents: values that a parser or the file system knows, so that no model has to read them.

docs/facts.md has the same list for users, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The kinds of a fact's value. A moment is a date and time with its offset (RFC 3339).
FactKind = Literal["text", "texts", "integer", "integers", "moment"]
FactValue = str | int | tuple[str, ...] | tuple[int, ...]

LANGUAGE = "document.language"


@dataclass(frozen=True, slots=True)
class FactInfo:
    """The kind of a fact's value and its meaning.

    `words` has the words by which people name such a field: a name suits the fact if it has a word of each group, and
    no word that is in none of the groups.
    """

    kind: FactKind
    about: str
    words: tuple[str, ...]


_FROM, _NAME, _ADDRESS = "from sender author", "name", "address email mail"
_BCC = "bcc blind"
_TO, _CC, _REPLY = "to recipient recipients receiver addressee addressees", "cc copy copies", "reply"
_FILES, _TIME = "attachment attachments attached enclosures", "date time datetime timestamp day at on"

#: Every fact by its name.
FACTS: dict[str, FactInfo] = {
    "mail.from.address": FactInfo("text", "Address of the first author in From.", (_FROM, _ADDRESS)),
    "mail.from.name": FactInfo("text", "Name of the first author in From, as the mail gives it.", (_FROM, _NAME)),
    "mail.to.address": FactInfo("texts", "Addresses in To.", (_TO, _ADDRESS)),
    "mail.to.name": FactInfo("texts", "Names in To, one for each address, empty where none is given.", (_TO, _NAME)),
    "mail.cc.address": FactInfo("texts", "Addresses in Cc.", (_CC, _ADDRESS)),
    "mail.cc.name": FactInfo("texts", "Names in Cc, one for each address, empty where none is given.", (_CC, _NAME)),
    "mail.bcc.address": FactInfo("texts", "Addresses in Bcc, which only the sender's copy has.", (_BCC, _ADDRESS)),
    "mail.bcc.name": FactInfo(
        "texts", "Names in Bcc, one for each address, empty where none is given.", (_BCC, _NAME)
    ),
    "mail.reply_to.address": FactInfo("texts", "Addresses in Reply-To.", (_REPLY, "to", _ADDRESS)),
    "mail.reply_to.name": FactInfo(
        "texts", "Names in Reply-To, one for each address, empty where none is given.", (_REPLY, "to", _NAME)
    ),
    "mail.subject": FactInfo("text", "The subject.", ("subject",)),
    "mail.sent": FactInfo("moment", "The time in Date, with the sender's offset.", ("sent", _TIME)),
    "mail.received": FactInfo(
        "moment", "The time in the topmost Received: the last server took the mail then.", ("received arrived", _TIME)
    ),
    "mail.message_id": FactInfo("text", "The Message-ID, without its angle brackets.", ("message", "id identifier")),
    "mail.thread_id": FactInfo(
        "text",
        "The Message-ID that began the thread: the first in References, else in In-Reply-To, else the mail's own.",
        ("thread conversation", "id identifier"),
    ),
    "mail.attachments.name": FactInfo(
        "texts", "File names of the attachments, empty where none is given.", (_FILES, "name names file files filename")
    ),
    "mail.attachments.size": FactInfo(
        "integers", "Sizes of the attachments in bytes, decoded, in the order of their names.", (_FILES, "size sizes")
    ),
    "mail.attachments.count": FactInfo("integer", "The number of attachments.", (_FILES, "count number")),
    "file.name": FactInfo("text", "The file's name, without its folder.", ("file", _NAME)),
    "file.size": FactInfo("integer", "The size of the file or mail in bytes.", ("file", "size bytes")),
    "file.modified": FactInfo("moment", "The time of the file's last change, in UTC.", ("modified changed", _TIME)),
    "document.pages": FactInfo(
        "integer", "The pages of a PDF, or of a text with form feeds.", ("page pages", "count number")
    ),
    LANGUAGE: FactInfo(
        "text", "The language that most of the text is in, as a code of ISO 639; absent if in doubt.", ("language",)
    ),
    "packet.pages": FactInfo("text", "The first and last page of a part of a packet, `3-5`.", ("packet", "page pages")),
    "packet.kind": FactInfo("text", "The schema that a person chose for a part of a packet.", ("packet", "kind")),
    "packet.certainty": FactInfo(
        "integer",
        "The probability, in percent, that a part of a packet is one whole document.",
        ("packet", "certainty probability"),
    ),
    "pdf.title": FactInfo("text", "The title in the PDF's properties.", ("pdf", "title")),
    "pdf.author": FactInfo("text", "The author in the PDF's properties.", ("pdf", "author")),
    "pdf.subject": FactInfo("text", "The subject in the PDF's properties.", ("pdf", "subject")),
    "pdf.keywords": FactInfo("text", "The keywords in the PDF's properties.", ("pdf", "keywords")),
    "pdf.created": FactInfo("moment", "The time at which the PDF was made.", ("pdf", "created creation", _TIME)),
    "pdf.modified": FactInfo("moment", "The time of the PDF's last change.", ("pdf", "modified changed", _TIME)),
}


def column_of(fact: str) -> str:
    """The column of the table `documents` that holds this fact."""
    return "size" if fact == "file.size" else fact.replace(".", "_")
