"""Mails become headers, a body, and parts for their attachments, under every kind of damage."""

import email.policy
import time
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.drawn_pages import text_pages
from tests.support.effort import examples
from tests.support.parsed_files import code_of, parts

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, Part
from cinnabar.extraction.documents.content.parse_context import FLAGS
from cinnabar.extraction.documents.ingest import ParserSettings, parse
from cinnabar.extraction.documents.mail.mime import decode_header
from cinnabar.extraction.plan.outcomes import UNREADABLE

TOP = b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Hello\r\nDate: Mon, 2 Jan 2023 10:00:00 +01\r\n"


def message(**headers: str) -> EmailMessage:
    mail = EmailMessage(policy=email.policy.SMTP)
    for name, value in ({"From": "Ada <ada@example.org>", "To": "Bob <bob@example.org>"} | headers).items():
        mail[name] = value
    return mail


def text_of(document: Document, part: Part) -> str:
    return document.text[part.start : part.end]


def test_headers_come_first_one_to_a_line_and_decoded() -> None:
    date = "Mon, 02 Jan 2023 10:00:00 +0100"
    mail = message(Subject="Grüße aus Köln", Date=date, Cc="Zoë <zoe@example.org>")
    mail.set_content("Dear Bob,\n\nall is well.\n")
    document = parse(mail.as_bytes(), "a.eml")
    assert document.text == (
        "From: Ada <ada@example.org>\nTo: Bob <bob@example.org>\nCc: Zoë <zoe@example.org>\n"
        "Date: Mon, 02 Jan 2023 10:00:00 +0100\nSubject: Grüße aus Köln\n\nDear Bob,\n\nall is well."
    )
    assert [part.kind for part in document.parts] == ["headers", "body"]
    assert document.flags == ()
    assert document.metadata["subject"] == "Grüße aus Köln"
    starts = zip(document.words.start.tolist(), document.words.end.tolist(), strict=True)
    assert [document.text[a:b] for a, b in starts] == document.text.split()


def test_plain_text_is_preferred_to_html_and_a_contradiction_is_flagged() -> None:
    mail = message(Subject="Invoice")
    mail.set_content("The total is 100 EUR, payable within 14 days.\n")
    mail.add_alternative("<p>The total is <b>100 EUR</b>, payable within 14 days.</p>", subtype="html")
    document = parse(mail.as_bytes(), "a.eml")
    assert parts(document, "body") == ["The total is 100 EUR, payable within 14 days."]
    assert document.flags == ()

    mail = message(Subject="Invoice")
    mail.set_content("The total is 100 EUR, payable within 14 days.\n")
    mail.add_alternative("<p>Your order was sent: 250 EUR by 9 May 2024.</p>", subtype="html")
    assert parse(mail.as_bytes(), "a.eml").flags == ("conflict",)


def test_attachments_become_parts_with_their_text() -> None:
    mail = message(Subject="Files")
    mail.set_content("See the files.\n")
    invoice = text_pages("Rechnung 4711")
    mail.add_attachment(invoice, maintype="application", subtype="pdf", filename="Rechnung ü.pdf")
    mail.add_attachment("a;b\r\n1;2\r\n", subtype="csv", filename="../../etc/data.csv")
    mail.add_attachment(b"\x89PNG\r\n\x1a\n\x00", maintype="image", subtype="png", filename="photo.png")
    document = parse(mail.as_bytes(), "a.eml")
    attached = [part for part in document.parts if part.kind == "attachment"]
    assert [part.name for part in attached] == ["Rechnung ü.pdf", "../../etc/data.csv", "photo.png"]
    assert [text_of(document, part) for part in attached] == ["Rechnung 4711", "a  b\n1  2", ""]
    (page,) = [part for part in document.parts if part.kind == "page"]
    assert document.parts[page.parent] == attached[0] and page.page == 1 and page.width > 0
    assert document.metadata["attachments"] == '["Rechnung ü.pdf","../../etc/data.csv","photo.png"]'
    inside = document.words.part == document.parts.index(page)
    assert inside.sum() == 2 and document.words.box[inside].min() > 0
    without = parse(mail.as_bytes(), "a.eml", ParserSettings(careful=True))
    assert without.flags == ("attachment_skipped",)
    assert parts(without, "attachment") == ["", "a;b\n1;2", ""]


