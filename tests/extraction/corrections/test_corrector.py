"""Corrections: what they change, what keeps them, and what they refuse."""

from __future__ import annotations

import errno
import json
import time
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from tests.support.corrected_folder import LATER, SCHEMA, commit_waiting_of, digest_of, outcome_of, run, value_of
from tests.support.effort import first
from tests.support.store_fixtures import compact

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector, Refused, changes, corrections, journal
from cinnabar.extraction.documents.content.document import Span
from cinnabar.extraction.learning.corrected_set import corrected_set
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Record
from cinnabar.extraction.store.store import Store

A = digest_of("a.txt")


def correct(out, *changes, document=A):
    return Corrector(out).correct(document, "bill", [Change(*change) for change in changes], "eva")


def record(out, document=A, view="bill"):
    rows = query(out, f"SELECT record_json FROM {view} WHERE document = '{document}'").rows
    return json.loads(rows[0][0]) if rows else None


def fields(out, condition="true", document=A):
    sql = f"SELECT pointer, value_json, confidence, origin FROM fields WHERE document = '{document}' AND {condition}"
    return query(out, f"{sql} ORDER BY 1").rows


def test_a_corrected_value_is_in_the_views_at_once_with_its_origin(out):
    run(out)
    found = correct(out, (Action.VALUE, "/number", '"N 1"', (Span(2, 5),)))
    assert record(out) == value_of("a.txt", "e1") | {"number": "N 1"} == json.loads(found.record.text)
    assert fields(out, "origin = 'human'") == [("/number", '"N 1"', 1.0, "human")]
    assert query(out, "SELECT pointer, before, after, who, undone FROM corrections").rows == [
        ("/number", '"a-e1"', '"N 1"', "eva", None)
    ]
    assert record(out, digest_of("b.txt")) == value_of("b.txt", "e1")
    assert verify(out).problems == []
    assert query(out, "SELECT span_start, span_end FROM fields WHERE origin = 'human'").rows == [(2, 5)]
    assert run(out).skips == {"done": 3}


def test_an_accepted_value_keeps_its_evidence(out):
    run(out)
    correct(out, (Action.ACCEPT, "/seller/name"))
    rows = query(out, "SELECT pointer, value, confidence, evidence_text FROM fields WHERE origin = 'human'").rows
    assert rows == [("/seller/name", "S e1", 1.0, "abc")]


def test_an_accepted_record_is_certain_in_every_place(out):
    run(out)
    found = correct(out, (Action.ACCEPT, ""))
    assert found.record.confidence == 1.0
    assert {row[3] for row in fields(out)} == {"human", "list"}
    run(out, "engine")
    assert record(out) == value_of("a.txt", "e1")


def test_a_value_that_is_not_there_is_null_or_left_out_as_the_schema_wants(out):
    run(out)
    correct(out, (Action.VALUE, "/note", '"n"'), (Action.ABSENT, "/total"))
    assert record(out)["total"] is None and record(out)["note"] == "n"
    correct(out, (Action.ABSENT, "/note"))
    assert "note" not in record(out)
    correct(out, (Action.ABSENT, "/seller"))
    assert record(out)["seller"] is None
    with pytest.raises(UsageError, match="pointer"):
        correct(out, (Action.ABSENT, ""))


ROWS = [{"item": f"oak {number}", "price": number} for number in range(4)]
NEW = {"item": "elm", "price": 9}


ELM = {"/lines/1/item", "/lines/1/price"}
CHANGED = [ROWS[0], ROWS[1] | {"price": 8}, *ROWS[2:]]


