"""Fits the weights by which described options are compared with a document, and judges them set by set.

    .venv/bin/python -m training.class_fit ../shared/data

Two fits: which option is right, and whether a choice has a value at all. Documents come from sets that train, those
that the weights did not see, and from the generated families that no weights were trained on. A choice has no value
where the right options were taken away, where the document belongs to another set than the choice, and where the
options are kinds of document and the own kind is not among them. Each set is judged by a fit on the others. The printed
weights belong into the configuration of the rule, `DescribedOptionsConfig`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cinnabar.engine.fill.choices import COMPARED_OPTIONS, is_compared, selectors
from cinnabar.engine.model import Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.mixed_choices import pointed_at
from cinnabar.engine.models.reader.inputs.questions import plain_words
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, DescribedOptionsConfig, PriorConfig
from cinnabar.engine.models.reader.scoring.choices import printed_options
from cinnabar.engine.models.reader.scoring.described_options import OptionComparer
from cinnabar.engine.models.sentences.encoder import load_sentence_encoder
from cinnabar.engine.request import text_passage
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, find_sets, read_set
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.pointers import unescape
from training.generator.family import load_family
from training.generator.generator import FAMILIES, generate
from training.labelled import held_back_part
from training.recipe import load_recipe

Floats = npt.NDArray[np.float64]

#: Documents of a set with such choices, of any other set, and of a family; the longest document, in characters.
_DOCUMENTS, _OTHERS, _FAMILY, _LONGEST = 40, 4, 20, 6000
#: How many times as much all values weigh as all nulls. With 5 a class was given nearly always (96 of 100 choices of
#: another set), with 2 four of ten times, and a tenth of the right values is lost.
_PRESENT = 2.0
#: The posterior from which a class is given (engine/settings.py), and the one from which it is sure.
_GIVEN, _SURE = 0.55, 0.8
#: The most options of a field that asks for the kind of a document, and names of such a field.
_KINDS = 8
_NAMES = ("kind", "type", "category", "document_type", "topic")


@dataclass(frozen=True)
class AskedChoice:
    """One choice asked of one document; `truth` are the places of the right options, none if absence is right."""

    owner: str
    source: str
    field: str
    reader: Floats
    absent: float
    alike: Floats
    printed: Floats
    truth: tuple[int, ...]

    def without_truth(self) -> AskedChoice:
        """The same choice without its right options, so that absence is right."""
        kept = [at for at in range(len(self.reader)) if at not in self.truth]
        reader = self.reader[kept] - np.logaddexp.reduce(self.reader[kept])
        return replace(
            self, source="taken away", reader=reader, alike=self.alike[kept], printed=self.printed[kept], truth=()
        )

    @property
    def group(self) -> tuple[str, str, str]:
        """The examples that are alike: many of one group count little more than a few."""
        return self.owner, self.source, self.field if self.source == "own" else ""


@dataclass(frozen=True)
class Fields:
    """A form, and its choices that are compared."""

    form: Form
    slots: list[Slot]

    @classmethod
    def of(cls, schema: Any) -> Fields:
        """The compared choices of a schema, outside of lists."""
        form = pointed_at(compile_schema(schema).form)
        slots = [slot for slot in form.slots if is_compared(slot) and "*" not in slot.path]
        return cls(form, [slot for slot in slots if slot.index not in selectors(form)])


class Asker:
    """Asks a reader without the comparison, and the comparison, about choices of documents."""

    def __init__(self, model: ExtractiveReader) -> None:
        self.model = model
        self.comparer = OptionComparer(load_sentence_encoder, DEFAULT_PRIORS.described_options)

    def memory(self, text: str) -> Memory:
        """The reader's memory of a text."""
        (memory,) = self.model.encode([text_passage(text)])
        return memory

    def ask(self, fields: Fields, memory: Memory, owner: str, source: str, truth: Any) -> Iterator[AskedChoice]:
        """The compared choices of a form for a document, if the reader does not point at a printed option."""
        if not fields.slots or not len(memory.pieces):
            return
        form, scalars = fields.form, [slot for slot in fields.form.slots if "*" not in slot.path]
        canvas = Canvas.open([SlotInstance(0, slot, -1) for slot in scalars])
        self.model.score([form], [memory], [[]], canvas)
        for (fingerprint, index, *_), (absent, options, _) in memory.choices.items():
            slot = next((one for one in fields.slots if fingerprint == form.fingerprint and one.index == index), None)
            if slot is None:
                continue
            printed = printed_options(self.model.form(form), slot, plain_words(memory.passage.text))
            right = json.dumps(_value(truth, slot.path), ensure_ascii=False)
            places = tuple(at for at, option in enumerate(slot.options) if option == right)
            if printed[int(np.argmax(options))] or (right != "null" and not places):
                continue
            alike = self.comparer.similarities(form, slot, memory).alike
            marks = np.array(printed, np.float64)
            yield AskedChoice(owner, source, slot.path, np.array(options), absent, np.array(alike), marks, places)


