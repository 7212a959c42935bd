"""Measures dates in figures that may mean two days: those of documents with a sign of their country, and the others.

    python -m bench.date_order_report --documents 2000 --whole 60

Of each document its date is read as the readings do, and of the first `--whole` ones also by the model. Two figures:
the share of right dates of documents with a sign, and the share of the others that are flagged (`ambiguous_date`).
Documents of which the model takes another date, such as that of a mail's header, or none, are counted apart.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence

from bench.dated_documents import SCHEMA, DatedDocument, dated_documents
from bench.reporting import table
from cinnabar.engine.readings.dates import read_date
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.pipeline import OpenedInput, run_batch
from cinnabar.extraction.filling.planning import locale_of
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.records import AMBIGUOUS_DATE


def read_as(one: DatedDocument) -> tuple[str, bool]:
    """The date of a document by the readings, and whether its order is open."""
    locale = locale_of(parse(one.data, one.name))
    return (read_date(one.printed, locale) or ("",))[0], locale.day_first is None


def read_whole(documents: Sequence[DatedDocument]) -> list[tuple[str, bool]]:
    """The dates of documents by the default model, and whether they are flagged and not sure."""
    job = Assignment.of(RunPlan.of([SCHEMA], model="default", on_empty="write")).job()
    reads = [OpenedInput(one.name, str(at), parse(one.data, one.name)) for at, one in enumerate(documents)]
    found = []
    for start in range(0, len(reads), 16):
        for outcome in run_batch(reads[start : start + 16], job).outcomes:
            record = outcome.record
            leaf = next((one for one in record.leaves if one.pointer == "/order_date"), None) if record else None
            value = "" if leaf is None or leaf.value is None else str(json.loads(leaf.value))
            flagged = leaf is not None and AMBIGUOUS_DATE in leaf.flags and leaf.confidence <= 0.5
            found.append((value, flagged))
    return found


def figures(documents: Sequence[DatedDocument], found: Sequence[tuple[str, bool]]) -> Counter[str]:
    """The counts of documents with a sign and right ones among them, and of others and flagged ones among them."""
    counts: Counter[str] = Counter()
    for one, (value, flagged) in zip(documents, found, strict=True):
        if value not in one.meanings:
            counts["another date"] += 1
            continue
        counts["with a sign" if one.is_decided else "others"] += 1
        counts["right" if one.is_decided else "flagged"] += value == one.value if one.is_decided else flagged
        counts["flagged with a sign"] += one.is_decided and flagged
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--whole", type=int, default=0, help="documents that the model reads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", action="store_true", help="print the documents that are read wrongly")
    arguments = parser.parse_args()
    documents = [*dated_documents(arguments.seed, arguments.documents)]
    rows = []
    for by in ("readings", "the model"):
        part = documents if by == "readings" else documents[: arguments.whole]
        if not part:
            continue
        found = [read_as(one) for one in part] if by == "readings" else read_whole(part)
        counts = figures(part, found)
        names = ("with a sign", "right", "flagged with a sign", "others", "flagged", "another date")
        rows.append([by, *(str(counts[name]) for name in names)])
        for one, (value, flagged) in zip(part, found, strict=True):
            if arguments.wrong and value in one.meanings and (value != one.value if one.is_decided else not flagged):
                print(f"{by}: {one.country} {one.signs}: {one.value} as {one.printed} is {value}, {flagged=}")
    print(table(["dates by", "with a sign", "right", "flagged", "without", "flagged", "another date"], rows))


if __name__ == "__main__":
    main()
