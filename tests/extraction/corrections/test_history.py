"""The history of a value: what the model made of it, and who changed it to what."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from corrected_folder import digest_of, run

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.corrections.journal import waiting
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
    places = {one.pointer: one for one in Corrector(out).history(A, "bill")}
    number, total = places["/number"], places["/total"]
    assert (number.first, number.confidence) == ('"a-e1"', 0.6)
    assert [(s.who, s.before, s.after) for s in number.steps] == [("Ada", '"a-e1"', '"R-1"'), ("Bob", '"R-1"', '"R-2"')]
    (step,) = total.steps
    assert (step.who, step.after, step.undone_by) == ("Bob", "null", "Ada") and step.undone is not None
    assert places[""].steps[0].action == "accept" and places[""].first is None


def test_a_document_that_nobody_corrected_has_no_history(out: Path) -> None:
    assert Corrector(out).history(digest_of("b.txt"), "bill") == []


def test_the_command_tells_the_history(out: Path) -> None:
    command = [sys.executable, "-m", "cinnabar.apps.cli.main", "correct", "a.txt", "--out", str(out), "--history"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "the model, 0.60 sure" in told and "R-2" in told and "taken back by Ada" in told
    found = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert [one["pointer"] for one in found] == ["", "/number", "/total"]


def test_corrections_behind_the_answer_are_durable_at_once_and_committed_when_it_ends(tmp_path: Path) -> None:
    run(tmp_path / "out", "e1", paths=("a.txt",))
    corrector = Corrector(tmp_path / "out", behind=True)
    corrector._committer.close()  # type: ignore[union-attr]
    for number in range(3):
        state = corrector.correct(A, "bill", [Change(Action.VALUE, "/number", f'"R-{number}"')], "Ada")
    assert state.record is not None and '"R-2"' in state.record.text
    assert len(waiting(tmp_path / "out")) == 3, "as if the process had been killed here"
    again = Corrector(tmp_path / "out", behind=True)
    again.close()
    assert waiting(tmp_path / "out") == []
    rows = query(tmp_path / "out", "SELECT after FROM corrections ORDER BY identity").rows
    assert rows == [('"R-0"',), ('"R-1"',), ('"R-2"',)]
