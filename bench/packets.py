"""Where documents begin in packets made of real documents: F1 of boundaries, and packets that are exactly right.

    python -m bench.packets DATA --seed 1 [--packets 60]

DATA holds labelled sets. A packet has 2 to 12 documents: PDFs, and texts that are printed in a drawn style; of one
kind, or of several; in half of the packets all texts have one style. Half of the documents are drawn among those of
several pages. Some packets have blank sheets between documents, blank backs, or separator sheets. A boundary is the
first page of a document; that of the packet does not count. Kinds that the model was fitted on are `tuning`, two fifths
of the kinds were held back from it (`training.packets.sheets.divided`). The splitter runs as in a run.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pypdfium2
from reportlab.pdfgen.canvas import Canvas
from training.packets.sheets import Style, divided, draw_style, kinds_in, sheet

from bench.reporting import table
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.packets.part import PacketPart
from cinnabar.extraction.run.packets import split_packets

_BLANKS = ("none", "none", "none", "between", "backs", "sheets")


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


def made(kinds: dict[str, list[Path]], wanted: Sequence[str], rng: Random) -> tuple[bytes, list[int]]:
    """Returns a packet, and the pages on which its documents begin."""
    blanks, count = rng.choice(_BLANKS), rng.randint(2, 12)
    whole, begins = pypdfium2.PdfDocument.new(), list[int]()
    for pdf in chosen(kinds, wanted, rng):
        with pypdfium2.PdfDocument(pdf) as one:
            if begins and (blanks == "sheets" or (blanks == "between" and rng.random() < 0.8)):
                _add_sheet(whole, "SEPARATOR SHEET" if blanks == "sheets" else "")
            begins.append(len(whole) + 1)
            for page in range(len(one)):
                whole.import_pages(one, [page])
                if blanks == "backs" and rng.random() < 0.5:
                    _add_sheet(whole, "")
        if len(begins) == count:
            break
    buffer = io.BytesIO()
    whole.save(buffer)
    return buffer.getvalue(), begins


def _add_sheet(whole: pypdfium2.PdfDocument, text: str) -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.setFont("Helvetica-Bold", 36)
    canvas.drawString(80, 500, text)
    canvas.showPage()
    canvas.save()
    with pypdfium2.PdfDocument(buffer.getvalue()) as one:
        whole.import_pages(one)


def measure(data: Path, seed: int, packets: int) -> Iterator[list[str]]:
    """Yields the figures of each part."""
    kinds = kinds_in(data)
    paged = [name for name, paths in kinds.items() if paths[0].suffix == ".pdf"]
    for part, wanted in zip(("tuning", "held-back"), divided([*kinds], paged), strict=True):
        rng = Random(f"{seed}/{part}")
        right = wrong = missed = exact = 0
        with tempfile.TemporaryDirectory() as place, ParserPool(2) as pool:
            for at in range(packets):
                pdf, begins = made(kinds, wanted, rng)
                path = Path(place) / f"packet-{at}.pdf"
                path.write_bytes(pdf)
                items = [item for _, item in split_packets({str(path): path}, [path], Path(place), pool, set())]
                contents = [getattr(item, "content", None) for item in items]
                found = {c.pages.first for c in contents if isinstance(c, PacketPart)} - {min(begins)}
                true = {*begins[1:]}
                right, wrong = right + len(true & found), wrong + len(found - true)
                missed, exact = missed + len(true - found), exact + (true == found)
                path.unlink()
        f1 = 2 * right / max(1, 2 * right + wrong + missed)
        yield [part, str(packets), f"{f1:.3f}", str(wrong), str(missed), f"{exact / packets:.2f}"]


def main() -> None:
    """Prints the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packets", type=int, default=60)
    given = parser.parse_args()
    heads = ("part", "packets", "F1", "wrong", "missed", "exact")
    print(table(heads, measure(given.data, given.seed, given.packets)))


if __name__ == "__main__":
    main()
