"""Bound fields hold facts: no model is asked, the schema judges them, and runs, reruns and backfills keep them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import mercury_server as mercury
from tests.support.begun_runs import backfill
from tests.support.reading_model import ReadingModel
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.asking.provider_schema import Wire
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.model import Canvas, Row, Scores
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.remote.serving import RemoteSettings
from cinnabar.engine.request import Filled, Passage
from cinnabar.extraction.documents.content.document import Document, Fact, moment
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.model_sources import ModelSource, RemoteSource, model_source
from cinnabar.extraction.filling.overlay.facts import facts_of
from cinnabar.extraction.filling.overlay.given import known_to_model
from cinnabar.extraction.filling.pipeline import Job, OnMissing, OpenedInput, run_batch
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.cluster.workers import Parsing, shipments_of
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.facts import FACTS
from cinnabar.schemas.form.form import Form, ObjectNode
from cinnabar.schemas.form.record_walk import walk_lists

TEXT = {"type": ["string", "null"]}
ROWS = {"type": "array", "items": {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}}


def bound(fact: str, **schema: Any) -> dict[str, Any]:
    return schema | {"x-cinnabar-from": fact}


def of(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {
        "title": "note",
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


def mail(body: str = "name=Anna\n- id=A\n- id=B\n", **headers: str) -> bytes:
    made = EmailMessage()
    about = {
        "From": "Ada <ada@example.org>",
        "To": "bob@example.org, jane@example.org",
        "Subject": "Hello",
        "Date": "Mon, 02 Jan 2023 00:30:00 +0100",
    }
    for name, value in (about | headers).items():
        made[name] = value
    made.set_content(body)
    return made.as_bytes()


def read(data: bytes, path: str = "a.eml") -> OpenedInput:
    return OpenedInput(path, hashlib.sha256(data).hexdigest(), parse(data, path))


def outcome_of(
    schema: dict[str, Any], data: bytes, context: int | None = None, on_missing: OnMissing = "quarantine"
) -> Outcome:
    source = load_schema(schema)
    job = Job(compile_schema(schema), Engine(Asked()), Validator(source), on_missing, context)
    (outcome,) = run_batch([read(data)], job).outcomes
    return outcome


def record_of(outcome: Outcome) -> dict[str, Any]:
    assert outcome.record is not None
    found: dict[str, Any] = json.loads(outcome.record.text)
    return found


class Asked(ReadingModel):
    """Note the slots whose values are wanted, and find rows for lists of objects alone."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: set[str] = set()

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        wanted = zip(canvas.instances, canvas.known, strict=True)
        self.paths |= {one.slot.path for one, known in wanted if not known}
        return super().score(forms, memories, rows, canvas)

    def find_rows(self, forms: Any, memories: Any) -> list[list[Row]]:
        lists = [tuple(a for a in form.arrays if isinstance(a.item, ObjectNode)) for form in forms]
        plain = [replace(form, arrays=own) for form, own in zip(forms, lists, strict=True)]
        return super().find_rows(plain, memories)


SCHEMA = of(
    name=TEXT,
    sender=bound("mail.from.address", type="string", format="email"),
    to=bound("mail.to.address", type=["array", "null"], items={"type": "string"}),
    day=bound("mail.sent", type=["string", "null"], format="date"),
    mail=of(
        subject=bound("mail.subject", type=["string", "null"]), files=bound("mail.attachments.count", type="integer")
    ),
    rows=ROWS,
)


