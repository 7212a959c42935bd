"""The facts of documents: values that a parser or the file system knows, so that no model has to read them.

`scripts/made_tables.py` writes them into docs/schemas.md.
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
    """The kind of a fact's value and its meaning."""

    kind: FactKind
    about: str


#: Every fact by its name.
FACTS: dict[str, FactInfo] = {
    "mail.from.address": FactInfo("text", "Address of the first author in From."),
    "mail.from.name": FactInfo("text", "Name of the first author in From, as the mail gives it."),
    "mail.to.address": FactInfo("texts", "Addresses in To."),
    "mail.to.name": FactInfo("texts", "Names in To, one for each address, empty where none is given."),
    "mail.cc.address": FactInfo("texts", "Addresses in Cc."),
    "mail.cc.name": FactInfo("texts", "Names in Cc, one for each address, empty where none is given."),
    "mail.bcc.address": FactInfo("texts", "Addresses in Bcc, which only the sender's copy has."),
    "mail.bcc.name": FactInfo("texts", "Names in Bcc, one for each address, empty where none is given."),
    "mail.reply_to.address": FactInfo("texts", "Addresses in Reply-To."),
    "mail.reply_to.name": FactInfo("texts", "Names in Reply-To, one for each address, empty where none is given."),
    "mail.subject": FactInfo("text", "The subject."),
    "mail.sent": FactInfo("moment", "The time in Date, with the sender's offset."),
    "mail.received": FactInfo("moment", "The time in the topmost Received: the last server took the mail then."),
    "mail.message_id": FactInfo("text", "The Message-ID, without its angle brackets."),
    "mail.thread_id": FactInfo(
        "text",
        "The Message-ID that began the thread: the first in References, else in In-Reply-To, else the mail's own.",
    ),
    "mail.attachments.name": FactInfo("texts", "File names of the attachments, empty where none is given."),
    "mail.attachments.size": FactInfo(
        "integers", "Sizes of the attachments in bytes, decoded, in the order of their names."
    ),
    "mail.attachments.count": FactInfo("integer", "The number of attachments."),
    "file.name": FactInfo("text", "The file's name, without its folder."),
    "file.size": FactInfo("integer", "The size of the file or mail in bytes."),
    "file.modified": FactInfo("moment", "The time of the file's last change, in UTC."),
    "document.pages": FactInfo("integer", "The pages of a PDF, or of a text with form feeds."),
    LANGUAGE: FactInfo("text", "The language that most of the text is in, as a code of ISO 639; absent if in doubt."),
    "packet.pages": FactInfo("text", "The first and last page of a part of a packet, `3-5`."),
    "packet.kind": FactInfo("text", "The schema that a person chose for a part of a packet."),
    "packet.certainty": FactInfo(
        "integer", "The probability, in percent, that a part of a packet is one whole document."
    ),
    "pdf.title": FactInfo("text", "The title in the PDF's properties."),
    "pdf.author": FactInfo("text", "The author in the PDF's properties."),
    "pdf.subject": FactInfo("text", "The subject in the PDF's properties."),
    "pdf.keywords": FactInfo("text", "The keywords in the PDF's properties."),
    "pdf.created": FactInfo("moment", "The time at which the PDF was made."),
    "pdf.modified": FactInfo("moment", "The time of the PDF's last change."),
}


def column_of(fact: str) -> str:
    """The column of the table `documents` that holds this fact."""
    return "size" if fact == "file.size" else fact.replace(".", "_")
