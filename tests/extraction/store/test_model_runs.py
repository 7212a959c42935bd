"""The run whose model read a document, also after a person has corrected its record."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.corrected_folder import digest_of, run

from cinnabar.extraction.corrections import Action, Change, Corrector
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
