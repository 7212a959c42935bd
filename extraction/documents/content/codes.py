"""The codes of files that cannot be read, with what to do, and the flags of documents."""

from __future__ import annotations

from cinnabar.schemas.errors import DocumentError

# Every code that a `DocumentError` may carry.
CODES: dict[str, str] = {
    "empty": "There is nothing to read: no bytes, or no characters and no images.",
    "unsupported": "The content is of a kind that no parser here reads.",
    "not_pdf": "The file is named as a PDF, but has no PDF header.",
    "truncated": "The end of the file is missing, and nothing could be read from the rest.",
    "broken": "The file is damaged, and no repair gave a page.",
    "password": "The file is encrypted, and the password is not known.",
    "image_only": "There are images and no text, and OCR read none; the detail tells why, and what to do.",
    "not_a_file": "The path is not a regular file (a folder, a pipe, a device) or does not exist.",
    "unreadable": "The operating system refused to read the file.",
    "too_large": "The file is larger than the limit; it was not read.",
    "too_long": "The document has more tokens than the limit (`--max-tokens`); no model read it.",
    "no_page": "The document has none of the pages that are to be read (`--pages`, `x-cinnabar-pages`).",
    "unpacked": "More bytes would be unpacked from the file than the limit.",
    "timeout": "Parsing took longer than the limit and was ended.",
    "memory": "Parsing needed more memory than the limit.",
    "depth": "The content is nested deeper than a parser can follow.",
    "worker_died": "The parser ended its process, twice, on fresh workers.",
    "parser_error": "The parser failed unexpectedly; the detail names the exception.",
}

#: What a person can do about a file with each of these codes.
ADVICE: dict[str, str] = {
    "empty": "put a copy with content in its place, or leave the file out",
    "unsupported": "save it in a format that docs/formats.md lists, such as PDF",
    "not_pdf": "open it in a viewer and save it as a PDF, or give it the suffix of what it is",
    "truncated": "copy or download it once more",
    "broken": "copy or download it once more, or open it in its own program and save it again",
    "password": "save it without protection",
    "image_only": "scan it again, larger or sharper, or leave it out",
    "not_a_file": "put a regular file there, or leave the path out",
    "unreadable": "give this user permission to read it, or look after the disk",
    "too_large": "split it",
    "too_long": "split it",
    "no_page": "name pages that it has, or leave it out",
    "unpacked": "unpack it, or split it",
    "timeout": "split it, or open it in its own program and save it again, then --retry-quarantined",
    "memory": "split it, or open it in its own program and save it again, then --retry-quarantined",
    "depth": "unpack or save its inner parts as files of their own",
    "worker_died": "open it in its own program and save it again; if it then fails too, report the file as a bug",
    "parser_error": "open it in its own program and save it again; if it then fails too, report the file as a bug",
}
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
} | {f"attachment_{code}": f"Of a file within the file: {meaning}" for code, meaning in CODES.items()}


def problem_message(problem: DocumentError) -> str:
    """Returns why a file cannot be read, and what to do."""
    if any(words in problem.detail for words in _ADVISING):
        return problem.detail
    # Parsers end some of their messages with a full stop.
    return "; ".join(part for part in (problem.detail.rstrip("."), ADVICE.get(problem.code, "")) if part)
