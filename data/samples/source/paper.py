"""Drawing tools that the sample documents share: a sheet measured from its top left corner, and money.

Everything here gives the same bytes in every run. It uses no clock, no random id and no compression, since zlib builds
differ in the bytes they write.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from reportlab import rl_config

rl_config.invariant = 1
rl_config.useA85 = 0

from reportlab.lib.colors import HexColor  # noqa: E402  (invariant must be set before these are imported)
from reportlab.lib.pagesizes import A4  # noqa: E402
from reportlab.lib.utils import ImageReader, simpleSplit  # noqa: E402
from reportlab.pdfbase import pdfmetrics  # noqa: E402
from reportlab.pdfbase.ttfonts import TTFont  # noqa: E402
from reportlab.pdfgen.canvas import Canvas  # noqa: E402
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate  # noqa: E402

SCANS = Path(__file__).parent / "scans"

for _name, _file in (("Vera", "Vera.ttf"), ("Vera-Bold", "VeraBd.ttf"), ("Vera-Italic", "VeraIt.ttf")):
    pdfmetrics.registerFont(TTFont(_name, _file))


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample document: its path within the set, its bytes, and its true record.

    `truth` is None for a file that cannot be read; `code` is then its reason in quarantine. `also` has other right
    values by top-level field.
    """

    file: str
    data: bytes
    truth: dict[str, Any] | None
    also: dict[str, list[Any]] = field(default_factory=dict)
    code: str = ""


class Sheet:
    """A PDF drawn with points counted from the top left corner of the page."""

    def __init__(self, size: tuple[float, float] = A4, font: str = "Helvetica", points: float = 9,
                 **info: str):
        self.width, self.height = size
        self.font, self.points = font, points
        self.buffer = io.BytesIO()
        self.canvas = Canvas(self.buffer, pagesize=size, invariant=1, pageCompression=0,
                             encrypt=info.pop("encrypt", None))
        describe(self.canvas, **info)

    @property
    def bold(self) -> str:
        return {"Times-Roman": "Times-Bold"}.get(self.font, self.font + "-Bold")

    def text(self, x: float, y: float, words: str, points: float = 0, bold: bool = False, align: str = "left",
             color: str = "#000000", font: str = "") -> None:
        """One line of text with its baseline `y` points below the top; `x` is its left, right or middle."""
        self.canvas.setFont(font or (self.bold if bold else self.font), points or self.points)
        self.canvas.setFillColor(HexColor(color))
        draw = {"left": self.canvas.drawString, "right": self.canvas.drawRightString,
                "centre": self.canvas.drawCentredString}[align]
        draw(x, self.height - y, words)

    def lines(self, x: float, y: float, rows: Sequence[str], lead: float = 0, **kind: Any) -> float:
        """Lines below each other; the baseline after the last."""
        lead = lead or (kind.get("points") or self.points) * 1.3
        for row in rows:
            self.text(x, y, row, **kind)
            y += lead
        return y

    def paragraph(self, x: float, y: float, width: float, words: str, lead: float = 0, **kind: Any) -> float:
        """Text broken to `width`; the baseline after the last line."""
        font = kind.get("font") or (self.bold if kind.get("bold") else self.font)
        return self.lines(x, y, simpleSplit(words, font, kind.get("points") or self.points, width), lead,
                          **kind)

    def row(self, y: float, cells: Sequence[tuple[float, str, str]], **kind: Any) -> None:
        """Cells of one line: (x, text, alignment)."""
        for x, words, align in cells:
            self.text(x, y, words, align=align, **kind)

    def rule(self, x0: float, y: float, x1: float, width: float = 0.5, color: str = "#000000",
             dash: Sequence[int] = ()) -> None:
        self.canvas.setStrokeColor(HexColor(color))
        self.canvas.setLineWidth(width)
        self.canvas.setDash(list(dash))
        self.canvas.line(x0, self.height - y, x1, self.height - y)
        self.canvas.setDash([])

    def box(self, x: float, y: float, width: float, height: float, fill: str = "", stroke: str = "#000000",
            line: float = 0.5) -> None:
        if fill:
            self.canvas.setFillColor(HexColor(fill))
        if stroke:
            self.canvas.setStrokeColor(HexColor(stroke))
            self.canvas.setLineWidth(line)
        self.canvas.rect(x, self.height - y - height, width, height, fill=int(bool(fill)),
                         stroke=int(bool(stroke)))

    def scan(self, name: str) -> None:
        """The whole page as one picture, as a scanner leaves it."""
        # Given as bytes: reportlab names an image given by path after its folder.
        image = ImageReader(io.BytesIO((SCANS / name).read_bytes()))
        self.canvas.drawImage(image, 0, 0, self.width, self.height)

    def page(self) -> None:
        self.canvas.showPage()

    def pdf(self) -> bytes:
        self.canvas.save()
        return self.buffer.getvalue()


def describe(canvas: Canvas, title: str = "", author: str = "", creator: str = "",
             producer: str = "") -> None:
    """Set the document's own information, as different office programs leave it."""
    canvas.setTitle(title or "Document")
    canvas.setAuthor(author)
    canvas.setCreator(creator)
    canvas.setProducer(producer or "PDF Writer")


def flow(story: list[Flowable], size: tuple[float, float] = A4,
         margins: tuple[float, float, float, float] = (50, 50, 50, 50),
         on_page: Callable[[Canvas, Any], None] | None = None, columns: int = 1, gap: float = 18,
         **info: str) -> bytes:
    """A PDF whose text flows over pages and columns; margins are left, top, right, bottom in points."""
    left, top, right, bottom = margins
    buffer = io.BytesIO()
    doc = BaseDocTemplate(buffer, pagesize=size, invariant=1, pageCompression=0, leftMargin=left,
                          rightMargin=right,
                          topMargin=top, bottomMargin=bottom, title=info.get("title", "Document"),
                          author=info.get("author", ""), creator=info.get("creator", ""))
    width = (size[0] - left - right - gap * (columns - 1)) / columns
    frames = [Frame(left + i * (width + gap), bottom, width, size[1] - top - bottom, 0, 0, 0, 0)
              for i in range(columns)]

    def begin(canvas: Canvas, template: Any) -> None:
        canvas.setProducer(info.get("producer", "PDF Writer"))
        if on_page:
            on_page(canvas, template)

    doc.addPageTemplates(PageTemplate(frames=frames, onPage=begin))
    doc.build(story)
    return buffer.getvalue()


STYLES = {"en": (",", "."), "de": (".", ","), "fr": (" ", ","), "ch": ("'", "."), "plain": ("", "."),
          "plain,": ("", ",")}


def money(value: Decimal | str | float, style: str = "en", places: int = 2) -> str:
    """An amount in a country's spelling: 1,234.50 (en), 1.234,50 (de), 1 234,50 (fr), 1'234.50 (ch)."""
    group, point = STYLES[style]
    text = f"{cents(value, places):,.{places}f}"
    return text.replace(",", "\0").replace(".", point).replace("\0", group)


def cents(value: Decimal | str | float, places: int = 2) -> Decimal:
    """Round half up, as bookkeepers do."""
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
