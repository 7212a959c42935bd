"""The list of documents under review, and what it counts."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.corrected_folder import digest_of, outcome_of, run
from tests.support.reviewed_folder import written

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.corrections.journal import waiting_corrections
from cinnabar.extraction.review import review as review_module
from cinnabar.extraction.review.listing import ListGone, Listing, ListSelection
from cinnabar.extraction.review.review import Review
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome, Record


def test_a_document_without_a_record_is_no_work_that_is_counted(tmp_path: Path) -> None:
    read = outcome_of("a.txt", "e1")
    lost = Outcome("b.pdf", "quarantined", code="truncated", digest="b" * 64)
    run(tmp_path / "out", outcomes=[read, lost], paths=("a.txt", "b.pdf"))
    with Review(tmp_path / "out", "eva") as review:
        found = review.overview()
        assert (found["documents"], found["reviewable"], found["reviewed"]) == (2, 1, 0)


def test_a_document_shows_how_many_of_its_values_are_sure_whatever_its_lists_are(tmp_path: Path) -> None:
    made = outcome_of("a.txt", "e1")
    sure = {"/number": 0.95, "/seller/name": 0.9}
    leaves = [replace(leaf, confidence=sure.get(leaf.pointer, 0.5)) for leaf in made.record.leaves]
    record = Record.of(made.record.text, leaves, (), {"/lines/0": 0.1, "/lines/1": 0.1}, {"/lines": 0.1})
    held = outcome_of("b.txt", "e1", code="missing", pointers=("/number",))
    run(tmp_path / "out", outcomes=[replace(made, record=record), held], paths=("a.txt", "b.txt"))
    with Review(tmp_path / "out", "eva") as review:
        listed = review.listing.sort(ListSelection(order="path"))
        rows = review.listing.page(listed.name, 0, 10)["rows"]
    # Seven values, of which the city is null.
    assert [(row["sure"], row["values"]) for row in rows] == [(2, 7), (None, None)]


def test_a_corrected_document_is_read_as_by_its_model_and_looked_for_at_all_its_paths(tmp_path: Path) -> None:
    out, read = tmp_path / "out", outcome_of("a.txt", "e1")
    run(out, outcomes=[read], paths=("a.txt",), hidden=True, day_first="no")
    run(out, outcomes=[replace(read, path="moved/a.txt")], paths=("moved/a.txt",))
    Corrector(out).correct(digest_of("a.txt"), "bill", [Change(Action.VALUE, "/number", '"R-1"')], "Ada")
    Corrector(out).correct(digest_of("a.txt"), "bill", [Change(Action.VALUE, "/number", '"R-2"')], "Ada")
    with Review(out, "eva") as review:
        row = review.listing.row(digest_of("a.txt"), "bill")
        wanted = review._file_of(row)
    assert {*wanted.paths} == {"a.txt", "moved/a.txt"} and len(wanted.paths) == 2
    assert (wanted.document, wanted.hidden, row["day_first"]) == (digest_of("a.txt"), True, "no")


def test_what_somebody_else_takes_back_is_to_be_reviewed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_module, "_REFRESH", 0.02)
    out = written(tmp_path, 2)
    document, name = query(out, "select document, schema_name from outcomes").rows[0]
    with Review(out, "Ada") as review:

        def is_soon(wanted: bool) -> bool:
            until = time.monotonic() + 30
            while time.monotonic() < until and review.listing.row(document, name)["reviewed"] is not wanted:
                time.sleep(0.02)
            return review.listing.row(document, name)["reviewed"] is wanted

        Corrector(out).correct(document, name, [Change(Action.OTHER_KIND, "")], "Eva")
        assert is_soon(True)
        Corrector(out).undo(document, name, None, "Eva")
        assert is_soon(False)


def test_what_a_killed_process_left_waiting_is_committed_by_a_review_that_is_open_or_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run(out, "e1", paths=("a.txt",))

    def leave(number: int) -> None:
        change = Change(Action.VALUE, "/number", f'"R-{number}"')
        Corrector(out, behind=True).correct(digest_of("a.txt"), "bill", [change], "Ada")

    leave(1)
    with Review(out, "Bob"):
        assert len(waiting_corrections(out)) == 1, "it looks after a second at the earliest"
    assert waiting_corrections(out) == []
    monkeypatch.setattr(review_module, "_REFRESH", 0.02)
    with Review(out, "Bob"):
        leave(2)
        until = time.monotonic() + 30
        while waiting_corrections(out) and time.monotonic() < until:
            time.sleep(0.02)
        assert waiting_corrections(out) == []


def test_a_list_that_goes_while_it_is_read_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, outcomes=[outcome_of("a.txt", "e1")], paths=("a.txt",))
    listing = Listing(tmp_path)
    made, looked_up = listing.sort(ListSelection()), listing._list
    monkeypatch.setattr("cinnabar.extraction.review.listing._LISTS", 1)

    def and_another_is_made(name: str) -> Any:
        found = looked_up(name)
        listing.sort(ListSelection())
        return found

    monkeypatch.setattr(listing, "_list", and_another_is_made)
    with pytest.raises(ListGone):
        listing.page(made.name, 0, 10)
    listing.close()
