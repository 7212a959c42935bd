"""Facts: what a parser knows about a file, with the places where its headers are printed."""

from __future__ import annotations

import email
import email.policy
import io
import os
import time
from datetime import datetime, timedelta, timezone
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen import canvas
from tests.support.cases import each
from tests.support.effort import examples

from cinnabar.extraction.documents.content.document import Document, moment
from cinnabar.extraction.documents.content.inputs import Sent
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.ingest.sandbox import ParserPool, file_facts
from cinnabar.extraction.documents.mail.facts import addresses
from cinnabar.extraction.documents.pdf.reader import pdf_moment

GERMAN = "Sehr geehrte Damen und Herren, bitte überweisen Sie den Betrag bis zum Ende des Monats."


def mail(**headers: Any) -> EmailMessage:
    made = EmailMessage(policy=email.policy.SMTP)
    for name, value in headers.items():
        made[name.replace("_", "-")] = value
    made.set_content("Dear Bob, all is well and we will see you again in the summer.\n")
    return made


def facts(data: bytes, path: str = "a.eml") -> dict[str, Any]:
    return {name: fact.value for name, fact in parse(data, path).facts.items()}


def printed(document: Document, name: str) -> list[str]:
    return [document.text[start:end] for start, end in document.facts[name].spans]


def pdf(pages: int = 1, text: str = "Invoice 17", **about: str) -> bytes:
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, invariant=1)
    for name, value in about.items():
        getattr(sheet, f"set{name.capitalize()}")(value)
    for _ in range(pages):
        sheet.drawString(72, 700, text)
        sheet.showPage()
    sheet.save()
    return buffer.getvalue()


def test_a_mail_tells_its_people_times_and_ids_with_their_headers_as_places() -> None:
    made = mail(
        From="Zoë Ada <ada@example.org>",
        To='Bob <bob@example.org>, "Roe, Jane" <jane@example.org>',
        Cc="carl@example.org",
        Bcc="Dora <dora@example.org>",
        Reply_To="desk@example.org",
        Subject="Grüße aus Köln",
        Date="Mon, 02 Jan 2023 10:00:00 +0130",
        Message_ID="<1@example.org>",
        In_Reply_To="<0@example.org>",
        References="<first@example.org> <0@example.org>",
    )
    received = b"Received: from a by b; Mon, 2 Jan 2023 08:31:02 +0000\r\n"
    received += b"Received: x; Sun, 1 Jan 2023 08:00:00 +0000\r\n"
    document = parse(received + made.as_bytes(), "a.eml")
    assert {name: fact.value for name, fact in document.facts.items()} == {
        "mail.from.address": "ada@example.org",
        "mail.from.name": "Zoë Ada",
        "mail.to.address": ("bob@example.org", "jane@example.org"),
        "mail.to.name": ("Bob", "Roe, Jane"),
        "mail.cc.address": ("carl@example.org",),
        "mail.cc.name": ("",),
        "mail.bcc.address": ("dora@example.org",),
        "mail.bcc.name": ("Dora",),
        "mail.reply_to.address": ("desk@example.org",),
        "mail.reply_to.name": ("",),
        "mail.subject": "Grüße aus Köln",
        "mail.sent": "2023-01-02T10:00:00+01:30",
        "mail.received": "2023-01-02T08:31:02Z",
        "mail.message_id": "1@example.org",
        "mail.thread_id": "first@example.org",
        "mail.attachments.name": (),
        "mail.attachments.size": (),
        "mail.attachments.count": 0,
        "document.language": "en",
    }
    assert printed(document, "mail.from.address") == ["ada@example.org"]
    assert printed(document, "mail.to.address") == ["bob@example.org", "jane@example.org"]
    assert printed(document, "mail.cc.name") == ["carl@example.org"]
    assert printed(document, "mail.sent") == ["Mon, 02 Jan 2023 10:00:00 +0130"]
    assert printed(document, "mail.subject") == ["Grüße aus Köln"]
    assert printed(document, "mail.message_id") == ["<1@example.org>"]
    assert printed(document, "mail.received") == []


