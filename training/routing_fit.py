"""Fits the coefficients of routing (extraction/filling/routing/fit.json) on labelled sets; judges them on others.

    python -m training.routing_fit SETS... --judge SETS... [--write]

Each document of a set is shown with one to eight schemas, in three of five draws its own among them; the coefficients
make the choice of its schema, or of none, probable. Then one line of each document is shown as a document of its own,
in one of ten draws with its schema, and one more coefficient follows for short texts. The report is on the sets to
judge: the share right among five schemas with and without the document's own, the same for lines, and the calibration
error. --write stores the coefficients, and the vectors of the common kinds. Ten documents of a set count.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from cinnabar.engine.models.sentences.encoder import load_sentence_encoder
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.routing.likeness import (
    FEATURES,
    FITTED,
    VECTORS,
    Kind,
    Kinds,
    PageVectors,
    RoutingFit,
    common_kinds,
    differs_from_kinds,
    example_features,
    kind_of,
    log_odds,
    probabilities,
    routing_fit,
    shortness,
    standardize,
)
from cinnabar.extraction.filling.routing.vectors import common, kinds_of, outline, page_vectors
from cinnabar.schemas import load_schema

_DOCUMENTS, _DRAWS, _MOST, _EXAMPLES = 10, 3, 8, 6
# Shares of draws with a document's own schema: of documents, and of lines. A single line rarely is a document of a
# kind that somebody has a schema for.
_OWN, _OWN_LINE = 0.6, 0.1
# Words of a line that is shown alone, and the characters of a document in which it is looked for.
_LINE_WORDS, _LINES_WITHIN = (3, 25), 20_000


@dataclass(frozen=True)
class Compared:
    """Sets with the features of their documents: for each set and document [SETS, FEATURES] and [COMMON, FEATURES].

    `lines` has the same of a line of each document, and the number of its words.
    """

    kinds: Kinds
    pages: list[list[PageVectors]]
    own: list[list[np.ndarray]]
    others: list[list[np.ndarray]]
    lines: list[list[tuple[np.ndarray, np.ndarray, int]]]

    def documents(self, label: int) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """Returns the features of the documents of a set, and the numbers of their words."""
        words = [page.words for page in self.pages[label]]
        return list(zip(self.own[label], self.others[label], words, strict=True))

    @property
    def alike(self) -> np.ndarray:
        """The cosines of the headings of sets and common kinds."""
        return self.kinds.heading @ common().heading.T


def compared(folders: Sequence[Path]) -> Compared:
    """Reads ten documents of each set and compares them with the kinds of all these sets."""
    described: list[Kind] = [kind_of(load_schema(folder / "schema.json")) for folder in folders]
    kinds, against = kinds_of(described), common()
    pages: list[list[PageVectors]] = []
    lines: list[list[tuple[np.ndarray, np.ndarray, int]]] = []
    with ParserPool(1) as pool:
        for folder in folders:
            truths = (folder / "truth.jsonl").read_text(encoding="utf-8").split("\n")
            files = sorted({json.loads(truth)["file"] for truth in truths if truth.strip()})
            random.Random(folder.name).shuffle(files)
            read = [found for _, found in pool.parse_many([folder / file for file in files[:_DOCUMENTS]])]
            texts = [found.text for found in read if not isinstance(found, DocumentError)]
            pages.append([page_vectors(text) for text in texts])
            alone = [page_vectors(line) for text in texts if (line := line_of(text, folder.name))]
            lines.append([(kinds.likeness(page), against.likeness(page), page.words) for page in alone])
            print(f"read {folder.name}", flush=True)
    own = [[kinds.likeness(page) for page in of_set] for of_set in pages]
    others = [[against.likeness(page) for page in of_set] for of_set in pages]
    return Compared(kinds, pages, own, others, lines)


def line_of(text: str, seed: str) -> str:
    """Returns a line of a text, "" if none has the words of a short document."""
    least, most = _LINE_WORDS
    lines = [line for line in text[:_LINES_WITHIN].split("\n") if least <= len(line.split()) <= most]
    return random.Random(seed + text[:200]).choice(lines).strip() if lines else ""


def drawn(rng: random.Random, label: int, sets: int, share: float) -> tuple[list[int], bool]:
    """Returns schemas for a document of a set, and whether its own is the first of them, as in `share` of the draws."""
    several = rng.choice([1, 1, 2, 3, 5, _MOST])
    shown = rng.sample([other for other in range(sets) if other != label], several)
    belongs = rng.random() < share
    if belongs:
        shown[0] = label
    return shown, belongs


def fitted(data: Compared) -> tuple[list[float], float, float]:
    """Returns the weights of the features, the bias and the sharpness that follow from these sets."""
    rng, alike, sets = random.Random(0), data.alike, len(data.own)
    rows: list[np.ndarray] = []
    masks: list[np.ndarray] = []
    truths: list[int] = []
    for label in range(sets):
        for own, others in zip(data.own[label], data.others[label], strict=True):
            scaled, scaled_others = standardize(own, others), standardize(others, others)
            for _ in range(_DRAWS):
                shown, belongs = drawn(rng, label, sets, _OWN)
                several = len(shown)
                padded = shown + [shown[0]] * (_MOST - several)
                rows.append(np.concatenate([scaled[padded], scaled_others]))
                masks.append(np.concatenate([np.arange(_MOST) < several, differs_from_kinds(alike[shown])]))
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


def fitted_short(data: Compared, now: RoutingFit) -> float:
    """Returns the coefficient of shortness that follows from lines of these sets, and from their short documents."""
    rng, alike, sets = random.Random(3), data.alike, len(data.own)
    odds, short, truths = [], [], []
    for label in range(sets):
        documents = [(one, _OWN) for one in data.documents(label) if shortness(one[2])]
        for (own, others, words), share in [*documents, *((one, _OWN_LINE) for one in data.lines[label])]:
            for _ in range(_DRAWS):
                shown, belongs = drawn(rng, label, sets, share)
                found = log_odds(own[shown], others, alike[shown], words, replace(now, short=0.0))
                odds.append(np.concatenate([found, np.full(_MOST - len(shown), -1e9, np.float32)]))
                short.append(shortness(words))
                truths.append(0 if belongs else _MOST)
    x, by, truth = torch.from_numpy(np.stack(odds)), torch.tensor(short)[:, None], torch.tensor(truths)
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], max_iter=40, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(torch.cat([x, weight * by], 1), truth)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    return float(weight.detach())


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
                odds = log_odds(own[[other]], others, alike[[other]], page.words, now)[0]
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


@dataclass
class Judgement:
    """Counts of right choices with and without a document's own schema, and the probabilities behind all of them."""

    right: dict[bool, list[bool]] = field(default_factory=lambda: {True: [], False: []})
    sure: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, data: Compared, now: RoutingFit, several: int, lines: bool) -> Judgement:
        """Adds the choices for documents (or lines) of the sets, each among so many of their schemas."""
        rng, alike, count = random.Random(2), data.alike, len(data.own)
        for label in range(count):
            for own, others, words in data.lines[label] if lines else data.documents(label):
                for belongs in (True, False):
                    shown = rng.sample([other for other in range(count) if other != label], several)
                    if belongs:
                        shown[0] = label
                    chances = probabilities(log_odds(own[shown], others, alike[shown], words, now))
                    none = 1 - float(chances.sum())
                    best = several if none > 0.5 else int(np.argmax(chances))
                    self.right[belongs].append(best == (0 if belongs else several))
                    self.sure.append((none if none > 0.5 else float(chances.max()), self.right[belongs][-1]))
        return self

    def __str__(self) -> str:
        bins: dict[int, list[tuple[float, bool]]] = {}
        for one in self.sure:
            bins.setdefault(int(one[0] * 10), []).append(one)
        off = sum(abs(sum(p for p, _ in some) - sum(ok for _, ok in some)) for some in bins.values())
        shares = ", ".join(
            f"{'with' if belongs else 'without'} its own {np.mean(found):.3f} of {len(found)}"
            for belongs, found in self.right.items()
        )
        return f"{shares}; calibration error {off / len(self.sure):.3f}"


