"""Fits the coefficients of routing (extraction/routing/fit.json) on labelled sets, and judges them on other sets.

    python -m bench.routing_fit SETS... --judge SETS... [--write]

Each document of a set is shown with one to eight schemas, in three of five draws its own among them; the coefficients
make the choice of its schema, or of none, probable. The report is on the sets to judge: the share right among five
schemas with and without the document's own, and the calibration error. --write stores the coefficients, and the vectors
of the common kinds. Ten documents of a set count.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from cinnabar.engine.models.sentences.encoder import load_sentence_encoder
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.routing.kinds import Kind, kind_of
from cinnabar.extraction.routing.likeness import (
    FEATURES,
    FITTED,
    VECTORS,
    Kinds,
    Page,
    RoutingFit,
    common_kinds,
    differing,
    example_features,
    log_odds,
    probabilities,
    routing_fit,
    standardized,
)
from cinnabar.extraction.routing.vectors import common, kinds_of, outline, page_vectors
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import DocumentError

_DOCUMENTS, _DRAWS, _MOST, _EXAMPLES = 10, 3, 8, 6


@dataclass(frozen=True)
class Compared:
    """Sets with the features of their documents: for each set and document [SETS, FEATURES] and [COMMON, FEATURES]."""

    kinds: Kinds
    pages: list[list[Page]]
    own: list[list[np.ndarray]]
    others: list[list[np.ndarray]]

    @property
    def alike(self) -> np.ndarray:
        """The cosines of the headings of sets and common kinds."""
        return self.kinds.heading @ common().heading.T


def compared(folders: Sequence[Path]) -> Compared:
    """Reads ten documents of each set and compares them with the kinds of all these sets."""
    described: list[Kind] = [kind_of(load_schema(folder / "schema.json")) for folder in folders]
    kinds, against = kinds_of(described), common()
    pages: list[list[Page]] = []
    with ParserPool(1) as pool:
        for folder in folders:
            lines = (folder / "truth.jsonl").read_text(encoding="utf-8").split("\n")
            files = sorted({json.loads(line)["file"] for line in lines if line.strip()})
            random.Random(folder.name).shuffle(files)
            read = [found for _, found in pool.parse_many([folder / file for file in files[:_DOCUMENTS]])]
            pages.append([page_vectors(found.text) for found in read if not isinstance(found, DocumentError)])
            print(f"read {folder.name}", flush=True)
    own = [[kinds.likeness(page) for page in of_set] for of_set in pages]
    others = [[against.likeness(page) for page in of_set] for of_set in pages]
    return Compared(kinds, pages, own, others)


def fitted(data: Compared, seed: int = 0) -> tuple[list[float], float, float]:
    """Returns the weights of the features, the bias and the sharpness."""
    rng, alike, count = random.Random(seed), data.alike, len(data.own)
    rows: list[np.ndarray] = []
    masks: list[np.ndarray] = []
    truths: list[int] = []
    for label in range(count):
        for own, others in zip(data.own[label], data.others[label], strict=True):
            scaled, scaled_others = standardized(own, others), standardized(others, others)
            for _ in range(_DRAWS):
                several = rng.choice([1, 1, 2, 3, 5, _MOST])
                shown = rng.sample([other for other in range(count) if other != label], several)
                belongs = rng.random() < 0.6
                if belongs:
                    shown[0] = label
                padded = shown + [shown[0]] * (_MOST - several)
                rows.append(np.concatenate([scaled[padded], scaled_others]))
                masks.append(np.concatenate([np.arange(_MOST) < several, differing(alike[shown])]))
                truths.append(0 if belongs else _MOST)
    x, mask, truth = torch.from_numpy(np.stack(rows)), torch.from_numpy(np.stack(masks)), torch.tensor(truths)
    weights, bias, sharp = torch.full((x.shape[-1],), 0.3), torch.zeros(1), torch.zeros(1)
    parameters = [one.requires_grad_() for one in (weights, bias, sharp)]
    optimizer = torch.optim.LBFGS(parameters, max_iter=80, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        scores = (x @ weights).masked_fill(~mask, -1e9)
        none = torch.logsumexp(scores[:, _MOST:] * sharp.exp(), 1) / sharp.exp() + bias
        logits = torch.cat([scores[:, :_MOST], none[:, None]], 1)
        loss = torch.nn.functional.cross_entropy(logits, truth) + 2e-3 * ((weights**2).sum() + (sharp**2).sum())
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    return weights.detach().tolist(), float(bias.detach()), float(sharp.detach().exp())


def fitted_examples(data: Compared, now: RoutingFit) -> tuple[list[float], float]:
    """Returns the coefficients of likeness to examples, and their bias: one schema, which is the document's or not."""
    rng, alike, count = random.Random(1), data.alike, len(data.own)
    rows, truths = [], []
    vectors = [np.stack([page.mean for page in of_set[:_EXAMPLES]]) for of_set in data.pages]
    for label in range(count):
        documents = zip(data.pages[label], data.own[label], data.others[label], strict=True)
        for page, own, others in list(documents)[_EXAMPLES:]:
            for other in [label] * 6 + rng.sample([other for other in range(count) if other != label], 6):
                if len(vectors[other]) < _EXAMPLES:
                    continue
                odds = log_odds(own[[other]], others, alike[[other]], now)[0]
                rows.append([float(odds), *example_features(page, vectors[other])])
                truths.append(float(other == label))
    x, truth = torch.tensor(rows), torch.tensor(truths)
    mean, deviation = x.mean(0), x.std(0)
    weights, bias = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        logits = ((x - mean) / deviation) @ weights + bias
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, truth) + 1e-3 * (weights**2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    scaled = weights.detach() / deviation
    return scaled.tolist(), float(bias.detach() - (scaled * mean).sum())


def judged(data: Compared, now: RoutingFit, several: int = 5) -> str:
    """Returns the share right among so many schemas with and without a document's own, and the calibration error."""
    rng, alike, count = random.Random(2), data.alike, len(data.own)
    right: dict[bool, list[bool]] = {True: [], False: []}
    sure: list[tuple[float, bool]] = []
    for label in range(count):
        for own, others in zip(data.own[label], data.others[label], strict=True):
            for belongs in (True, False):
                shown = rng.sample([other for other in range(count) if other != label], several)
                if belongs:
                    shown[0] = label
                chances = probabilities(log_odds(own[shown], others, alike[shown], now))
                whole = [*map(float, chances), 1 - float(chances.sum())]
                best = int(np.argmax(whole))
                right[belongs].append(best == (0 if belongs else several))
                sure.append((whole[best], right[belongs][-1]))
    bins: dict[int, list[tuple[float, bool]]] = {}
    for one in sure:
        bins.setdefault(int(one[0] * 10), []).append(one)
    error = sum(abs(sum(p for p, _ in some) - sum(ok for _, ok in some)) for some in bins.values()) / len(sure)
    shares = ", ".join(
        f"{'with' if belongs else 'without'} its own {np.mean(found):.3f} of {len(found)}"
        for belongs, found in right.items()
    )
    return f"{several} schemas: {shares}; calibration error {error:.3f}"


def main() -> None:
    """Fits and judges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--judge", nargs="+", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.write:
        kinds, encoder = common_kinds(), load_sentence_encoder()
        texts = {"heading": [kind.heading for kind in kinds], "outline": [outline(kind) for kind in kinds]}
        save_file({name: encoder.embed(lines).astype(np.float16) for name, lines in texts.items()}, VECTORS)
    data = compared(asked.sets)
    weights, bias, sharpness = fitted(data)
    before = routing_fit()
    now = RoutingFit(np.array(weights, np.float32), bias, sharpness, before.examples, before.examples_bias)
    examples, examples_bias = fitted_examples(data, now)
    said = {
        "features": {name: round(value, 3) for name, value in zip(FEATURES, weights, strict=True)},
        "bias": round(bias, 3),
        "sharpness": round(sharpness, 3),
        "examples": {
            name: round(value, 3)
            for name, value in zip(("kind", "likeness", "against_own", "bias"), [*examples, examples_bias], strict=True)
        },
    }
    print(json.dumps(said, indent=1))
    if asked.write:
        FITTED.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    others = compared(asked.judge)
    for several in (1, 5):
        print(judged(others, now, several))


if __name__ == "__main__":
    main()
