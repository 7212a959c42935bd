"""Loads sets of documents with known truth and scores extracted records against them (`cinnabar eval`).

`extraction/quality/scoring.py` defines the figures; over several sets they are means over the sets.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from cinnabar.extraction.quality.matching import (
    LeafPair,
    ListPair,
    leaf_pairs,
    list_pairs,
    says_something,
)
from cinnabar.extraction.quality.matching import Path as FieldPath
from cinnabar.extraction.quality.scoring import Figures, Prediction, Scoring, spelled
from cinnabar.extraction.records.validation import Validator, Violation
from cinnabar.schemas.errors import UsageError

# A line of a set's truth: {"file": …, "truth": record, "also_accepted": {top-level field: other right values}}.
_Truth = Mapping[str, Any]


def score(
    truths: Sequence[_Truth], predictions: Mapping[str, Prediction], zero_is_null: bool = False
) -> Figures:
    """Returns the figures of these predictions, by file name; a document without a record counts as all null.

    With `zero_is_null` 0 counts as null on both sides.
    """
    scoring = Scoring()
    answered = 0
    for line in truths:
        prediction = predictions.get(line["file"]) or {}
        record = prediction.get("record")
        answered += record is not None
        scoring.add(leaves_of(line, record, zero_is_null), prediction)
        if prediction.get("lists"):
            scoring.add_lists(lists_of(line, record, zero_is_null), prediction["lists"])
    figures = scoring.figures()
    by_field = figures.pop("fields")
    return figures | {"documents": len(truths), "answered": answered, "fields": by_field}


def leaves_of(line: _Truth, record: Any, zero_is_null: bool = False) -> Iterator[LeafPair]:
    """Yields the leaves of a document's truth and of its extracted record in pairs."""
    return leaf_pairs(*_compared(line, record, zero_is_null))


def lists_of(line: _Truth, record: Any, zero_is_null: bool = False) -> Iterator[ListPair]:
    """Yields the lists of a document's extracted record, and whether they are complete."""
    return list_pairs(*_compared(line, record, zero_is_null))


def _compared(
    line: _Truth, record: Any, zero_is_null: bool
) -> tuple[Any, Any, dict[str, Sequence[Any]]]:
    """Returns the truth and the record as they are compared, and the other right values by top-level field."""
    truth = line["truth"]
    if zero_is_null:
        truth, record = _zeros_as_null(truth), _zeros_as_null(record)
    also: dict[str, Sequence[Any]] = {
        name: list(_scalars(value)) for name, value in (line.get("also_accepted") or {}).items()
    }
    return truth, record, also


def best_constant(truths: Sequence[_Truth], zero_is_null: bool = False) -> Figures:
    """Returns the figures of the best record that is the same for every document.

    Each field has its commonest value, unless the record without it has at least the same f1.
    """
    values: dict[FieldPath, Counter[str]] = defaultdict(Counter)
    for line in truths:
        for path, value in _leaves(line["truth"]):
            if says_something(value):
                values[path][json.dumps(value)] += 1

    def figures(chosen: Mapping[FieldPath, Any]) -> Figures:
        record = _record_of(chosen)
        return score(truths, {line["file"]: {"record": record} for line in truths}, zero_is_null)

    chosen = {path: json.loads(counts.most_common(1)[0][0]) for path, counts in values.items()}
    best = figures(chosen)
    by_f1 = {path: best["fields"].get(spelled(path), {}).get("f1", 0) for path in chosen}
    for path in sorted(chosen, key=by_f1.__getitem__):
        fewer = {other: value for other, value in chosen.items() if other != path}
        trial = figures(fewer)
        if trial["f1"] >= best["f1"]:
            chosen, best = fewer, trial
    return best


def summarise(results: Mapping[str, Figures]) -> Figures:
    """Returns the means over these sets, the fields if there is one set, and the figures of each set.

    Documents and values are summed. A set without a figure, or without any value in or outside of lists, does not enter
    that mean; its own figure is None.
    """
    summary: Figures = {}
    for name in dict.fromkeys(name for figures in results.values() for name in figures if name != "fields"):
        known = [figures[name] for figures in results.values() if _has(figures, name)]
        if name in ("support", "documents", "answered", "rated_lists"):
            summary[name] = sum(known)
        else:
            summary[name] = round(sum(known) / len(known), 4) if known else None
    if len(results) == 1:
        summary["fields"] = next(iter(results.values()))["fields"]
    sets = {
        set_name: {name: figures[name] if _has(figures, name) else None for name in figures}
        for set_name, figures in results.items()
    }
    return summary | {"sets": sets}