@pytest.mark.parametrize(
    ("change", "sources", "human"),
    [
        ((Action.ABSENT, "/lines/1"), (0, 2, 3), set()),
        ((Action.ABSENT, "/lines/3"), (0, 1, 2), set()),
        ((Action.INSERT, "/lines/1", json.dumps(NEW)), (0, None, 1, 2, 3), ELM),
        ((Action.VALUE, "/lines/4", json.dumps(NEW)), (0, 1, 2, 3, None), {"/lines/4/item", "/lines/4/price"}),
        ((Action.LIST, "/lines", json.dumps(ROWS[::-1])), (3, 2, 1, 0), set()),
        ((Action.LIST, "/lines", json.dumps(ROWS)), (0, 1, 2, 3), set()),
        ((Action.LIST, "/lines", json.dumps([ROWS[3], NEW, ROWS[0]])), (3, None, 0), ELM),
        ((Action.LIST, "/lines", json.dumps(CHANGED)), (0, 1, 2, 3), {"/lines/1/price"}),
        ((Action.VALUE, "/lines/1", json.dumps(CHANGED[1])), (0, 1, 2, 3), {"/lines/1/price"}),
        ((Action.VALUE, "/seller", '{"name": "S", "city": null}'), (0, 1, 2, 3), {"/seller/name"}),
    ],
)
def test_only_what_a_person_changed_is_theirs(out, change, sources, human):
    rows = (0, 1, 3)
    outcome = outcome_of("a.txt", "e1", value_of("a.txt", "e1") | {"lines": ROWS})
    rated = {f"/lines/{number}/{name}": 0.3 + number / 10 for number in range(4) for name in ("item", "price")}
    leaves = [
        replace(one, confidence=rated.get(one.pointer, 0.6), flags=("ocr",) * ("2" in one.pointer), page=2)
        for one in outcome.record.leaves
    ]
    kept = Record.of(outcome.record.text, leaves, (), {f"/lines/{n}": 0.7 + n / 10 for n in rows}, {"/lines": 0.8})
    run(out, outcomes=[replace(outcome, record=kept)], paths=("a.txt",))
    columns = "value_json, confidence, origin, evidence_text, page, flags, row_confidence"
    sql = f"SELECT pointer, {columns} FROM fields WHERE document = '{A}' AND origin <> 'list'"
    before = {row[0]: row[1:] for row in query(out, sql).rows}
    correct(out, change)
    now = {row[0]: row[1:] for row in query(out, sql).rows}
    assert {pointer for pointer, row in now.items() if row[2] == "human"} == human
    for number, source in enumerate(sources):
        for name in ("item", "price"):
            pointer = f"/lines/{number}/{name}"
            assert pointer in human or now[pointer] == before[f"/lines/{source}/{name}"]
    assert all(row == before[one] for one, row in now.items() if not one.startswith("/lines") and one not in human)
    # The corrected list is kept by another engine, and nobody has looked at the document from end to end.
    run(out, "another", paths=("a.txt",))
    assert {row[0] for row in fields(out, "origin = 'human'")} == human
    taught = corrected_set(out, "bill")
    assert taught.labelled.truths == () and taught.partly == 1
    Corrector(out).undo(A, "bill", None, "eva")
    assert fields(out, "origin = 'human'") == [] and verify(out).problems == []


def test_a_guess_goes_with_its_row_and_stays_one(out):
    value = value_of("a.txt", "e1") | {"lines": ROWS}
    missing = outcome_of("a.txt", "e1", value, code="missing", detail="no value", pointers=("/lines/2/item",))
    run(out, outcomes=[missing], paths=("a.txt",))
    found = correct(out, (Action.ABSENT, "/lines/0"))
    assert (found.outcome, found.pointers, found.guesses) == ("quarantined", ("/lines/1/item",), {"/lines/1/item"})
    found = correct(out, (Action.INSERT, "/lines/0", json.dumps(NEW)))
    assert found.guesses == {"/lines/2/item"}
    assert correct(out, (Action.ABSENT, "/lines/2")).outcome == "written"
    assert {row[0] for row in fields(out, "origin = 'human'")} == {"/lines/0/item", "/lines/0/price"}
    Corrector(out).undo(A, "bill", None, "eva")
    assert correct(out, (Action.ABSENT, "/lines/0"), (Action.VALUE, "/lines/1/item", '"oak"')).outcome == "written"


def test_an_unsure_cell_holds_its_list_until_somebody_accepts_it(out):
    value = value_of("a.txt", "e1") | {"lines": ROWS}
    unsure = outcome_of("a.txt", "e1", value, code="low_confidence", pointers=("/lines", "/lines/3/price"))
    run(out, outcomes=[unsure], paths=("a.txt",))
    assert correct(out, (Action.ABSENT, "/lines/0")).pointers == ("/lines",)
    assert correct(out, (Action.ACCEPT, "/lines")).outcome == "written"


