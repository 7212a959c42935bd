"""Files that hold mails in other ways than one by one: mbox, and the `.emlx` of Apple Mail."""

from __future__ import annotations

import re

from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.mail.mime import made, split
from cinnabar.extraction.documents.mail.reader import add_mail, add_message
from cinnabar.schemas.errors import DocumentError

# The line that begins a mail: a sender and a time, or a sender alone, and a header below it.
_BEGIN = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|(?<=\n\n)|(?<=\n\r\n))"
    rb"From (?:\S[^\n]{0,1000}\d\d?:\d\d[^\n]{0,100}|[^\s]{1,1000}[ \t\r]*)\n"
    rb"(?=[!-9;-~]{1,100}[ \t]*:|>From )"
)
_GUARDED = re.compile(rb"^>(>*From )", re.MULTILINE)
_COUNT = re.compile(rb"\s{0,8}(\d{1,12})[ \t]*\r?\n")


def add_mbox(reading: ParseContext, data: bytes) -> None:
    """Appends the mails of an mbox as mails within one document. Raises DocumentError: unsupported, if it has none."""
    begins = list(_BEGIN.finditer(data))
    if not begins:
        # A single mail, which some programs store with this suffix.
        add_mail(reading, data)
        return
    root = made("multipart/mixed", b"")
    most = reading.count_mails(len(begins))
    if most < len(begins):
        root.flags.add("truncated")
    ends = [match.start() for match in begins[1:]] + [len(data)]
    for match, end in list(zip(begins, ends, strict=True))[:most]:
        child = made("message/rfc822", b"")
        child.children.append(split(_GUARDED.sub(rb"\1", data[match.end() : end])))
        root.children.append(child)
    add_message(reading, root)


def add_emlx(reading: ParseContext, data: bytes) -> None:
    """Appends the mail in an `.emlx` file; the number of its bytes comes before it, a property list behind it.

    Raises DocumentError: broken, without such a number.
    """
    count = _COUNT.match(data)
    if count is None:
        raise DocumentError("broken", "expected the number of the mail's bytes in the first line of an .emlx file")
    add_mail(reading, data[count.end() : count.end() + int(count[1])])
