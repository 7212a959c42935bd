"""Pages on which texts, lines and grey areas are drawn, from the top to the bottom."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from bench.list_layouts.columns import MARGIN, PAD, Columns

_Op = Callable[[Canvas], None]


class Sheet:
    """The pages of a document as they are drawn; `y` is the place on the last one, in points from its top.

    face, bold: the names of its fonts.
    """

    def __init__(self, columns: Columns, face: str, bold: str) -> None:
        self.columns, self.face, self.bold = columns, face, bold
        self.size, self.leading = columns.size, 1.2 * columns.size
        self.pages: list[list[_Op]] = [[]]
        self.y = MARGIN

    def written(self, heads: Sequence[str], left: Sequence[str], right: Sequence[str]) -> bytes:
        """Returns the PDF of the pages with their heads, and with feet on the left and on the right."""
        buffer = io.BytesIO()
        width, height = self.columns.width, self.columns.height
        sheet = Canvas(buffer, pagesize=(width, height), invariant=1)
        for page, head, one, other in zip(self.pages, heads, left, right, strict=True):
            sheet.setFont(self.face, self.size)
            sheet.drawString(MARGIN, height - MARGIN - self.size, head)
            for op in page:
                op(sheet)
            sheet.setFont(self.face, self.size)
            sheet.drawString(MARGIN, MARGIN, one)
            sheet.drawRightString(width - MARGIN, MARGIN, other)
            sheet.showPage()
        sheet.save()
        return buffer.getvalue()

    def cell(self, at: int, text: str, y: float, bold: bool = False) -> None:
        """Draws a text into a column at a height."""
        columns = self.columns
        right = columns.fields[at].kind.right
        x = columns.lefts[at] + (columns.widths[at] if right else 0.0)
        self.text(x, text, bold, align="right" if right else "left", y=y)

    def line(self, text: str, bold: bool = False, size: float | None = None) -> None:
        """Draws a line of its own."""
        self.text(MARGIN, text, bold, size)
        self.y += 1.2 * (size or self.size)

    def text(
        self,
        x: float,
        text: str,
        bold: bool = False,
        size: float | None = None,
        align: str = "left",
        y: float | None = None,
    ) -> None:
        """Draws a text at a place of the last page."""
        face, points = self.bold if bold else self.face, size or self.size
        place = self.columns.height - (self.y if y is None else y) - points
        wide = stringWidth(text, face, points)
        left = x - {"left": 0.0, "right": wide, "centre": wide / 2}[align]

        def op(sheet: Canvas) -> None:
            sheet.setFont(face, points)
            sheet.drawString(left, place, text)

        if text:
            self.pages[-1].append(op)

    def width_of(self, text: str) -> float:
        return float(stringWidth(text, self.bold, self.size))

    def rule(self, y: float, left: float | None = None, right: float | None = None) -> None:
        """Draws a line across the table, or from `left` to `right`."""
        x0, x1 = self._edges()
        self._stroke(x0 if left is None else left, y, x1 if right is None else right, y)

    def uprights(self, top: float, bottom: float) -> None:
        """Draws the lines between columns."""
        columns = self.columns
        for x in (*self._edges(), *(left - columns.gap / 2 for left in columns.lefts[1:])):
            self._stroke(x, top, x, bottom)

    def _edges(self) -> tuple[float, float]:
        return MARGIN - PAD, self.columns.right + PAD

    def _stroke(self, x0: float, y0: float, x1: float, y1: float) -> None:
        height = self.columns.height

        def op(sheet: Canvas) -> None:
            sheet.setLineWidth(0.4)
            sheet.line(x0, height - y0 - 1, x1, height - y1 - 1)

        self.pages[-1].append(op)

    def fill(self, y: float, tall: float) -> None:
        left, right = self._edges()
        place = self.columns.height - y - tall

        def op(sheet: Canvas) -> None:
            sheet.setFillGray(0.9)
            sheet.rect(left, place, right - left, tall, stroke=0, fill=1)
            sheet.setFillGray(0)

        self.pages[-1].append(op)