def test_a_broken_attachment_leaves_the_mail_standing() -> None:
    mail = message(Subject="Files")
    mail.set_content("See the file.\n")
    mail.add_attachment(b"no pdf", maintype="application", subtype="pdf", filename="a.pdf")
    document = parse(mail.as_bytes(), "a.eml")
    assert parts(document, "body") == ["See the file."]
    assert document.flags == ("attachment_not_pdf",)


def test_a_nested_mail_is_a_part_with_its_own_headers() -> None:
    inner = message(Subject="The first mail")
    inner.set_content("What was said first.\n")
    mail = message(Subject="Fwd")
    mail.set_content("See below.\n")
    mail.add_attachment(inner)
    document = parse(mail.as_bytes(), "a.eml")
    kinds = [(part.kind, part.parent) for part in document.parts]
    assert kinds == [("headers", -1), ("body", -1), ("message", -1), ("headers", 2), ("body", 2)]
    assert document.parts[2].name == "The first mail"
    assert "Subject: The first mail\n\nWhat was said first." in text_of(document, document.parts[2])


def test_a_bounce_keeps_its_status_and_the_returned_headers() -> None:
    data = (
        TOP + b"Content-Type: multipart/report; report-type=delivery-status; boundary=x\r\n\r\n"
        b"--x\r\n\r\nIt could not be delivered.\r\n--x\r\nContent-Type: message/delivery-status\r\n\r\n"
        b"Reporting-MTA: dns; mx.example.org\r\n\r\n"
        b"Final-Recipient: rfc822; c@example.org\r\nStatus: 5.1.1\r\n"
        b"--x\r\nContent-Type: text/rfc822-headers\r\n\r\nSubject: the lost one\r\n--x--\r\n"
    )
    document = parse(data, "a.eml")
    assert parts(document, "body") == ["It could not be delivered."]
    assert parts(document, "attachment") == [
        "Reporting-MTA: dns; mx.example.org\n\nFinal-Recipient: rfc822; c@example.org\nStatus: 5.1.1",
        "Subject: the lost one",
    ]


@pytest.mark.parametrize(
    ("raw", "decoded"),
    [
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?= aus =?iso-8859-1?Q?K=F6ln?=", "Grüße aus Köln"),
        ("=?utf-8?B?R3LDvA==?=\r\n =?utf-8?B?w59l?=", "Grüße"),
        # One character is cut in two between encoded words.
        ("=?utf-8?B?w7w=?= =?utf-8?Q?=C3?= =?utf-8?Q?=BC?=", "üü"),
        ("=?hex?Q?4142?=", "4142"),
        ("=?utf-8?B?!!!?= rest", "rest"),
        ("=?utf-8*de?q?M=C3=BCller?= <a@b.example>", "Müller <a@b.example>"),
        ("plain  with\r\n\tfold", "plain with fold"),
        ("=?utf-8?q?unfinished", "=?utf-8?q?unfinished"),
    ],
)
def test_encoded_words_are_decoded(raw: str, decoded: str) -> None:
    assert decode_header(raw)[0] == decoded


def test_two_senders_are_both_kept_and_flagged() -> None:
    document = parse(b"From: real@example.org\nFrom: fake@example.org\nSubject: x\n\nbody\n", "a.eml")
    assert "From: real@example.org\nFrom: fake@example.org" in document.text
    assert document.flags == ("duplicate_header",)


def nested(depth: int, kind: bytes) -> bytes:
    if kind == b"rfc822":
        return (TOP + b"Content-Type: message/rfc822\r\n\r\n") * depth + TOP + b"\r\ninnermost\r\n"
    heads = [b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (i, i) for i in range(depth)]
    return TOP + b"".join(heads) + b"\r\ninnermost\r\n"


