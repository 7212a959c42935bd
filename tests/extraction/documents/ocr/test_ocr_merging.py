"""Words that OCR read go into their document, and everything behind them moves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.document import Document, Fact, Picture
from cinnabar.extraction.documents.ocr import merging
from cinnabar.extraction.documents.ocr.merging import merge_pages
from cinnabar.extraction.documents.ocr.page_text import PageText, page_text
from cinnabar.extraction.documents.processes.frames import pack, unpack


def page(text: str, sure: float = 0.5) -> PageText:
    """Words with boxes of one pixel more each."""
    words = []
    for number, line in enumerate(text.split("\n")):
        for at, word in enumerate(line.split(" ")):
            gap = "" if not words else "\n" if at == 0 and number else " "
            side = float(len(words))
            words.append((word, gap, (side, side, side + 1, side + 1), sure))
    return page_text(words)


def mail_with_a_scan() -> Document:
    """Headers, a body, an attachment with two scanned pages around a printed one, and a last text."""
    builder = DocumentBuilder()
    builder.open("headers")
    builder.write("From: a@b.example")
    builder.close()
    builder.facts["mail.from.address"] = Fact("a@b.example", ((6, 17),))
    builder.open("attachment", "scan.pdf")
    for number, text in ((1, ""), (2, "printed here"), (3, "")):
        builder.open("page", page=number, width=100, height=200)
        builder.write(text)
        if not text:
            builder.show(b"picture %d" % number, 2.0)
        builder.close()
    builder.close()
    builder.open("attachment", "last.txt")
    builder.mark("line 1")
    builder.write("the end")
    builder.facts["mail.subject"] = Fact("end", ((builder.length - 3, builder.length),))
    builder.close()
    return builder.build(b"x", "a.eml", "message/rfc822")


def held(document: Document) -> None:
    """Fails unless a parser could have sent the document: words lie in their parts, parts in the text."""
    bare = replace(document, facts={})
    header, *sections = pack(bare)
    assert header and not isinstance(unpack("a", *sections), Exception)
    for part in document.parts:
        if part.parent >= 0:
            around = document.parts[part.parent]
            assert around.start <= part.start <= part.end <= around.end
    words = document.words
    assert words.sure is not None and len(words.sure) == len(words)
    assert [document.text[a:b] for a, b in zip(words.start, words.end, strict=True)] == document.text.split()


def test_each_page_gets_its_words_and_all_that_follows_moves() -> None:
    before = mail_with_a_scan()
    found = merge_pages(before, [(before.pictures[0], page("total 5\nEUR")), (before.pictures[1], page("paid", 0.25))])
    held(found)
    assert found.text == "From: a@b.example\n\ntotal 5\nEUR\n\nprinted here\n\npaid\n\nthe end"
    kinds = [(part.kind, found.text[part.start : part.end]) for part in found.parts]
    assert kinds == [
        ("headers", "From: a@b.example"),
        ("attachment", "total 5\nEUR\n\nprinted here\n\npaid"),
        ("page", "total 5\nEUR"),
        ("page", "printed here"),
        ("page", "paid"),
        ("attachment", "the end"),
    ]
    assert {name: [found.text[a:b] for a, b in fact.spans] for name, fact in found.facts.items()} == {
        "mail.from.address": ["a@b.example"],
        "mail.subject": ["end"],
    }
    assert found.places.at(found.text.index("the end")) == "line 1"
    assert found.places.at(found.text.index("printed")) == ""
    assert found.words.sure is not None
    assert found.words.sure.tolist() == [1, 1, 0.5, 0.5, 0.5, 1, 1, 0.25, 1, 1]
    # Two pixels make a point.
    assert found.words.box[3].tolist() == [0.5, 0.5, 1.0, 1.0]
    assert np.isnan(found.words.box[5]).all()
    assert found.flags == ("ocr",) and not found.pictures


def test_a_part_with_words_gets_those_of_its_pictures_behind_them() -> None:
    builder = DocumentBuilder()
    builder.open("page", page=1, width=10, height=10)
    builder.write("printed")
    builder.show(b"one")
    builder.show(b"two")
    builder.close()
    builder.open("body")
    builder.write("after")
    builder.close()
    document = builder.build(b"x", "a", "text/plain")
    found = merge_pages(document, [(one, page(one.data.decode())) for one in document.pictures])
    held(found)
    assert found.text == "printed\n\none\n\ntwo\n\nafter"
    assert [found.text[p.start : p.end] for p in found.parts] == ["printed\n\none\n\ntwo", "after"]


def test_a_picture_without_words_changes_nothing() -> None:
    document = mail_with_a_scan()
    found = merge_pages(document, [(document.pictures[0], page_text([]))])
    assert found.text == document.text and found.parts == document.parts and found.flags == ()


def test_a_picture_of_a_part_without_a_page_has_words_without_boxes() -> None:
    builder = DocumentBuilder()
    builder.open("attachment", "a.png")
    builder.show(b"one")
    builder.close()
    document = builder.build(b"x", "a", "text/plain")
    found = merge_pages(document, [(document.pictures[0], page("one"))])
    assert np.isnan(found.words.box).all()


def test_pages_beyond_the_limit_of_characters_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    document = mail_with_a_scan()
    monkeypatch.setattr(merging, "MAX_CHARACTERS", len(document.text) + 10)
    found = merge_pages(
        document, [(document.pictures[0], page("too long for it")), (document.pictures[1], page("fits"))]
    )
    held(found)
    assert "fits" in found.text and "long" not in found.text
    assert found.flags == ("ocr", "truncated")


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Nested parts with and without text and pictures."""
    builder = DocumentBuilder()
    for _ in range(draw(st.integers(1, 12))):
        if builder.open_count and draw(st.booleans()):
            builder.close()
        if not builder.open_count or draw(st.booleans()):
            builder.open("page", page=1, width=10, height=10)
        if draw(st.booleans()):
            builder.write(draw(st.sampled_from([" one", " two words", "\nthree\nlines\nhere"])))
        for _ in range(draw(st.integers(0, 2))):
            builder.show(b"p")
    builder.close_down_to(0)
    return builder.build(b"x", "a", "text/plain")


@given(documents(), st.data())
def test_no_word_is_lost_and_each_lies_in_its_part(document: Document, data: st.DataObject) -> None:
    def drawn(number: int, picture: Picture) -> tuple[Picture, PageText]:
        text = data.draw(st.sampled_from(["", "read", "several words", "on\nlines"]))
        return picture, page(f"<{number}> {text}".strip()) if text else page_text([])

    read = [drawn(number, picture) for number, picture in enumerate(document.pictures)]
    found = merge_pages(document, read)
    held(found)
    assert sorted(found.text.split()) == sorted([*document.text.split(), *(w for _, p in read for w in p.text)])
    for picture, one in read:
        part = found.parts[picture.part]
        assert all(word in found.text[part.start : part.end].split() for word in one.text)
    old = [w for w in found.text.split() if not w.startswith("<")]
    kept = iter(old)
    assert all(word in kept for word in document.text.split())


def test_a_word_that_ocr_read_is_never_certain() -> None:
    builder = DocumentBuilder()
    builder.open("page", page=1, width=10, height=10)
    builder.write("printed")
    builder.show(b"picture")
    builder.close()
    document = builder.build(b"x", "a.pdf", "application/pdf")
    sure = merge_pages(document, [(document.pictures[0], page("sure", 1.0))]).words.sure
    assert sure is not None and sure[0] == 1.0 and 0.999 < sure[1] < 1.0
