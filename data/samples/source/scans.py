"""Draws the two scanned pages in `scans/`.

Their files are kept, since other versions of the drawing libraries give other pixels. Run `make_samples.py --scans` to
draw them again.
"""

from __future__ import annotations

import random

from paper import SCANS, Sheet
from PIL import Image, ImageFilter


def delivery_note() -> bytes:
    s = Sheet(font="Courier", points=11)
    s.text(298, 90, "ALBARÁN DE ENTREGA", 16, bold=True, align="centre")
    s.lines(70, 130, ["Almazara Sierra de la Umbría, S.L.", "Nº 2024/1182        Fecha 10/07/24",
                      "Entregado a: CASA FERRÁN, Barcelona"], 18)
    s.lines(70, 220, ["40  Aceite virgen extra 5 l", "24  Manzanilla 3 kg", "36  Vinagre Jerez 75 cl",
                      " 2  Garrafa 25 l"], 22)
    s.box(70, 330, 300, 90)
    s.text(76, 345, "Recibí conforme", 9)
    s.text(110, 395, "J. Ferrán", 28, font="Times-Italic", color="#1a2f8f")
    return s.pdf()


def plumber() -> bytes:
    s = Sheet(font="Courier", points=11)
    s.text(60, 90, "D. OKAFOR PLUMBING & HEATING", 16, bold=True)
    s.lines(60, 112, ["31 Lansdowne Mews, Bristol BS6 5PT", "Gas Safe 528114"], 15)
    s.text(420, 90, "INVOICE 0612", 13, bold=True)
    s.lines(60, 180, ["To: Mrs R. Hallam, 4 Cotham Vale, Bristol", "Date: 8 Jan 2024"], 20)
    s.lines(60, 260, ["Attend leak under kitchen sink, replace      ",
                      "trap and flexi hose                     95.00",
                      "Parts                                   22.40",
                      "Call-out (evening)                      45.00",
                      "                                      -------",
                      "TOTAL                                £ 162.40"], 24)
    s.text(60, 460, "Paid cash with thanks", 22, font="Times-Italic", color="#1a2f8f")
    return s.pdf()


def scan(pdf: bytes, name: str, tilt: float) -> None:
    """Print, lay askew on the glass, and scan in grey at 90 dots an inch."""
    import pypdfium2

    page = pypdfium2.PdfDocument(pdf)[0].render(scale=90 / 72).to_pil().convert("L")
    page = page.rotate(tilt, Image.Resampling.BICUBIC, fillcolor=236).filter(ImageFilter.GaussianBlur(0.5))
    grain = random.Random(name)
    pixels = bytes(max(0, min(255, 22 + int(p * 0.84) + grain.randrange(-5, 6))) for p in page.tobytes())
    SCANS.mkdir(exist_ok=True)
    Image.frombytes("L", page.size, pixels).save(SCANS / name, quality=38)


def draw_scans() -> None:
    scan(delivery_note(), "albaran.jpg", 0.9)
    scan(plumber(), "plumber.jpg", -1.3)
