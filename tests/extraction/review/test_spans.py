"""The words that a person marks are those of the text that the run read."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.corrected_folder import outcome_of, run

from cinnabar.extraction.review.review import AskedChange, Review
from cinnabar.extraction.store.reading import query

PAGE = b"<html><body><p style='display:none'>a secret before it</p><p>Number R-17 of May</p></body></html>"


@pytest.mark.parametrize("hidden", [False, True])
def test_marked_words_are_those_of_the_text_with_its_hidden_part(tmp_path: Path, hidden: bool) -> None:
    page, digest = tmp_path / "a.html", hashlib.sha256(PAGE).hexdigest()
    page.write_bytes(PAGE)
    made = outcome_of(str(page), "e1")
    document = replace(made.document, digest=digest, media_type="text/html", size=len(PAGE))
    made = replace(made, digest=digest, document=document)
    run(tmp_path / "out", outcomes=[made], paths=(str(page),), model="default", hidden=hidden)
    with Review(tmp_path / "out", "eva") as review:
        (block,) = review.content(digest, "bill")["blocks"]
        text = review.text(digest, "bill", 0, block["end"])["text"]
        assert ("secret" in text) == hidden
        start = text.index("R-17")
        seen = review.state(digest, "bill")["seen"]["/number"]
        change = AskedChange(action="value", pointer="/number", seen=seen, after='"R-17"', spans=[(start, start + 4)])
        review.correct(digest, "bill", [change])
    assert query(tmp_path / "out", "SELECT evidence_text FROM corrections").rows == [("R-17",)]