def test_facts_stand_in_their_fields_with_their_headers_as_evidence_and_no_model_is_asked() -> None:
    model = Asked()
    job = Job(compile_schema(SCHEMA), Engine(model), Validator(load_schema(SCHEMA)))
    (outcome,) = run_batch([read(mail())], job).outcomes
    assert outcome.status == "written" and outcome.record is not None
    assert record_of(outcome) == {
        "name": "Anna",
        "sender": "ada@example.org",
        "to": ["bob@example.org", "jane@example.org"],
        "day": "2023-01-02",
        "mail": {"subject": "Hello", "files": 0},
        "rows": [{"id": "A"}, {"id": "B"}],
    }
    assert model.paths == {"/name", "/rows/*/id"}
    leaves = {leaf.pointer: leaf for leaf in outcome.record.leaves}
    facts = {at: leaf for at, leaf in leaves.items() if leaf.origin == "fact"}
    assert set(facts) == {"/sender", "/to/0", "/to/1", "/day", "/mail/subject", "/mail/files"}
    assert {leaf.confidence for leaf in facts.values()} == {1.0} and not any(leaf.flags for leaf in facts.values())
    evidence = {at: leaf.evidence.text for at, leaf in facts.items() if leaf.evidence}
    assert evidence == {
        "/sender": "ada@example.org",
        "/to/0": "bob@example.org",
        "/to/1": "jane@example.org",
        "/day": "Mon, 02 Jan 2023 00:30:00 +0100",
        "/mail/subject": "Hello",
    }


def test_a_language_model_writes_the_facts_it_is_not_asked_for(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", window=4096, block=16)
    engine = LanguageEngine(load_language_model(folder, "cpu", "float32"), "instant")
    names = bound("mail.to.name", type="array", items={"type": "string"})
    schema = SCHEMA | {"properties": SCHEMA["properties"] | {"names": names}}
    job = Job(compile_schema(schema), engine, Validator(load_schema(schema)), "guess")
    (outcome,) = run_batch([read(mail())], job).outcomes
    assert outcome.record is not None
    record = record_of(outcome)
    assert (record["sender"], record["day"], record["names"]) == ("ada@example.org", "2023-01-02", ["", ""])
    assert (record["to"], record["mail"]["files"]) == (["bob@example.org", "jane@example.org"], 0)
    origins = {leaf.pointer: leaf.origin for leaf in outcome.record.leaves}
    assert all(origins[at] == "fact" for at in ("/sender", "/day", "/to/0", "/to/1", "/names/1", "/mail/subject"))


def test_a_document_without_the_facts_has_nulls_and_misses_what_is_demanded() -> None:
    source = load_schema(SCHEMA)
    job = Job(compile_schema(SCHEMA), Engine(Asked()), Validator(source))
    (outcome,) = run_batch([read(b"name=Anna\n", "a.txt")], job).outcomes
    assert (outcome.status, outcome.code) == ("quarantined", "missing")
    assert set(outcome.pointers) == {"/sender", "/mail/files"}
    record = record_of(outcome)
    assert (record["to"], record["day"], record["mail"]["subject"]) == (None, None, None)


def test_an_absent_fact_is_left_out_or_the_default() -> None:
    schema = of(
        ["a"],
        a={"type": "string", "default": "none", "x-cinnabar-from": "pdf.title"},
        b=bound("pdf.author", type="string"),
        c=bound("mail.cc.address", type="array", items={"type": "string"}, minItems=1),
        d={"type": ["object", "null"], "properties": {"e": bound("pdf.title", type="string")}, "required": ["e"]},
        f=bound("mail.cc.address", type="array", items={"type": "string"}),
    )
    outcome = outcome_of(schema, mail())
    assert (outcome.status, record_of(outcome)) == ("written", {"a": "none", "d": None, "f": []})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (bound("mail.to.address", type=["string", "null"]), None),
        (bound("mail.subject", type=["string", "null"], maxLength=3), None),
        (bound("mail.to.address", type=["array", "null"], items={"type": "string"}, maxItems=1), None),
        (bound("mail.to.address", type="array", items={"type": "string"}, maxItems=1), []),
        (bound("mail.subject", type=["integer", "null"]), None),
    ],
)
def test_a_refused_fact_is_null_where_that_is_allowed_and_flagged(field: dict[str, Any], value: Any) -> None:
    outcome = outcome_of(of(name=TEXT, a=field), mail())
    assert outcome.status == "written" and outcome.record is not None
    assert record_of(outcome)["a"] == value
    flagged = [leaf.pointer for leaf in outcome.record.leaves if "refused_fact" in leaf.flags]
    assert flagged == (["/a"] if field.get("type") != "array" and "items" not in field else [])
    assert "refused_fact" in outcome.record.flags
    assert outcome.record.lists == ({"/a": 0.0} if value == [] else {})


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (bound("mail.to.address", type="string"), "2 values"),
        (bound("mail.subject", type="string", pattern="^[0-9]+$"), '"Hello"'),
        (bound("mail.to.address", type="array", items={"type": "string"}, minItems=3), "3 to more"),
        (bound("mail.subject", type="boolean"), "boolean"),
    ],
)
@pytest.mark.parametrize("on_missing", ["quarantine", "guess"])
def test_a_refused_fact_that_is_demanded_waits_in_quarantine_with_its_reason(
    field: dict[str, Any], words: str, on_missing: OnMissing
) -> None:
    outcome = outcome_of(of(name=TEXT, a=field), mail(), on_missing=on_missing)
    assert (outcome.status, outcome.code, outcome.pointers) == ("quarantined", "refused_fact", ("/a",))
    assert outcome.detail.startswith("/a: mail.") and words in outcome.detail
    assert record_of(outcome)["name"] == "Anna"