def report(data: Compared, now: RoutingFit) -> str:
    """Returns the judgement of these coefficients on sets, for one schema and five, documents and lines."""
    return "\n".join(
        f"{'lines' if lines else 'documents'}, {several} schemas: {Judgement().add(data, now, several, lines)}"
        for lines in (False, True)
        for several in (1, 5)
    )


def fitted_choice(data: Compared) -> RoutingFit:
    """Returns the coefficients that follow from these sets, with those of the examples that ship."""
    before = routing_fit()
    weights, bias, sharpness = fitted(data)
    now = RoutingFit(np.array(weights, np.float32), bias, sharpness, before.examples, before.examples_bias)
    return replace(now, short=fitted_short(data, now))


def main() -> None:
    """Fits and judges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--judge", nargs="+", type=Path, default=[])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.write:
        kinds, encoder = common_kinds(), load_sentence_encoder()
        texts = {"heading": [kind.heading for kind in kinds], "outline": [outline(kind) for kind in kinds]}
        save_file({name: encoder.embed(lines).astype(np.float16) for name, lines in texts.items()}, VECTORS)
    data = compared(asked.sets)
    now = fitted_choice(data)
    examples, examples_bias = fitted_examples(data, now)
    said = {
        "features": {name: round(value, 3) for name, value in zip(FEATURES, now.weights.tolist(), strict=True)},
        "bias": round(now.bias, 3),
        "sharpness": round(now.sharpness, 3),
        "short": round(now.short, 3),
        "examples": {
            name: round(value, 3)
            for name, value in zip(("kind", "likeness", "against_own", "bias"), [*examples, examples_bias], strict=True)
        },
    }
    print(json.dumps(said, indent=1))
    if asked.write:
        FITTED.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    if asked.judge:
        print(report(compared(asked.judge), now))


if __name__ == "__main__":
    main()
