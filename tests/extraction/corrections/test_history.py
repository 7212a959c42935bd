"""The history of a value: what the model made of it, and who changed it to what; commits behind the answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.corrected_folder import digest_of, run

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.corrections.journal import waiting_corrections, write
from cinnabar.extraction.store.reading import query

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
