"""The pages state the limits of parsers as the module has them."""

from __future__ import annotations

import pytest
from tests.support import ROOT
from tests.support.cases import each

from cinnabar.extraction.documents.content import limits

PRIVACY = {
    "wall-clock time for a document": f"{limits.PARSER_SECONDS:g} s,",
    "address space of a worker": f"{limits.PARSER_MEMORY >> 30} GiB",
    "size of a file": f"{limits.MAX_FILE >> 20} MiB",
    "processor time and wall clock for a picture in OCR": (
        f"{limits.PROCESSOR_SECONDS:g} s and {limits.PAGE_SECONDS:g} s"
    ),
    "processor time in OCR for a document": f"{limits.DOCUMENT_SECONDS:g} s and {limits.PICTURE_SECONDS:g} s",
    "address space of an OCR process": f"{limits.OCR_MEMORY >> 30} GiB",
}
FORMATS = (
    f"at most {limits.MAX_CHARACTERS // 10**6} million characters and {limits.MAX_DOCUMENT_PARTS:,} parts",
    f"{limits.MAX_SEARCHED_WORDS:,} words or {limits.MAX_SEARCHED_OBJECTS:,} drawn objects",
    f"at most {limits.MAX_PAGE_PICTURES} of them, {limits.MAX_PICTURE_BYTES >> 20} MiB in all",
    f"at most {limits.MAX_FILE_DEPTH} deep, and {limits.MAX_UNPACKED >> 20} MiB unpacked",
    f"to a depth of {limits.MAX_MAIL_DEPTH} (`depth_limit`), {limits.MAX_MAIL_PARTS:,} parts and {limits.MAX_MAILS:,}",
    f"more than {limits.MAX_DECODED // 10**6} million pixels",
    f"at most {limits.MAX_READ_PICTURES:,} pictures",
    f"up to {limits.MAX_KEPT_PAGES >> 20} MiB",
    f"the first {limits.MAX_ADDRESSES:,} cells of a workbook",
    f"At most {limits.MAX_INVOICE_LINES:,} lines are read",
    f"{limits.MAX_MEMBERS:,} files, and {limits.MAX_UNPACKED >> 20} MiB unpacked",
    f"{limits.ALWAYS_UNPACKED >> 20} MiB. A process of its own unpacks",
)


@pytest.mark.parametrize("limit", PRIVACY)
def test_the_page_on_privacy_states_the_limits_of_processes(limit: str) -> None:
    assert f"| {limit} | {PRIVACY[limit]}" in (ROOT / "docs" / "privacy-and-security.md").read_text("utf-8")


@each("limit", FORMATS)
def test_the_page_on_formats_states_the_limits_of_parsers(limit: str) -> None:
    assert limit in " ".join((ROOT / "docs" / "formats.md").read_text("utf-8").split())
