"""The list of documents under review, and what it counts."""

from __future__ import annotations

from pathlib import Path

from corrected_folder import outcome_of, run

from cinnabar.extraction.people.reviewing.review import Review
from cinnabar.extraction.store.records import Outcome


def test_a_document_without_a_record_is_no_work_that_is_counted(tmp_path: Path) -> None:
    read = outcome_of("a.txt", "e1")
    lost = Outcome("b.pdf", "quarantined", code="truncated", digest="b" * 64)
    run(tmp_path / "out", outcomes=[read, lost], paths=("a.txt", "b.pdf"))
    with Review(tmp_path / "out", "eva") as review:
        found = review.overview()
        assert (found["documents"], found["reviewable"], found["reviewed"]) == (2, 1, 0)