def test_facts_that_the_schema_does_not_allow_together_wait_in_quarantine() -> None:
    schema = of(a=bound("mail.subject", type="string"), b=bound("mail.from.address", type="string"))
    schema["not"] = {"properties": {"a": {"const": "Hello"}, "b": {"const": "ada@example.org"}}}
    outcome = outcome_of(schema, mail())
    assert (outcome.status, outcome.code) == ("quarantined", "refused_fact")
    assert "no record with the facts" in outcome.detail and set(outcome.pointers) == {"/a", "/b"}


def test_other_fields_meet_the_conditions_that_a_fact_sets() -> None:
    schema = of(["a"], a=bound("mail.subject", type="string"), b={"enum": ["x", "y"]})
    schema["if"] = {"properties": {"a": {"const": "Hello"}}}
    schema |= {"then": {"required": ["b"]}, "else": {"not": {"required": ["b"]}}}
    assert record_of(outcome_of(schema, mail("b=y"), on_missing="guess"))["b"] in ("x", "y")
    assert "b" not in record_of(outcome_of(schema, mail("b=y", Subject="Bye")))


def test_a_long_document_has_each_fact_once_and_its_rows_are_still_united() -> None:
    body = "name=Anna\n" + "- id=first\n" + "word " * 300 + "\n- id=last\n"
    to = bound("mail.to.address", type="array", items={"type": "string"}, uniqueItems=True)
    schema = of(name=TEXT, to=to, rows=ROWS)
    whole, chunked = outcome_of(schema, mail(body)), outcome_of(schema, mail(body), context=64)
    assert record_of(whole) == record_of(chunked)
    assert record_of(chunked)["to"] == ["bob@example.org", "jane@example.org"]
    assert chunked.record is not None
    assert [at for at in chunked.record.rows if at.startswith("/to")] == ["/to/0", "/to/1"]
    again = "- id=same\n- id=same\n- id=other\n"
    free = of(name=TEXT, to=TEXT, rows=ROWS)
    assert record_of(outcome_of(schema, mail(again)))["rows"] == record_of(outcome_of(free, mail(again)))["rows"]


def form_of(field: dict[str, Any]) -> Form:
    return compile_schema(of(a=field)).form


