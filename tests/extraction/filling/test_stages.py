"""The stages of a document: a stored record goes through the last ones like a new one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.support.reading_model import ReadingModel

from cinnabar.engine.fill.engine import Engine
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.filling.refilling import Known
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.compiling.version_changes import Changes

SCHEMA: dict[str, Any] = {
    "title": "note",
    "type": "object",
    "properties": {"name": {"type": "string"}, "ref": {"type": ["string", "null"]}},
}


def test_a_new_field_of_a_stored_record_is_in_its_text_what_it_is_in_its_leaf() -> None:
    data = b"name=Ada\nref=n/a\n"
    job = Job(compile_schema(SCHEMA), Engine(ReadingModel()), Validator(load_schema(SCHEMA)))
    stored = Record('{"name":"Eve"}', (LeafRow("/name", '"Eve"', 0.9, "copied"),), 0.9)
    texts = []
    for known in (None, Known(stored, Changes(new=("/ref",)))):
        item = OpenedInput("a.txt", hashlib.sha256(data).hexdigest(), parse(data, "a.txt"), known)
        (outcome,) = run_batch([item], job).outcomes
        assert outcome.record is not None
        leaf = {leaf.pointer: leaf for leaf in outcome.record.leaves}["/ref"]
        assert (leaf.value, leaf.flags) == ("null", ("not_shown",))
        texts.append(json.loads(outcome.record.text))
    assert texts == [{"name": "Ada", "ref": None}, {"name": "Eve", "ref": None}]
