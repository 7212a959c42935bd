"""Fits the model that tells where documents of a packet begin (extraction/filling/packets/boundaries.json).

    python -m training.packets.fit DATA [--write] [--cache FILE]

DATA holds labelled sets. Two fifths of the kinds of documents are drawn by a fixed seed and never read here
(`sheets.divided`); `bench.packets` measures on them. Packets are made of the pages of the others and of generated
documents: their features come from the pages, so that no PDF has to be joined.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import torch

from cinnabar.engine.models.sentences.encoder import load_sentence_encoder
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.packets.boundaries import (
    FITTED,
    EdgedLine,
    PageFeatures,
    edge_words,
    features,
    page_features,
)
from training.generator.generator import FAMILIES, make_example
from training.kept import kept
from training.packets.sheets import divided, draw_style, kinds_in, printed, sheet

_EACH, _PACKETS = 16, 4000
#: Styles in which texts of all kinds are printed, as from one printer.
SHARED = 3


@dataclass(frozen=True)
class Pages:
    """A document as the signs of its pages and their vectors [N, 2, 384]."""

    kind: str
    style: int
    signs: list[PageFeatures]
    meaning: np.ndarray


def read_documents(data: Path, wanted: Sequence[str]) -> list[Pages]:
    """Returns documents of these kinds, each printed in one or two styles, and generated ones."""
    encoder, found = load_sentence_encoder(), []
    rng = Random("documents")
    kinds = kinds_in(data)

    def add(kind: str, style: int, pdf: bytes | None) -> None:
        if pdf is None:
            return
        try:
            signs = page_features(parse(pdf, "sheet.pdf"))
        except DocumentError:
            return
        texts = [text for one in signs for text in edge_words(one)]
        found.append(Pages(kind, style, signs, encoder.embed(texts).reshape(len(signs), 2, -1)))

    shared = [draw_style(rng) for _ in range(SHARED)]
    for kind in wanted:
        most = 60 if kinds[kind][0].suffix == ".pdf" else _EACH
        own = draw_style(rng)
        for path in rng.sample(kinds[kind], min(len(kinds[kind]), most)):
            if path.suffix == ".pdf":
                add(kind, -1, sheet(path, own))
            else:
                at = rng.randrange(SHARED)
                add(kind, 0, sheet(path, own))
                add(kind, 1 + at, sheet(path, shared[at]))
        print(kind, len(found), flush=True)
    for family in FAMILIES:
        own = replace(draw_style(rng), size=rng.choice((11.0, 14.0, 18.0)))
        for seed in range(3):
            text = make_example(family, seed).text
            if len(text) >= 300:
                add(f"generated_{family}", 0, printed(text, own, 6))
    return found


def packet(documents: Sequence[Pages], rng: Random) -> tuple[list[dict[str, float]], list[bool]]:
    """Returns the features of a packet's pages but the first, and whether a document begins on each.

    As in `bench.packets`: half of the packets have one style for all texts, half of the documents several pages.
    """
    style = rng.choice((0, 0, 0, 1, 2, 3))
    by_kind: dict[str, list[Pages]] = {}
    for one in documents:
        if one.style in (-1, style):
            by_kind.setdefault(one.kind, []).append(one)
    own = rng.sample([*by_kind], 1 if rng.random() < 0.35 else min(len(by_kind), rng.randint(2, 6)))
    blanks = rng.choice(("none", "none", "none", "between", "backs", "sheets"))
    # All pages are scans, or none, or those of some documents; and some documents lie across.
    noise = rng.choice((0.0, 0.0, 0.0, 0.3, 1.0))
    signs, meaning, begins, gaps = [], [], [], []
    for _ in range(rng.randint(2, 12)):
        several = rng.random() < 0.5
        fitting = [one for kind in own for one in by_kind[kind] if not several or len(one.signs) > 1]
        kind = rng.choice(sorted({one.kind for one in fitting} or own))
        one = rng.choice([one for one in fitting or by_kind[kind] if one.kind == kind])
        noisy, across = rng.random() < noise, rng.random() < 0.05
        for at, page in enumerate(one.signs):
            if across or rng.random() < 0.03:
                page = page._replace(size=page.size[::-1])
            blank = blanks == "between" and at == 0 and rng.random() < 0.8
            signs.append(scanned(page, rng) if noisy else page)
            meaning.append(one.meaning[at])
            begins.append(at == 0)
            gaps.append((blank or (blanks == "backs" and rng.random() < 0.5), blanks == "sheets" and at == 0))
    rows = [
        features(signs[at - 1], signs[at], float(meaning[at - 1][1] @ meaning[at][0]), *gaps[at])
        for at in range(1, len(signs))
    ]
    return rows, begins[1:]


def scanned(page: PageFeatures, rng: Random) -> PageFeatures:
    """Returns a page as OCR may read it from a scan: places and heights move, and some words are misread."""
    shift = rng.gauss(0, 0.008)
    read: dict[str, str] = {}
    for text in page.text.split("\n"):
        if rng.random() > 0.02:
            words = [w if rng.random() > 0.04 else w.replace("i", "l").replace("e", "c") for w in text.split()]
            read.setdefault(text.strip(), " ".join(words))
    lines = []
    for line in page.lines:
        if line.text in read:
            top, bottom = (max(0.0, y + shift + rng.gauss(0, 0.002)) for y in (line.top, line.bottom))
            lines.append(EdgedLine(read[line.text], top, bottom, line.height * rng.gauss(1, 0.06)))
    text = "\n".join(read[line.strip()] for line in page.text.split("\n") if line.strip() in read)
    return PageFeatures(page.number, page.size, text, tuple(sorted(lines, key=lambda one: one.top)))


def fitted(x: np.ndarray, y: np.ndarray, penalty: float = 1e-3) -> tuple[np.ndarray, float]:
    """Returns the weights and the bias of a logistic regression; `penalty` is on weights of standardized features."""
    mean, deviation = x.mean(0), x.std(0) + 1e-2
    inputs, wanted = torch.tensor((x - mean) / deviation), torch.tensor(y)
    weights = torch.zeros(x.shape[1], requires_grad=True)
    bias = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = torch.nn.functional.binary_cross_entropy_with_logits(inputs @ weights + bias, wanted)
        value = value + penalty * (weights**2).sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    own = weights.detach().numpy() / deviation
    return own, float(bias.detach()) - float(own @ mean)


def main() -> None:
    """Fits the model on packets of the kinds that are not held back, and stores it if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true", help="store the weights in the package")
    parser.add_argument("--cache", type=Path, help="a file that keeps the pages that were read")
    given = parser.parse_args()
    kinds = kinds_in(given.data)
    paged = [name for name, paths in kinds.items() if paths[0].suffix == ".pdf"]
    documents = kept(given.cache, lambda: read_documents(given.data, divided([*kinds], paged)[0]))
    rng = Random("packets")
    packets = [packet(documents, rng) for _ in range(_PACKETS)]
    rows = [row for found, _ in packets for row in found]
    x = np.array([[*row.values()] for row in rows], np.float32)
    y = np.array([begins for _, told in packets for begins in told], np.float32)
    weights, bias = fitted(x, y)
    likely = 1 / (1 + np.exp(-(x @ weights + bias)))
    print(f"{len(packets)} packets, {len(y)} pages, {y.mean():.2f} begin, {((likely > 0.5) == y).mean():.4f} right")
    if given.write:
        named = {name: round(float(w), 4) for name, w in zip(rows[0], weights, strict=True)}
        FITTED.write_text(json.dumps({"features": named, "bias": round(bias, 4)}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