def test_a_correction_within_a_list_stands_for_the_list_as_it_was(out):
    run(out)
    correct(out, (Action.VALUE, "/lines/1/price", "99"))
    was = record(out)["lines"]
    run(out, "another")
    assert record(out) == value_of("a.txt", "another") | {"lines": was}
    assert fields(out, "origin = 'human'") == [("/lines/1/price", "99", 1.0, "human")]
    correct(out, (Action.ACCEPT, "/lines/0/price"), document=digest_of("b.txt"))
    run(out, "e22")
    assert record(out, digest_of("b.txt"))["lines"] == value_of("b.txt", "another")["lines"]


def test_a_correction_that_breaks_the_schema_is_refused_with_its_places(out):
    run(out)
    with pytest.raises(Refused, match="nothing was changed") as caught:
        correct(out, (Action.VALUE, "/number", '"x"'), (Action.VALUE, "/lines/0/price", '"much"'))
    assert [place for place, _ in caught.value.places] == ["/lines/0/price"]
    assert record(out) == value_of("a.txt", "e1") and corrections(out) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((Action.VALUE, "number", "1"), "expected a JSON pointer"),
        ((Action.VALUE, "/number", "N 1"), "in double quotes"),
        ((Action.VALUE, "/number"), "got none"),
        ((Action.LIST, "/lines", "{}"), "JSON array"),
        ((Action.VALUE, "/lines/7/price", "1"), "index of an item"),
        ((Action.VALUE, "/number/x", "1"), "expected a place of the record"),
        ((Action.ACCEPT, "/nothing"), "expected a place of the record"),
    ],
)
def test_a_change_that_makes_no_sense_is_told(out, change, said):
    run(out)
    with pytest.raises(UsageError, match=said):
        correct(out, change)


def test_an_unknown_document_is_told(out):
    run(out)
    with pytest.raises(UsageError, match="no outcome of this document under the schema other"):
        Corrector(out).state(A, "other")


def test_another_engine_keeps_corrections_and_reads_the_rest_anew(out):
    run(out)
    correct(out, (Action.VALUE, "/number", '"N"'), (Action.ABSENT, "/total"))
    run(out, "engine")
    assert record(out) == value_of("a.txt", "engine") | {"number": "N", "total": None}
    assert [row[:2] for row in fields(out, "origin = 'human'")] == [("/number", '"N"'), ("/total", "null")]
    assert verify(out).problems == []


@pytest.mark.slow
def test_another_version_of_the_schema_keeps_what_it_can_hold_and_tells_the_rest(out):
    run(out)
    correct(out, (Action.VALUE, "/number", '"N"'), (Action.VALUE, "/seller/city", '"Rome"'))
    run(out, schema=LATER)
    assert record(out)["number"] == "N" and "city" not in record(out)["seller"]
    assert query(out, f"SELECT flags FROM bill WHERE document = '{A}'").rows == [(["correction_left_out"],)]
    ((told,),) = query(out, "SELECT detail FROM outcomes WHERE detail LIKE '%left out%'").rows
    assert "/seller/city" in told
    assert len(corrections(out)) == 2 and verify(out).problems == []


def test_corrections_are_taken_back_one_by_one_and_nothing_is_deleted(out):
    run(out)
    corrector = Corrector(out)
    correct(out, (Action.VALUE, "/number", '"N"'))
    correct(out, (Action.VALUE, "/number", '"M"'), (Action.VALUE, "/total", "7"))
    first, second, _ = corrector.state(A, "bill").corrections
    corrector.undo(A, "bill", [second.identity], "udo")
    assert record(out)["number"] == "N" and record(out)["total"] == 7
    corrector.undo(A, "bill", [first.identity], "udo")
    assert record(out) == value_of("a.txt", "e1") | {"total": 7}
    corrector.undo(A, "bill", None, "udo")
    assert record(out) == value_of("a.txt", "e1")
    assert {row[3] for row in fields(out)} == {"copied", "list"}
    assert query(out, "SELECT count(*), count(undone), min(undone_by) FROM corrections").rows == [(3, 3, "udo")]
    assert verify(out).problems == [] and corrections(out) == []


