"""Compares fields as branches with whole records of one language model in one prompt, and the better of both.

    python -m bench language_gate ../shared/data --model qwen2.5-coder-0.5b --way records --answers FILE.jsonl
    python -m bench language_gate --report FILE.jsonl ... [--record]

The sets are those that decide and those left out of training: one document of each, then a second one. Branches have
the prompt of records, and each field is asked once and alone. Each answer is kept with its shares, so that later fits
need no model, and is not asked for again. `--adapter`: with that of branches, else the weights as released.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from training.recipe import load_recipe
from training.runs import DECIDING

from bench.held_back_report import unseen_sets
from bench.labelled_sets import job_of
from bench.recording import Row, record
from bench.reporting import table
from cinnabar.engine.branches.branch_model import BranchModel, _Prompt
from cinnabar.engine.branches.stretches import ValueTokens
from cinnabar.engine.diffusion.decoded import Decoded, DecodingRun, Undecoded
from cinnabar.engine.diffusion.denoiser import Denoiser, _Pass
from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.diffusion.planning import Plan
from cinnabar.engine.diffusion.prompt import messages
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.request import Result
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import run_batch
from cinnabar.extraction.learning.evaluation import leaves_of, prediction_of, score, summarise
from cinnabar.extraction.learning.pairing import is_right
from cinnabar.extraction.run.work.labelled_sets import read_set
from cinnabar.schemas.form.form import Form

GROUPS = {"deciding": DECIDING, "left out": load_recipe().left_out}
WAYS = ("branches", "records", "better")
HEAD = ("documents", "F1 of branches; records; better of both", "records - branches; better - higher", "invented",
        "the same: right", "else: records right; branches; none")  # fmt: skip
#: The shares of the document that is read: of branches, or of tokens.
NOTES: list[Any] = []
#: The answers to a document, by their ways.
Answers = dict[str, dict[str, Any]]


class Branches(BranchModel):
    """Branches in the prompt of records, each asked once, that note the share of null, and the copy with its own."""

    def _prompt(self, form: Form) -> _Prompt:
        self._form = form
        return super()._prompt(form)

    def _render(self, title: str, lines: str, text: str) -> list[int]:  # noqa: ARG002, the form tells both
        return self.model.chat.render(messages(self._form, {}, text))

    def _decode(self, asked: Sequence[Any], likely: bool = False) -> None:
        super()._decode(asked, likely)
        for memory, _, branches in asked:
            for key, slot, branch in branches:
                copied = self._answer(slot, branch, memory).text
                NOTES.append([slot.path, key[2], branch.null, copied and copied.decode(), branch.share, branch.mass])

    def _ask_doubted(self, asked: Sequence[Any]) -> None:
        """Asks nothing a second time."""


class NotedDenoiser(Denoiser):
    """Keeps by position the share of the tokens of null, before any constraint."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model.decoder, model.tokenizer)
        self.null, self.shares = ValueTokens(model.tokenizer.vocabulary).null, dict[int, float]()

    def _launch(self, runs: Sequence[DecodingRun]) -> _Pass:
        (run,), logits = runs, self.decoder.logits

        def noted(hidden: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = logits(hidden)
            shares = found.float().softmax(-1)[:, self.null].sum(1).tolist()
            self.shares |= dict(zip(self._positions_to_score(run.sequence).tolist(), shares, strict=True))
            return found

        with patch.object(self.decoder, "logits", noted):
            return super()._launch(runs)


class Records(DiffusionEngine):
    """Whole records, one at a time: notes of each token its text, and of a chosen one its share and that of null."""

    def _read(self, plan: Plan, decoded: Decoded | Undecoded | None) -> Result:
        if isinstance(decoded, Decoded) and plan.task is not None and isinstance(self._decoder, NotedDenoiser):
            for at, token in enumerate(decoded.tokens):
                text = self.model.tokenizer.decode([token]).decode("utf-8", "replace")
                shares = float(decoded.posteriors[at]), self._decoder.shares.get(len(plan.task.prompt) + at)
                NOTES.append([text, *(shares if decoded.chosen[at] else ())])
        return super()._read(plan, decoded)


def lines_of(answers: Path) -> list[dict[str, Any]]:
    """Returns the answers of a file."""
    return [json.loads(text) for text in answers.read_text("utf-8").split("\n") if text]


def ask(asked: argparse.Namespace) -> None:
    """Asks for all answers that the file does not have, the first document of each set first."""
    about = {"model": Path(asked.model).name, "adapter": asked.adapter, "way": asked.way}
    asked.answers.touch()
    done = {(one["set"], one["file"]) for one in lines_of(asked.answers) if about.items() <= one.items()}
    paths = [asked.sets / name for names in GROUPS.values() for name in names if (asked.sets / name).is_dir()]
    sets = unseen_sets(paths, asked.limit)
    places = [(own, line) for at in range(asked.limit) for own in sets for line in own.truths[at : at + 1]]
    model = load_language_model(asked.model, "cpu", fields=asked.adapter)
    engine = Records(model, denoiser=NotedDenoiser(model)) if asked.way == "records" else Engine(Branches(model))
    with ParserPool(1) as pool:
        for own, line in places:
            if (own.name, line["file"]) in done:
                continue
            NOTES.clear()
            (read,) = read_set(own.select([line["file"]]), pool)
            began = time.perf_counter()
            job = replace(job_of(own.schema, engine, "guess"), max_seconds=900.0)
            (outcome,) = run_batch([read], job).outcomes
            told = {"set": own.name, "line": line, "seconds": time.perf_counter() - began, "code": outcome.code}
            with asked.answers.open("a", encoding="utf-8") as file:
                file.write(json.dumps(about | told | prediction_of(outcome) | {"notes": NOTES}) + "\n")


def better(answers: Answers) -> dict[str, Any]:
    """Returns the answer with the better value of both in each field, of equal ones that which says nothing."""
    (one, other), line = (answers[way]["record"] or {} for way in WAYS[:2]), answers["records"]["line"]

    def worth(name: str, value: Any) -> tuple[float, bool]:
        field = line | {"file": "", "truth": {name: line["truth"].get(name)}}
        f1 = float(score([field], {"": {"record": {name: value}}})["f1"])
        return f1, value in (None, []) or value is False

    best = {name: max(one.get(name), other.get(name), key=partial(worth, name)) for name in one | other}
    return answers["records"] | {"record": best}


def agreement(documents: Sequence[Answers]) -> list[str]:
    """Returns how many values outside of lists are the same, what part of these is right, and who is right else."""
    counts = Counter[str]()
    for own in documents:
        ways = [{leaf.pointer: leaf for leaf in leaves_of(own[way]["line"], own[way]["record"])} for way in WAYS[:2]]
        for at in (at for at in ways[0].keys() & ways[1].keys() if "*" not in ways[0][at].field):
            field, whole = (way[at] for way in ways)
            counts[f"{is_right(field.predicted, whole.predicted, ()):d}{whole.right:d}{field.right:d}"] += 1
    same = counts["111"] + counts["100"]
    return [f"{same}: {counts['111'] / max(same, 1):.2f}", "; ".join(str(counts[one]) for one in ("010", "001", "000"))]


def cells_of(documents: Sequence[Answers]) -> list[str]:
    """Returns what `HEAD` names of some documents; F1 and the invented part of absent values are means over sets."""
    found = []
    for way in WAYS:
        sets = defaultdict[str, dict[str, Any]](dict)
        for own in documents:
            sets[own[way]["set"]][own[way]["file"]] = own[way]
        found.append(summarise({name: score([one["line"] for one in own.values()], own) for name, own in sets.items()}))
    f1, invented = ([float(one[name] or 0) for one in found] for name in ("f1", "invented"))
    gains = f"{f1[1] - f1[0]:+.3f}; {f1[2] - max(f1[:2]):+.3f}"
    told = ["; ".join(f"{one:.3f}" for one in own) for own in (f1, invented)]
    return [str(len(documents)), told[0], gains, told[1], *agreement(documents)]


def report(asked: argparse.Namespace) -> None:
    """Prints the figures of the documents that both ways have answered, and with `--record` keeps those of all sets."""
    kept = defaultdict[str, dict[tuple[str, str], Answers]](partial(defaultdict, dict))
    for line in (line for path in asked.report for line in lines_of(path)):
        label = line["model"] + (" with adapter" if line["adapter"] else "")
        kept[label][line["set"], line["file"]][line["way"]] = line
    rows, told = list[list[str]](), list[Row]()
    for label, answers in kept.items():
        documents = [own | {"better": better(own)} for own in answers.values() if {*WAYS[:2]} <= own.keys()]
        groups = {"all": {name for name, _ in answers}} | GROUPS | {name: {name} for name, _ in sorted(answers)}
        for group, names in groups.items():
            if chosen := [own for own in documents if own["records"]["set"] in names]:
                rows.append([label, group, *cells_of(chosen)])
                kinds = HEAD if group == "all" else ()
                told += [Row(f"{label}: {what}", "–", cell) for what, cell in zip(kinds, rows[-1][2:], strict=False)]
    print(table(("model", "sets", *HEAD), rows))
    if asked.record:
        record("language_gate", "the gate of whole records", "python -m bench language_gate", told, precision="int8")


def main() -> None:
    """Asks, or reports what was answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="?", type=Path, help="the folder of labelled sets")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--way", choices=WAYS[:2], default="records")
    parser.add_argument("--adapter", action="store_true")
    parser.add_argument("--limit", type=int, default=3, help="documents of each set")
    parser.add_argument("--answers", type=Path, help="the file of answers, which goes on where it ended")
    parser.add_argument("--report", nargs="+", type=Path, help="files of answers")
    parser.add_argument("--record", action="store_true", help="keep the figures of all sets")
    asked = parser.parse_args()
    (ask if asked.report is None else report)(asked)


if __name__ == "__main__":
    main()
