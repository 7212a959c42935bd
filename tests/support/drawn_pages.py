"""PDFs that a test draws."""

from __future__ import annotations

import io
from collections.abc import Callable

import pypdf
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

Draw = Callable[[canvas.Canvas], None]


def drawn(*pages: Draw) -> bytes:
    """Returns a PDF of these pages in A4; the same pages make the same bytes."""
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, pagesize=A4, invariant=1)
    for draw in pages:
        draw(sheet)
        sheet.showPage()
    sheet.save()
    return buffer.getvalue()


def text_pages(*texts: str) -> bytes:
    """Returns a PDF with a page for each text."""

    def page(text: str) -> Draw:
        return lambda sheet: sheet.drawString(72, 700, text)

    return drawn(*map(page, texts))


def glyph_pdf(*shown: str, glyphs: list[str]) -> bytes:
    """A page of Courier whose letters stand for these texts by ToUnicode; `shown` are the operators of its content."""
    mapped = "".join(f"<{0x41 + at:02X}> <{text.encode('utf-16-be').hex()}>\n" for at, text in enumerate(glyphs))
    head = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap"
    head = f"{head} 1 begincodespacerange <00> <FF> endcodespacerange"
    cmap = f"{head} {len(glyphs)} beginbfchar\n{mapped}endbfchar endcmap end end"
    content = " ".join(["BT /F 20 Tf", *shown, "ET"])
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 400]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Courier/ToUnicode 6 0 R>>",
        f"<</Length {len(cmap)}>>stream\n{cmap}\nendstream",
    ]
    out, places = io.BytesIO(b"%PDF-1.7\n"), []
    out.seek(0, io.SEEK_END)
    for number, one in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{one}\nendobj\n".encode())
    start = out.tell()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    out.write(f"xref\n0 7\n0000000000 65535 f \n{table}".encode())
    out.write(f"trailer<</Size 7/Root 1 0 R>>startxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def written(writer: pypdf.PdfWriter) -> bytes:
    """Returns the bytes of a file."""
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()
