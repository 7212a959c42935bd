"""Where documents begin in packets made of real documents: F1 of boundaries, and packets that are exactly right.

    python -m bench.packets DATA --seed 1 [--packets 60] [--scanned 4] [--part tuning|held-back|both]

DATA holds labelled sets. A packet has 2 to 12 documents: PDFs, and texts that are printed in a drawn style; of one
kind, or of several; in half of the packets all texts have one style. Half of the documents are drawn among those of
several pages. Some packets have blank sheets between documents, blank backs, or separator sheets. Of each part
`--scanned` packets of few pages are drawn at 150 dots an inch, askew and with grain, and read by OCR. A boundary is
the first page of a document; that of the packet does not count. Kinds that the model was fitted on are `tuning`, two
fifths of the kinds were held back from it (`training.packets.sheets.divided`). The splitter runs as in a run.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter
from reportlab.pdfgen.canvas import Canvas
from training.packets.sheets import Style, divided, draw_style, kinds_in, sheet

from bench.reporting import table
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.packets.part import PacketPart
from cinnabar.extraction.run.splitting import split_packets
from cinnabar.extraction.store.packets import stored_packet

_DPI, _SCANNED_PAGES = 150, 14
_BLANKS = ("none", "none", "none", "between", "backs", "sheets")


@dataclass(frozen=True)
class Made:
    """A packet: its bytes, the pages on which its documents begin, and the pages of each document."""

    pdf: bytes
    begins: tuple[int, ...]
    documents: tuple[int, ...]
    scanned: bool


def chosen(kinds: dict[str, list[Path]], wanted: Sequence[str], rng: Random) -> Iterator[bytes]:
    """Yields documents of a packet without end: of one kind, or of up to six."""
    own = rng.sample([*wanted], 1 if rng.random() < 0.35 else rng.randint(2, min(6, len(wanted))))
    shared = draw_style(rng) if rng.random() < 0.5 else None
    style: dict[str, Style] = {}
    while True:
        kind = rng.choice(own)
        several = rng.random() < 0.5
        for _ in range(8):
            pdf = sheet(rng.choice(kinds[kind]), shared or style.setdefault(kind, draw_style(rng)))
            if pdf is not None and (not several or len(pypdfium2.PdfDocument(pdf)) > 1):
                break
            kind = rng.choice(own)
        if pdf is not None:
            yield pdf


def made(kinds: dict[str, list[Path]], wanted: Sequence[str], rng: Random, scanned: bool) -> Made:
    """Returns a packet."""
    blanks, count = rng.choice(_BLANKS), rng.randint(2, 12)
    whole, begins, sizes = pypdfium2.PdfDocument.new(), list[int](), list[int]()
    for pdf in chosen(kinds, wanted, rng):
        with pypdfium2.PdfDocument(pdf) as one:
            if scanned and len(whole) + len(one) > _SCANNED_PAGES and len(sizes) >= 2:
                break
            if sizes and (blanks == "sheets" or (blanks == "between" and rng.random() < 0.8)):
                _add_sheet(whole, "SEPARATOR SHEET" if blanks == "sheets" else "")
            begins.append(len(whole) + 1)
            sizes.append(len(one))
            for page in range(len(one)):
                whole.import_pages(one, [page])
                if blanks == "backs" and rng.random() < 0.5:
                    _add_sheet(whole, "")
        if len(sizes) == count:
            break
    buffer = io.BytesIO()
    whole.save(buffer)
    pdf = _scanned(buffer.getvalue(), rng) if scanned else buffer.getvalue()
    return Made(pdf, tuple(begins), tuple(sizes), scanned)


def _add_sheet(whole: pypdfium2.PdfDocument, text: str) -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.setFont("Helvetica-Bold", 36)
    canvas.drawString(80, 500, text)
    canvas.showPage()
    canvas.save()
    with pypdfium2.PdfDocument(buffer.getvalue()) as one:
        whole.import_pages(one)


def _scanned(pdf: bytes, rng: Random) -> bytes:
    """Returns the pages of a PDF as pictures, as a cheap scanner gives them."""
    buffer = io.BytesIO()
    with pypdfium2.PdfDocument(pdf) as whole:
        pages = []
        for page in whole:
            drawn = page.render(scale=_DPI / 72).to_pil().convert("L")
            soft = drawn.rotate(rng.uniform(-1.2, 1.2), Image.Resampling.BICUBIC, fillcolor=255)
            soft = soft.filter(ImageFilter.GaussianBlur(0.4))
            grain = np.random.default_rng(rng.randrange(1 << 30)).normal(0, 7, (soft.height, soft.width))
            grey = np.clip(np.asarray(soft, np.float32) * 0.85 + 25 + grain, 0, 255).astype(np.uint8)
            pages.append(Image.fromarray(grey))
        pages[0].save(buffer, "PDF", save_all=True, append_images=pages[1:], resolution=_DPI, quality=60)
    return buffer.getvalue()


@dataclass
class Score:
    """Counts over packets."""

    packets: int = 0
    exact: int = 0
    right: int = 0
    wrong: int = 0
    missed: int = 0
    documents: int = 0
    pages: int = 0
    several: int = 0
    seconds: float = 0.0

    def add(self, one: Made, found: set[int], pages: int, seconds: float) -> None:
        """Counts a packet."""
        true = {*one.begins[1:]}
        self.packets, self.exact = self.packets + 1, self.exact + (true == found)
        self.right, self.wrong = self.right + len(true & found), self.wrong + len(found - true)
        self.missed += len(true - found)
        self.documents, self.pages = self.documents + len(one.documents), self.pages + pages
        self.several += sum(size > 1 for size in one.documents)
        self.seconds += seconds

    def row(self, name: str) -> list[str]:
        """Returns the figures as a row."""
        f1 = 2 * self.right / max(1, 2 * self.right + self.wrong + self.missed)
        return [
            name,
            str(self.packets),
            f"{self.documents / self.packets:.1f}",
            f"{self.pages / self.documents:.2f}",
            f"{self.several / self.documents:.2f}",
            f"{f1:.3f}",
            str(self.wrong),
            str(self.missed),
            f"{self.exact / self.packets:.2f}",
            f"{1000 * self.seconds / self.pages:.0f}",
        ]


def measure(data: Path, seed: int, packets: int, scanned: int, parts: Sequence[str], show: bool) -> list[list[str]]:
    """Returns the figures of each part, of its packets with text and of its scans, and the calibration of each."""
    kinds = kinds_in(data)
    paged = [name for name, paths in kinds.items() if paths[0].suffix == ".pdf"]
    of_part = dict(zip(("tuning", "held-back"), divided([*kinds], paged), strict=True))
    rows = []
    for part in parts:
        rng = Random(f"{seed}/{part}")
        text, scans, likely, true = Score(), Score(), list[float](), list[bool]()
        with tempfile.TemporaryDirectory() as place, ParserPool(2) as pool:
            for at in range(packets + scanned):
                one = made(kinds, of_part[part], rng, at >= packets)
                path = Path(place) / f"packet-{at}.pdf"
                path.write_bytes(one.pdf)
                begun = time.perf_counter()
                items = [item for _, item in split_packets({str(path): path}, [path], Path(place), pool, set())]
                took = time.perf_counter() - begun
                contents = [item.content for item in items if isinstance(item, Input)]
                found = {c.pages.first for c in contents if isinstance(c, PacketPart)} - {min(one.begins)}
                packet = stored_packet(Path(place), hashlib.sha256(one.pdf).hexdigest())
                assert packet is not None
                (scans if one.scanned else text).add(one, found, packet.pages, took)
                likely += packet.likely.values()
                true += [page in one.begins for page in packet.likely]
                if show and found != {*one.begins[1:]}:
                    print(part, at, "begins", one.begins, "found", sorted(found), flush=True)
                path.unlink()
        rows += [score.row(f"{part}, {kind}") for kind, score in (("text", text), ("scans", scans)) if score.packets]
        rows[-1].append(f"{_calibration(likely, true):.3f}")
    return rows


def _calibration(likely: Sequence[float], true: Sequence[bool]) -> float:
    """Returns the expected calibration error in ten bins."""
    p, y = np.array(likely), np.array(true, np.float32)
    bins = np.minimum((10 * p).astype(int), 9)
    return float(sum(abs((p - y)[bins == at].sum()) for at in range(10)) / max(1, len(p)))


def main() -> None:
    """Prints the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packets", type=int, default=60)
    parser.add_argument("--scanned", type=int, default=4)
    parser.add_argument("--part", choices=("tuning", "held-back", "both"), default="both")
    parser.add_argument("--show", action="store_true", help="print the packets that are not exactly right")
    given = parser.parse_args()
    parts = ("tuning", "held-back") if given.part == "both" else (given.part,)
    rows = measure(given.data, given.seed, given.packets, given.scanned, parts, given.show)
    counts = ("part", "packets", "documents", "pages each", "of several pages")
    heads = (*counts, "F1", "wrong", "missed", "exact", "ms a page", "ECE")
    print(table(heads, [row + [""] * (len(heads) - len(row)) for row in rows]))


if __name__ == "__main__":
    main()