def values(fact: str, value: Any, field: dict[str, Any]) -> tuple[str, list[str]]:
    document = parse(b"some words", "a.txt")
    document = Document(**{n: getattr(document, n) for n in document.__slots__} | {"facts": {fact: Fact(value)}})
    (found,) = facts_of(document, form_of(bound(fact, **field))).given
    leaves = [*found.leaves.values()]
    missing, given = any(leaf.missing for leaf in leaves), any(leaf.text not in (None, "null") for leaf in leaves)
    texts = [leaf.text for leaf in leaves if given and not missing and leaf.text is not None]
    return "missing" if missing else "given" if given else "absent", texts


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"type": "string"}, "2023-01-02T00:30:00+01:00"),
        ({"type": "string", "format": "date-time"}, "2023-01-02T00:30:00+01:00"),
        ({"type": "string", "pattern": "Z$"}, "2023-01-01T23:30:00Z"),
        ({"type": "string", "format": "date"}, "2023-01-02"),
        ({"type": "string", "format": "time"}, "00:30:00+01:00"),
        ({"type": "string", "pattern": "^[0-9:]{8}$"}, "00:30:00"),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}, "2023-01-02"),
    ],
)
def test_a_moment_is_spelled_as_the_field_wants_it(field: dict[str, Any], text: str) -> None:
    assert values("mail.sent", "2023-01-02T00:30:00+01:00", field) == ("given", [json.dumps(text)])


@pytest.mark.parametrize(
    ("fact", "value", "field", "text"),
    [
        ("file.size", 120, {"type": "integer"}, "120"),
        ("file.size", 120, {"type": "number", "multipleOf": 0.5}, "120"),
        ("file.size", 120, {"type": "string"}, '"120"'),
        ("pdf.title", "0042", {"type": "integer"}, "42"),
        ("pdf.title", "Invoice", {"enum": ["INVOICE", "LETTER"]}, '"INVOICE"'),
        ("document.language", "de", {"enum": ["German", "English"]}, '"German"'),
        ("document.language", "de", {"enum": ["Englisch", "Deutsch"]}, '"Deutsch"'),
        ("document.language", "de", {"enum": ["DE", "EN"]}, '"DE"'),
        ("document.language", "de", {"type": "string"}, '"de"'),
        ("mail.to.address", ("a@x.org",), {"type": "string", "format": "email"}, '"a@x.org"'),
    ],
)
def test_a_fact_is_spelled_as_the_field_wants_it(fact: str, value: Any, field: dict[str, Any], text: str) -> None:
    assert values(fact, value, field) == ("given", [text])


def test_lists_become_arrays_and_repeat_nothing_where_items_are_unique() -> None:
    strings = {"type": "array", "items": {"type": "string"}}
    assert values("mail.to.address", ("a", "b", "a"), strings) == ("given", ['"a"', '"b"', '"a"'])
    assert values("mail.to.address", ("a", "b", "a"), strings | {"uniqueItems": True}) == ("given", ['"a"', '"b"'])
    assert values("mail.subject", "a", strings) == ("given", ['"a"'])
    numbers = {"type": "array", "items": {"type": "integer"}}
    assert values("mail.attachments.size", (3, 3), numbers) == ("given", ["3", "3"])


ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
VALUES = {
    "text": st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20),
    "integer": st.integers(0, 10**12),
    "moment": st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=ZONES).map(moment),
}
VALUES |= {f"{kind}s": st.lists(VALUES[kind], max_size=4).map(tuple) for kind in ("text", "integer")}
FIELDS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": ["string", "null"], "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": ["integer", "null"], "minimum": 10},
    {"type": ["number", "string"], "maxLength": 5},
    {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 3},
    {"type": ["array", "null"], "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True},
    {"type": "boolean"},
]


