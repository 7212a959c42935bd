"""Paper to draw on: a PDF whose texts are placed from the top left corner, and what a document is when it is done."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

#: x of a column's edge, and whether it is its left or right one ("l", "r").
Column = tuple[float, str]


@dataclass(frozen=True, slots=True)
class Document:
    """A document's bytes, the kind of file, all that it prints, and its record."""

    data: bytes
    suffix: str
    text: str
    truth: dict[str, Any]


#: Layouts, each with its two languages; a layout draws the document of a name.
Layouts = dict[Callable[[str], Document], tuple[str, str]]


class Paper:
    """A PDF in one font."""

    def __init__(self, width: float = 595, height: float = 842, font: str = "Helvetica", size: float = 9) -> None:
        self.width, self.height, self.font, self.size = width, height, font, size
        self.stored = io.BytesIO()
        self.canvas = Canvas(self.stored, (width, height), invariant=1)
        self.said: list[str] = []

    def text(self, x: float, y: float, said: str, align: str = "l", bold: bool = False, size: float = 0) -> None:
        """Draws a line of text with its base at y, from x on, up to it ("r") or around it ("c")."""
        plain = "-Roman" if self.font == "Times" else ""
        self.canvas.setFont(self.font + ("-Bold" if bold else plain), size or self.size)
        draw = {"l": self.canvas.drawString, "r": self.canvas.drawRightString, "c": self.canvas.drawCentredString}
        draw[align](x, self.height - y, said)
        self.said.append(said)

    def lines(self, x: float, y: float, said: Sequence[str], lead: float = 12, **how: Any) -> float:
        """Draws lines below each other and returns the base of the next one."""
        for at, one in enumerate(said):
            self.text(x, y + at * lead, one, **how)
        return y + len(said) * lead

    def row(self, y: float, columns: Sequence[Column], cells: Sequence[str], bold: bool = False) -> None:
        """Draws the cells that have a text."""
        for (x, align), cell in zip(columns, cells, strict=True):
            if cell:
                self.text(x, y, cell, align, bold)

    def broken(self, said: str, width: float) -> list[str]:
        """Returns a text in lines of at most this width."""
        return list(simpleSplit(said, "Helvetica", self.size, width))

    def rule(self, x0: float, y: float, x1: float, dashed: bool = False) -> None:
        """Draws a line across."""
        self.canvas.setDash([3, 3] if dashed else [])
        self.canvas.line(x0, self.height - y, x1, self.height - y)
        self.canvas.setDash([])

    def box(self, x: float, y: float, width: float, height: float) -> None:
        """Draws a frame whose upper left corner is at x, y."""
        self.canvas.rect(x, self.height - y - height, width, height)

    def turn(self) -> None:
        """Begins the next page."""
        self.canvas.showPage()

    def done(self, truth: dict[str, Any]) -> Document:
        """Returns the document."""
        self.canvas.save()
        return Document(self.stored.getvalue(), ".pdf", "\n".join(self.said), truth)
