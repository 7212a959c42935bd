"""Measures what to label next: F1 after training on chosen documents and on as many drawn at random.

    .venv/bin/python -m bench.choice_report ../shared/data/design_jobs … --labels 4,8,16 --seeds 3

Of each set and seed, some documents are measured (`--others`) and the rest is the pool. From the pool, documents are
chosen by `cinnabar.extraction.quality.labelling_order` with the shipped model's doubts, and drawn. Each training
starts from the shipped model and takes the same number of steps. The area is that under F1 over the number of labels,
from none to the most. Results are kept in `runs/choice/`, and the same command goes on with what is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.identity import model_folder
from cinnabar.engine.models.loading import load_network
from cinnabar.engine.models.reader.model import Reader
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.precision import reading_precision
from cinnabar.engine.training.pool import Source
from cinnabar.engine.training.trainer import train
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.planning import passage_of
from cinnabar.extraction.quality.evaluation import EvaluationSet, load_set
from cinnabar.extraction.quality.fine_tuning import FineTuning
from cinnabar.extraction.quality.labelled import Labelled, labelled_passages
from cinnabar.extraction.quality.labelling_order import DOUBT, Candidate, labelling_order
from cinnabar.extraction.quality.predicting import answers, read_set
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema

KEPT = Path("runs/choice/results.jsonl")
#: Documents of more characters are left out: a training step reads a window, but measuring reads all.
LONGEST = 12_000
ARMS = ("chosen", "random")


class Simulation:
    """One set: its documents, and the measure of a training on some of them."""

    def __init__(self, folder: Path, most: int, others: int, steps: int) -> None:
        self.labelled: EvaluationSet = load_set(folder)
        source = load_schema(folder / "schema.json")
        self.compiled, self.validator = compile_schema(source.schema), Validator(source)
        with ParserPool(2) as pool:
            reads = {read.path: read for read in read_set(self.labelled, pool)}
        self.reads: dict[str, Read] = {
            name: read
            for name, read in reads.items()
            if isinstance(read.found, Document) and len(read.found.text) < LONGEST
        }
        self.truths: dict[str, Any] = {line["file"]: line["truth"] for line in self.labelled.truths}
        self.most, self.others, self.steps = most, others, steps
        self._doubts: dict[str, Mapping[str, float]] = {}

    def parts(self, seed: int) -> tuple[list[str], list[str]]:
        """Returns the measured files and the pool of this seed; the pool is in a random order."""
        order = sorted(self.reads, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
        return order[: self.others], order[self.others :][: self.most]

    def figure(self, files: Sequence[str], network: Network, wordpieces: Any) -> float:
        """Returns the F1 of a network on these files."""
        job = self._job(network, wordpieces)
        return float(self.labelled.select(files).score(answers([self.reads[name] for name in files], job))["f1"])

    def chosen(
        self, pool: Sequence[str], count: int, doubt: float, network: Network, wordpieces: Any
    ) -> list[str]:
        """Returns the files of the pool that teach most, by the doubts of this network."""
        unread = [name for name in pool if name not in self._doubts]
        found = answers([self.reads[name] for name in unread], self._job(network, wordpieces))
        for name in unread:
            doubts: dict[str, float] = defaultdict(float)
            for kind in ("confidence", "rows", "lists"):
                for pointer, sure in found[name][kind].items():
                    doubts[re.sub(r"/\d+(?=/|$)", "/*", pointer)] += 1 - sure
            self._doubts[name] = doubts
        candidates = [Candidate(self._text(name), self._doubts[name]) for name in pool]
        return [pool[at] for at in labelling_order(candidates, count, doubt=doubt)]

    def trained(self, files: Sequence[str], seed: int) -> tuple[Network, Any]:
        """Returns the shipped network after training on these files."""
        network, wordpieces = load_network(model_folder("default"))
        documents = [Labelled(name, self._passage(name), self.truths[name]) for name in files]
        passages = labelled_passages(documents, self.compiled.form, wordpieces)
        config = FineTuning(steps=self.steps, seed=seed).config(len(files))
        with tempfile.TemporaryDirectory() as folder:
            train(network, [Source("set", 1.0, passages)], wordpieces, config, Path(folder))
        return network, wordpieces

    def _job(self, network: Network, wordpieces: Any) -> Job:
        network.eval()
        reader = Reader(network, wordpieces, "simulated", precision=reading_precision())
        return Job(self.compiled, Engine(reader), self.validator, "guess")

    def _passage(self, name: str) -> Any:
        found = self.reads[name].found
        assert isinstance(found, Document)
        return passage_of(found)

    def _text(self, name: str) -> str:
        text: str = self._passage(name).text
        return text


def _arm(arm: str, count: int, asked: argparse.Namespace) -> str:
    return "" if not count else arm if arm == "random" else f"{arm}, doubt {asked.doubt:g}"


def area(labels: Sequence[int], figures: Sequence[float]) -> float:
    """Returns the mean F1 between no labels and the most."""
    return float(np.trapezoid(figures, labels) / (labels[-1] - labels[0]))


def main() -> None:
    """Measures what is missing, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--labels", default="4,8,16")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30, help="training steps")
    parser.add_argument("--pool", type=int, default=60)
    parser.add_argument("--others", type=int, default=24)
    parser.add_argument("--doubt", type=float, default=DOUBT, help="the weight of doubt beside likeness")
    asked = parser.parse_args()
    labels = [0, *map(int, asked.labels.split(","))]
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    kept = {}
    if KEPT.exists():
        kept = {tuple(key): value for key, value in map(json.loads, KEPT.read_text().splitlines())}
    shipped = load_network(model_folder("default"))
    simulations: dict[Path, Simulation] = {}
    for seed in range(asked.seeds):
        for folder in asked.sets:
            for count in labels:
                for arm in ARMS:
                    key = (folder.name, seed, count, _arm(arm, count, asked), asked.steps, asked.pool, asked.others)
                    if key in kept:
                        continue
                    if folder not in simulations:
                        simulations[folder] = Simulation(folder, asked.pool, asked.others, asked.steps)
                    one = simulations[folder]
                    measured, pool = one.parts(seed)
                    files = one.chosen(pool, count, asked.doubt, *shipped) if arm == "chosen" else pool[:count]
                    found = one.figure(measured, *(one.trained(files, seed) if count else shipped))
                    kept[key] = found
                    with KEPT.open("a") as file:
                        file.write(json.dumps([key, found]) + "\n")
                    print(*key[:4], f"{found:.3f}", file=sys.stderr, flush=True)
    print_table(kept, asked, labels)