def test_a_correction_is_not_taken_back_while_another_needs_it(out):
    shape = {"type": "object", "additionalProperties": False, "required": ["kind"]}
    plain, coded = {"kind": {"const": "plain"}}, {"kind": {"const": "coded"}, "code": {"type": "string"}}
    part = {"oneOf": [shape | {"properties": plain}, shape | {"properties": coded}]}
    schema = SCHEMA | {"properties": SCHEMA["properties"] | {"part": part}}
    value = value_of("a.txt", "e1") | {"part": {"kind": "plain"}}
    run(out, schema=schema, outcomes=[outcome_of("a.txt", "e1", value, schema=schema)], paths=("a.txt",))
    kind = correct(out, (Action.VALUE, "/part/kind", '"coded"')).corrections[0]
    code = correct(out, (Action.VALUE, "/part/code", '"x"')).corrections[1]
    with pytest.raises(Refused, match="/part/code"):
        Corrector(out).undo(A, "bill", [kind.identity], "udo")
    assert record(out)["part"] == {"kind": "coded", "code": "x"} and len(corrections(out)) == 2
    Corrector(out).undo(A, "bill", [code.identity], "udo")
    Corrector(out).undo(A, "bill", [kind.identity], "udo")
    assert record(out) == value and verify(out).problems == []


def test_a_correction_that_is_taken_back_after_a_rerun_gives_the_new_models_value(out):
    run(out)
    correct(out, (Action.VALUE, "/number", '"N"'), (Action.VALUE, "/lines/0/price", "8"))
    run(out, "engine")
    Corrector(out).undo(A, "bill", None, "eva")
    assert record(out) == value_of("a.txt", "engine")


def test_a_document_of_another_kind_leaves_the_views_and_comes_back(out):
    run(out)
    found = correct(out, (Action.OTHER_KIND, ""))
    assert (found.outcome, found.code) == ("skipped", "other_kind")
    assert record(out) is None and fields(out) == []
    assert query(out, "SELECT count(*) FROM records WHERE latest").rows == [(2,)]
    assert run(out).skips == {"other_kind": 1, "done": 2}
    assert run(out, "engine").skips == {"other_kind": 1}
    assert record(out) is None
    Corrector(out).undo(A, "bill", None, "eva")
    assert record(out) == value_of("a.txt", "e1")
    assert verify(out).problems == []


def test_what_is_corrected_in_a_document_of_another_kind_is_there_when_it_comes_back(out):
    run(out)
    kind = correct(out, (Action.OTHER_KIND, "")).corrections[0]
    first = correct(out, (Action.VALUE, "/lines", "[]")).corrections[-1]
    accepted = correct(out, (Action.ACCEPT, "/number")).corrections[-1]
    Corrector(out).undo(A, "bill", [accepted.identity], "eva")
    Corrector(out).undo(A, "bill", [kind.identity], "eva")
    assert record(out)["lines"] == [] and first.undone is None
    assert "/number" not in {row[0] for row in fields(out, "origin = 'human'")}


def test_a_document_in_quarantine_is_written_once_its_reasons_are_settled(out):
    missing = outcome_of("a.txt", "e1", code="missing", detail="no value", pointers=("/number", "/seller/name"))
    run(out, outcomes=[missing], paths=["a.txt"])
    found = correct(out, (Action.VALUE, "/number", '"N"'))
    assert (found.outcome, found.pointers) == ("quarantined", ("/seller/name",)) and record(out, view="records") is None
    found = correct(out, (Action.ACCEPT, "/seller/name"))
    assert found.outcome == "written" and record(out)["number"] == "N"
    assert query(out, "SELECT count(*) FROM quarantine").rows == [(0,)]
    assert [row[0] for row in fields(out, "origin = 'human'")] == ["/number", "/seller/name"]
    Corrector(out).undo(A, "bill", None, "eva")
    assert query(out, "SELECT code, pointers FROM quarantine").rows == [("missing", ["/number", "/seller/name"])]
    assert record(out) is None and fields(out) == []
    assert verify(out).problems == []


def test_an_invalid_record_in_quarantine_is_corrected_place_by_place(out):
    value = value_of("a.txt", "e1") | {"number": 5, "total": "much"}
    run(out, outcomes=[outcome_of("a.txt", "e1", value, code="invalid", pointers=("/number",))], paths=["a.txt"])
    assert correct(out, (Action.VALUE, "/number", '"N"')).outcome == "quarantined"
    assert correct(out, (Action.VALUE, "/total", "7")).outcome == "written"
    assert record(out)["number"] == "N" and verify(out).problems == []
    back = Corrector(out).undo(A, "bill", None, "eva")
    assert (back.outcome, json.loads(back.record.text)) == ("quarantined", value)


