"""Fits the scales that weigh two readings of a document (`extraction/filling/merge/weighing.py`), and judges them.

    python -m training.weighing_fit ../shared/data --second qwen2.5-coder-1.5b --limit 3 --answers runs/weighing

Of each set the documents count that did not train the shipped weights. The answers of both models are kept in the
folder `--answers`, so that a later fit asks none. It prints the figures of records weighed by scales that were fitted
on the other sets, then the scales of all sets.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cinnabar.apps.cli.console import Bar, standard_output, table
from cinnabar.engine.models.reader.calibration import Scale
from cinnabar.engine.request import Filled, Filler, Request
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.merge.merging import merge, prefer_confident_record
from cinnabar.extraction.filling.merge.weighing import leaf_signs, weighed
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.filling.passages import chunks_for, passage_of
from cinnabar.extraction.learning.evaluation import leaves_of, score_set, summarise
from cinnabar.extraction.learning.pairing import is_right
from cinnabar.extraction.learning.scoring import area_under_curve, calibration_error, coverage
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, find_sets
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.form.form import Form
from training.confidence_fit import fitted_scale
from training.kept import kept
from training.labelled import held_back_part
from training.recipe import load_recipe

#: The signs of values and of nulls.
SIGNS = (("own", "agreed", "taken", "listed", "record"), ("own", "agreed", "value", "listed"))
# A weight of the squared size of the weights, as in `confidence_fit`.
_SHRINKING = 2.0


@dataclass(frozen=True, slots=True)
class TwoReadings:
    """A document of a set with its two readings, and the record put together from them, before it is weighed."""

    labelled: LabelledSet
    line: Mapping[str, Any]
    form: Form
    readings: tuple[Filled, Filled]

    @property
    def made(self) -> Filled:
        return prefer_confident_record(self.form, *self.readings)

    def weighed(self, scales: tuple[Scale, Scale]) -> Filled:
        """Returns the weighed record."""
        return weighed(self.form, self.made, *self.readings, scales=scales)

    def candidates(self) -> Iterator[tuple[int, list[float], bool]]:
        """Yields of each value and of each null of the record: 0 or 1, its signs, and whether it is right."""
        judged = leaves_of(self.line, json.loads(self.made.record), **self.labelled.options)
        pairs = {pair.pointer: pair for pair in judged}
        for pointer, signs in leaf_signs(self.form, self.made, *self.readings).items():
            pair = pairs.get(pointer)
            if pair is None or not pair.is_paired:
                continue
            if signs.value is not None:
                yield 0, [signs.value[name] for name in SIGNS[0]], pair.right
            yield 1, [signs.null[name] for name in SIGNS[1]], is_right(pair.truth, None, pair.also)


def fitted(documents: Sequence[TwoReadings]) -> tuple[Scale, Scale]:
    """Returns the scales of values and of nulls of these documents."""
    seen = [one for document in documents for one in document.candidates()]
    scales = []
    for kind, names in enumerate(SIGNS):
        own = [(signs, right) for of, signs, right in seen if of == kind]
        right = np.array([right for _, right in own], dtype=float)
        own_signs = np.array([signs for signs, _ in own]).reshape(len(own), len(names))
        scales.append(fitted_scale(names, own_signs, right, np.ones(len(own)), None, _SHRINKING))
    return scales[0], scales[1]


def left_out(documents: Sequence[TwoReadings]) -> dict[str, dict[str, Any]]:
    """Returns the predictions by set and file, each set weighed by scales of the others."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for name in sorted({one.labelled.name for one in documents}):
        scales = fitted([one for one in documents if one.labelled.name != name])
        for one in documents:
            if one.labelled.name == name:
                record = one.weighed(scales)
                sure = {at: leaf.confidence for at, leaf in record.leaves.items()}
                found[name][one.line["file"]] = {"record": json.loads(record.record), "confidence": sure}
    return found


