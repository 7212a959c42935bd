"""How much of a set's schema `cinnabar schema draft` proposes from a few of its documents.

    python -m bench.draft_report SET... [--documents 8] [--seed 1] [--read 10]

The documents are drawn by the seed, and the draft sees nothing else. A field of the set's schema has a counterpart if
the texts behind one drafted field hold its value in at least half of the drawn documents that have one. Fields
without a value in the drawn documents do not count. `useful` is the share of the drafted fields that are a
counterpart. With `--read N` the default model reads N other documents with the drafted schema and with the set's own,
and both records are compared with the truth, value by value through the counterparts; a field without one is lost.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.reporting import machine, table
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.loading import load_model
from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.readings.readings import readings
from cinnabar.extraction.documents import Document
from cinnabar.extraction.drafting.drafting import SchemaDraft, draft_schema
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.quality.evaluation import EvaluationSet, find_sets
from cinnabar.extraction.quality.matching import is_same, says_something
from cinnabar.extraction.quality.predicting import answers, read_set
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema

#: The kinds of readings that a value of a type may be.
KINDS = {"number": {"number"}, "date": {"date"}, "date-time": {"datetime", "date"}, "text": {"text", "number", "time"}}


@dataclass(frozen=True, slots=True)
class Drafted:
    """A set, its draft, the number of true fields with a value, and the counterpart of each that has one."""

    labelled: EvaluationSet
    draft: SchemaDraft
    fields: int
    counterparts: Mapping[str, str]
    values: float


def values_by_field(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the pointer, with `*` for an item, and the value of each leaf that says something."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from values_by_field(part, f"{at}/{name}")
    elif isinstance(value, list):
        for part in value:
            yield from values_by_field(part, f"{at}/*")
    elif says_something(value):
        yield at, value


def grouped(record: Any) -> dict[str, list[Any]]:
    """The values of a record by field."""
    found: dict[str, list[Any]] = defaultdict(list)
    for pointer, value in values_by_field(record):
        found[pointer].append(value)
    return found


def meanings(text: str, schema: Mapping[str, Any], locale: Locale) -> list[Any]:
    """The values that a drafted field of this schema may store for a text."""
    kinds = schema.get("type", "string")
    number = {"number", "integer"} & set(kinds if isinstance(kinds, list) else [kinds])
    kind = "number" if number else schema.get("format", "text")
    wanted = KINDS.get(kind, KINDS["text"])
    return [one.value for one in readings(text, locale) if one.kind in wanted]


def schema_at(schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    """The schema of a drafted field."""
    found = schema
    for step in pointer.split("/")[1:]:
        found = found["items"] if step == "*" else found["properties"][step]
    return found


def matched(true: Sequence[Any], said: Sequence[Sequence[Any]]) -> int:
    """The number of true values that one of the drafted values means, each of these used once."""
    left = list(said)
    count = 0
    for value in true:
        hit = next((at for at, one in enumerate(left) if any(is_same(value, meaning) for meaning in one)), None)
        if hit is not None:
            del left[hit]
            count += 1
    return count


def drafted(labelled: EvaluationSet, documents: Sequence[Document], records: Sequence[Any]) -> Drafted:
    """The draft from these documents beside their true records."""
    draft = draft_schema(documents, labelled.name)
    locales = [document_locale(document.text) for document in documents]
    truths = [grouped(record) for record in records]
    said = {
        pointer: [
            [meanings(text, schema_at(draft.schema, pointer), locale) for text in texts]
            for texts, locale in zip(per_document, locales, strict=True)
        ]
        for pointer, per_document in draft.values.items()
    }
    counterparts: dict[str, str] = {}
    covered = total = 0
    for field in sorted({field for truth in truths for field in truth}):
        having = [number for number, truth in enumerate(truths) if field in truth]
        count = sum(len(truths[number][field]) for number in having)
        best, most, values = "", 0, 0
        for pointer, per_document in said.items():
            hits = [matched(truths[number][field], per_document[number]) for number in having]
            right = sum(hit * 2 >= len(truths[number][field]) for hit, number in zip(hits, having, strict=True))
            if right * 2 >= len(having) and (right, sum(hits)) > (most, values):
                best, most, values = pointer, right, sum(hits)
        total += count
        covered += values
        if best:
            counterparts[field] = best
    fields = len({field for truth in truths for field in truth})
    return Drafted(labelled, draft, fields, counterparts, covered / max(1, total))


def f1(reads: Sequence[Read], records: Sequence[Any], job: Job, names: Mapping[str, str]) -> float:
    """F1 of the values that a job reads, compared through the names of the fields that it reads."""
    told = answers(reads, job)
    right = said = wanted = 0
    for read, record in zip(reads, records, strict=True):
        found = grouped(told[read.path]["record"]) if read.path in told else {}
        truth = grouped(record)
        wanted += sum(map(len, truth.values()))
        for field, pointer in names.items():
            said += len(found.get(pointer, []))
            right += matched(truth.get(field, []), [[value] for value in found.get(pointer, [])])
    return 2 * right / max(1, said + wanted)


def main() -> None:
    """Prints a row for each set and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--documents", type=int, default=8, help="documents that a draft is made from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--read", type=int, default=0, help="other documents that the default model reads")
    asked = parser.parse_args()
    model = load_model("default", "cpu") if asked.read else None
    rows: list[list[str]] = []
    with ParserPool(1) as pool:
        for labelled in (one for path in asked.sets for one in find_sets(path)):
            lines = list(labelled.truths)
            random.Random(asked.seed).shuffle(lines)
            drawn, others = lines[: asked.documents], lines[asked.documents : asked.documents + asked.read]
            reads = {read.path: read for read in read_set(with_lines(labelled, [*drawn, *others]), pool)}
            usable = [line for line in drawn if isinstance(reads[line["file"]].found, Document)]
            documents = [reads[line["file"]].found for line in usable]
            found = drafted(labelled, documents, [line["truth"] for line in usable])  # type: ignore[arg-type]
            row = [len(found.counterparts) / max(1, found.fields), found.values]
            row.append(len(set(found.counterparts.values())) / max(1, len(found.draft.values)))
            shown = [labelled.name, str(found.fields), str(len(found.draft.values))]
            if model is not None:
                own = {field: field for line in others for field in grouped(line["truth"])}
                for schema, names in ((found.draft.schema, found.counterparts), (labelled.schema, own)):
                    source = load_schema(schema)
                    job = Job(compile_schema(source.schema), Engine(model, "medium"), Validator(source), "guess")
                    part = [reads[line["file"]] for line in others]
                    row.append(f1(part, [line["truth"] for line in others], job, names))
            rows.append([*shown, *(f"{value:.3f}" for value in row)])
            print(" ".join(rows[-1]), flush=True)
    head = ["set", "fields", "drafted", "counterparts", "values", "useful", "F1, draft", "F1, own"][: len(rows[0])]
    means = [f"{fmean(float(row[at]) for row in rows):.3f}" for at in range(3, len(rows[0]))]
    print(table(head, [*rows, ["**mean**", "", "", *means]]))
    if model is not None:
        print(machine(model))


def with_lines(labelled: EvaluationSet, lines: Sequence[Mapping[str, Any]]) -> EvaluationSet:
    """The set with these lines of its truth only."""
    return EvaluationSet(labelled.name, labelled.folder, tuple(lines), labelled.schema, labelled.options)


if __name__ == "__main__":
    main()
