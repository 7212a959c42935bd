"""Scores extracted records against the known truth of documents: the counts, and the figures of docs/review.md.

The scalars of a record are its leaves. List items are first paired with those of the truth (`pairing.py`); an item
without a partner counts alone with its leaves. Null and false are no values: a hit is a right value, a false positive a
wrong one, a false negative a true value that the prediction does not have. Shares other than precision, recall and
`f1` count the leaves whose list items all have partners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cinnabar.extraction.learning.pairing import (
    LeafPair,
    ListPair,
    Partners,
    Path,
    Place,
    evidence_holds,
    says_something,
)

#: An extracted document: {"record": record or None, "confidence": {pointer: …}, "lists": {pointer: …}, "evidence":
#: {pointer: text}}; all but the first may be missing.
Prediction = Mapping[str, Any]
Figures = dict[str, Any]

#: The precision at which `coverage95` is measured.
COVERAGE_PRECISION = 0.95
CALIBRATION_BINS = 10


@dataclass(slots=True)
class RowScoring:
    """The counts of rows and of their lists over the documents of a set; rows in rows count too."""

    rows: int = 0
    found: int = 0
    exact: int = 0
    lists: int = 0
    whole: int = 0

    def add(self, leaves: Iterable[LeafPair]) -> None:
        """Counts the rows of one document, which are the steps of leaves' places with an index before a name."""
        rows: dict[tuple[Place, Partners], list[LeafPair]] = defaultdict(list)
        for leaf in leaves:
            for at, step in enumerate(leaf.place[:-1]):
                if isinstance(step, tuple) and isinstance(leaf.place[at + 1], str):
                    rows[leaf.place[:at], step].append(leaf)
        lists: dict[Place, bool] = {}
        for (place, (i, j)), row in rows.items():
            exact = all(leaf.right and leaf.is_paired for leaf in row)
            lists[place] = exact and lists.get(place, True)
            if i is not None:
                known = [leaf.right for leaf in row if leaf.truth is not None]
                self.rows += 1
                self.found += j is not None and 2 * sum(known) >= len(known)
                self.exact += exact
        self.lists += len(lists)
        self.whole += sum(lists.values())

    def figures(self) -> dict[str, float | None]:
        """Returns the figures; none if no document has a list of objects."""
        if not self.lists:
            return {}
        return {
            "rows": self.rows,
            "rows_found": round(self.found / self.rows, 4) if self.rows else None,
            "rows_exact": round(self.exact / self.rows, 4) if self.rows else None,
            "lists_whole": round(self.whole / self.lists, 4),
        }


