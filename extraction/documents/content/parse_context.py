"""The context of a parser: the settings of a run, the document in the making, its flags, and why a file is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from cinnabar.engine.version import family_of
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.limits import MAX_MAILS, MAX_UNPACKED
from cinnabar.extraction.plan.limits import OcrChoice
from cinnabar.extraction.plan.outcomes import UNREADABLE

#: What to do about an encrypted file; part of its message.
PASSWORD_HELP = "give its password in CINNABAR_PASSWORDS or by --password-file"
#: The key of the metadata with the number of pages of a file of which some were read.
FILE_PAGES = "file_pages"


@dataclass(frozen=True, slots=True)
class ParserSettings:
    """The work that a run lets the parsers do.

    passwords: tried on encrypted files. ocr: pictures and pages without text (`auto`), all pages (`always`) or none are
    read from their image. ocr_engine: `rapidocr`, or `tesseract` with languages after a colon. hidden: text that no
    reader sees is read too. careful: contents of other kinds within a file stay closed, and the pages of a PDF
    are read in processes of their own, for a file that ended its parser. seconds: of wall clock for a document, which a
    reader of many pages plans with. drawn_from: the page of a PDF that is drawn for a person, with as many after it as
    a moment allows; 0 draws the first pages. pages: the first and the last page of a PDF that are read, without what
    belongs to the whole file; None reads all of it. turns: pages of a PDF and the degrees by which they are turned
    clockwise before they are read.

    Raises ValueError for an unknown `ocr`.
    """

    # Never printed: a representation lands in logs.
    passwords: tuple[str, ...] = ()
    ocr: OcrChoice = "auto"
    ocr_engine: str = "rapidocr"
    hidden: bool = False
    careful: bool = False
    seconds: float = 30.0
    drawn_from: int = 0
    pages: tuple[int, int] | None = None
    turns: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.ocr not in get_args(OcrChoice):
            raise ValueError(f"ocr: expected one of {', '.join(get_args(OcrChoice))}, got {self.ocr!r}")

    def __repr__(self) -> str:
        shown = {**asdict(self), "passwords": f"{len(self.passwords)} given"}
        return f"ParserSettings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @classmethod
    def from_sent(cls, values: Mapping[str, Any]) -> ParserSettings:
        """Returns the settings of a parser process, from the values that it was sent."""
        return cls(**{**values, "passwords": tuple(values["passwords"])})


DEFAULT = ParserSettings()


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

    def leaves_out(self, hidden: bool = True, flag: str = "hidden_text") -> bool:
        """Returns True for hidden or struck text unless the settings ask for it; it is flagged in any case."""
        if hidden:
            self.builder.flags.add(flag)
        return hidden and not self.settings.hidden

    def read(self, reader: Reader, data: bytes) -> None:
        """Appends a file by the reader of its format. Raises the errors of the reader."""
        self.note(reader)
        reader(self, data)

    def note(self, function: Callable[..., Any]) -> None:
        """Notes that the document depends on the family of formats whose code this function is."""
        self.builder.parsers.add(family_of(function))

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


#: Appends the content of a file to a document. Raises DocumentError with one of `UNREADABLE`.
Reader = Callable[[ParseContext, bytes], None]


# Words of details that say themselves what to do.
_ADVISING = ("--", "pip install", "pack it as", "; install", "a text needs the suffix")

# Every flag that a `Document` may carry; `attachment_` with a code tells why a file within the file was not read, or
# not to its end.
FLAGS: dict[str, str] = {
    "active_content": "Scripts, launches or references to outside; none was run or followed.",
    "attachment_skipped": "Files within the file were left closed, because one of them ended the parser.",
    "broken_pages": "Some pages could not be read.",
    "charset_guess": "The charset was missing, unknown or wrong, and was guessed.",
    "conflict": "The plain text and the HTML of a mail say different things; the one with more figures was read.",
    "depth_limit": "Parts are nested deeper than the limit; deeper parts were left out.",
    "duplicate_header": "A header that may occur only once occurs repeatedly; all its values were kept.",
    "encrypted": "A mail, or a part of it, is encrypted (S/MIME, OpenPGP); that part was named and left closed.",
    "form_unread": "The data of a form (XFA) cannot be read; values may be missing.",
    "error_cells": "Cells show an error of a formula, such as #DIV/0!; they hold no value.",
    "formula_without_value": "Cells hold formulas, and the file does not hold their values; they are shown as ####.",
    "embedded_files": "Files lie within a PDF whose pages have words; they were left closed (`--hidden` reads them).",
    "hidden_text": "There is text that no reader sees: white, covered, off the page, on a hidden layer, not displayed.",
    "hidden_unsearched": "Pages with too many words or drawings were not searched for hidden text; all of it was read.",
    "marks_unsearched": "Later pages were not searched for boxes and lines to sign: the time for that was used up.",
    "no_text_pages": "Some pages have no text layer, and OCR did not read them.",
    "ocr": "Words were read from images; the confidence of their values includes that of OCR.",
    "ocr_failed": "OCR of some images failed or took too long; their pages are empty.",
    "ocr_limit": "OCR left the last images of the file out: a limit of number, bytes or time was reached.",
    "repaired": "The file is damaged; its text comes from a scan, a guess or the second parser.",
    "slow_pages": "Pages took too long or too much memory; they were left out, or read as plain text without boxes.",
    "signed": "A file, a mail or a part of one has a signature (S/MIME, OpenPGP), which was not verified.",
    "struck_text": "There is text that a line goes through, such as an old price; it was left out.",
    "truncated": "A limit of pages, parts or characters was reached; the rest was left out.",
} | {f"attachment_{code}": f"Of a file within the file: {reason.meaning}" for code, reason in UNREADABLE.items()}


def problem_message(problem: DocumentError) -> str:
    """Returns why a file cannot be read, and what to do."""
    if any(words in problem.detail for words in _ADVISING):
        return problem.detail
    # Parsers end some of their messages with a full stop.
    advice = UNREADABLE[problem.code].advice if problem.code in UNREADABLE else ""
    return "; ".join(part for part in (problem.detail.rstrip("."), advice) if part)
