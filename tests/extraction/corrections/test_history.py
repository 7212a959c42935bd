"""The history of a value: what the model made of it, and who changed it to what; commits behind the answers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from tests.support.corrected_folder import SCHEMA, digest_of, outcome_of, run

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.corrections.journal import waiting_corrections, write
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import UNCORRECTED, batch_rows
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.columns.arrow import arrow_schema

A = digest_of("a.txt")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which two people corrected, took back and accepted values of one document."""
    out = tmp_path_factory.mktemp("history") / "out"
    run(out, "e1", paths=("a.txt", "b.txt"))
    corrector = Corrector(out)
    corrector.correct(A, "bill", [Change(Action.VALUE, "/number", '"R-1"')], "Ada")
    changes = [Change(Action.VALUE, "/number", '"R-2"'), Change(Action.ABSENT, "/total")]
    made = corrector.correct(A, "bill", changes, "Bob")
    last = next(one for one in made.corrections if one.pointer == "/total")
    corrector.undo(A, "bill", [last.identity], "Ada")
    corrector.correct(A, "bill", [Change(Action.ACCEPT, "")], "Eve")
    return out


def test_each_value_has_its_first_value_with_its_confidence_and_each_step(out: Path) -> None:
    state = Corrector(out).state(A, "bill")
    assert state.first["/number"] == ('"a-e1"', 0.6) and {*state.first} == {"/number", "/total"}
    steps = [(one.who, one.before, one.after) for one in state.corrections if one.pointer == "/number"]
    assert steps == [("Ada", '"a-e1"', '"R-1"'), ("Bob", '"R-1"', '"R-2"')]
    (gone,) = [one for one in state.corrections if one.pointer == "/total"]
    assert (gone.who, gone.after, gone.undone_by) == ("Bob", "null", "Ada") and gone.undone is not None


def test_runs_tell_corrections_apart_and_the_history_who_said_a_value(out: Path) -> None:
    kinds = query(out, "SELECT kind, count(*) FROM runs GROUP BY ALL ORDER BY 1").rows
    assert kinds == [("correct", 4), ("extract", 1)]
    of_number = "FROM history WHERE pointer = '/number' AND document = ? ORDER BY run_id".replace("?", f"'{A}'")
    who = [row[0] for row in query(out, f"SELECT who {of_number}").rows]
    assert who == [None, "Ada", "Bob", "Bob", "Eve"]


def test_a_document_that_nobody_corrected_has_no_history(out: Path) -> None:
    assert Corrector(out).state(digest_of("b.txt"), "bill").first == {}


def test_corrections_behind_the_answer_are_durable_at_once_and_committed_later(tmp_path: Path) -> None:
    run(tmp_path / "out", "e1", paths=("a.txt",))
    corrector = Corrector(tmp_path / "out", behind=True)
    for number in range(3):
        state = corrector.correct(A, "bill", [Change(Action.VALUE, "/number", f'"R-{number}"')], "Ada")
    assert state.record is not None and '"R-2"' in state.record.text
    assert len(waiting_corrections(tmp_path / "out")) == 3, "as if the process had been killed here"
    Corrector(tmp_path / "out", behind=True).commit()
    assert waiting_corrections(tmp_path / "out") == []
    rows = query(tmp_path / "out", "SELECT after FROM corrections ORDER BY identity").rows
    assert rows == [('"R-0"',), ('"R-1"',), ('"R-2"',)]


def test_a_second_readers_verdict_of_version_0_3_is_kept_and_changes_no_value(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, "e1", paths=("a.txt",))
    corrector = Corrector(out, behind=True)
    before = corrector.correct(A, "bill", [Change(Action.VALUE, "/number", '"R-1"')], "Ada")
    (entry,) = waiting_corrections(out)
    verdict = '{"run": "r", "right": 5, "wrong": [{"pointer": "/number", "after": "\\"R-1\\""}]}'
    audit = replace(entry.corrections[0], identity=f"{entry.identity}-1", action=Action.AUDIT, pointer="", fixed="[]")
    audit = replace(audit, before=None, after=verdict)
    write(out, replace(entry, corrections=(*entry.corrections, audit)))
    Corrector(out).commit()
    assert waiting_corrections(out) == []
    rows = query(out, "SELECT action, who, after FROM corrections ORDER BY identity").rows
    assert rows == [("value", "Ada", '"R-1"'), ("audit", "Ada", verdict)]
    state = Corrector(out).state(A, "bill")
    assert before.record is not None and state.record is not None and state.record.text == before.record.text
    corrector.undo(A, "bill", [state.corrections[0].identity], "Bob")
    assert [one.action for one in Corrector(out).state(A, "bill").corrections if not one.undone] == [Action.AUDIT]
    with pytest.raises(UsageError, match="expected a change of a value"):
        corrector.correct(A, "bill", [Change(Action.AUDIT, "", verdict)], "Eve")