@dataclass(slots=True)
class Tally:
    """Hits, false positives and false negatives."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, leaf: LeafPair, right: bool) -> None:
        """Counts this leaf."""
        if right:
            self.hits += says_something(leaf.predicted)
        else:
            self.wrong += says_something(leaf.predicted)
            self.missed += says_something(leaf.truth)

    def figures(self) -> Figures:
        """Returns precision, recall, f1 and the number of true values."""
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
    """Returns the sum of these tallies."""
    tallies = list(tallies)
    return Tally(sum(t.hits for t in tallies), sum(t.wrong for t in tallies), sum(t.missed for t in tallies))


@dataclass(slots=True)
class Scoring:
    """The counts over the documents of a set."""

    fields: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    paired: int = 0
    nulls: int = 0
    invented: int = 0
    held: list[bool] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    rated: list[tuple[float, bool]] = field(default_factory=list)
    values: list[tuple[float, bool]] = field(default_factory=list)
    absences: list[tuple[float, bool]] = field(default_factory=list)
    lists: list[tuple[float, bool]] = field(default_factory=list)
    rows: RowScoring = field(default_factory=RowScoring)

    def add_lists(self, lists: Iterable[ListPair], confidence: Mapping[str, float]) -> None:
        """Counts the lists of one document."""
        self.lists += [(confidence[one.pointer], one.complete) for one in lists if one.pointer in confidence]

    def add(self, leaves: Iterable[LeafPair], prediction: Prediction) -> None:
        """Counts the leaves of one document."""
        leaves = list(leaves)
        self.rows.add(leaves)
        evidence, confidence = prediction.get("evidence"), prediction.get("confidence") or {}
        for leaf in leaves:
            right = leaf.right
            self.fields[spell_path(leaf.field)].add(leaf, right)
            if not leaf.is_paired:
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
                told = confidence[leaf.pointer], right
                self.rated.append(told)
                (self.absences if value is None else self.values).append(told)

    def figures(self) -> Figures:
        """Returns all figures of the set except the counts of its documents."""
        tallies = self.fields.items()
        figures = total(self.fields.values()).figures()
        figures["scalars"] = total(t for name, t in tallies if "/*" not in name).figures()["f1"]
        figures["lists"] = total(t for name, t in tallies if "/*" in name).figures()["f1"]
        figures["invented"] = round(self.invented / self.nulls, 4) if self.nulls else None
        if self.held:
            figures["evidence"] = round(sum(self.held) / len(self.held), 4)
            figures["evidence_length"] = round(sorted(self.lengths)[len(self.lengths) // 2], 2)
        if self.rated:
            figures["ece"] = round(calibration_error(self.rated), 4)
            figures["rated"] = round(len(self.rated) / self.paired, 4)
            figures["coverage95"] = round(coverage(self.rated) / self.paired, 4)
        for name, told in (("value", self.values), ("null", self.absences)):
            if told:
                auc = area_under_curve(told)
                figures[f"{name}_ece"] = round(calibration_error(told), 4)
                figures[f"{name}_auc"] = None if auc is None else round(auc, 4)
        if self.lists:
            figures |= list_figures(self.lists)
        figures |= self.rows.figures()
        figures["fields"] = {name: self.fields[name].figures() for name in sorted(self.fields)}
        return figures


def list_figures(rated: Sequence[tuple[float, bool]]) -> Figures:
    """Returns the figures of lists, each with its confidence and whether it is complete."""
    auc = area_under_curve(rated)
    return {
        "rated_lists": len(rated),
        "complete": round(sum(right for _, right in rated) / len(rated), 4),
        "list_auc": None if auc is None else round(auc, 4),
        "list_ece": round(calibration_error(rated), 4),
    }


def area_under_curve(rated: Sequence[tuple[float, bool]]) -> float | None:
    """Returns the probability that a right one has a higher confidence than a wrong one; None without both kinds.

    Equal confidences count half.
    """
    right = np.array([sure for sure, is_right in rated if is_right])
    wrong = np.sort([sure for sure, is_right in rated if not is_right])
    if not len(right) or not len(wrong):
        return None
    below, up_to = np.searchsorted(wrong, right, "left"), np.searchsorted(wrong, right, "right")
    return float((below + up_to).mean() / 2 / len(wrong))


def calibration_error(rated: Sequence[tuple[float, bool]]) -> float:
    """Returns the mean gap between confidence and share of right leaves over bins, weighted by size."""
    gaps: dict[int, float] = defaultdict(float)
    for confidence, right in rated:
        gaps[min(CALIBRATION_BINS - 1, int(confidence * CALIBRATION_BINS))] += confidence - right
    return sum(map(abs, gaps.values())) / len(rated)


def coverage(rated: Sequence[tuple[float, bool]]) -> int:
    """Returns how many of the most confident leaves can be accepted with `COVERAGE_PRECISION` of them right."""
    right_so_far, best = 0, 0
    for taken, (_, right) in enumerate(sorted(rated, key=lambda leaf: -leaf[0]), 1):
        right_so_far += right
        if right_so_far / taken >= COVERAGE_PRECISION:
            best = taken
    return best


def spell_path(path: Path) -> str:
    """Returns the name of the field in figures."""
    return "".join(f"/{step}" for step in path)
