"""OCR of pages whose text is known: words found, seconds, and F1 beside the text layer.

    python -m bench.ocr_report [SET...] [--pages 3] [--documents 4] [--engine tesseract:eng]

The first pages of PDFs of the sets are drawn at 150 and 300 dots an inch: as printed, turned by 90 and 180 degrees,
laid askew, blurred, and as a noisy grey JPEG. A word counts as found if the picture's text has it as often as the text
layer. Then the documents of the sets are filled from their text layer, and from scans of all their pages at 200 dots.
"""

from __future__ import annotations

import argparse
import io
import re
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from bench.labelled_sets import figures_of
from bench.reporting import table
from cinnabar.engine.model import Model
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import OpenedInput
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, find_sets

_WORD = re.compile(r"[^\W_]+")
# Fewer words make no page of text.
_LEAST_WORDS = 20
_SCAN_DPI = 200
_Change = Callable[[Image.Image, int], Image.Image]


def _askew(page: Image.Image, degrees: float) -> Image.Image:
    return page.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)


def _scanned(page: Image.Image, dpi: int) -> Image.Image:
    """A page as a cheap scanner gives it: askew, soft, grey, with grain, and stored as a poor JPEG."""
    soft = _askew(page, 0.8).filter(ImageFilter.GaussianBlur(dpi / 300))
    grain = np.random.default_rng(1).normal(0, 8, (soft.height, soft.width))
    grey = np.clip(np.asarray(soft, np.float32) * 0.82 + 28 + grain, 0, 255).astype(np.uint8)
    stored = io.BytesIO()
    Image.fromarray(grey).save(stored, "JPEG", quality=45)
    return Image.open(stored).convert("L")


#: The ways that a page may lie before OCR.
VARIANTS: dict[str, _Change] = {
    "printed": lambda page, _: page,
    "turned by 90": lambda page, _: page.transpose(Image.Transpose.ROTATE_90),
    "turned by 180": lambda page, _: page.transpose(Image.Transpose.ROTATE_180),
    "askew by 3": lambda page, _: _askew(page, 3.0),
    "blurred": lambda page, dpi: page.filter(ImageFilter.GaussianBlur(dpi / 150)),
    "poor scan": _scanned,
}


@dataclass(slots=True)
class WordCount:
    """The words of pages, those that OCR found, and those that it added."""

    pages: int = 0
    words: int = 0
    found: int = 0
    added: int = 0
    seconds: float = 0.0
    sure: list[float] = field(default_factory=list)

    def add(self, truth: str, read: Document | None, seconds: float) -> None:
        """Counts a page."""
        wanted = Counter(_WORD.findall(truth))
        got = Counter(_WORD.findall(read.text if read else ""))
        self.pages += 1
        self.words += wanted.total()
        self.found += (wanted & got).total()
        self.added += (got - wanted).total()
        self.seconds += seconds
        if read is not None and read.words.sure is not None:
            self.sure += read.words.sure.tolist()

    def row(self) -> list[str]:
        """The cells of a table: pages, words, share found, added, mean probability, seconds a page."""
        share, sure = self.found / max(self.words, 1), float(np.mean(self.sure or [0.0]))
        seconds = self.seconds / max(self.pages, 1)
        return [f"{self.pages}", f"{self.words}", f"{share:.1%}", f"{self.added}", f"{sure:.3f}", f"{seconds:.1f}"]


def drawn(pdf: Path, dpi: int) -> Iterator[Image.Image]:
    """The pages of a PDF in grey."""
    with pypdfium2.PdfDocument(pdf) as document:
        for page in document:
            yield page.render(scale=dpi / 72).to_pil().convert("L")


def texts_of(sets: Sequence[LabelledSet]) -> Iterator[tuple[Path, str]]:
    """The path and the first page's text of each English PDF with a page of text."""
    for one in sets:
        for line in one.truths:
            path = one.folder / line["file"]
            if path.suffix != ".pdf":
                continue
            document = parse(path.read_bytes(), str(path))
            language = document.facts.get("document.language")
            page = document.parts[0]
            text = document.text[page.start : page.end]
            if len(_WORD.findall(text)) >= _LEAST_WORDS and language is not None and language.value == "en":
                yield path, text