@each(
    "raw, found",
    [
        ("jane@x.org (Jane Doe)", [("Jane Doe", "jane@x.org")]),
        ('"Doe, Jane" <jane@x.org>, b@x.org', [("Doe, Jane", "jane@x.org"), ("", "b@x.org")]),
        ("=?utf-8?Q?Doe=2C_J=C3=BCrgen?= <j@x.org>", [("Doe, Jürgen", "j@x.org")]),
        ("=?utf-8?Q?Doe,?= =?utf-8?Q?_J?= <j@x.org>", [("Doe, J", "j@x.org")]),
        ('"=?utf-8?B?SsO8cmdlbg==?=" <j@x.org>', [("Jürgen", "j@x.org")]),
        ("=?utf-8?Q?Jane_=3Cjane=40x.org=3E?=", [("Jane", "jane@x.org")]),
        ("Team: a@x.org, Bob <b@x.org>; c@x.org", [("", "a@x.org"), ("Bob", "b@x.org"), ("", "c@x.org")]),
        ("undisclosed-recipients:;", []),
        ("Undisclosed recipients", []),
        ("postmaster", [("", "postmaster")]),
        ("MAILER-DAEMON <>", [("MAILER-DAEMON", "")]),
        ("<@a.org,@b.org:jane@x.org>", [("", "jane@x.org")]),
        ('"a b"@x.org', [("", '"a b"@x.org')]),
        ("J\udcfcrgen <j@x.org>", [("Jürgen", "j@x.org")]),
        ('"open <j@x.org>', [('"open', "j@x.org")]),
        ("a@x.org (no (end", [("", "a@x.org(no(end")]),
        ("Jane <jane@x.org", [("", "Jane<jane@x.org")]),
        ("<Saved by a browser>", [("", "Saved by a browser")]),
        ("jane@corp.org <no@evil.org>", [("jane@corp.org", "no@evil.org")]),
        ("Jo [Acme] <jo@x.org>", [("Jo [Acme]", "jo@x.org")]),
        ("", []),
    ],
)
def test_addresses_are_read_in_every_form(raw: str, found: list[tuple[str, str]]) -> None:
    assert [(one.name, one.address) for one in addresses(raw)] == found


NAMES = st.text(st.sampled_from('ab ü,;<>@"\\().:界'), max_size=12)


@given(st.lists(st.tuples(NAMES, st.from_regex(r"[a-z0-9.]{0,6}[a-z]@[a-z]{1,8}\.org", fullmatch=True)), max_size=5))
def test_addresses_that_the_standard_library_writes_are_read_back(people: list[tuple[str, str]]) -> None:
    sound = (one for one in people if ".." not in one[1] and one[1][0] != ".")
    people = [(" ".join(name.split()), address) for name, address in sound]
    # One by one: the library itself breaks a list with a comma between encoded words.
    written = (str(mail(To=Address(name, addr_spec=address))) for name, address in people)
    raw = ", ".join(text.removeprefix("To: ").split("\nContent-Type")[0] for text in written)
    assert [(one.name, one.address) for one in addresses(raw)] == people


@given(st.text(st.sampled_from('a@<>"\\(),:;[] \t=?\udcff'), max_size=60))
@examples(300)
def test_any_header_is_read_without_an_error(raw: str) -> None:
    for one in addresses(raw):
        assert one.name or one.address


@pytest.mark.parametrize("piece", ['"', "(", "<", "[", '\\"', "=?a?q?", "a,", "(("])
def test_hostile_headers_take_linear_time(piece: str) -> None:
    began = time.process_time()
    addresses(piece * 60_000)
    assert time.process_time() - began < 5


def test_attachments_have_names_and_decoded_sizes_and_those_of_a_nested_mail_do_not_count() -> None:
    inner = mail(From="inner@example.org", Subject="inner")
    inner.add_attachment(b"inside", maintype="application", subtype="x", filename="inside.bin")
    made = mail(From="a@example.org")
    made.add_attachment(b"12345", maintype="application", subtype="x", filename="Größe.bin")
    made.add_attachment("größer", subtype="plain", filename="b.txt")
    made.add_attachment(inner)
    found = facts(made.as_bytes())
    assert found["mail.from.address"] == "a@example.org"
    assert found["mail.attachments.name"][:2] == ("Größe.bin", "b.txt")
    assert found["mail.attachments.size"][:2] == (5, len("größer\r\n".encode()))
    assert found["mail.attachments.count"] == 3 == len(found["mail.attachments.size"])
    assert "inside.bin" not in found["mail.attachments.name"]


@pytest.mark.parametrize("charset", ["utf-8", "windows-1252"])
def test_the_name_of_an_attachment_may_have_bytes_that_are_not_ascii(charset: str) -> None:
    head = "From: a@example.org\r\nContent-Disposition: attachment; filename=\"Größe für März.txt\"\r\n\r\nwords"
    assert facts(head.encode(charset))["mail.attachments.name"] == ("Größe für März.txt",)


@pytest.mark.parametrize(
    "date", ["", "yesterday", "Mon, 99 Jan 2023 10:00:00 +0100", "1 Jan 2023 10:00 +9999", "0" * 999]
)
def test_a_broken_date_is_no_fact(date: str) -> None:
    made = f"From: a@example.org\r\nDate: {date}\r\nSubject: words and words\r\n\r\nwords".encode()
    assert "mail.sent" not in facts(made)