def _value(truth: Any, path: str) -> Any:
    for step in path.split("/")[1:]:
        truth = truth.get(unescape(step)) if isinstance(truth, dict) else None
    return truth


def kind_schema(titles: dict[str, tuple[str, str]], own: str, rng: random.Random) -> tuple[Any, Any]:
    """A schema with one field, the kind of a document, and the truth for a document of the set `own`.

    Two of three times the options have the own set's title; four of five times they have descriptions.
    """
    others = sorted(titles.keys() - {own})
    shown = rng.sample(others, rng.randint(COMPARED_OPTIONS, min(_KINDS, len(others))))
    belongs = rng.random() < 2 / 3
    if belongs:
        shown[rng.randrange(len(shown))] = own
    names = list(dict.fromkeys(titles[one][0] for one in shown))
    notes = "; ".join(f"{titles[one][0]}: {titles[one][1].rstrip('.')}" for one in shown)
    name = rng.choice(_NAMES)
    field = {"enum": [*names, None], "description": notes if rng.random() < 0.8 else "The kind of the document"}
    schema = {"type": "object", "properties": {name: field}, "required": [name]}
    return schema, {name: titles[own][0] if belongs else None}


def examples(sets: Sequence[LabelledSet], asker: Asker) -> list[AskedChoice]:
    """The choices asked of the documents of all sets and of the held-out families."""
    rng, found = random.Random(5), list[AskedChoice]()
    schemas: dict[str, Any] = {one.name: load_schema(one.schema).schema for one in sets}
    titles = {name: _title(schema, name) for name, schema in schemas.items()}
    own = {name: Fields.of(schema) for name, schema in schemas.items()}
    foreign = [
        (name, Fields.of({"type": "object", "properties": {step: schemas[name]["properties"][step]}}))
        for name, fields in own.items()
        for step in dict.fromkeys(unescape(slot.path.split("/")[1]) for slot in fields.slots)
    ]
    recipe = load_recipe()
    # On documents that trained the weights the network knows the answer.
    unseen = [held_back_part(one, recipe) for one in sets]
    for labelled, texts in _texts(unseen, own):
        for text, truth in texts:
            memory = asker.memory(text)
            found += asker.ask(own[labelled.name], memory, labelled.name, "own", truth)
            if rng.random() < _OTHERS / len(texts):
                _, other = rng.choice([one for one in foreign if one[0] != labelled.name])
                found += asker.ask(other, memory, labelled.name, "another's", None)
                schema, kind = kind_schema(titles, labelled.name, rng)
                found += asker.ask(Fields.of(schema), memory, labelled.name, "kinds", kind)
        print(f"read {labelled.name}", flush=True)
    for family in (name for name in FAMILIES if load_family(name).held_out):
        for example in islice(generate(77, [family]), _FAMILY):
            if len(example.text) <= _LONGEST and (fields := Fields.of(example.schema)).slots:
                found += asker.ask(fields, asker.memory(example.text), family, "own", example.truth)
    left = [one for one in found if one.truth and len(one.reader) - len(one.truth) >= COMPARED_OPTIONS]
    return found + [one.without_truth() for one in left]


def _title(schema: Any, name: str) -> tuple[str, str]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", schema.get("title", "")) or [name]
    return "_".join(words).lower(), schema.get("description", "")


def _texts(
    sets: Sequence[LabelledSet], own: dict[str, Fields]
) -> Iterator[tuple[LabelledSet, list[tuple[str, Any]]]]:
    """Some documents of each set, as texts with their truths."""
    with ParserPool(1) as pool:
        for labelled in sets:
            some = labelled.select(limit=_DOCUMENTS if own[labelled.name].slots else _OTHERS)
            truths = {line["file"]: line["truth"] for line in some.truths}
            texts = [(getattr(read.found, "text", ""), truths[read.path]) for read in read_set(some, pool)]
            yield labelled, [(text, truth) for text, truth in texts if 0 < len(text) <= _LONGEST]


def option_signs(one: AskedChoice) -> Floats:
    """The signs of the options of a choice: [O, 3]."""
    return np.stack([one.reader, one.alike, one.printed], 1)


def presence_signs(one: AskedChoice) -> Floats:
    """The signs that a choice has a value: [3], the last is 1.

    A third one, how clear the likeliest option is, got no weight.
    """
    return np.array([-max(0.0, one.absent), one.alike.max(), 1.0])


def _logs(one: AskedChoice, options: Floats) -> Floats:
    scores = option_signs(one) @ options
    return np.asarray(scores - np.logaddexp.reduce(scores), np.float64)


def _weights(some: Sequence[AskedChoice]) -> Floats:
    counts = Counter(one.group for one in some)
    return np.array([counts[one.group] ** -0.5 for one in some])