@pytest.mark.parametrize("kind", [b"multipart", b"rfc822"])
def test_nesting_is_followed_to_its_limit(kind: bytes) -> None:
    shallow = parse(nested(40, kind), "a.eml")
    assert "innermost" in shallow.text and "depth_limit" not in shallow.flags
    started = time.thread_time()
    deep = parse(nested(20_000, kind), "a.eml")
    assert time.thread_time() - started < 20
    assert "depth_limit" in deep.flags


def test_huge_headers_are_cut_and_flagged() -> None:
    many = parse(TOP + b"X-A: b\r\n" * 300_000 + b"\r\nbody\r\n", "a.eml")
    assert "truncated" in many.flags and "body" in many.text
    long = parse(TOP + b"Cc: " + b"=?utf-8?q?a?= " * 200_000 + b"\r\n\r\nbody\r\n", "a.eml")
    assert "truncated" in long.flags and "body" in long.text


def test_many_parts_are_cut_and_flagged() -> None:
    head = TOP + b"Content-Type: multipart/mixed; boundary=x\r\n\r\n"
    document = parse(head + b"--x\r\n\r\np\r\n" * 20_000 + b"--x--\r\n", "a.eml")
    assert "truncated" in document.flags and len(document.parts) < 2_100


def test_a_wrong_boundary_is_repaired_and_a_missing_one_leaves_the_text() -> None:
    head = TOP + b'Content-Type: multipart/mixed; boundary="right"\r\n\r\n'
    wrong = b"--wrong\r\nContent-Type: text/plain\r\n\r\nthe body\r\n--wrong--\r\n"
    document = parse(head + wrong, "a.eml")
    assert (parts(document, "body"), document.flags) == (["the body"], ("repaired",))
    document = parse(head + b"only words\r\n", "a.eml")
    assert (parts(document, "body"), document.flags) == (["only words"], ())


def test_remote_content_is_not_fetched() -> None:
    kind = b"Content-Type: message/external-body; access-type=local-file; name=/etc/passwd\r\n"
    data = TOP + kind + b"\r\nContent-Id: 1\r\n"
    assert parse(data, "a.eml").flags == ("active_content",)


def test_a_mail_without_bytes_is_empty() -> None:
    assert code_of(parse, b"X-Mailer: none\r\n\r\n", "a.eml") == "empty"


snippets = st.sampled_from(
    [
        *(b"From: a\r\n", b"Subject: =?utf-8?b?w5w=?=\r\n", b"\r\n", b"\n", b"--x\r\n", b"--x--\r\n"),
        b"Content-Type: multipart/mixed; boundary=x\r\n",
        b"Content-Type: multipart/alternative; boundary=\"y\"\r\n",
        b"Content-Type: message/rfc822\r\n",
        b"Content-Type: text/html; charset=utf-7\r\n",
        b"Content-Type: text/plain; charset*=utf-8''%ff\r\n",
        b"Content-Disposition: attachment; filename*0*=utf-8''a%C3; filename*1=b\r\n",
        *(b"Content-Transfer-Encoding: base64\r\n", b"Content-Transfer-Encoding: x-uuencode\r\n"),
        *(b"SGVsbG8=\r\n", b"begin 644 a\r\n#0V%T\r\n", b"<p><table><td>x", b"+ADw-", b"\x00\x80\xff"),
        *(b"--y\r\n", b"words\r\n"),
    ]
)


@examples(300)
@given(st.lists(snippets | st.binary(max_size=12), max_size=14))
def test_any_bytes_give_a_sound_document_or_a_reason(pieces: list[bytes]) -> None:
    try:
        document = parse(b"".join(pieces), "a.eml")
    except DocumentError as error:
        assert error.code in UNREADABLE
        return
    document.text.encode("utf-8")
    assert "\x00" not in document.text
    assert set(document.flags) <= set(FLAGS)
    bounds = zip(document.words.start.tolist(), document.words.end.tolist(), strict=True)
    assert [document.text[a:b] for a, b in bounds] == document.text.split()
    for part in document.parts:
        assert 0 <= part.start <= part.end <= len(document.text)