def test_a_pdf_tells_its_properties_and_pages_and_an_attached_one_nothing() -> None:
    data = pdf(3, title="Report 2025", author="Ada", subject="Numbers")
    found = facts(data, "a.pdf")
    assert (found["document.pages"], found["pdf.title"], found["pdf.author"]) == (3, "Report 2025", "Ada")
    assert found["pdf.subject"] == "Numbers" and found["pdf.created"] == "2000-01-01T00:00:00Z"
    made = mail(From="a@example.org")
    made.add_attachment(data, maintype="application", subtype="pdf", filename="a.pdf")
    outer = facts(made.as_bytes())
    assert not any(name.startswith("pdf.") for name in outer) and "document.pages" not in outer


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("D:20260314093000+01'00'", "2026-03-14T09:30:00+01:00"),
        ("D:20260314093000-0330", "2026-03-14T09:30:00-03:30"),
        ("D:20260314093000Z00'00'", "2026-03-14T09:30:00Z"),
        ("20260314", "2026-03-14T00:00:00Z"),
        ("D:2026", ""),
        ("D:20261399", ""),
        ("D:20260314093000+25'00'", ""),
        ("14 March 2026", ""),
    ],
)
def test_dates_of_pdfs_are_moments(text: str, found: str) -> None:
    assert pdf_moment(text) == found


@given(st.datetimes(timezones=st.integers(-1439, 1439).map(lambda n: timezone(timedelta(minutes=n)))))
def test_a_moment_names_the_same_time(when: datetime) -> None:
    assert datetime.fromisoformat(moment(when)) == when.replace(microsecond=0)


def test_the_language_is_that_of_the_text_and_not_of_headers_or_attachments() -> None:
    made = EmailMessage(policy=email.policy.SMTP)
    made["Subject"] = "A message about the payment that you asked for in your letter of last week"
    made.set_content(GERMAN)
    made.add_attachment("This attached text is in English, and it is longer. " * 20, subtype="plain", filename="b.txt")
    assert facts(made.as_bytes())["document.language"] == "de"
    assert facts((GERMAN.upper() + " 12:30 http://x.example").encode(), "a.txt")["document.language"] == "de"


def test_a_mail_without_a_text_of_its_own_has_the_language_of_what_it_carries() -> None:
    inner = EmailMessage()
    inner["Subject"] = "Weiter"
    inner.set_content(GERMAN)
    outer = EmailMessage()
    outer["Subject"] = "a forwarded message in English"
    outer.set_content(inner)
    assert facts(outer.as_bytes())["document.language"] == "de"
    attached = EmailMessage()
    attached["Subject"] = "a note in English"
    attached.add_attachment(GERMAN, filename="note.txt")
    assert facts(attached.as_bytes())["document.language"] == "de"


@pytest.mark.parametrize("text", ["OK", "12.50 EUR", "0x3f 17:30 a-7", "xqz vvk wlk zzq kkj"])
def test_a_text_that_names_no_language_has_none(text: str) -> None:
    assert "document.language" not in facts(text.encode(), "a.txt")


def test_a_large_text_takes_no_longer_for_its_language() -> None:
    document = parse((GERMAN + "\n").encode() * 20_000, "a.txt")
    from cinnabar.extraction.documents.content.language import language_of

    began = time.process_time()
    assert language_of(document) == "de"
    assert time.process_time() - began < 0.5


def test_pages_of_a_text_are_counted_at_form_feeds() -> None:
    assert facts(b"one page\ftwo pages\f", "a.txt")["document.pages"] == 2
    assert "document.pages" not in facts(b"one page", "a.txt")


def test_the_file_system_tells_the_name_the_size_and_the_time_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "Größe.txt"
    path.write_text(GERMAN)
    os.utime(path, (0, 1_700_000_000))
    with ParserPool(1) as pool:
        ((_, found),) = pool.parse_many([path])
        ((_, sent),) = pool.parse_many([Sent(path, path.read_bytes(), path.stat().st_mtime)])
    assert isinstance(found, Document) and isinstance(sent, Document)
    values = {name: fact.value for name, fact in found.facts.items()}
    expected = {"file.name": "Größe.txt", "file.size": path.stat().st_size, "file.modified": "2023-11-14T22:13:20Z"}
    assert values == expected | {"document.language": "de"}
    assert sent.facts == found.facts


def test_a_mail_without_a_file_has_a_size_and_no_name() -> None:
    assert {*file_facts(Sent(Path("imap:1.eml"), b"abc"), 3)} == {"file.size"}