def print_table(kept: Mapping[tuple[Any, ...], float], asked: argparse.Namespace, labels: Sequence[int]) -> None:
    """Prints the areas of each set, means over its seeds, and the gain of choosing."""
    tail = (asked.steps, asked.pool, asked.others)
    print("| set | " + " | ".join(f"{arm}, {n}" for arm in ARMS for n in labels) + " | area chosen | random | gain |")
    print("|---|" + "---:|" * (len(ARMS) * len(labels) + 3))
    gains, learnt = [], []
    for folder in asked.sets:
        rows = {
            arm: np.mean([[kept[folder.name, seed, n, _arm(arm, n, asked), *tail] for n in labels]
                          for seed in range(asked.seeds)], 0)
            for arm in ARMS
        }  # fmt: skip
        chosen, drawn = (area(labels, list(rows[arm])) for arm in ARMS)
        gains.append(chosen / drawn - 1)
        start = float(rows["random"][0])
        learnt.append((chosen - start, drawn - start))
        figures = " | ".join(f"{value:.3f}" for arm in ARMS for value in rows[arm])
        print(f"| {folder.name} | {figures} | {chosen:.3f} | {drawn:.3f} | {100 * gains[-1]:+.1f}% |")
    more = sum(one for one, _ in learnt) / max(sum(other for _, other in learnt), 1e-9) - 1
    print(f"\nMean gain of the area: {100 * float(np.mean(gains)):+.1f}%; of what is learnt (area above the F1 without"
          f" labels): {100 * more:+.1f}%.")  # fmt: skip


if __name__ == "__main__":
    main()
