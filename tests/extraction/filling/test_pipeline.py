"""The pipeline: a batch of documents gives one outcome for each, even where one of them fails."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.reading_model import ReadingModel

from cinnabar.engine import request
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Filled, Leaf, Passage
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.pipeline import Job, OnMissing, OpenedInput, run_batch
from cinnabar.extraction.filling.recording import record_of
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.form.form import Form

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "total": {"type": ["number", "null"], "multipleOf": 0.01},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": ["string", "null"]}},
                "required": ["id"],
            },
        },
    },
    "required": ["name", "total", "rows"],
}


def job(
    on_missing: OnMissing = "quarantine",
    context: int | None = None,
    judge: dict[str, Any] | None = None,
    min_confidence: float = 0.0,
) -> Job:
    source = load_schema(SCHEMA)
    validator = Validator(load_schema(judge) if judge else source)
    engine = Engine(ReadingModel())
    return Job(compile_schema(SCHEMA), engine, validator, on_missing, context, min_confidence)


def read(text: str, path: str = "a.txt") -> OpenedInput:
    data = text.encode()
    return OpenedInput(path, hashlib.sha256(data).hexdigest(), parse(data, path))


def test_a_document_becomes_a_record_with_its_evidence() -> None:
    item = read("name=Anna\n- id=X1\n- id=X2\ntotal=12.50\n")
    (outcome,) = run_batch([item], job()).outcomes
    assert (outcome.status, outcome.path, outcome.digest) == ("written", "a.txt", item.digest)
    assert outcome.record is not None and outcome.document is not None
    assert outcome.record.text == '{"name":"Anna","total":12.5,"rows":[{"id":"X1"},{"id":"X2"}]}'
    evidence = {leaf.pointer: leaf.evidence.text for leaf in outcome.record.leaves if leaf.evidence}
    assert evidence == {"/name": "Anna", "/total": "12.50", "/rows/0/id": "X1", "/rows/1/id": "X2"}
    assert outcome.record.rows == {"/rows/0": 0.9, "/rows/1": 0.9}
    assert outcome.record.confidence == 0.9 < min(leaf.confidence for leaf in outcome.record.leaves)
    assert outcome.record.flags == ()


def test_offsets_of_evidence_are_those_of_the_whole_document_in_every_chunk() -> None:
    text = "name=Anna\n" + "- id=first\n" + "word " * 200 + "\n- id=last\ntotal=3.00\n"
    item = read(text)
    chunked = job(context=64)
    (outcome,) = run_batch([item], chunked).outcomes
    assert isinstance(chunked.engine.model, ReadingModel)
    assert chunked.engine.model.longest <= 64
    assert outcome.record is not None and isinstance(item.found, Document)
    assert json.loads(outcome.record.text)["rows"] == [{"id": "first"}, {"id": "last"}]
    for leaf in outcome.record.leaves:
        assert leaf.evidence is not None
        (span,) = leaf.evidence.spans
        assert item.found.text[span.start : span.end] == leaf.evidence.text


def test_a_record_of_several_chunks_is_written_once_and_its_text_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chunked, item = job(context=64), read("name=Berta\n- id=first\n" + "word " * 200 + "\n- id=last\ntotal=3.00\n")
    written, parsed, loads = list[str](), list[str](), json.loads
    assert chunked.compiled.form.slots, "the schema is compiled before"

    def write(value: Any) -> str:
        written.append(json_text(value))
        return written[-1]

    def load(text: str, **options: Any) -> Any:
        parsed.append(text)
        return loads(text, **options)

    monkeypatch.setattr(request, "json_text", write)
    monkeypatch.setattr(json, "loads", load)
    (outcome,) = run_batch([item], chunked).outcomes
    assert outcome.record is not None and outcome.record.value["total"] == 3
    assert written == [text for text in parsed if text.startswith("{")] == [outcome.record.text]


def test_a_missing_required_value_goes_to_quarantine_with_its_place() -> None:
    (outcome,) = run_batch([read("total=3.00\n")], job()).outcomes
    assert (outcome.status, outcome.code, outcome.pointers) == ("quarantined", "missing", ("/name",))
    assert outcome.record is not None and outcome.document is not None


def test_a_guess_is_written_and_flagged_on_request() -> None:
    (outcome,) = run_batch([read("total=3.00\n")], job("guess")).outcomes
    assert outcome.status == "written" and outcome.record is not None
    assert outcome.record.flags == ("guessed", "no_evidence")
    assert [leaf.pointer for leaf in outcome.record.leaves if leaf.missing] == ["/name"]


def test_an_unsure_record_waits_in_quarantine_with_its_unsure_places() -> None:
    item = read("name=Anna\n- id=X1\ntotal=12.50\n")
    (outcome,) = run_batch([item], job(min_confidence=0.95)).outcomes
    assert (outcome.status, outcome.code, outcome.pointers) == ("quarantined", "low_confidence", ("/rows/0",))
    assert outcome.detail == "confidence below 0.95: /rows/0 0.90"
    assert outcome.record is not None and outcome.record.leaves
    (outcome,) = run_batch([item], job(min_confidence=0.9)).outcomes
    assert outcome.status == "written"


def test_a_value_without_source_words_is_flagged() -> None:
    (outcome,) = run_batch([read("total=3.00\n")], job("guess")).outcomes
    assert outcome.record is not None
    flags = {leaf.pointer: leaf.flags for leaf in outcome.record.leaves}
    assert flags == {"/name": ("guessed", "no_evidence"), "/total": ()}


def test_a_default_is_flagged_as_such_and_has_no_evidence() -> None:
    item, compiled = read("total=3.00\n"), compile_schema(SCHEMA)
    leaf = Leaf('"3.00"', 0.8, origin="default", slot=0)
    filled = Filled("d", {"name": "3.00"}, {"/name": leaf}, {}, 1, 0)
    assert isinstance(item.found, Document)
    (row,) = record_of(item.found, filled, compiled.form).leaves
    assert (row.flags, row.evidence, row.origin) == (("default",), None, "default")


def test_a_record_that_the_validator_rejects_goes_to_quarantine_with_place_and_message() -> None:
    stricter = {"type": "object", "properties": {"total": {"type": "number", "maximum": 5}}}
    (outcome,) = run_batch([read("name=A\ntotal=12.50\n")], job(judge=stricter)).outcomes
    assert (outcome.status, outcome.code, outcome.pointers) == ("quarantined", "invalid", ("/total",))
    assert "/total: " in outcome.detail


def test_each_input_has_its_outcome_in_order_even_where_one_fails() -> None:
    broken = OpenedInput("b.pdf", "0" * 64, DocumentError("broken", "no pages"))
    batch = [read("name=A\n", "a.txt"), broken, read("BOOM\n", "c.txt"), read("name=D\n", "d.txt")]
    outcomes = run_batch(batch, job()).outcomes
    assert [(o.path, o.status, o.code) for o in outcomes] == [
        ("a.txt", "written", ""),
        ("b.pdf", "quarantined", "broken"),
        ("c.txt", "quarantined", "engine_error"),
        ("d.txt", "written", ""),
    ]
    assert outcomes[1].digest == "0" * 64
    assert "BOOM" in outcomes[2].detail


def test_one_chunk_that_fails_takes_its_document_with_it_and_no_other() -> None:
    long = "name=A\n" + "word " * 200 + "BOOM\n"
    outcomes = run_batch([read(long, "a.txt"), read("name=B\n", "b.txt")], job(context=64)).outcomes
    assert [(o.status, o.code) for o in outcomes] == [("quarantined", "engine_error"), ("written", "")]


def test_a_failure_of_our_own_is_the_outcome_of_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Validator.check

    def check(self: Validator, text: str) -> list[Any]:
        if "Bad" in text:
            raise RuntimeError("out of luck")
        return real(self, text)

    monkeypatch.setattr(Validator, "check", check)
    outcomes = run_batch([read("name=Bad\n", "a.txt"), read("name=B\n", "b.txt")], job()).outcomes
    assert [(o.status, o.code) for o in outcomes] == [("quarantined", "internal_error"), ("written", "")]
    assert outcomes[0].detail == "RuntimeError: out of luck"


def test_a_record_does_not_depend_on_its_batch() -> None:
    batch = [read(f"name=N{i}\n- id={i}\ntotal={i}.25\n", f"{i}.txt") for i in range(5)]
    together = run_batch(batch, job()).outcomes
    alone = [run_batch([item], job()).outcomes[0] for item in reversed(batch)]
    assert together == alone[::-1]


def test_a_batch_counts_its_steps() -> None:
    assert run_batch([], job()).steps == 0
    assert run_batch([read("name=A\n")], job()).steps > 0


class CertainOfLists:
    """A calibrator that says the same of every list."""

    def __init__(self, sure: float) -> None:
        self.sure = sure

    def calibrate(self, _form: Form, _passage: Passage, filled: Filled) -> Filled:
        return replace(filled, lists={"/rows": self.sure})


def test_a_record_with_a_list_that_may_lack_rows_waits_in_quarantine() -> None:
    item, chosen = read("name=Anna\ntotal=12.50\n"), job(min_confidence=0.8)
    assert isinstance(chosen.engine, Engine)
    chosen.engine.model.calibration = CertainOfLists(0.3)  # type: ignore[misc]
    (outcome,) = run_batch([item], chosen).outcomes
    assert (outcome.status, outcome.code, outcome.pointers) == ("quarantined", "low_confidence", ("/rows",))
    assert outcome.record is not None and outcome.record.lists == {"/rows": 0.3}
    # The document is as sure as its values.
    assert outcome.record.confidence == min(leaf.confidence for leaf in outcome.record.leaves) > 0.3
    chosen.engine.model.calibration = CertainOfLists(0.9)  # type: ignore[misc]
    (outcome,) = run_batch([item], chosen).outcomes
    assert outcome.status == "written"
