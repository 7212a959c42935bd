"""Measures how well long lists are read: rows found, rows exact and lists whole, by set.

    python -m bench.list_layouts /tmp/lists --documents 40 --part held_back
    python -m bench.list_report /tmp/lists [--limit N] [--model default]

A row is an item of the innermost list, with the scalars of the items around it. It is found if more than half of its
values, in the truth or in the prediction, are equal to those of its own row in the other; it is exact if all are. A
list is whole if all its rows are exact and it has no others. F1 is that of `cinnabar eval`. Seconds are those of
filling, without the parser. With `--model auto` the language model reads rows of tables, and nothing else.

Of the last two lines the first tells what the confidence of lists outside of others is worth, by which each has all
items of its document and no others. The second one tells of the fields of a document's rows how many have a wrong
column, of those whose values have a mean confidence of .9 or more: less than half of the values are right in rows that
have a partner.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.labelled_sets import job_of, read_sets, report_arguments
from bench.reporting import machine, table
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Filler
from cinnabar.extraction.filling.pipeline import run_batch
from cinnabar.extraction.filling.run_models import reader_of, sources_of
from cinnabar.extraction.learning.evaluation import leaves_of, lists_of, prediction_of, score_set
from cinnabar.extraction.learning.pairing import LeafPair, is_same, pair_items
from cinnabar.extraction.learning.scoring import area_under_curve, calibration_error
from cinnabar.extraction.plan.run_options import RunPlan

#: The least mean confidence of a column that is told as sure.
SURE = 0.9
#: The scalars of a row by the names above them.
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of lists: of the truth, of the prediction, those found, those exact; and the lists, and whole ones."""

    truth: int = 0
    predicted: int = 0
    found: int = 0
    exact: int = 0
    lists: int = 0
    whole: int = 0

    def __add__(self, other: Rows) -> Rows:
        return Rows(
            self.truth + other.truth,
            self.predicted + other.predicted,
            self.found + other.found,
            self.exact + other.exact,
            self.lists + other.lists,
            self.whole + other.whole,
        )


@dataclass(frozen=True, slots=True)
class SetFigures:
    """A set's documents, those with a record, their rows, F1, and seconds in all."""

    documents: int
    answered: int
    rows: Rows
    f1: float
    seconds: float

    def shown(self) -> list[str]:
        """The cells of a table."""
        rows = self.rows
        shares = (share(rows.found, rows.truth), share(rows.exact, rows.truth), share(rows.whole, rows.lists))
        counts = (self.documents, self.answered, rows.truth, rows.predicted)
        seconds = self.seconds / max(1, self.documents)
        return [*map(str, counts), *(f"{one:.3f}" for one in (*shares, self.f1)), f"{seconds:.1f}"]


def share(part: int, whole: int) -> float:
    """Returns part / whole; 1 of nothing."""
    return part / whole if whole else 1.0


def rows_of(record: Any, above: Row | None = None, path: str = "") -> Iterator[tuple[str, Row]]:
    """Yields the rows of a record's innermost lists, each with the name of its list."""
    if not isinstance(record, dict):
        return
    lists = {name: part for name, part in record.items() if isinstance(part, list)}
    around = dict(above or {}) | {f"{path}/{name}": v for name, v in record.items() if name not in lists}
    if not lists and above is not None:
        yield path, around
    for name, items in lists.items():
        for item in items:
            # The scalars of the record itself are no part of a row.
            yield from rows_of(item, around if above is not None else {}, f"{path}/{name}")


