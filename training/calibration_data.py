"""Observes a model on labelled documents that it was not trained on: each leaf, each row and each list."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from cinnabar.engine.models.reader.calibration import RecordFeatures, features_of
from cinnabar.engine.models.reader.confidence_features import ConfidenceFeatures
from cinnabar.engine.request import Filled, Filler, Passage, Request
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.merge.merging import merge
from cinnabar.extraction.filling.overlay.facts import Facts, facts_of
from cinnabar.extraction.filling.overlay.given import known_to_model
from cinnabar.extraction.filling.passages import chunks_for, passage_of
from cinnabar.extraction.learning.evaluation import leaves_of, lists_of
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, mark_of
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.automata.strings import copied
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import walk_lists
from cinnabar.schemas.pointers import above, value_at

# Of a set that tells only of lists one list in so many is also observed without one of its rows, since a model seldom
# misses a single row.
_SHORTENED, _LEAST_ROWS = 4, 4
# Leaves and rows of one set, and characters, after which its further documents are skipped: long tables say little new,
# and long contracts take long.
_ENOUGH, _ENOUGH_TEXT = 3000, 600_000
Family = Literal["values", "absences", "rows", "lists"]
ALL: tuple[Family, ...] = ("values", "absences", "rows", "lists")


@dataclass(frozen=True, slots=True)
class Observation:
    """A leaf, a row or a list that a model read: its signs, the model's probability, and its correctness."""

    name: str
    document: str
    family: Family
    raw: float
    right: bool
    signs: ConfidenceFeatures


def unseen_files(labelled: LabelledSet, about: Mapping[str, Any]) -> list[str]:
    """Returns the files of a set that have no mark of training in what the model's folder says about it (`about`)."""
    trained = frozenset(about.get("trained", {}).get(labelled.name, ()))
    return [line["file"] for line in labelled.truths if mark_of(line["file"]) not in trained]


def observe(
    labelled: LabelledSet,
    engine: Filler,
    pool: ParserPool,
    done: Callable[[int], None] = lambda _: None,
    families: Collection[Family] = ALL,
) -> list[Observation]:
    """Returns the observations of these families of a set's documents that fit one chunk, up to the limits above."""
    source = load_schema(labelled.folder / "schema.json")
    form = compile_schema(source.schema).form
    files = {labelled.folder / line["file"]: line for line in labelled.truths}
    characters, requests = 0, list[tuple[Path, list[Chunk], Facts, Request]]()
    for path, read in pool.parse_many(files):
        done(1)
        if characters >= _ENOUGH_TEXT or not isinstance(read, Document):
            continue
        pieces = chunks_for(read, engine, form=form)
        if len(pieces) > 1:
            continue
        passage = passage_of(read)
        characters += len(passage.text)
        facts = facts_of(read, form)
        requests.append((path, pieces, facts, Request(read.digest, form, passage, *known_to_model(facts.given))))
    observations: list[Observation] = []
    results = engine.fill([request for *_, request in requests])
    for (path, pieces, facts, request), result in zip(requests, results, strict=True):
        passage = request.passage
        if len(observations) >= _ENOUGH:
            break
        if isinstance(result, Filled):
            lists = features_of(form, passage, result).lists
            if (merged := merge(form, pieces, [result])).rows.keys() != result.rows.keys():
                # The rows of this document became fewer, so that an inner list may have another place now.
                lists = {pointer: signs for pointer, signs in lists.items() if _is_outer(pointer, result)}
            signs = features_of(form, passage, merged)
            leaves = {at: own for at, own in signs.leaves.items() if merged.leaves[at].slot not in form.constants}
            asked = RecordFeatures(*(_asked(part, facts) for part in (leaves, signs.rows, lists)))
            own = [one for one in _observations(labelled, files[path], merged, asked) if one.family in families]
            observations += own
            if families == ("lists",):
                observations += _shortened(labelled.name, files[path]["file"], form, passage, result)
    return observations


def _observations(
    labelled: LabelledSet, line: Mapping[str, Any], filled: Filled, signs: RecordFeatures
) -> Iterator[Observation]:
    name, file = labelled.name, line["file"]
    right, rows = _judged(labelled, line, filled)
    for pointer, own in signs.leaves.items():
        if pointer in right:
            leaf = filled.leaves[pointer]
            family: Family = "absences" if leaf.origin == "absent" else "values"
            yield Observation(name, file, family, leaf.confidence, right[pointer], own)
    for pointer, own in signs.rows.items():
        yield Observation(name, file, "rows", filled.rows[pointer][1], pointer in rows, own)
    for one in lists_of(line, json.loads(filled.record), **labelled.options):
        if one.pointer in signs.lists:
            own = signs.lists[one.pointer]
            yield Observation(name, file, "lists", round(chance_of(own), 4), one.complete, own)


def _shortened(name: str, file: str, form: Form, passage: Passage, filled: Filled) -> Iterator[Observation]:
    """Yields some of the lists of a record without one of their rows, which are not complete."""
    draw = random.Random(file)
    for one in walk_lists(form, filled.value):
        enough = one.parent is None and one.array.key is None and len(one.rows) >= _LEAST_ROWS
        if enough and draw.random() * _SHORTENED < 1:
            less = without_row(filled, one.pointer, draw.randrange(len(one.rows)))
            own = features_of(form, passage, less).lists.get(one.pointer)
            if own is not None:
                yield Observation(name, file, "lists", round(chance_of(own), 4), False, own)


def without_row(filled: Filled, pointer: str, number: int) -> Filled:
    """Returns a record without one item of a list; those behind it move up."""
    value = copied(filled.value)
    value_at(value, pointer).pop(number)

    def moved(place: str) -> str | None:
        """Returns where a place is now, None if it is gone."""
        if not place.startswith(f"{pointer}/"):
            return place
        step, slash, rest = place.removeprefix(f"{pointer}/").partition("/")
        return None if int(step) == number else f"{pointer}/{int(step) - (int(step) > number)}{slash}{rest}"

    leaves = {new: leaf for old, leaf in filled.leaves.items() if (new := moved(old)) is not None}
    rows = {new: row for old, row in filled.rows.items() if (new := moved(old)) is not None}
    return replace(filled, value=value, leaves=leaves, rows=rows)


def _asked(signs: Mapping[str, ConfidenceFeatures], facts: Facts) -> dict[str, ConfidenceFeatures]:
    """Returns the signs of the places that the model was asked for."""
    return {pointer: own for pointer, own in signs.items() if not facts.holds(pointer)}


def _is_outer(pointer: str, filled: Filled) -> bool:
    """Returns True if a list lies in no row."""
    return not any(at in filled.rows for at in above(pointer))


def _judged(labelled: LabelledSet, line: Mapping[str, Any], filled: Filled) -> tuple[dict[str, bool], set[str]]:
    """Returns the correctness of each leaf with a place in the truth, and the rows that match an item of it."""
    right: dict[str, bool] = {}
    rows: set[str] = set()
    for leaf in leaves_of(line, json.loads(filled.record), **labelled.options):
        if leaf.is_paired and leaf.pointer:
            right[leaf.pointer] = leaf.right
            at = leaf.pointer
            while at:
                if at in filled.rows:
                    rows.add(at)
                at = at.rpartition("/")[0]
    return right, rows


def chance_of(signs: ConfidenceFeatures) -> float:
    """Returns the model's own probability of these rows and no others: the first sign of the scale, as it is."""
    return math.exp(signs["decided"])
