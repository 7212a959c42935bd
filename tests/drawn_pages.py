"""PDFs that a test draws."""

from __future__ import annotations

import io
from collections.abc import Callable

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
