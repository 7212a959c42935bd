"""How well extracted records answer the known truth of documents: what is counted, and the figures.

The scalars of a record are its leaves; the items of its lists are paired with those of the truth first
(`matching.py`), and an item without a partner stands alone with its leaves. Null and false say nothing.

hit               the prediction says what the truth says, and that is something
false positive    the prediction says something that is not so
false negative    the truth says something that the prediction does not

`precision`, `recall` and their harmonic mean `f1` count leaves, not documents: over everything, for
`scalars` (outside of lists), for `lists`, and for each field (`/lines/*/total`). Of the leaves whose list
items all have partners,

invented          how many of those with a null truth were given a value (booleans do not count)
evidence          how many hits have evidence in which the value can be read (booleans do not count)
evidence_ratio    how many hits that is, against those whose value can be read anywhere in the document
evidence_length   how much longer than the value its evidence is, in the median
rated             how many have a confidence
ece               by how much confidence and share of right ones differ, in ten bins of equal width
coverage95        how many can be taken, the most confident first, while at least 95% are right
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cinnabar.extraction.quality.matching import LeafPair, Path, evidence_holds, says_something

#: What was extracted: {"record": record or None, "confidence": {pointer: …}, "evidence": {pointer: text},
#: "text": the document's own}; the last three may be missing.
Prediction = Mapping[str, Any]
Figures = dict[str, Any]

# The precision that `coverage95` asks for.
_WANTED_PRECISION = 0.95
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

    fields: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    paired: int = 0
    nulls: int = 0
    invented: int = 0
    held: list[bool] = field(default_factory=list)
    readable: list[bool] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    rated: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, leaves: Iterable[LeafPair], prediction: Prediction) -> None:
        """Count one document, whose leaves these are."""
        evidence, confidence = prediction.get("evidence"), prediction.get("confidence") or {}
        for leaf in leaves:
            right = leaf.right
            self.fields[spelled(leaf.field)].add(leaf, right)
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
                if (whole := prediction.get("text")) is not None:
                    self.readable.append(evidence_holds(value, whole))
            if confidence.get(leaf.pointer) is not None:
                self.rated.append((confidence[leaf.pointer], right))

    def figures(self) -> Figures:
        """All figures of the set but the counts of its documents."""
        tallies = self.fields.items()
        figures = total(self.fields.values()).figures()
        figures["scalars"] = total(t for name, t in tallies if "/*" not in name).figures()["f1"]
        figures["lists"] = total(t for name, t in tallies if "/*" in name).figures()["f1"]
        figures["invented"] = round(self.invented / self.nulls, 4) if self.nulls else None
        if self.held:
            figures["evidence"] = round(sum(self.held) / len(self.held), 4)
            figures["evidence_length"] = round(sorted(self.lengths)[len(self.lengths) // 2], 2)
        if any(self.readable):
            figures["evidence_ratio"] = round(sum(self.held) / sum(self.readable), 4)
        if self.rated:
            figures["ece"] = round(calibration_error(self.rated), 4)
            figures["rated"] = round(len(self.rated) / self.paired, 4)
            figures["coverage95"] = round(coverage(self.rated) / self.paired, 4)
        figures["fields"] = {name: self.fields[name].figures() for name in sorted(self.fields)}
        return figures


def calibration_error(rated: Sequence[tuple[float, bool]]) -> float:
    """How far confidence and the share of right ones lie apart: a mean over bins, weighted by size."""
    gaps: dict[int, float] = defaultdict(float)
    for confidence, right in rated:
        gaps[min(CALIBRATION_BINS - 1, int(confidence * CALIBRATION_BINS))] += confidence - right
    return sum(map(abs, gaps.values())) / len(rated)


def coverage(rated: Sequence[tuple[float, bool]]) -> int:
    """How many of the most confident leaves can be taken, with `_WANTED_PRECISION` of them right."""
    right_so_far, best = 0, 0
    for taken, (_, right) in enumerate(sorted(rated, key=lambda leaf: -leaf[0]), 1):
        right_so_far += right
        if right_so_far / taken >= _WANTED_PRECISION:
            best = taken
    return best


def spelled(path: Path) -> str:
    """The field as figures name it."""
    return "".join(f"/{step}" for step in path)
