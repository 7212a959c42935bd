"""The documents of an output folder that a person has looked at from end to end, as labelled documents."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cinnabar.engine.asking.few_shot import Example, Examples
from cinnabar.errors import NotAccepted, UsageError
from cinnabar.extraction.corrections import Action, Correction, corrections
from cinnabar.extraction.corrections.changes import EXCLUDING
from cinnabar.extraction.corrections.units import HUMAN
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.batch_reader import BatchReader
from cinnabar.extraction.filling.pipeline import OpenedInput
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, load_set, read_set
from cinnabar.extraction.store.records import Record
from cinnabar.extraction.store.stored_records import (
    LatestRecord,
    Selection,
    load_records,
    name_in,
    names,
    select,
    source_of,
)
from cinnabar.schemas import SchemaSource, compile_schema, load_schema
from cinnabar.schemas.pointers import above

#: Processes that parse documents.
_WORKERS = 2


@dataclass(frozen=True, slots=True)
class CorrectedSet:
    """Corrected documents of one schema, parsed.

    `labelled` has their truth under their digests, `reads` their text. `partly` counts documents with corrections that
    nobody looked at as a whole, and `missing` are the paths of documents that are no longer found or read.
    """

    source: SchemaSource
    labelled: LabelledSet
    reads: dict[str, OpenedInput]
    partly: int
    missing: tuple[str, ...]


def corrected_set(out: Path, schema_name: str) -> CorrectedSet:
    """Returns the corrected documents of the latest version of this schema.

    A document counts if its record was accepted as a whole, or if a person gave or accepted each of its values and
    lists. Raises UsageError if the folder has no records of the schema.
    """
    schema_name = name_in(out, schema_name)
    by_document: dict[str, list[Correction]] = defaultdict(list)
    for one in corrections(out):
        if one.schema_name == schema_name and one.action not in EXCLUDING:
            by_document[one.document].append(one)
    every = select(out, schema_name, Selection())
    if not every:
        raise UsageError(f"{schema_name}: expected records in {out}, found none that count")
    touched = [one for one in every if one.document in by_document]
    fingerprint = max(touched or every, key=lambda one: one.run_id).schema_fingerprint
    source = source_of(out, schema_name, fingerprint)
    records = load_records(out, touched)
    whole = [
        one
        for one in touched
        if one.schema_fingerprint == fingerprint
        and _is_looked_at(records[one.document], by_document[one.document])
    ]
    reads, missing = _parse(out, whole)
    truths = tuple(
        {"file": one.document, "truth": json.loads(records[one.document].text)}
        for one in whole
        if one.document in reads
    )
    schema = source.schema if isinstance(source.schema, dict) else {}
    labelled = LabelledSet(schema_name, out, truths, schema, {})
    return CorrectedSet(source, labelled, reads, len(touched) - len(whole), tuple(missing))


def labelled_documents(folder: Path) -> CorrectedSet:
    """Returns the documents of a labelled set, as if they were corrected ones of its schema.

    Raises UsageError if a file of the set is missing or malformed.
    """
    labelled, source = load_set(folder), load_schema(folder / "schema.json")
    with ParserPool(_WORKERS, settings=parser_settings()) as pool:
        every = {read.path: read for read in read_set(labelled, pool)}
    reads = {path: read for path, read in every.items() if isinstance(read.found, Document)}
    kept = replace(labelled.select(reads), name=source.name)
    return CorrectedSet(source, kept, reads, 0, tuple(sorted(every.keys() - reads)))


def _is_looked_at(record: Record, own: Sequence[Correction]) -> bool:
    """Returns whether a person accepted the record, or gave or accepted each of its values and lists."""
    if any(one.action == Action.ACCEPT and not one.pointer for one in own):
        return True
    fixed = {one.pointer for one in own if one.action in (Action.LIST, Action.ACCEPT)}
    lists = all(any(place in fixed for place in above(pointer)) for pointer in record.lists)
    return lists and all(leaf.origin == HUMAN for leaf in record.leaves)


def _parse(out: Path, wanted: Sequence[LatestRecord]) -> tuple[dict[str, OpenedInput], list[str]]:
    """Returns these documents parsed, by digest, and the paths of those that are not found or cannot be read."""
    reads, missing = dict[str, OpenedInput](), list[str]()
    with DocumentLookup(out) as lookup:
        inputs = []
        for one in wanted:
            content = lookup.find(one.paths, one.document, one.size)
            if content is None:
                missing.append(one.paths[0])
            else:
                inputs.append(Input(one.document, content, one.document))
        if not inputs:
            return reads, missing
        with BatchReader([inputs], _WORKERS, None, parser_settings(), PageStore(out / PAGES)) as reader:
            paths = {one.document: one.paths[0] for one in wanted}
            for read in reader.parse(inputs):
                if isinstance(read.found, Document):
                    reads[read.path] = read
                else:
                    missing.append(paths[read.path])
    return reads, missing


def corrected_examples(out: Path) -> Examples:
    """Returns the documents of this folder that a person has looked at from end to end, by the forms of their schemas.

    Documents that are no longer found are left out, and records that their schema's form does not hold.
    """
    by_form: dict[str, list[Example]] = {}
    for name in names(out):
        corrected = corrected_set(out, name)
        compiled = compile_schema(corrected.source.schema)
        own = []
        for line in corrected.labelled.truths:
            read = corrected.reads[line["file"]].found
            try:
                record = compiled.canonical(line["truth"])
            except NotAccepted:
                continue
            if isinstance(read, Document) and read.text.strip():
                own.append(Example(read.text, record))
        if own:
            by_form[compiled.form.fingerprint] = sorted(own, key=lambda one: (one.text, one.record))
    content = {form: [[one.text, one.record] for one in own] for form, own in sorted(by_form.items())}
    return Examples(hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16], by_form)
