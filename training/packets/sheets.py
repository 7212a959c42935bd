"""Documents as PDFs, of which packets are made: those of labelled sets, and texts printed in a drawn style."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pypdfium2
from reportlab.lib.pagesizes import A4, LETTER
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.ingest.dispatch import parse

#: The share of the kinds of documents that no fit sees, and the seed that draws them.
HELD_BACK, DIVISION = 0.4, 39
#: Pages of a document; longer ones are left out. Characters of a text; the rest is not printed.
MOST_PAGES, _MOST_CHARACTERS = 20, 30_000
# A text of fewer characters is a line and not a document.
_LEAST_CHARACTERS = 400
_FACES = (("Helvetica", "Helvetica-Bold"), ("Times-Roman", "Times-Bold"), ("Courier", "Courier-Bold"))
_NUMBERS = ("", "", "Page {n} of {m}", "{n}/{m}", "- {n} -", "{n}", "Page {n}", "Seite {n} von {m}", "p. {n}")


@dataclass(frozen=True)
class Style:
    """How a text is printed: page size, faces, size of letters, margin in points, and what stands on each page."""

    paper: tuple[float, float]
    face: str
    bold: str
    size: float
    margin: float
    number: str
    running: bool
    titled: bool


def draw_style(rng: Random) -> Style:
    """Returns a style of printing."""
    face, bold = rng.choice(_FACES)
    size = rng.choice((9.0, 10.0, 11.0, 12.0, 14.0))
    return Style(
        rng.choice((A4, A4, LETTER)),
        face,
        bold,
        size,
        rng.choice((40.0, 56.0, 72.0, 90.0)),
        rng.choice(_NUMBERS),
        rng.random() < 0.3,
        rng.random() < 0.4,
    )


def printed(text: str, style: Style, most: int = MOST_PAGES) -> bytes:
    """Returns a text as a PDF of at most `most` pages."""
    width, height = style.paper
    room, leading = width - 2 * style.margin, 1.25 * style.size
    lines = _lines(text, style, room)
    title = next((line.strip() for line in lines if line.strip()), "")[:60]
    each = max(5, int((height - 2 * style.margin) / leading) - 1)
    pages = [lines[at : at + each] for at in range(0, len(lines), each)][:most]
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=style.paper, invariant=1)
    for number, page in enumerate(pages, 1):
        y = height - style.margin
        if style.running and (number > 1 or not style.titled):
            canvas.setFont(style.face, 8)
            canvas.drawString(style.margin, height - style.margin / 2, title)
        for at, line in enumerate(page):
            large = style.titled and number == 1 and at == 0
            canvas.setFont(style.bold if large else style.face, style.size * (1.5 if large else 1))
            y -= leading * (1.3 if large else 1)
            canvas.drawString(style.margin, y, line)
        if style.number:
            canvas.setFont(style.face, 9)
            canvas.drawCentredString(width / 2, style.margin / 2, style.number.format(n=number, m=len(pages)))
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def _lines(text: str, style: Style, room: float) -> list[str]:
    """Returns the lines of a text as they fit between the margins."""
    found: list[str] = []
    # The standard faces have the letters of Latin-1.
    for line in text[:_MOST_CHARACTERS].encode("latin-1", "replace").decode("latin-1").expandtabs(4).split("\n"):
        while stringWidth(line, style.face, style.size) > room:
            keep = max(10, int(len(line) * room / stringWidth(line, style.face, style.size)))
            cut = line.rfind(" ", 5, keep + 1)
            cut = keep if cut < 0 else cut
            found.append(line[:cut].rstrip())
            line = line[cut:].lstrip()
        found.append(line.rstrip())
    while found and not found[0].strip():
        found.pop(0)
    return found


def kinds_in(data: Path) -> dict[str, list[Path]]:
    """Returns the documents of the sets in this folder that can be printed or are PDFs, by the name of their set."""
    kinds: dict[str, list[Path]] = {}
    for folder in sorted(path for path in data.iterdir() if (path / "truth.jsonl").is_file()):
        files = sorted(path for path in (folder / "docs").iterdir() if path.is_file())
        pdfs = [path for path in files if path.suffix == ".pdf"]
        texts = [path for path in files if path.suffix != ".pdf" and path.stat().st_size >= _LEAST_CHARACTERS]
        if len(pdfs or texts) >= 10:
            kinds[folder.name] = pdfs or texts
    return kinds


def divided(kinds: Sequence[str], paged: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the kinds for fitting and the held-back ones; of those that are PDFs (`paged`) as large a share.

    Kinds whose names begin with the same word are alike, and stay together.
    """
    held: set[str] = set()
    for group in (set(kinds) & set(paged), set(kinds) - set(paged)):
        drawn = sorted({_family(name) for name in group}, key=_place)
        held.update(drawn[: round(HELD_BACK * len(drawn))])
    return [one for one in kinds if _family(one) not in held], [one for one in kinds if _family(one) in held]


def _family(name: str) -> str:
    return name.partition("_")[0]


def _place(name: str) -> bytes:
    return hashlib.sha256(f"{DIVISION}/{name}".encode()).digest()


def sheet(path: Path, style: Style) -> bytes | None:
    """Returns a document as a PDF; None if it cannot be read, or is too long or too short."""
    data = path.read_bytes()
    if path.suffix == ".pdf":
        try:
            with pypdfium2.PdfDocument(data) as pdf:
                return data if len(pdf) <= MOST_PAGES else None
        except pypdfium2.PdfiumError:
            return None
    try:
        text = parse(data, path.name).text
    except DocumentError:
        return None
    return printed(text, style) if len(text) >= _LEAST_CHARACTERS else None