@given(st.data(), st.sampled_from(sorted(FACTS)), st.sampled_from(FIELDS))
def test_a_given_fact_is_accepted_by_its_field_and_says_what_the_fact_says(
    data: st.DataObject, fact: str, field: dict[str, Any]
) -> None:
    kind = FACTS[fact].kind
    value = data.draw(VALUES[kind])
    state, texts = values(fact, value, field)
    schema = compile_schema(field)
    written = [json.loads(text) for text in texts]
    if state == "given" and not written:
        assert value == () and schema.accepts("[]")
    elif state == "given":
        assert schema.accepts(json.dumps(written if field["type"] in ("array", ["array", "null"]) else written[0]))
        if kind == "moment":
            assert all(_says(text, datetime.fromisoformat(value)) for text in written)
        else:
            expected = [_plain(one, written[0]) for one in (value if isinstance(value, tuple) else (value,))]
            assert [str(one) for one in written] in (expected, [*dict.fromkeys(expected)])
    elif state == "absent":
        assert schema.accepts("null") or schema.accepts("[]")
    else:
        assert not schema.accepts("null") and not schema.accepts("[]")


def _plain(value: Any, like: Any) -> str:
    return str(int(value)) if isinstance(like, int) else str(value)


def _says(text: str, time: datetime) -> bool:
    utc = time.astimezone(UTC)
    return any(text in (moment(one), moment(one)[:10], moment(one)[11:]) for one in (time, utc))


# Whole runs.


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.eml").write_bytes(mail())
    (folder / "b.eml").write_bytes(mail("name=Bea\n", To="carl@example.org", Subject="Bye"))
    return folder


def run(docs: Path, schema: dict[str, Any], out: Path, model: ReadingModel | None = None, **more: Any) -> Any:
    source = ModelSource("asked", lambda: model or Asked())
    return extract([docs], load_schema(schema), out, source, RunOptions(workers=1), **more)


