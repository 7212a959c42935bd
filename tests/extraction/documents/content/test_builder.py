"""The document builder keeps every offset true for any text."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.parsed_files import words_of

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content import builder as building
from cinnabar.extraction.documents.content import formats as contents
from cinnabar.extraction.documents.content.builder import DocumentBuilder, clean, word_bounds
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.marked_text import part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.processes.frames import HEADER, BadFrame, lengths, pack, unpack


def assert_sound(document: Document) -> None:
    words = document.words
    for word in words_of(document):
        assert word and not any(character.isspace() for character in word)
    assert np.all(words.end[:-1] <= words.start[1:])
    assert len(words.start) == len(words.end) == len(words.box) == len(words.part)
    for index, part in enumerate(document.parts):
        assert 0 <= part.start <= part.end <= len(document.text)
        assert part.parent < index
        if part.parent >= 0:
            parent = document.parts[part.parent]
            assert parent.start <= part.start and part.end <= parent.end
    for start, end, part_index in zip(words.start, words.end, words.part, strict=True):
        assert document.parts[part_index].start <= start < end <= document.parts[part_index].end
    assert "\x00" not in document.text
    document.text.encode("utf-8")


any_text = st.text(st.characters(codec=None) | st.sampled_from("\x00\r\n\t\x1b\ud800\udc00\f\u2028 \xa0"))


@given(st.recursive(any_text, lambda inner: st.lists(inner, max_size=4), max_leaves=12))
def test_every_word_is_a_slice_of_the_text(tree: object) -> None:
    builder = DocumentBuilder(limit=60)

    def add(node: object) -> None:
        builder.open("attachment", str(node)[:5])
        if isinstance(node, str):
            builder.write(node)
        elif isinstance(node, list):
            for child in node:
                add(child)
        builder.close()

    add(tree)
    document = builder.build(b"data", "a.txt", "text/plain")
    assert_sound(document)
    assert " ".join(words_of(document)).split() == document.text.split()


@given(any_text)
def test_cleaned_text_is_valid_unicode(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not set(cleaned) & {"\x00", "\r", "\x1b", "\f"}
    assert clean(cleaned) == cleaned


@given(st.text(st.sampled_from("ab \t\n\u3000\u2003\xa0\u1680é\U0001f600") | st.characters(exclude_categories=["Cs"])))
def test_words_are_the_runs_of_characters_that_are_not_blank(text: str) -> None:
    assert [tuple(bounds) for bounds in word_bounds(text)] == [one.span() for one in re.finditer(r"\S+", text)]


def test_a_text_beyond_the_limit_is_cut_as_if_it_were_cleaned_whole() -> None:
    for text in ("a\r\n" * 20, "a\x00b" * 20, "a\r\n" * 4):
        builder = DocumentBuilder(limit=11)
        builder.open("body")
        builder.write(text)
        builder.close()
        document = builder.build(b"", "a.txt", "text/plain")
        assert document.text == clean(text)[:11]
        assert document.flags == (("truncated",) if len(clean(text)) > 11 else ())


def test_words_beyond_the_limit_are_cut_whole() -> None:
    builder = DocumentBuilder(limit=10)
    builder.open("page")
    builder.write_words(["four", "five", "six"], ["", " ", " "], np.zeros((3, 4), np.float32))
    builder.close()
    document = builder.build(b"", "a.pdf", "application/pdf")
    assert document.text == "four five"
    assert document.flags == ("truncated",)
    assert_sound(document)


def test_text_outside_of_a_part_is_an_error_of_the_caller() -> None:
    with pytest.raises(RuntimeError, match="open"):
        DocumentBuilder().write("word")


def through_the_wire(outcome: Document | DocumentError, path: str) -> Document | DocumentError:
    frame = b"".join(pack(outcome))
    sizes = lengths(frame[: HEADER.size])
    sections, at = [], HEADER.size
    for size in sizes:
        sections.append(frame[at : at + size])
        at += size
    assert at == len(frame)
    return unpack(path, *sections)


@given(st.lists(any_text, max_size=4))
def test_a_document_crosses_the_wire_unchanged(texts: list[str]) -> None:
    builder = DocumentBuilder()
    builder.flags.add("repaired")
    builder.metadata["title"] = "A \udc00 title"
    for number, text in enumerate(texts):
        builder.open("page", text, page=number + 1, width=595.25, height=842.5)
        builder.write(text)
        builder.close()
    sent = builder.build(b"data", "a.pdf", "application/pdf")
    got = through_the_wire(sent, "a.pdf")
    assert isinstance(got, Document)
    for name in ("text", "parts", "flags", "metadata", "facts", "digest", "size", "media_type"):
        assert getattr(got, name) == getattr(sent, name)
    for name in ("start", "end", "box", "part"):
        np.testing.assert_array_equal(getattr(got.words, name), getattr(sent.words, name))


def test_an_error_crosses_the_wire() -> None:
    got = through_the_wire(DocumentError("broken", "no trailer"), "a.pdf")
    assert isinstance(got, DocumentError)
    assert (got.code, got.detail) == ("broken", "no trailer")


PARTS = b'"parts":[["page",0,4,"",1,0,0,-1,""]]'
HEAD = (
    b'{"digest":"%s","media_type":"","size":1,"flags":[],"metadata":{},"facts":{},"places":[[],[]],"pictures":[],"parsers":[],%s}'
    % (b"0" * 64, PARTS)
)


@each(
    "head, text, bounds",
    [
        (b"{", b"text", []),
        (b"[]", b"text", []),
        (b'{"code":"made_up","detail":""}', b"", []),
        (HEAD.replace(b"0" * 64, b"../../etc"), b"text", []),
        (HEAD, b"text\xff", []),
        (HEAD, b"te\x00t", []),
        (HEAD, b"text", [[0, 9, 0]]),
        (HEAD, b"text", [[-1, 2, 0]]),
        (HEAD, b"text", [[2, 2, 0]]),
        (HEAD, b"text", [[0, 2, 1]]),
        (HEAD, b"text", [[0, 3, 0], [2, 4, 0]]),
        (HEAD.replace(b",0,4,", b",0,5,"), b"text", []),
        (HEAD.replace(b",-1,", b",0,"), b"text", []),
        (HEAD.replace(b'"page"', b'"other"'), b"text", []),
        *(
            (HEAD.replace(b'"facts":{}', b'"facts":{%s}' % fact), b"text", [])
            for fact in (
                b'"mail.mood":["glad",[]]',
                b'"mail.subject":[7,[]]',
                b'"mail.subject":[["a"],[]]',
                b'"mail.to.address":["a",[]]',
                b'"mail.to.address":[["a","b"],[[0,1]]]',
                b'"mail.sent":["yesterday",[]]',
                b'"document.pages":[true,[]]',
                b'"mail.subject":["text",[[0,5]]]',
            )
        ),
        *(
            (HEAD.replace(b'"places":[[],[]],"pictures":[]', wrong), b"text", [])
            for wrong in (
                b'"places":[[1],[]],"pictures":[]',
                b'"places":[[2,1],["B1","B2"]],"pictures":[]',
                b'"places":[[5],["B1"]],"pictures":[]',
                b'"places":[[1],[1]],"pictures":[]',
                b'"places":[[],[]],"pictures":[[0,5,1.0]]',
                b'"places":[[],[]],"pictures":[[1,0,1.0]]',
            )
        ),
    ],
)
def test_a_frame_that_contradicts_itself_is_refused(
    head: bytes, text: bytes, bounds: list[list[int]]
) -> None:
    array = np.array(bounds, np.int32).reshape(-1, 3)
    boxes = np.zeros((len(array), 4), np.float32)
    with pytest.raises(BadFrame):
        unpack("a.pdf", head, text, array.tobytes(), boxes.tobytes(), b"")
    assert isinstance(unpack("a.pdf", HEAD, b"text", b"", b"", b""), Document)


def test_a_length_beyond_the_limits_is_refused_before_anything_is_read() -> None:
    with pytest.raises(BadFrame, match="section"):
        lengths(HEADER.pack(b"CNBR", 10, 1 << 60, 0, 0, 0))
    with pytest.raises(BadFrame, match="beginning"):
        lengths(b"\x00" * HEADER.size)


def test_places_ahead_are_named_and_their_number_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MAX_PLACES", 3)
    builder = DocumentBuilder(limit=20)
    builder.open("sheet")
    for ahead, label in enumerate(("A1", "B1", "C1", "D1", "E1")):
        builder.mark(label, 2 * ahead)
    builder.write("a b c d e")
    builder.mark("far", 100)
    builder.close()
    places = builder.build(b"", "a.csv", "text/csv").places
    assert [places.at(at) for at in range(0, 9, 2)] == ["A1", "B1", "C1", "", ""]
    assert max(places.start) <= 20


def test_a_part_within_a_part_stands_apart_from_its_text() -> None:
    builder = DocumentBuilder()
    builder.open("slide")
    builder.write("text")
    builder.open("notes")
    builder.write("note")
    builder.close()
    builder.close()
    assert builder.build(b"", "a.pptx", "x").text == "text\n\nnote"


def test_a_document_of_very_many_parts_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MAX_DOCUMENT_PARTS", 2)
    builder = DocumentBuilder()
    builder.open("attachment")
    assert not builder.full
    builder.open("attachment")
    assert builder.full


def test_the_place_of_a_failed_content_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(reading: ParseContext, _: bytes) -> None:
        with part_text(reading) as text:
            text.line("kept", "row 1")
            raise DocumentError("broken", "in the middle")

    known = contents.content_format(b"a", "a.txt")
    monkeypatch.setattr(type(known), "reader", lambda _: fail)
    reading = ParseContext()
    reading.builder.open("attachment")
    contents.add_content(reading, b"a", "a.txt")
    reading.builder.write(" next")
    reading.builder.close()
    document = reading.builder.build(b"", "a", "text/plain")
    assert document.text == "kept next" and document.flags == ("attachment_broken",)
    assert [document.places.at(at) for at in (0, 5)] == ["row 1", ""]


@pytest.mark.slow
def test_long_names_of_many_parts_fit_the_frame_of_a_document() -> None:
    builder = DocumentBuilder()
    for number in range(40_000):
        builder.open("attachment", "\N{GRINNING FACE}" * 2000, media_type="a/" + "b" * 5000)
        builder.write(f"{number}\n")
        builder.close()
    document = builder.build(b"", "a.eml", "message/rfc822")
    assert document.flags == ("truncated",) and len(document.parts) == 40_000
    assert (len(document.parts[0].name), document.parts[-1].name) == (1024, "")
    header, *sections = pack(document)
    assert len(lengths(header)) == len(sections)


_UNSEEN = "\u200b\u00ad\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202c\u2066\u2069\u061c\u180e\U000e0041"


@given(st.lists(st.tuples(st.text("AZ09.-:é ", max_size=6), st.text(_UNSEEN, max_size=3)), max_size=8))
def test_letters_without_a_width_belong_to_no_text(pieces: list[tuple[str, str]]) -> None:
    assert clean("".join(a + b for a, b in pieces)) == "".join(a for a, _ in pieces)


def test_joiners_that_spell_and_words_divided_by_a_soft_hyphen() -> None:
    for spelled in ("می\u200cخواهم", "क\u094d\u200dष", "👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥"):
        assert clean(spelled) == spelled
    assert clean("Rech\xad\r\nnung\xad") == "Rechnung"
    assert clean("\u200c" * 100_000) == ""
