"""Writes documents and their truth as labelled sets, one for each layout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from bench.list_layouts.contents import draw_contents
from bench.list_layouts.drawing import Drawing
from bench.list_layouts.layouts import PARTS, Layout
from bench.list_layouts.subjects import schema_of
from bench.list_layouts.wording import WORDINGS

_SCAN_DPI = 200


def drawn(
    part: str, layout: Layout, rows: tuple[int, int], seed: str, shuffled: bool = False
) -> tuple[bytes, dict[str, Any]]:
    """Returns a document as a PDF, and its truth; the same seed draws the same."""
    rng = Random(seed)
    contents = draw_contents(layout, rows, rng, shuffled)
    return Drawing(contents, WORDINGS[part][layout.subject.locale], rng).pdf(), contents.truth()


def write_part(
    out: Path, part: str, documents: int, rows: tuple[int, int], seed: int, scans: bool, shuffled: bool = False
) -> None:
    """Writes so many documents in all, spread over the layouts of a part.

    scans: each a second time as images; shuffled: the columns of each in an order of its own.
    """
    layouts = PARTS[part]
    for number, layout in enumerate(layouts):
        count = documents // len(layouts) + (number < documents % len(layouts))
        truths: list[dict[str, Any]] = []
        for at in range(count):
            pdf, truth = drawn(part, layout, rows, f"{part} {layout.name} {seed} {at}", shuffled)
            truths.append({"file": f"docs/{layout.name}_{at:03}.pdf", "truth": truth})
            _store(out / layout.name / truths[-1]["file"], pdf)
            if scans:
                scan(out / layout.name / truths[-1]["file"], out / f"{layout.name}_scanned" / truths[-1]["file"])
        for name in (layout.name, f"{layout.name}_scanned") if scans and count else (layout.name,) if count else ():
            schema = json.dumps(schema_of(layout.subject, layout.nested), indent=1, ensure_ascii=False)
            _store(out / name / "schema.json", f"{schema}\n".encode())
            lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in truths)
            _store(out / name / "truth.jsonl", lines.encode())


def scan(source: Path, target: Path) -> None:
    """Writes a PDF of images of another one's pages: a little turned, blurred, grey and with noise."""
    noise = np.random.default_rng(len(source.read_bytes()))
    target.parent.mkdir(parents=True, exist_ok=True)
    with pypdfium2.PdfDocument(source) as document:
        pages = _scanned(document, noise)
        next(pages).save(target, "PDF", resolution=_SCAN_DPI, save_all=True, append_images=pages)


def _scanned(document: Any, noise: np.random.Generator) -> Iterator[Image.Image]:
    """Yields the pages of a document as a scanner gives them."""
    for page in document:
        image = page.render(scale=_SCAN_DPI / 72).to_pil().convert("L")
        image = image.rotate(noise.uniform(-0.3, 0.3), Image.Resampling.BICUBIC, fillcolor=255)
        soft = np.asarray(image.filter(ImageFilter.GaussianBlur(0.6)), np.float32)
        grey = soft * 0.86 + 24 + noise.normal(0, 6, soft.shape)
        yield Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))


def _store(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
