"""Files that cannot be read: one cut off in transfer, one behind a password, and one that is only a picture.

With OCR the picture is read, so its reason stands for runs without.
"""

from __future__ import annotations

from invoices_english import catering
from paper import Sample, Sheet
from reportlab.lib.pdfencrypt import StandardEncryption


def damaged() -> Sample:
    """The first third of a PDF, as a broken transfer leaves it: no cross-reference table, no page."""
    whole = catering().data
    return Sample("docs/scan_damaged.pdf", whole[: whole.index(b"/Type /Page") - 40], None, code="truncated")


def protected() -> Sample:
    # 40-bit RC4 derives its key only from the password and the document's id, so the bytes stay the same.
    s = Sheet(title="Statement", encrypt=StandardEncryption("Kestrel-7741", strength=40))
    s.text(60, 80, "Harrow & Finch Private Clients", 16, bold=True)
    s.lines(60, 120, ["Fee note 2024-Q1-118", "Portfolio advice, first quarter of 2024: GBP 2,750.00",
                      "VAT at 20%: GBP 550.00",
                      "Total: GBP 3,300.00", "Due on 30 April 2024"], 18)
    return Sample("docs/protected.pdf", s.pdf(), None, code="password")


def picture() -> Sample:
    s = Sheet(title="Scan0001", creator="Xerox WorkCentre 3345")
    s.scan("plumber.jpg")
    return Sample("docs/Scan0001.pdf", s.pdf(), None, code="image_only")


SAMPLES = [damaged, protected, picture]
