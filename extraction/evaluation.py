"""The figures of `cinnabar eval`: how well extracted records answer the known truth of a set of documents.

Leaves are the scalars of a record, the items of lists paired first (`matching.py`). For a leaf with truth t
and prediction p: equal is a hit, where t says something at all (null and false do not); a p that says
something else is a false positive; a t that says something and is not met is a false negative. An item of a
list without a partner has its leaves counted as one or the other. Precision, recall and f1 are micro averages
over all leaves: in total, for `scalars` (outside of lists), for `lists`, and for each field
(`/lines/*/total`); over several sets, the mean.

invented         share of null truths (in paired places, booleans aside) that got a value
evidence         share of hits (booleans aside) whose evidence holds the value; none counts as not holding it
evidence_length  median of the evidence's length over that of the printed value
ece              expected calibration error, in ten bins of equal width, of the paired leaves with a
confidence rated            share of paired leaves that have a confidence coverage95       largest share of
all paired leaves that, taken in order of confidence, is at least 95% right
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from cinnabar.extraction.matching import LeafPair, evidence_holds, leaf_pairs, says_something
from cinnabar.extraction.matching import Path as FieldPath
from cinnabar.schemas.errors import UsageError

#: A set's truth: {"file": …, "truth": record, "also_accepted": {top-level field: other right values}}.
Truth = Mapping[str, Any]
#: What was extracted: {"record": record or None, "confidence": {pointer: …}, "evidence": {pointer: text}}.
Prediction = Mapping[str, Any]
Figures = dict[str, Any]

#: The precision that `coverage95` asks for.
WANTED_PRECISION = 0.95
CALIBRATION_BINS = 10


@dataclass(slots=True)
class Tally:
    """Hits, false positives and false negatives."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, leaf: LeafPair, right: bool) -> None:
        """Count this leaf."""
        if right:
            self.hits += says_something(leaf.predicted)
        else:
            self.wrong += says_something(leaf.predicted)
            self.missed += says_something(leaf.truth)

    def figures(self) -> Figures:
        """Precision, recall, f1 and the number of values there are."""
        precision = self.hits / max(1, self.hits + self.wrong)
        recall = self.hits / max(1, self.hits + self.missed)
        f1 = 2 * precision * recall / (precision + recall) if self.hits else 0.0
        return {
            "f1": round(f1, 4),
            "precision": round(precision, 4),
            "recall": round(recall, 4),
            "support": self.hits + self.missed,
        }


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of these."""
    tallies = list(tallies)
    return Tally(sum(t.hits for t in tallies), sum(t.wrong for t in tallies), sum(t.missed for t in tallies))


@dataclass(slots=True)
class Scoring:
    """What is counted over the documents of a set."""

    fields: dict[FieldPath, Tally] = field(default_factory=lambda: defaultdict(Tally))
    paired: int = 0
    nulls: int = 0
    invented: int = 0
    held: list[bool] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    rated: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, truth: Any, prediction: Prediction, record: Any, also: dict[str, Sequence[Any]]) -> None:
        """Count one document."""
        evidence, confidence = prediction.get("evidence"), prediction.get("confidence") or {}
        for leaf in leaf_pairs(truth, record, also):
            right = leaf.right
            self.fields[leaf.field].add(leaf, right)
            if not leaf.paired:
                continue
            self.paired += 1
            value = leaf.predicted
            if leaf.truth is None and not isinstance(value, bool):
                self.nulls += 1
                self.invented += value is not None and not right
            if right and evidence is not None and says_something(value) and not isinstance(value, bool):
                text = evidence.get(leaf.pointer) or ""
                self.held.append(bool(text) and evidence_holds(value, text))
                self.lengths.append(len(text) / max(1, len(str(value))))
            if confidence.get(leaf.pointer) is not None:
                self.rated.append((confidence[leaf.pointer], right))

    def figures(self) -> Figures:
        """All figures of the set but the counts of its documents."""
        tallies = self.fields.items()
        figures = total(self.fields.values()).figures()
        figures["scalars"] = total(t for path, t in tallies if "*" not in path).figures()["f1"]
        figures["lists"] = total(t for path, t in tallies if "*" in path).figures()["f1"]
        figures["invented"] = round(self.invented / self.nulls, 4) if self.nulls else None
        if self.held:
            figures["evidence"] = round(sum(self.held) / len(self.held), 4)
            figures["evidence_length"] = round(sorted(self.lengths)[len(self.lengths) // 2], 2)
        if self.rated:
            figures["ece"] = round(calibration_error(self.rated), 4)
            figures["rated"] = round(len(self.rated) / self.paired, 4)
            figures["coverage95"] = round(coverage(self.rated) / self.paired, 4)
        figures["fields"] = {
            name: tally.figures() for name, tally in sorted((_spelled(path), t) for path, t in tallies)
        }
        return figures


def score(
    truths: Sequence[Truth], predictions: Mapping[str, Prediction], zero_is_null: bool = False
) -> Figures:
    """The figures of these predictions, by file name; a document without a record counts as all null.

    With `zero_is_null` 0 is taken for null on both sides.
    """
    scoring = Scoring()
    answered = 0
    for line in truths:
        prediction = predictions.get(line["file"]) or {}
        truth, record = line["truth"], prediction.get("record")
        answered += record is not None
        if zero_is_null:
            truth, record = _zeros_as_null(truth), _zeros_as_null(record)
        also: dict[str, Sequence[Any]] = {
            name: list(_scalars(value)) for name, value in (line.get("also_accepted") or {}).items()
        }
        scoring.add(truth, prediction, record, also)
    figures = scoring.figures()
    by_field = figures.pop("fields")
    return figures | {"documents": len(truths), "answered": answered, "fields": by_field}


def calibration_error(rated: Sequence[tuple[float, bool]]) -> float:
    """How far confidence and share of right ones lie apart, over bins of equal width, weighted by their
    size."""
    gaps: dict[int, float] = defaultdict(float)
    for confidence, right in rated:
        gaps[min(CALIBRATION_BINS - 1, int(confidence * CALIBRATION_BINS))] += confidence - right
    return sum(map(abs, gaps.values())) / len(rated)


def coverage(rated: Sequence[tuple[float, bool]]) -> int:
    """How many of the most confident leaves can be taken, with WANTED_PRECISION of them right."""
    right_so_far, best = 0, 0
    for taken, (_, right) in enumerate(sorted(rated, key=lambda leaf: -leaf[0]), 1):
        right_so_far += right
        if right_so_far / taken >= WANTED_PRECISION:
            best = taken
    return best


def best_constant(truths: Sequence[Truth], zero_is_null: bool = False) -> Figures:
    """The figures of the best record that is the same for every document.

    Each field has its commonest value, and is left out where that does not lower f1.
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
    by_f1 = {path: best["fields"].get(_spelled(path), {}).get("f1", 0) for path in chosen}
    for path in sorted(chosen, key=by_f1.__getitem__):
        fewer = {other: value for other, value in chosen.items() if other != path}
        trial = figures(fewer)
        if trial["f1"] >= best["f1"]:
            chosen, best = fewer, trial
    return best


