"""A change of a value that somebody has changed meanwhile is told, with both values, and changes nothing."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from tests.support.corrected_folder import digest_of, outcome_of, run

from cinnabar.errors import Overtaken
from cinnabar.extraction.corrections import Action, Change, Corrector, Reviewed
from cinnabar.extraction.corrections.journal import waiting_corrections

DOCUMENT = digest_of("a.txt")
ROW = '{"item":"new","price":1}'


@pytest.fixture
def out(tmp_path: Path) -> Path:
    run(tmp_path / "out", "e1", paths=("a.txt",))
    return tmp_path / "out"


def seen(state: Reviewed, pointer: str) -> str:
    return state.seen.get(pointer, state.seen["-"])


def correct(out: Path, who: str, state: Reviewed, action: str, pointer: str, after: str | None, place: str) -> Reviewed:
    change = Change(Action(action), pointer, after, (), seen(state, place))
    return Corrector(out).correct(DOCUMENT, "bill", [change], who)


def value(state: Reviewed) -> dict[str, object]:
    assert state.record is not None
    return dict(json.loads(state.record.text))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "pointer", "after", "place"),
    [
        ("value", "/number", '"mine"', "/number"),
        ("absent", "/total", None, "/total"),
        ("accept", "/number", None, "/number"),
        ("accept", "", None, ""),
        ("other_kind", "", None, ""),
        ("insert", "/lines/1", ROW, "/lines"),
        ("value", "/lines/0/price", "77", "/lines/0"),
        ("absent", "/lines/0", None, "/lines/0"),
        ("value", "/lines/1", ROW, "/lines/1"),
        ("list", "/lines", "[]", "/lines"),
        ("value", "/seller", "null", "/seller"),
    ],
)
def test_who_is_late_is_told_both_values(out: Path, action: str, pointer: str, after: str | None, place: str) -> None:
    before = Corrector(out).state(DOCUMENT, "bill")
    changes = [
        Change(Action.VALUE, "/number", '"theirs"'),
        Change(Action.VALUE, "/total", "8"),
        Change(Action.VALUE, "/seller/name", '"theirs"'),
        Change(Action.LIST, "/lines", '[{"item":"theirs","price":9},{"item":"x","price":9}]'),
    ]
    theirs = Corrector(out).correct(DOCUMENT, "bill", changes, "Ada")
    with pytest.raises(Overtaken) as told:
        correct(out, "Bob", before, action, pointer, after, place)
    (one,) = told.value.places
    assert (one.pointer, one.mine, one.who) == (pointer, after, "Ada")
    assert one.theirs != after
    now = Corrector(out).state(DOCUMENT, "bill")
    assert (now.record, now.corrections) == (theirs.record, theirs.corrections)
    # Who has seen it may take either value.
    correct(out, "Bob", now, action, pointer, after, place)


def test_changes_of_other_places_and_equal_ones_pass(out: Path) -> None:
    before = Corrector(out).state(DOCUMENT, "bill")
    correct(out, "Ada", before, "value", "/number", '"N"', "/number")
    correct(out, "Bob", before, "value", "/total", "7", "/total")
    correct(out, "Bob", before, "value", "/number", '"N"', "/number")
    found = value(correct(out, "Bob", before, "value", "/lines/0/price", "5", "/lines/0"))
    assert (found["number"], found["total"]) == ("N", 7)


def test_a_correction_of_another_kind_tells_the_one_who_did_not_see_it(out: Path) -> None:
    before = Corrector(out).state(DOCUMENT, "bill")
    kind = correct(out, "Ada", before, "other_kind", "", None, "")
    with pytest.raises(Overtaken, match="Ada"):
        correct(out, "Bob", before, "value", "/number", '"mine"', "/number")
    assert correct(out, "Bob", before, "other_kind", "", None, "").corrections == kind.corrections


def test_a_late_undo_is_told_and_takes_nothing_back(out: Path) -> None:
    first = Corrector(out).correct(DOCUMENT, "bill", [Change(Action.VALUE, "/total", "1")], "Ada")
    Corrector(out).correct(DOCUMENT, "bill", [Change(Action.VALUE, "/total", "2")], "Bob")
    mine = [first.corrections[-1].identity]
    with pytest.raises(Overtaken, match="Bob"):
        Corrector(out).undo(DOCUMENT, "bill", mine, "Ada", seen(first, ""))
    assert all(one.undone is None for one in Corrector(out).state(DOCUMENT, "bill").corrections)


def test_rows_that_two_people_add_at_once_are_both_there_or_told(out: Path) -> None:
    before = Corrector(out).state(DOCUMENT, "bill")
    told: list[str] = []
    ready = threading.Barrier(2)

    def add(who: str) -> None:
        own = Corrector(out)
        state = before
        for _ in range(3):
            row = json.dumps({"item": who, "price": None}, separators=(",", ":"))
            change = Change(Action.INSERT, "/lines/0", row, (), seen(state, "/lines"))
            ready.wait(60)
            try:
                state = own.correct(DOCUMENT, "bill", [change], who)
            except Overtaken as problem:
                told.append(problem.places[0].who)
                state = own.state(DOCUMENT, "bill")
                change = Change(Action.INSERT, "/lines/0", row)
                state = own.correct(DOCUMENT, "bill", [change], who)

    threads = [threading.Thread(target=add, args=(who,)) for who in ("Ada", "Bob")]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    lines = value(Corrector(out).state(DOCUMENT, "bill"))["lines"]
    assert isinstance(lines, list)
    assert sorted(row["item"] for row in lines if row["item"] in ("Ada", "Bob")) == ["Ada"] * 3 + ["Bob"] * 3
    assert len(told) >= 3
    assert waiting_corrections(out) == [], "what one left to the other is committed"


def test_moved_tells_what_the_own_change_has_moved(out: Path) -> None:
    before = Corrector(out).state(DOCUMENT, "bill")
    after = correct(out, "Ada", before, "insert", "/lines/0", ROW, "/lines")
    assert after.moved["/lines"] == (before.seen["/lines"], after.seen["/lines"])
    assert after.moved["/lines/2"] == (before.seen["-"], after.seen["/lines/2"])
    assert "/number" not in after.moved


def test_accepting_all_of_a_record_leaves_what_was_guessed_open(tmp_path: Path) -> None:
    made = outcome_of("a.txt", "e1", code="missing", pointers=("/number", "/lines/0/item"))
    run(tmp_path / "out", outcomes=[made], paths=("a.txt",))
    corrector = Corrector(tmp_path / "out")
    assert corrector.state(DOCUMENT, "bill").guesses == {"/number", "/lines/0/item"}
    found = corrector.correct(DOCUMENT, "bill", [Change(Action.ACCEPT, "")], "Ada")
    assert (found.outcome, found.pointers) == ("quarantined", ("/number", "/lines/0/item"))
    assert found.record is not None
    origins = {leaf.pointer: leaf.origin for leaf in found.record.leaves}
    assert origins["/total"] == origins["/lines/1/item"] == "human"
    assert "human" not in (origins["/number"], origins["/lines/0/item"])
    assert not any(one.pointer == "" for one in found.corrections), "the record as a whole is not accepted"
    corrector.correct(DOCUMENT, "bill", [Change(Action.ACCEPT, "/lines/0/item")], "Ada")
    changes = [Change(Action.VALUE, "/number", '"R"'), Change(Action.ACCEPT, "")]
    found = corrector.correct(DOCUMENT, "bill", changes, "Ada")
    assert (found.outcome, found.guesses) == ("written", frozenset())
    assert any(one.pointer == "" for one in found.corrections)


def test_a_place_of_thousands_of_digits_is_refused(out: Path) -> None:
    for pointer in (f"/lines/{'9' * 5000}/price", f"/lines/{'9' * 5000}", "/lines/٣"):
        for action, after in (("value", "1"), ("absent", None), ("insert", ROW)):
            with pytest.raises(Exception, match=r"expected the (index of an item|place)"):
                Corrector(out).correct(DOCUMENT, "bill", [Change(Action(action), pointer, after)], "Eve")
