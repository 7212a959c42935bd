"""The run whose model read a document, also after a person has corrected its record."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.corrected_folder import digest_of, outcome_of, run

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.run.quarantine import held_documents
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.stored_records import Selection, select

A = digest_of("a.txt")
NUMBER = [Change(Action.VALUE, "/number", '"N"')]


@pytest.mark.parametrize("hour", [-1, 1])
def test_a_corrected_record_is_chosen_by_the_time_at_which_it_was_read(tmp_path, monkeypatch, hour):
    run(tmp_path, "e1")
    read = manifests.now()
    monkeypatch.setattr(manifests, "now", lambda: read + timedelta(hours=2))
    Corrector(tmp_path).correct(A, "bill", NUMBER, "eva")
    chosen = select(tmp_path, "bill", Selection(since=read + timedelta(hours=hour)))
    assert len(chosen) == (3 if hour < 0 else 0)


def test_a_document_whose_quarantine_a_person_corrected_has_the_options_of_its_reading(tmp_path):
    missing = outcome_of("a.txt", "e1", code="missing", detail="no value", pointers=("/number", "/total"))
    run(tmp_path, outcomes=[missing], paths=["a.txt"], ocr="always")
    Corrector(tmp_path).correct(A, "bill", NUMBER, "eva")
    (one,) = held_documents(tmp_path)
    assert one.arguments["ocr"] == "always" and one.pointers == ["/total"]
