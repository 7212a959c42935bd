"""Quoted mails and signatures are parts within the body, whatever the language, and change nothing in the text."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.parsed_files import parts

from cinnabar.extraction.documents.chunking import chunks
from cinnabar.extraction.documents.content.builder import word_bounds
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.mail.quoting import marks
from cinnabar.extraction.documents.plain.html import html_to_text
from cinnabar.extraction.plan.limits import LEAST_LIMIT

HEAD = "From: a@example.org\nSubject: Re: order\nContent-Type: text/%s; charset=utf-8\n\n"


def mail(body: str, kind: str = "plain") -> Document:
    return parse((HEAD % kind + body).encode(), "a.eml")


def test_lines_with_angles_are_a_quote_with_their_attribution() -> None:
    document = mail(
        "Yes, 14 pieces.\n\nOn Mon, 6 May 2024 at 10:00, Bob <bob@example.org>\nwrote:\n> How many?\n>> And when?\n\n"
        "> Bob\n\nTomorrow.\n-- \nAda\n+44 1\n"
    )
    assert parts(document, "quote") == [
        "On Mon, 6 May 2024 at 10:00, Bob <bob@example.org>\nwrote:\n> How many?\n>> And when?\n\n> Bob"
    ]
    assert parts(document, "signature") == ["--\nAda\n+44 1"]
    (body,) = [number for number, part in enumerate(document.parts) if part.kind == "body"]
    assert all(part.parent == body for part in document.parts if part.kind in ("quote", "signature"))
    assert parts(document, "body")[0].startswith("Yes") and parts(document, "body")[0].endswith("+44 1")


def test_a_line_that_ends_in_a_colon_is_no_attribution_by_itself() -> None:
    document = mail("I cite:\n> To be, or not to be\n\n>From here it is text.\n")
    assert parts(document, "quote") == ["> To be, or not to be"]


@pytest.mark.parametrize(
    "head",
    [
        "-----Original Message-----\nFrom: Bob [mailto:bob@example.org]\nSent: Monday, May 6, 2024\nTo: Ada\n",
        "________________________________\n\nDe : Bob\nEnvoyé : lundi 6 mai 2024 10:12\nÀ : Ada\nObjet : commande\n",
        "Von: Bob\nGesendet: Montag, 6. Mai 2024 10:12\nAn: Ada\nBetreff: Auftrag\n",
        "Begin forwarded message:\n\nFrom: Bob <b@example.org>\nSubject: order\nDate: 6 May 2024 at 10:12\nTo: Ada\n",
        "差出人: Bob\n送信日時: 2024年5月6日 10:12\n宛先: Ada\n件名: 注文\n",
        "---------- Forwarded message ---------\nFrom: Bob <bob@example.org>\nDate: Mon, 6 May 2024\nSubject: x\n",
    ],
)
def test_a_block_of_headers_begins_a_quote_to_the_end(head: str) -> None:
    document = mail(f"Please see below.\n\n{head}\nThe price is 10.\n--\nBob\n")
    (quote,) = parts(document, "quote")
    head = head.removeprefix("Begin forwarded message:\n\n")
    assert quote == f"{head}\nThe price is 10.\n--\nBob"
    assert parts(document, "signature") == []


def test_labelled_lines_of_the_mail_itself_are_no_quote() -> None:
    form = "Name: Ada\nEmail: ada@example.org\nPhone: +44 1\nMessage: hello\n\nTotal: 10\n"
    assert parts(mail(form), "quote") == []
    post = "Type: talk\nTopic: A long talk about bees and flowers 6 May 2024 10:00\nDates: 6 May\nBy: ada@example.org\n"
    assert parts(mail(f"Announcement\n\n{post}"), "quote") == []
    assert parts(mail("==========\nDate: 6 May 2024\nTime: 10:00\nPlace: hall\n\nWelcome!\n"), "quote") == []
    assert parts(mail(">>> DATA\n<<< 550 User unknown\n"), "quote") == []
    assert parts(mail("----------\nPaint 10\nBrush 3\n----------\nTotal 13\n"), "quote") == []


@pytest.mark.parametrize(
    ("markup", "quotes"),
    [
        ("<p>Yes.</p><blockquote type=cite><p>How <b>many</b>?</p></blockquote><p>Ada</p>", ["How many?"]),
        (
            "<div>Yes.</div><div class=gmail_quote><p>On Monday Bob wrote:</p><blockquote>How many?</blockquote></div>",
            ["On Monday Bob wrote:\n\n  How many?"],
        ),
        ("<p>Yes.</p><div id=divRplyFwdMsg>From: Bob</div><div>How many?</div>", ["From: Bob\nHow many?"]),
        ("<p>Yes. How many? Two</p>", []),
    ],
)
def test_elements_of_a_page_are_quotes(markup: str, quotes: list[str]) -> None:
    document = mail(markup, "html")
    assert [quote.split() for quote in parts(document, "quote")] == [quote.split() for quote in quotes]
    assert parts(document, "body") == [html_to_text(markup)[0]]


def test_a_signature_of_a_page_is_marked() -> None:
    document = mail("<p>Yes.</p><div class='gmail_signature'>Ada<br>+44 1</div>", "html")
    assert parts(document, "signature") == ["Ada\n+44 1"]


@examples(200)
@given(st.lists(st.sampled_from(["> a", ">> b", "--", "", "On 6 May 2024 x@y:", "From: x@y", "Sent: 2024 10:00",
                                 "To: z", "Subject: u", "__________", "text here"]), max_size=20))  # fmt: skip
def test_marks_are_disjoint_and_change_neither_text_nor_words(lines: list[str]) -> None:
    text = "\n".join(lines).strip("\n")
    found = marks(text)
    bounds = [0, *(place for _, start, end in found for place in (start, end)), len(text)]
    assert bounds == sorted(bounds)
    document = mail(text + "\nend\n")
    body = next(part for part in document.parts if part.kind == "body")
    inside = document.text[body.start : body.end]
    assert inside.split() == [*text.split(), "end"]
    words = zip(document.words.start.tolist(), document.words.end.tolist(), strict=True)
    assert list(words) == [tuple(pair) for pair in word_bounds(document.text).tolist()]


def test_marks_move_no_border_of_a_passage() -> None:
    lines = "".join(f"line {number} has some words\n" for number in range(60))
    document = mail(f"{lines}On 6 May 2024 Bob <b@example.org> wrote:\n> {lines}{lines}")
    assert parts(document, "quote")
    unmarked = replace(document, parts=tuple(part for part in document.parts if part.kind != "quote"))
    for limit in (LEAST_LIMIT, 3 * LEAST_LIMIT):
        cut = [chunks(one, limit, limit // 4, lambda text: len(text.split())) for one in (document, unmarked)]
        assert len(cut[0]) > 1 and cut[0] == cut[1]