def test_a_correction_waits_while_a_run_holds_the_folder_and_comes_with_its_next_batch(out):
    run(out)
    seen = []

    def meanwhile():
        seen.append(correct(out, (Action.VALUE, "/number", '"N"')))
        seen.append(Corrector(out).state(A, "bill"))
        assert record(out)["number"] == "a-e1" and len(corrections(out)) == 1

    run(out, "engine", between=meanwhile)
    assert [json.loads(one.record.text)["number"] for one in seen] == ["N", "N"]
    # The run's own record counts, although the correction came after its beginning.
    assert record(out) == value_of("a.txt", "engine") | {"number": "N"}
    assert list(out.glob("waiting/*.json")) == [] and verify(out).problems == []


def test_a_committed_correction_whose_file_is_still_there_counts_once(out):
    run(out)
    with Store.open(out):
        correct(out, (Action.VALUE, "/number", '"N"'))
    (path,) = out.glob("waiting/*.json")
    data = path.read_bytes()
    assert record(out)["number"] == "a-e1"
    commit_waiting_of(out)
    assert record(out)["number"] == "N" and not path.exists()
    batches = len(manifests.read_live(out))
    path.write_bytes(data)
    commit_waiting_of(out)
    assert query(out, "SELECT count(*) FROM corrections").rows == [(1,)] and not path.exists()
    assert len(manifests.read_live(out)) == batches


@pytest.mark.slow
def test_corrections_alone_merge_their_batches(out, monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", 4)
    run(out)
    for number in range(9):
        correct(out, (Action.VALUE, "/number", f'"N {number}"'))
    # Each correction reads all batches: without merging the five-hundredth took ten seconds.
    assert len(manifests.read_live(out)) < 7
    assert record(out)["number"] == "N 8"
    compact(out)
    run(out, "engine")
    assert record(out)["number"] == "N 8"
    assert query(out, "SELECT count(*) FROM corrections").rows == [(9,)] and verify(out).problems == []


def test_a_forgotten_document_loses_its_corrections(out):
    run(out)
    correct(out, (Action.VALUE, "/number", '"N secret"'))
    forget(out, "a.txt")
    assert corrections(out) == []
    for path in out.rglob("*.parquet"):
        assert "secret" not in str(pq.read_table(path).to_pydict()) and A not in str(pq.read_table(path).to_pydict())


def test_a_broken_file_of_corrected_records_is_corrected_again(out):
    run(out)
    correct(out, (Action.VALUE, "/number", '"N"'))
    (path,) = [one for one in out.glob("data/*/*/*.parquet") if pq.read_table(one)["number"].to_pylist() == ["N"]]
    path.write_bytes(b"broken")
    assert len(verify(out).aside) == 1
    assert record(out)["number"] == "N" and len(corrections(out)) == 1
    assert verify(out).problems == []


@pytest.mark.parametrize("after", [False, True])
def test_a_correction_on_a_full_disk_is_refused_and_leaves_nothing(out, monkeypatch, after):
    run(out)
    write = journal.write_bytes

    def full(path, data):
        if after:
            write(path, data)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal, "write_bytes", full)
    with pytest.raises(RunError, match=r"could not be stored \(No space left on device\), and nothing was changed"):
        correct(out, (Action.VALUE, "/number", '"N"'))
    assert corrections(out) == [] and record(out) == value_of("a.txt", "e1")


def test_a_durable_correction_that_a_full_disk_keeps_out_of_the_tables_counts_later(out, monkeypatch):
    run(out)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("cinnabar.extraction.store.store.pq.write_table", full)
        patch.setattr("cinnabar.extraction.store.store.write_whole", full)
        reviewed = correct(out, (Action.VALUE, "/number", '"N"'))
    assert json.loads(reviewed.record.text)["number"] == "N" and record(out)["number"] == "a-e1"
    Corrector(out).commit()
    assert record(out)["number"] == "N"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["cut", "folder"])
