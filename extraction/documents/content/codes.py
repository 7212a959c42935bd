"""The flags of documents, and what to say of a file that cannot be read."""

from __future__ import annotations

from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.schemas.errors import DocumentError

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
    "formula_without_value": "Cells hold formulas, and the file does not hold their values; they were left out.",
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
    "signed": "A mail, or a part of it, has a signature (S/MIME, OpenPGP), which was not verified.",
    "struck_text": "There is text in HTML that a line goes through, such as an old price; it was left out.",
    "truncated": "A limit of pages, parts or characters was reached; the rest was left out.",
} | {f"attachment_{code}": f"Of a file within the file: {reason.meaning}" for code, reason in UNREADABLE.items()}


def problem_message(problem: DocumentError) -> str:
    """Returns why a file cannot be read, and what to do."""
    if any(words in problem.detail for words in _ADVISING):
        return problem.detail
    # Parsers end some of their messages with a full stop.
    advice = UNREADABLE[problem.code].advice if problem.code in UNREADABLE else ""
    return "; ".join(part for part in (problem.detail.rstrip("."), advice) if part)
