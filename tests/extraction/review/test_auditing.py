"""The second reader: a blind look at documents that were drawn by lot, and an honest figure of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.reviewed_folder import written

from cinnabar.errors import Overtaken, UsageError
from cinnabar.extraction.corrections import Action, Change
from cinnabar.extraction.review.auditing import Auditing, Judged
from cinnabar.extraction.review.review import AskedChange, Review
from cinnabar.extraction.run.report.audit import audit_figure, drawn_documents
from cinnabar.extraction.run.report.reports import write_report
from cinnabar.extraction.store.reading import connect, query


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("marked"), 6, audit="100%")


@pytest.fixture
def audited(marked: Path, tmp_path: Path) -> Iterator[tuple[Review, Auditing]]:
    """A folder of six documents that are all drawn."""
    with Review(shutil.copytree(marked, tmp_path / "out"), "Bob") as review:
        yield review, Auditing(review)


def drawn(out: Path) -> list[str]:
    with connect(out, views=("runs", "outcomes")) as connection:
        return [document for document, _ in drawn_documents(connection, ())]


def figure_of(out: Path) -> Any:
    (run_id,) = query(out, "SELECT run_id FROM runs WHERE arguments ->> 'audit' IS NOT NULL ORDER BY run_id").rows[0]
    with connect(out, views=("runs", "outcomes")) as connection:
        return audit_figure(connection, out, run_id, "parcel")


def verdicts(shown: dict[str, Any], **wrong: str | None) -> list[Judged]:
    return [
        Judged(leaf["pointer"], leaf["pointer"][1:] not in wrong, wrong.get(leaf["pointer"][1:]))
        for leaf in shown["leaves"]
    ]


def settle(review: Review) -> None:
    """Reads the folder again, as the review does each second."""
    review._listing.refresh()


def test_what_was_taken_out_of_its_schema_is_neither_asked_for_nor_counted(audited: tuple[Review, Auditing]) -> None:
    review, audit = audited
    gone = next(iter(audit._drawn()))
    before = figure_of(review.out)
    review.apply(*gone, [Change(Action.OTHER_KIND, "")], "Eva")
    settle(review)
    after = figure_of(review.out)
    assert gone not in audit._drawn() and len(audit._drawn()) == 5
    assert (before.written, before.marked, after.written, after.marked) == (6, 6, 5, 5)


def test_the_draw_is_the_same_each_time_and_each_run_draws_anew(tmp_path: Path) -> None:
    first = drawn(written(tmp_path, 40, audit="50%"))
    assert first == drawn(tmp_path / "out") and 5 < len(first) < 35
    second = drawn(written(tmp_path, 40, audit="50%", engine="f" * 16))
    assert first != second and figure_of(tmp_path / "out").marked == len(first), "each figure is that of its run"
    assert drawn(written(tmp_path, 40, engine="e" * 16)) == [], "read again by a run without an audit"


def test_the_second_reader_sees_no_trace_of_a_correction_or_of_confidence(
    audited: tuple[Review, Auditing],
) -> None:
    review, auditing = audited
    at = auditing.next_document("Ada")["next"]
    before = auditing.document(**at)
    state = review.state(**at)
    review.correct(**at, asked=[AskedChange("value", "/note", state["seen"]["/note"], '"new"')])
    after = auditing.document(**at)
    trace = {"corrections", "confidence", "origin", "who", "flags", "spans", "marks", "guesses", "why"}
    assert not trace & ({*after} | {name for leaf in after["leaves"] for name in leaf})
    assert {one["pointer"] for one in before["leaves"]} == {one["pointer"] for one in after["leaves"]}


def test_who_corrected_a_document_is_not_its_second_reader(audited: tuple[Review, Auditing]) -> None:
    review, auditing = audited
    at = auditing.next_document("Bob")["next"]
    review.correct(**at, asked=[AskedChange("accept", "/note", None)])
    settle(review)
    assert auditing.next_document("Bob")["next"] != at and auditing.next_document("Bob")["left"] == 5
    assert auditing.next_document("Ada")["next"] == at
    assert auditing.next_document("")["next"] == at, "who is alone"
    shown = auditing.document(**at)
    with pytest.raises(UsageError, match="another reader"):
        auditing.judge(**at, seen=shown["seen"], judged=verdicts(shown), who="Bob")


def test_a_claimed_document_is_left_to_its_holder(audited: tuple[Review, Auditing]) -> None:
    _, auditing = audited
    at = auditing.next_document("Ada")["next"]
    taken = {(at["document"], at["schema"])}
    assert auditing.next_document("Eve", taken)["next"] != at and auditing.next_document("Eve", taken)["left"] == 6


def test_a_verdict_is_stored_with_its_corrections_and_counts_once(audited: tuple[Review, Auditing]) -> None:
    review, auditing = audited
    at = auditing.next_document("Ada")["next"]
    shown = auditing.document(**at)
    judged = verdicts(shown, parcels="13", lines=None)
    auditing.judge(**at, seen=shown["seen"], judged=judged, who="Ada")
    auditing.judge(**at, seen=shown["seen"], judged=judged, who="Ada")  # an answer was lost
    with pytest.raises(UsageError, match="audited meanwhile"):
        auditing.judge(**at, seen=shown["seen"], judged=judged, who="Eve")
    settle(review)
    assert auditing.next_document("Ada")["left"] == 5
    rows = query(review.out, "SELECT action, pointer, who, after FROM corrections ORDER BY identity").rows
    assert [row[:3] for row in rows] == [("value", "/parcels", "Ada"), ("audit", "", "Ada")]
    verdict = json.loads(rows[-1][3])
    # Of 14 places five are rightly empty, and two are wrong.
    assert (verdict["right"], [one["pointer"] for one in verdict["wrong"]]) == (7, ["/parcels", "/lines"])
    figure = figure_of(review.out)
    assert (figure.audited, figure.values, figure.written) == (1, 9, 6) and figure.low < 7 / 9 < figure.high
    assert "audit of 1 document, 9 values" in figure.sentence


def test_a_document_that_is_right_is_reviewed_thereby(audited: tuple[Review, Auditing]) -> None:
    review, auditing = audited
    at = auditing.next_document("Ada")["next"]
    shown = auditing.document(**at)
    auditing.judge(**at, seen=shown["seen"], judged=verdicts(shown), who="Ada")
    state = review.state(**at)
    assert state["marks"] == {"reviewed": True, "corrected": 0, "other_kind": False} and state["why"] == []
    assert {leaf["origin"] for leaf in state["leaves"] if leaf["origin"] != "list"} == {"human"}
    assert state["corrections"][-1]["action"] == "audit"


def test_a_record_that_changed_meanwhile_is_judged_again(audited: tuple[Review, Auditing]) -> None:
    review, auditing = audited
    at = auditing.next_document("Ada")["next"]
    shown = auditing.document(**at)
    review.correct(**at, asked=[AskedChange("value", "/note", None, '"late"')])
    with pytest.raises(Overtaken):
        auditing.judge(**at, seen=shown["seen"], judged=verdicts(shown), who="Ada")
    assert auditing.next_document("Ada")["left"] == 6


def test_an_audit_without_a_verdict_on_each_place_is_refused(audited: tuple[Review, Auditing]) -> None:
    _, auditing = audited
    at = auditing.next_document("Ada")["next"]
    shown = auditing.document(**at)
    judged = verdicts(shown)
    for some in (judged[1:], [*judged, judged[0]], [replace(judged[0], pointer="/other"), *judged[1:]], []):
        with pytest.raises(UsageError, match="a verdict on each of 14 places"):
            auditing.judge(**at, seen=shown["seen"], judged=some, who="Ada")


def test_a_document_that_nobody_drew_is_not_shown(tmp_path: Path) -> None:
    with Review(written(tmp_path, 2), "Bob") as review:
        auditing = Auditing(review)
        assert auditing.next_document("Ada") == {"left": 0, "next": None}
        row = review.documents(review.sort(_everything()).name, 0, 1).rows[0]
        assert row is not None
        with pytest.raises(UsageError, match="not drawn"):
            auditing.document(row["document"], row["schema_name"])


def test_the_report_of_the_run_has_the_figure(audited: tuple[Review, Auditing]) -> None:
    review, auditing = audited
    run_id = review.state(**auditing.next_document("Ada")["next"])["run"]
    assert "Not audited yet: 6 of 6 written documents marked." in write_report(review.out, run_id).path.read_text()
    for _ in range(5):
        at = auditing.next_document("Ada")["next"]
        shown = auditing.document(**at)
        auditing.judge(**at, seen=shown["seen"], judged=verdicts(shown), who="Ada")
    page = write_report(review.out, run_id).path.read_text()
    assert "Quality by audit" in page and "to 100% of values right (audit of 5 documents, 45 values)" in page


def _everything() -> Any:
    from cinnabar.extraction.review.listing import ListSelection

    return ListSelection()