def summarise(results: Mapping[str, Figures]) -> Figures:
    """The means over these sets, with the fields where there is one set, and the sets below.

    Documents and values are summed up. A set without a figure, or without any value in or outside of lists, does
    not enter that mean.
    """
    summary: Figures = {}
    for name in dict.fromkeys(name for figures in results.values() for name in figures if name != "fields"):
        known = [figures[name] for figures in results.values() if _has(figures, name)]
        if name in ("support", "documents", "answered"):
            summary[name] = sum(known)
        else:
            summary[name] = round(sum(known) / len(known), 4) if known else None
    if len(results) == 1:
        summary["fields"] = next(iter(results.values()))["fields"]
    return summary | {"sets": dict(results)}


def _has(figures: Figures, name: str) -> bool:
    """Whether this figure of a set says something."""
    if name in ("scalars", "lists"):
        fields = figures["fields"].items()
        return any(("/*" in path) == (name == "lists") for path, counts in fields if counts["support"])
    return figures.get(name) is not None


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A folder of documents with their truth; file names are relative to `folder`."""

    name: str
    folder: Path
    truths: tuple[Truth, ...]
    schema: dict[str, Any]
    options: dict[str, bool]

    def select(self, files: Iterable[str] | None = None, limit: int | None = None) -> EvaluationSet:
        """The same set with these files only, and at most `limit` of them."""
        wanted = None if files is None else set(files)
        kept = [line for line in self.truths if wanted is None or line["file"] in wanted]
        return EvaluationSet(self.name, self.folder, tuple(kept[:limit]), self.schema, self.options)

    def score(self, predictions: Mapping[str, Prediction]) -> Figures:
        """The figures of these predictions on this set."""
        return score(self.truths, predictions, **self.options)

    def best_constant(self) -> Figures:
        """The figures of the best constant answer on this set."""
        return best_constant(self.truths, **self.options)


def load_set(folder: Path) -> EvaluationSet:
    """The set in this folder: `schema.json`, `truth.jsonl`, the documents it names, and perhaps `score.json`.

    Raises UsageError where a file is missing or not what it should be.
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
        if not (folder / file).is_file():
            raise UsageError(f"{folder / 'truth.jsonl'}, line {number}: there is no file {file} in {folder}")
        truths.append(line)
    return EvaluationSet(folder.resolve().name, folder, tuple(truths), schema, options)


def find_sets(folder: Path) -> list[EvaluationSet]:
    """The set that this folder is, or those that lie in it, by name. Raises UsageError where there is
    none."""
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


def _spelled(path: FieldPath) -> str:
    return "".join(f"/{step}" for step in path)


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
    """The record that has these values, and one item in each list."""
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