def read_documents(
    labelled: LabelledSet, form: Form, models: Sequence[Filler], pool: ParserPool
) -> Iterator[tuple[str, tuple[Filled, ...]]]:
    """Yields the files of a set with the readings of both models, the second one beside the first one's record."""
    files = {labelled.folder / line["file"]: line["file"] for line in labelled.truths}
    for path, document in pool.parse_many(files):
        readings = list[Filled]()
        for model in models if isinstance(document, Document) else ():
            assert isinstance(document, Document)
            pieces, draft = chunks_for(document, model, form=form), readings[0] if readings else None
            passages = [replace(passage_of(document, one.start, one.end), draft=draft) for one in pieces]
            answers = model.fill([Request(document.digest, form, passage) for passage in passages])
            filled = [one for one in answers if isinstance(one, Filled)]
            if len(filled) == len(pieces):
                readings.append(merge(form, pieces, filled))
        if readings and len(readings) == len(models):
            yield files[path], tuple(readings)


def two_readings(labelled: LabelledSet, models: Callable[[], Sequence[Filler]], folder: Path) -> list[TwoReadings]:
    """Returns the documents of a set that both models answer; the folder keeps the answers."""
    form = compile_schema(load_schema(labelled.folder / "schema.json").schema).form

    def asked() -> dict[str, tuple[Filled, ...]]:
        with ParserPool(1, settings=parser_settings()) as pool:
            return dict(read_documents(labelled, form, models(), pool))

    truths = {line["file"]: line for line in labelled.truths}
    return [
        TwoReadings(labelled, truths[file], form, (first, second))
        for file, (first, second) in kept(folder / f"{labelled.name}.pickle", asked).items()
        if file in truths
    ]


def worth(found: Mapping[str, Mapping[str, Any]], documents: Sequence[TwoReadings]) -> dict[str, str]:
    """Returns the mean F1 and invention of sets, and error, area and share at 95% precision of all leaves together."""
    sets = {one.labelled.name: one.labelled for one in documents}
    lines = {name: labelled.select(found[name]) for name, labelled in sets.items()}
    means = summarise({name: score_set(labelled, found[name]) for name, labelled in lines.items()})
    rated: tuple[list[tuple[float, bool]], list[tuple[float, bool]]] = [], []
    for one in documents:
        own = found[one.labelled.name][one.line["file"]]
        for pair in leaves_of(one.line, own["record"], **one.labelled.options):
            if pair.is_paired and pair.pointer in own["confidence"]:
                rated[pair.predicted is None].append((own["confidence"][pair.pointer], pair.right))
    both = [*rated[0], *rated[1]]
    figures = {"F1": means["f1"], "invented": means["invented"], "at 95%": coverage(both) / max(1, len(both))}
    for name, own in zip(("values", "nulls"), rated, strict=True):
        if own:
            figures |= {f"ECE of {name}": calibration_error(own), f"AUROC of {name}": area_under_curve(own)}
    return {name: "–" if figure is None else f"{figure:.3f}" for name, figure in figures.items()}


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--first", default="default", help="the model whose values are weighed against")
    parser.add_argument("--second", required=True, help="the language model beside it")
    parser.add_argument("--limit", type=int, help="documents of each set")
    parser.add_argument("--answers", type=Path, required=True, help="the folder that keeps the answers")
    asked = parser.parse_args()
    found, recipe = [one for path in asked.sets for one in find_sets(path)], load_recipe()
    sets = [held_back_part(one, recipe).select(limit=asked.limit) for one in found]
    asked.answers.mkdir(parents=True, exist_ok=True)
    models = cache(lambda: [model_source(name).filler("medium", None) for name in (asked.first, asked.second)])
    documents = list[TwoReadings]()
    with Bar() as bar:
        bar.on_inputs(len(sets))
        for one in sets:
            documents += two_readings(one, models, asked.answers)
            bar.step(1)
    figures = worth(left_out(documents), documents)
    standard_output().print(table(("", *figures), [["sets left out", *figures.values()]]))
    for name, scale in zip(("VALUES", "NULLS"), fitted(documents), strict=True):
        print(f"{name} = Scale({scale.bias}, {dict(scale.weights)})")


if __name__ == "__main__":
    main()