def test_a_later_run_stores_what_its_model_made_and_the_corrected_record_behind_it_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out)
    Corrector(out).correct(A, "bill", [Change(Action.VALUE, "/number", '"R-1"')], "Ada")
    summary = run(out, "e2")
    assert (summary.inputs, summary.written, summary.quarantined) == (3, 3, 0)
    number = f"FROM history WHERE pointer = '/number' AND document = '{A}' ORDER BY run_id"
    assert [value for (value,) in query(out, f"SELECT value {number}").rows] == ["a-e1", "R-1", "a-e2", "R-1"]
    assert query(out, f"SELECT number FROM bill WHERE document = '{A}'").rows == [("R-1",)]
    assert query(out, "SELECT inputs, written FROM runs WHERE kind = 'extract' ORDER BY run_id").rows[-1] == (3, 3)
    assert Corrector(out).state(A, "bill").first == {"/number": ('"a-e2"', 0.6)}
    state = Corrector(out).undo(A, "bill", None, "Ada")
    assert state.record is not None and state.record.value["number"] == "a-e2"


def test_a_record_that_a_correction_brought_out_of_quarantine_counts_as_written_by_a_later_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    held = {"code": "low_confidence", "detail": "a value is not sure", "pointers": ("/number",)}
    run(out, outcomes=[outcome_of("a.txt", "e1", **held)], paths=["a.txt"])
    Corrector(out).correct(A, "bill", [Change(Action.VALUE, "/number", '"R-1"')], "Ada")
    summary = run(out, "e2", outcomes=[outcome_of("a.txt", "e2", **held)], paths=["a.txt"])
    assert (summary.written, summary.quarantined, summary.reasons) == (1, 0, {})
    leaves = {leaf.pointer: leaf for leaf in Corrector(out).state(A, "bill").uncorrected.record.leaves}
    assert leaves["/total"].confidence == 0.6 and leaves["/total"].evidence is not None
    assert Corrector(out).undo(A, "bill", None, "Ada").outcome == "quarantined"
    assert query(out, "SELECT count(*) FROM bill").rows == [(0,)]


def test_what_a_model_made_is_known_where_version_0_3_stored_it_apart(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, "e1", paths=("a.txt",))
    Corrector(out).correct(A, "bill", [Change(Action.VALUE, "/number", '"R-1"')], "Ada")
    # As a run of that version stored it: its own record is the corrected one.
    corrected = Corrector(out).state(A, "bill").record
    made = outcome_of("a.txt", "e2").record
    assert corrected is not None and made is not None
    with Store.open(out) as store:
        compiled = compile_schema(SCHEMA)
        begun = Run(store, load_schema(SCHEMA), compiled, "e2", {"effort": "low"}, inputs=["a.txt"])
        outcome = replace(outcome_of("a.txt", "e2"), record=corrected)
        content = batch_rows([outcome], begun.key, arrow_schema(compiled))[1]
        base = {"status": "written", "code": "", "detail": "", "pointers": [], "record": asdict(made)}
        key = (A, "bill", begun.key.schema_fingerprint, begun.id, orjson.dumps(base).decode())
        content["uncorrected"] = pa.Table.from_pylist([dict(zip(UNCORRECTED.names, key, strict=True))], UNCORRECTED)
        store.commit("bill", begun.key.schema_fingerprint, content)
        store.publish()
    assert Corrector(out).state(A, "bill").first == {"/number": ('"a-e2"', 0.6)}
    Corrector(out).correct(A, "bill", [Change(Action.VALUE, "/total", "7")], "Ada")
    state = Corrector(out).undo(A, "bill", None, "Ada")
    assert state.record is not None and state.record.text == made.text