def _has(figures: Figures, name: str) -> bool:
    """Returns True if a set has a meaningful value of this figure."""
    if name in ("scalars", "lists"):
        fields = figures["fields"].items()
        return any(("/*" in path) == (name == "lists") for path, counts in fields if counts["support"])
    return figures.get(name) is not None


def broken_truths(truths: Sequence[_Truth], validator: Validator) -> list[tuple[str, Violation]]:
    """Returns the documents whose truth breaks its own schema, each with its first violation."""
    found = ((line["file"], validator.check(json.dumps(line["truth"]))) for line in truths)
    return [(file, violations[0]) for file, violations in found if violations]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A folder of documents with their truth; file names are relative to `folder`."""

    name: str
    folder: Path
    truths: tuple[_Truth, ...]
    schema: dict[str, Any]
    options: dict[str, bool]

    def select(self, files: Iterable[str] | None = None, limit: int | None = None) -> EvaluationSet:
        """Returns the set with these files only, and at most `limit` of them."""
        wanted = None if files is None else set(files)
        kept = [line for line in self.truths if wanted is None or line["file"] in wanted]
        return EvaluationSet(self.name, self.folder, tuple(kept[:limit]), self.schema, self.options)

    def score(self, predictions: Mapping[str, Prediction]) -> Figures:
        """Returns the figures of these predictions on this set."""
        return score(self.truths, predictions, **self.options)

    def best_constant(self) -> Figures:
        """Returns the figures of the best constant answer on this set."""
        return best_constant(self.truths, **self.options)


def load_set(folder: Path) -> EvaluationSet:
    """Returns the set in this folder: `schema.json`, `truth.jsonl`, its documents, and optionally `score.json`.

    Raises UsageError if a file is missing or malformed.
    """
    schema = _read_json(folder / "schema.json")
    options = _read_json(folder / "score.json") if (folder / "score.json").exists() else {}
    if not isinstance(options, dict) or set(options) - {"zero_is_null"}:
        raise UsageError(f"{folder / 'score.json'}: expected an object with zero_is_null and nothing else")
    truths = []
    for number, text in enumerate(_read(folder / "truth.jsonl").split("\n"), 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            file, _ = line["file"], line["truth"]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{folder / 'truth.jsonl'}, line {number}: expected an object with file and truth ({error!r})"
            ) from error
        also = line.get("also_accepted")
        if not isinstance(file, str) or not isinstance(also, dict | None):
            raise UsageError(
                f"{folder / 'truth.jsonl'}, line {number}: expected a text as file, and an object by "
                f"top-level field as also_accepted if present, got {json.dumps(file)} and "
                f"{json.dumps(also)}"
            )
        if not (folder / file).is_file():
            raise UsageError(f"{folder / 'truth.jsonl'}, line {number}: there is no file {file} in {folder}")
        truths.append(line)
    return EvaluationSet(folder.resolve().name, folder, tuple(truths), schema, options)


def find_sets(folder: Path) -> list[EvaluationSet]:
    """Returns the set in this folder, or the sets in its folders by name. Raises UsageError if there is none."""
    if (folder / "truth.jsonl").is_file():
        return [load_set(folder)]
    found = sorted(path.parent for path in folder.glob("*/truth.jsonl"))
    if not found:
        raise UsageError(
            f"{folder}: expected a folder with truth.jsonl and schema.json, or a folder of such folders"
        )
    return [load_set(path) for path in found]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _read_json(path: Path) -> Any:
    try:
        return orjson.loads(_read(path))
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from error


def _scalars(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif not isinstance(value, dict):
        yield value


def _leaves(value: Any, path: FieldPath = ()) -> Iterable[tuple[FieldPath, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, (*path, "*"))
    else:
        yield path, value


def _record_of(chosen: Mapping[FieldPath, Any]) -> Any:
    """Returns the record with these values, and one item in each list."""
    if () in chosen:
        return chosen[()]
    below: dict[str, dict[FieldPath, Any]] = defaultdict(dict)
    for path, value in chosen.items():
        below[path[0]][path[1:]] = value
    if "*" in below:
        return [_record_of(below["*"])]
    return {name: _record_of(rest) for name, rest in below.items()}


def _zeros_as_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _zeros_as_null(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_zeros_as_null(item) for item in value]
    return None if not isinstance(value, bool) and value == 0 else value
