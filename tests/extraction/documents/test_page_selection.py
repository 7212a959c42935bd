"""Tests for documents of which some pages are read."""

from __future__ import annotations

from email.message import EmailMessage
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.drawn_pages import text_pages
from tests.support.reading_model import ReadingModel

from cinnabar.engine.fill.engine import Engine
from cinnabar.errors import DocumentError, UnsupportedSchema, UsageError
from cinnabar.extraction.documents.chunking import on_pages
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.passages import stretches_of
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.compiling.version_changes import changes
from cinnabar.schemas.keywords import PAGES, PageRanges

NAME: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": ["string", "null"]}, "total": {"type": ["number", "null"]}},
    "required": ["name", "total"],
}


THREE = text_pages("name=Anna", "name=Berta", "total=7")


def test_pages_are_single_ones_ranges_and_the_last_one() -> None:
    assert PageRanges("1-3,last").of(9) == {1, 2, 3, 9}
    assert PageRanges("2-last").of(4) == PageRanges("4-2").of(4) == {2, 3, 4}
    assert PageRanges("5").of(4) == PageRanges("5-last").of(4) == frozenset()


@each("pages, told", [("5-2", "5-2 .*write 2-5"), ("1,9-8,3", "9-8 .*write 8-9"), ("1-3,10-9", "10-9 .*write 9-10")])
def test_a_range_that_runs_backwards_is_refused(pages: str, told: str) -> None:
    with pytest.raises(UsageError, match=f"^--pages: {told}$"):
        RunOptions(pages=pages)
    assert RunOptions(pages="2-2,5-last,10-11").pages == "2-2,5-last,10-11"


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 30))
def test_no_page_is_chosen_that_a_document_lacks(first: int, last: int, count: int) -> None:
    chosen = PageRanges(f"{first}-{last},last").of(count)
    low, high = min(first, last), max(first, last)
    assert chosen == {page for page in range(1, count + 1) if low <= page <= high or page == count}


def test_what_is_read_keeps_its_place_and_the_rest_is_blank() -> None:
    whole = parse(THREE, "a.pdf")
    part = on_pages(whole, PageRanges("2"))
    assert isinstance(part, Document) and len(part.text) == len(whole.text)
    at = whole.text.index("name=Berta")
    assert part.text.strip() == "name=Berta" and part.text[at : at + 10] == "name=Berta"
    assert [part.text[a:b] for a, b in zip(part.words.start, part.words.end, strict=True)] == ["name=Berta"]


def test_pages_are_counted_in_each_attachment_and_the_mail_itself_stays() -> None:
    mail = EmailMessage()
    mail.set_content("See both.")
    for name in ("a.pdf", "b.pdf"):
        mail.add_attachment(THREE, maintype="application", subtype="pdf", filename=name)
    part = on_pages(parse(mail.as_bytes(), "a.eml"), PageRanges("last"))
    assert isinstance(part, Document) and part.text.split() == ["See", "both.", "total=7", "total=7"]


def read(options: dict[str, Any], data: bytes = THREE) -> Any:
    source = load_schema(NAME | options)
    job = Job(compile_schema(NAME | options), Engine(ReadingModel()), Validator(source))
    (outcome,) = run_batch([OpenedInput("a.pdf", sha256(data).hexdigest(), parse(data, "a.pdf"))], job).outcomes
    return outcome


def test_a_value_comes_from_a_page_that_the_schema_names_and_its_evidence_says_so() -> None:
    outcome = read({PAGES: "2-last"})
    assert outcome.record.text == '{"name":"Berta","total":7}'
    assert [leaf.page for leaf in outcome.record.leaves] == [2, 3]
    assert read({}).record.text == '{"name":"Anna","total":7}'


def test_a_document_without_these_pages_is_held_back_and_one_without_pages_is_read() -> None:
    outcome = read({PAGES: "4-6"})
    assert (outcome.status, outcome.code) == ("quarantined", "no_page")
    assert "it has 3 pages, and 4-6 are to be read" in outcome.detail
    text = parse(b"name=Anna", "a.txt")
    assert on_pages(text, PageRanges("4")) is text
    lost = DocumentError("broken")
    assert on_pages(lost, PageRanges("4")) is lost


def test_many_blank_pages_between_two_are_not_read_as_text() -> None:
    part = on_pages(parse(text_pages("name=Anna", *["word " * 16] * 240, "total=7"), "a.pdf"), PageRanges("1,last"))
    assert isinstance(part, Document)
    assert [part.text[one.start : one.end].strip() for one in stretches_of(part)] == ["name=Anna", "total=7"]


def test_other_pages_make_another_key_and_all_fields_are_filled_again() -> None:
    keys = {RunOptions(pages=pages).fingerprint("model") for pages in (None, "1", "1-2")}
    assert len(keys) == 3
    old, new = compile_schema(NAME), compile_schema(NAME | {PAGES: "1"})
    assert changes(old, new).asks("/name") and changes(new, new).asked_places == ()


@pytest.mark.parametrize(
    ("pages", "place"), [("0", "root"), (3, "root"), ("1\n", "root"), ("3-", "root"), ("1", "field")]
)
def test_other_words_for_pages_and_pages_of_a_field_are_refused(pages: object, place: str) -> None:
    field = {"type": "string"} | ({PAGES: pages} if place == "field" else {})
    schema = {"type": "object", "properties": {"name": field}} | ({PAGES: pages} if place == "root" else {})
    with pytest.raises(UnsupportedSchema, match=PAGES):
        _ = compile_schema(schema).form