def test_a_run_stores_facts_in_parquet_and_duckdb_and_a_second_one_does_nothing(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(docs, SCHEMA, out).written == 2
    rows = query(out, 'select sender, "to", day, mail.subject from note order by name').rows
    day = datetime(2023, 1, 2).date()
    assert rows == [
        ("ada@example.org", ["bob@example.org", "jane@example.org"], day, "Hello"),
        ("ada@example.org", ["carl@example.org"], day, "Bye"),
    ]
    sql = "select distinct origin, confidence from fields where pointer in ('/sender', '/day', '/to/0')"
    assert query(out, sql).rows == [("fact", 1.0)]
    columns = "mail_subject, mail_to_address, mail_sent, file_name, size, document_language from documents"
    (first, second) = query(out, f"select {columns} order by file_name").rows
    assert first[:2] == ("Hello", ["bob@example.org", "jane@example.org"]) and first[3] == "a.eml"
    assert first[2].astimezone(UTC) == datetime(2023, 1, 1, 23, 30, tzinfo=UTC)
    assert first[4] == (docs / "a.eml").stat().st_size and second[0] == "Bye"
    stored = pa.concat_tables([pq.read_table(path) for path in sorted((out / "documents").rglob("*.parquet"))])
    assert sorted(stored["mail_subject"].to_pylist()) == ["Bye", "Hello"]
    assert run(docs, SCHEMA, out).skipped == 2
    assert verify(out).problems == []


def test_a_backfill_binds_a_new_field_and_keeps_stored_facts(docs: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "out", Asked()
    old = of(name=TEXT, sender=SCHEMA["properties"]["sender"], size=bound("file.size", type="integer"), rows=ROWS)
    run(docs, old, out)
    new = old | {"properties": old["properties"] | {key: SCHEMA["properties"][key] for key in ("to", "day")}}
    summary = backfill(load_schema(new), out, ModelSource("asked", lambda: model), options=RunOptions(workers=1))
    assert summary is not None and summary.written == 2 and model.paths == set()
    whole = run(docs, new, tmp_path / "whole")
    assert whole.written == 2
    both = "select document, pointer, value_json, confidence, origin, evidence_text from fields where {} order by all"
    both = both.format(f"schema_fingerprint = '{load_schema(new).fingerprint}'")
    assert query(out, both).rows == query(tmp_path / "whole", both).rows
    records = "select record_json from note order by name"
    assert query(out, records).rows == query(tmp_path / "whole", records).rows


@pytest.fixture
def server() -> Iterator[mercury.Server]:
    with mercury.running(mercury.Server()) as found:
        yield found


def remote(server: mercury.Server) -> RemoteSource:
    found = model_source("mercury-2", settings=RemoteSettings(base_url=server.url))
    assert isinstance(found, RemoteSource)
    return found


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)


class DoubtsLists(Asked):
    """Give every list a probability of one half of being complete."""

    def __init__(self) -> None:
        super().__init__()
        self.calibration = self

    def calibrate(self, form: Form, _passage: Passage, filled: Filled) -> Filled:
        return replace(filled, lists={one.pointer: 0.5 for one in walk_lists(form, json.loads(filled.record))})


def test_a_bound_list_is_surely_whole_with_items_or_without() -> None:
    items = {"items": {"type": "string"}}
    schema = of(
        name=TEXT,
        to=bound("mail.to.address", type="array", **items),
        cc=bound("mail.cc.address", type="array", **items),
        blind=bound("mail.cc.address", type=["array", "null"], minItems=1, **items),
        rows=ROWS,
    )
    job = Job(compile_schema(schema), Engine(DoubtsLists()), Validator(load_schema(schema)))
    (outcome,) = run_batch([read(mail())], job).outcomes
    assert outcome.record is not None
    assert (record_of(outcome)["cc"], record_of(outcome)["blind"]) == ([], None)
    assert outcome.record.lists == {"/to": 1.0, "/cc": 1.0, "/rows": 0.5}


def test_a_list_without_values_is_not_asked_either() -> None:
    form = compile_schema(of(name=TEXT, cc=bound("mail.cc.address", type="array", items={"type": "string"}))).form
    found = read(mail()).found
    assert isinstance(found, Document)
    known, counted, _ = known_to_model(facts_of(found, form).given)
    wire = Wire(form, known, counted)
    assert wire.schema is not None and set(wire.schema["properties"]) == {"name"}


class Unsure(Asked):
    """Be half sure of the name."""

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        scores = super().score(forms, memories, rows, canvas)
        for at, one in enumerate(canvas.instances):
            if one.slot.path == "/name":
                scores.absent_logit[at] = 0.0
                scores.candidate_logits[at] = scores.candidate_logits[at].clamp(max=0.5)
        return scores


def test_an_escalation_asks_for_no_fact_and_a_missing_one_raises_none(
    docs: Path, tmp_path: Path, server: mercury.Server
) -> None:
    title = bound("pdf.title", type="string")
    escalation = Escalation(remote(server), 0.8)
    summary = run(docs, SCHEMA, tmp_path / "out", Unsure(), escalation=escalation)
    assert (summary.written, summary.usage["escalated_fields"]) == (2, 2)
    asked = [set(body["response_format"]["json_schema"]["schema"]["properties"]) for body in server.bodies]
    assert all(properties <= {"name", "rows"} for properties in asked) and len(asked) == 2
    assert query(tmp_path / "out", "select count(*) from fields where origin = 'fact'").rows == [(11,)]
    held = run(docs, of(name=TEXT, title=title), tmp_path / "held", Asked(), escalation=escalation)
    assert held.reasons == {"missing": 2} and len(server.bodies) == 2


def test_facts_of_files_travel_to_the_machines_of_a_cluster(docs: Path) -> None:
    path = docs / "a.eml"
    parsing = Parsing(1)
    ((_, _, found, _),) = parsing.parse(shipments_of([Input(str(path), path, "0")], [None]), {})[1]
    parsing._pool.close()
    assert isinstance(found, Document)
    assert found.facts["file.name"].value == "a.eml" and found.facts["mail.subject"].value == "Hello"
    assert found.facts["file.modified"].value == moment(datetime.fromtimestamp(path.stat().st_mtime, UTC))