def words_found(pages: Sequence[tuple[Path, str]], pool: ParserPool) -> dict[tuple[str, int], WordCount]:
    """The counts by variant and resolution."""
    counts: dict[tuple[str, int], WordCount] = defaultdict(WordCount)
    with tempfile.TemporaryDirectory() as folder:
        for path, text in pages:
            for dpi in (150, 300):
                page = next(drawn(path, dpi))
                for variant, change in VARIANTS.items():
                    picture = Path(folder) / "page.png"
                    change(page, dpi).save(picture, dpi=(dpi, dpi))
                    begun = time.perf_counter()
                    ((_, found),) = pool.parse_many([picture])
                    seconds = time.perf_counter() - begun
                    read = found if isinstance(found, Document) else None
                    counts[variant, dpi].add(text, read, seconds)
    return counts


def f1_of_scans(one: LabelledSet, count: int, pool: ParserPool, model: Model) -> list[str]:
    """The F1 of a set's first PDFs from their text layer, and from scans of them."""
    lines = [line for line in one.truths if line["file"].endswith(".pdf")][:count]
    chosen = one.select({line["file"] for line in lines}, count)
    printed: list[OpenedInput] = []
    scanned: list[OpenedInput] = []
    with tempfile.TemporaryDirectory() as folder:
        for line in chosen.truths:
            path = one.folder / line["file"]
            first, *more = [_scanned(page, _SCAN_DPI) for page in drawn(path, _SCAN_DPI)]
            scan = Path(folder) / f"{path.stem}.tif"
            first.save(scan, save_all=True, append_images=more, dpi=(_SCAN_DPI, _SCAN_DPI), compression="tiff_lzw")
            for reads, source in ((printed, path), (scanned, scan)):
                ((_, found),) = pool.parse_many([source])
                reads.append(OpenedInput(line["file"], getattr(found, "digest", ""), found))
    layer, image = (figures_of(chosen, reads, model) for reads in (printed, scanned))
    return [one.folder.name, f"{len(chosen.truths)}", f"{layer['f1']:.3f}", f"{image['f1']:.3f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, default=[Path("data/samples")])
    parser.add_argument("--pages", type=int, default=3, help="English pages")
    parser.add_argument("--documents", type=int, default=4, help="documents of each set for F1; 0 for none")
    parser.add_argument("--engine", default="rapidocr")
    parser.add_argument("--workers", type=int, default=1)
    said = parser.parse_args(arguments)
    sets = [one for path in said.sets for one in find_sets(path)]
    heads = ["dpi", "pages", "words", "found", "added", "sure", "s/page"]
    with ParserPool(said.workers, settings=ParserSettings(ocr_engine=said.engine)) as pool:
        english = sorted(texts_of(sets), key=lambda one: one[0].name)[: said.pages]
        counts = words_found(english, pool)
        print(f"English pages by {said.engine}\n")
        print(table(["page", *heads], _rows(counts)))
        if said.documents:
            model = load_model("default", "cpu")
            rows = [f1_of_scans(one, said.documents, pool, model) for one in sets if one.folder.name in _SCANNED]
            print(f"\nF1 from the text layer, and from poor scans at {_SCAN_DPI} dpi\n")
            print(table(["set", "documents", "text layer", "scan"], rows))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
    print(f"\n{seconds:.0f} s of processor time in parsers and OCR; the largest process took {memory} MiB")


def _rows(counts: dict[tuple[str, int], WordCount]) -> list[list[str]]:
    return [[name, f"{dpi}", *one.row()] for (name, dpi), one in counts.items()]


#: The sets that are filled from scans.
_SCANNED = ("invoice", "receipt")


if __name__ == "__main__":
    main()