def test_a_waiting_correction_that_cannot_be_read_stops_nothing_and_counts_once_it_can(out, broken):
    run(out)
    with Store.open(out):
        correct(out, (Action.VALUE, "/number", '"N"'))
    (path,) = out.glob("waiting/*.json")
    whole = path.read_bytes()
    if broken == "cut":
        path.write_bytes(whole[:40])
    else:
        path.unlink()
        path.mkdir()
    correct(out, (Action.VALUE, "/total", "7"))
    run(out, "e22")
    compact(out)
    assert (record(out)["number"], record(out)["total"]) == ("a-e22", 7) and path.exists()
    if broken == "folder":
        path.rmdir()
    path.write_bytes(whole)
    assert verify(out, clean=True).problems == []
    commit_waiting_of(out)
    assert (record(out)["number"], record(out)["total"]) == ("N", 7)
    assert not path.exists() and len(corrections(out)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("how", ["correct", "undo", "merge"])
def test_the_view_of_a_schema_stays_that_of_its_latest_version(out, how):
    if how == "merge":
        run(out, schema=LATER, paths=("a.txt",))
    run(out)
    run(out, "e22", schema=LATER, paths=("a.txt",))
    b = digest_of("b.txt")
    if how != "merge":
        correct(out, (Action.VALUE, "/number", '"B"'), document=b)
    if how == "undo":
        Corrector(out).undo(b, "bill", None, "eva")
    assert query(out, "SELECT path FROM bill").rows == [("a.txt",)]
    compact(out)
    assert query(out, "SELECT path FROM bill").rows == [("a.txt",)]
    compact(out)
    run(out, "e333", schema=LATER, paths=("c.txt",))
    assert query(out, "SELECT path FROM bill ORDER BY path").rows == [("a.txt",), ("c.txt",)]


@pytest.mark.slow
def test_an_accepted_record_leaves_quarantine_also_if_an_unsure_value_is_left_out(out):
    one = outcome_of("a.txt", "e1", code="low_confidence", pointers=("/note", "/total"))
    run(out, outcomes=[one], paths=("a.txt",))
    for earlier, then in (("/total", "/note"), ("/note", "/total")):
        assert correct(out, (Action.ACCEPT, earlier)).pointers == (then,)
        assert correct(out, (Action.ACCEPT, then)).outcome == "written"
        Corrector(out).undo(A, "bill", None, "eva")
    assert record(out) is None
    assert correct(out, (Action.ACCEPT, "")).outcome == "written"
    run(out, "e1", outcomes=[one], paths=("a.txt",))
    compact(out)
    assert record(out) == value_of("a.txt", "e1") and verify(out).problems == []
    assert Corrector(out).undo(A, "bill", None, "eva").pointers == ("/note", "/total")


def test_a_correction_reads_no_places_that_later_ones_fix_again(out, monkeypatch):
    run(out)
    for price in range(4):
        correct(out, (Action.VALUE, "/lines/1/price", str(price)))
    read = []
    monkeypatch.setattr(changes, "units_from", lambda said, old=changes.units_from: read.append(said) or old(said))
    correct(out, (Action.VALUE, "/number", '"N 2"'))
    assert {said for said in read if "/lines" in said} == {corrections(out)[3].fixed}
    assert record(out)["lines"][1]["price"] == 3
    read.clear()
    Corrector(out).undo(A, "bill", None, "eva")
    assert read == [] and record(out) == value_of("a.txt", "e1")


@pytest.mark.slow
def test_equal_rows_keep_their_own_evidence_in_a_long_list(out):
    value = value_of("a.txt", "e1") | {"lines": [{"item": f"i {n % 3}", "price": None} for n in range(3000)]}
    run(out, outcomes=[outcome_of("a.txt", "e1", value)], paths=("a.txt",))
    began = time.process_time()
    correct(out, (Action.LIST, "/lines", json.dumps([{"item": "i 2", "price": None}, *value["lines"][1:2000]])))
    assert time.process_time() - began < 5
    rows = query(out, "SELECT pointer FROM fields WHERE starts_with(pointer, '/lines/') AND evidence_text = 'abc'").rows
    assert len(rows) == 4000 and fields(out, "origin = 'human'") == []


@pytest.mark.parametrize("title", first(2, ["document", "partition", "place", "read_parquet"]))
def test_a_schema_may_have_the_name_of_a_word_in_the_query_of_another_view(out, title):
    schema = SCHEMA | {"title": title}
    held = outcome_of("b.txt", "e1", schema=schema, code="unsure")
    run(out, schema=schema, paths=("a.txt", "b.txt"), outcomes=[outcome_of("a.txt", "e1", schema=schema), held])
    Corrector(out).correct(A, title, [Change(Action.VALUE, "/number", '"N 1"')], "eva")
    for view in ("outcomes", "documents", "corrections", "runs", title):
        assert query(out, f'SELECT count(*) FROM "{view}"').rows[0][0] > 0