def counted(truth: Any, predicted: Any) -> Rows:
    """Returns the counts of a document's lists."""
    by_list: dict[str, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, record in enumerate((truth, predicted)):
        for name, row in rows_of(record):
            by_list[name][side].append(row)
    total = Rows()
    for true_rows, found_rows in by_list.values():
        both = pair_items(true_rows, found_rows)
        pairs = [(i, j) for i, j in both if i is not None and j is not None]
        found = sum(much_alike(true_rows[i], found_rows[j]) for i, j in pairs)
        exact = sum(_equal(true_rows[i], found_rows[j]) for i, j in pairs)
        whole = exact == len(true_rows) == len(found_rows)
        total += Rows(len(true_rows), len(found_rows), found, exact, 1, int(whole))
    return total


def much_alike(truth: Row, predicted: Row) -> bool:
    """Returns whether two rows agree in more than half of the values that one of them has."""
    names = [name for name in {**truth, **predicted} if (truth.get(name), predicted.get(name)) != (None, None)]
    return 2 * sum(is_same(truth.get(name), predicted.get(name)) for name in names) > len(names)


def _equal(truth: Row, predicted: Row) -> bool:
    return all(is_same(truth.get(name), predicted.get(name)) for name in {**truth, **predicted})


def main() -> None:
    """Prints the figures of each set, the means over the sets, and those of all rows together."""
    asked = report_arguments(__doc__)
    source, upper = sources_of(RunPlan.of(model=asked.model, on_missing="guess", device=asked.device), asked.model)
    filler: Filler = source.filler("medium", None)
    if upper is not None:
        filler = upper.tier("medium").beside(filler)
    print(machine(load_model(reader_of(asked.model))), flush=True)
    by_set: dict[str, SetFigures] = {}
    sure: list[tuple[float, bool]] = []
    columns: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for labelled, reads in read_sets(asked.sets, asked.limit):
        job = job_of(labelled.schema, filler)
        predictions: dict[str, dict[str, Any]] = {}
        begun = time.perf_counter()
        for read in reads:
            (outcome,) = run_batch([read], job).outcomes
            predictions[outcome.path] = prediction_of(outcome)
        seconds = time.perf_counter() - begun
        rows, answered = Rows(), 0
        for line in labelled.truths:
            record = predictions.get(line["file"], {}).get("record")
            rows += counted(line["truth"], record)
            told = predictions.get(line["file"], {}).get("lists", {})
            pairs = lists_of(line, record, **labelled.options) if record is not None else ()
            outer = [one for one in pairs if one.pointer in told and _is_outer(one.pointer)]
            sure += [(told[one.pointer], one.complete) for one in outer]
            leaves = leaves_of(line, record, **labelled.options)
            columns[labelled.name] += columns_told(leaves, predictions, line["file"])
            answered += record is not None
        f1 = score_set(labelled, predictions)["f1"]
        by_set[labelled.name] = SetFigures(len(labelled.truths), answered, rows, f1, seconds)
        print(f"{labelled.name}: {' '.join(by_set[labelled.name].shown())}", flush=True)
    heads = ("set", "documents", "records", "rows", "predicted", "found", "exact", "whole", "F1", "s/document")
    print(table(heads, [(name, *figures.shown()) for name, figures in by_set.items()] + summary(by_set)))
    print(list_confidence(sure))
    print(column_confidence(columns))


def columns_told(
    pairs: Iterable[LeafPair], predictions: Mapping[str, Mapping[str, Any]], file: str
) -> list[tuple[float, bool]]:
    """Returns for each field of a document's rows its mean confidence, and whether most of its values are right."""
    told = predictions.get(file, {}).get("confidence", {})
    fields: dict[tuple[str, ...], list[tuple[float, bool]]] = defaultdict(list)
    for one in pairs:
        if "*" in one.field and one.is_paired and one.predicted is not None and one.pointer in told:
            fields[one.field].append((told[one.pointer], one.right))
    return [
        (sum(chance for chance, _ in own) / len(own), 2 * sum(right for _, right in own) >= len(own))
        for own in fields.values() if len(own) > 1
    ]  # fmt: skip


def column_confidence(columns: Mapping[str, Sequence[tuple[float, bool]]]) -> str:
    """Returns how many of the surely told columns are wrong, with the sets that have such ones."""
    sure = {name: [right for chance, right in own if chance >= SURE] for name, own in columns.items()}
    wrong = {name: len(own) - sum(own) for name, own in sure.items()}
    told, every = sum(map(len, sure.values())), sum(map(len, columns.values()))
    where = ", ".join(f"{name} {count}" for name, count in wrong.items() if count) or "none"
    count = sum(wrong.values())
    return f"columns told at {SURE} or more: {told} of {every}; wrong: {count}, {count / max(1, told):.1%} ({where})"


def _is_outer(pointer: str) -> bool:
    return not any(step.isdecimal() for step in pointer.split("/"))


def list_confidence(sure: Sequence[tuple[float, bool]]) -> str:
    """Returns what the confidences of lists are worth: each with whether its list is complete."""
    area = area_under_curve(sure)
    parts = [f"{len(sure)} lists, {sum(right for _, right in sure)} complete"]
    parts.append(f"area under the curve {'–' if area is None else f'{area:.3f}'}")
    parts.append(f"calibration error {calibration_error(sure):.3f}")
    for least in (0.9, 0.95):
        held = [right for one, right in sure if one >= least]
        parts.append(f"of {len(held)} from {least} on {len(held) - sum(held)} are not")
    return "confidence of lists: " + "; ".join(parts)


def summary(by_set: Mapping[str, SetFigures]) -> list[tuple[str, ...]]:
    """Returns the lines of means over the sets, and of all rows together."""
    each = list(by_set.values())
    rows = sum((one.rows for one in each), Rows())
    documents, count = sum(one.documents for one in each), max(1, len(each))
    f1 = sum(one.f1 for one in each) / count
    together = SetFigures(
        documents, sum(one.answered for one in each), rows, f1, sum(one.seconds for one in each)
    ).shown()
    means = [
        sum(share(one.rows.found, one.rows.truth) for one in each) / count,
        sum(share(one.rows.exact, one.rows.truth) for one in each) / count,
        sum(share(one.rows.whole, one.rows.lists) for one in each) / count,
        f1,
    ]
    pace = sum(one.seconds / max(1, one.documents) for one in each) / count
    blank = [""] * 4
    return [
        ("mean of sets", *blank, *(f"{one:.3f}" for one in means), f"{pace:.1f}"),
        ("all rows", *together[:7], "", together[8]),
    ]


if __name__ == "__main__":
    main()