def fitted_options(some: Sequence[AskedChoice]) -> Floats:
    """The weights of the signs of options that make the right ones probable; none is below zero."""
    told = [one for one in some if one.truth]
    signs, weights = [option_signs(one) for one in told], _weights(told)

    def loss(at: Floats) -> tuple[float, Floats]:
        whole, slope = 0.0, np.zeros(3)
        for one, own, weight in zip(told, signs, weights, strict=True):
            logs = _logs(one, at)
            share, right = np.exp(logs), np.zeros(len(logs))
            right[list(one.truth)] = share[list(one.truth)]
            whole -= weight * np.log(right.sum() + 1e-12)
            slope -= weight * (own.T @ (right / (right.sum() + 1e-12) - share))
        ridge = np.array([1e-3, 2e-6, 1e-3])
        total = weights.sum()
        return float(whole / total + (ridge * at * at).sum()), slope / total + 2 * ridge * at

    return np.asarray(minimize(loss, [0.5, 10.0, 0.5], jac=True, bounds=[(0, None)] * 3).x)


def fitted_presence(some: Sequence[AskedChoice]) -> Floats:
    """The weights of the signs that a choice has a value; that of 1 may be below zero."""
    x = np.stack([presence_signs(one) for one in some])
    y, weights = np.array([float(bool(one.truth)) for one in some]), _weights(some)
    weights[y == 1] *= _PRESENT / weights[y == 1].sum()
    weights[y == 0] *= 1 / weights[y == 0].sum()
    return logistic(x, y, weights)


def logistic(x: Floats, y: Floats, weights: Floats) -> Floats:
    """The weights of a logistic function of x, [N, M]; only that of the last column may be below zero."""

    def loss(at: Floats) -> tuple[float, Floats]:
        odds = x @ at
        slope = x.T @ (weights * (1 / (1 + np.exp(-odds)) - y)) / weights.sum()
        ridge = np.array([1e-4] * (x.shape[1] - 1) + [0.0])
        whole = (weights * (np.logaddexp(0, odds) - y * odds)).sum() / weights.sum()
        return float(whole + (ridge * at * at).sum()), slope + 2 * ridge * at

    bounds = [(0, None)] * (x.shape[1] - 1) + [(None, None)]
    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, bounds=bounds).x)


def described(options: Floats, presence: Floats) -> DescribedOptionsConfig:
    """The configuration with these weights."""
    found = dict(zip(("reader", "alike", "printed"), options.tolist(), strict=True))
    found |= dict(zip(("absent", "likest"), presence[:2].tolist(), strict=True))
    # The configuration holds no negative weight: without any sign a value is at most as likely as none.
    found["nothing"] = max(0.0, -float(presence[2]))
    return replace(DEFAULT_PRIORS.described_options, **{name: round(value, 2) for name, value in found.items()})


def judged(data: Sequence[AskedChoice]) -> str:
    """The figures of each set, family and source, by a fit on the other sets and families."""
    answers: dict[tuple[str, str], list[tuple[bool, bool, bool, float]]] = defaultdict(list)
    for owner in sorted({one.owner for one in data}):
        others = [one for one in data if one.owner != owner]
        options = fitted_options(others)
        presence = fitted_presence(others)
        for one in (one for one in data if one.owner == owner):
            here = 1 / (1 + np.exp(-float(presence_signs(one) @ presence)))
            logs = _logs(one, options)
            row = owner if one.source == "own" else "all"
            answers[one.source, row].append(
                (bool(one.truth), int(logs.argmax()) in one.truth, here >= _GIVEN, here * float(np.exp(logs.max())))
            )
    head = ["source", "set", "values", "right if demanded", "right", "sure", "right of sure", "nulls", "invented"]
    figures = [[*key, *_cells(some)] for key, some in sorted(answers.items())]
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *figures]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(some: list[tuple[bool, bool, bool, float]]) -> list[str]:
    present = [one for one in some if one[0]]
    sure = [right for _, right, given, chance in some if given and chance >= _SURE]
    nulls = [given for has, _, given, _ in some if not has]

    def share(of: Callable[[tuple[bool, bool, bool, float]], bool]) -> str:
        return f"{sum(map(of, present)) / len(present):.2f}" if present else ""

    return [
        str(len(present)), share(lambda one: one[1]), share(lambda one: one[1] and one[2]),
        str(len(sure)), f"{sum(sure) / len(sure):.2f}" if sure else "", str(len(nulls)), str(sum(nulls)),
    ]  # fmt: skip


def main() -> None:
    """Fits, judges, and prints the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them; only those that train")
    asked = parser.parse_args()
    trains = load_recipe().sets
    sets = [one for path in asked.sets for one in find_sets(path) if one.name in trains]
    model = load_model("default", "cpu", PriorConfig(without=frozenset({"described_options"})))
    assert isinstance(model, ExtractiveReader)
    asker = Asker(model)
    data = examples(sets, asker)
    config = described(fitted_options(data), fitted_presence(data))
    print(f"model {model.fingerprint}", end="\n\n")
    print(judged(data), end="\n\n")
    print("\n".join(f"{name}: {getattr(config, name)}" for name in DescribedOptionsConfig.__dataclass_fields__))


if __name__ == "__main__":
    main()
