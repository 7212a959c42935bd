"""Items of Outlook, as `.msg` files and TNEF streams, are read like the mails that they are."""

import email.policy
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest
from tests.support.outlook_files import Item, Tree, attribute, msg, ole, packed_rtf, tnef
from tests.support.parsed_files import code_of, parts

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.mail.rtf import rtf_body, unpacked_rtf

MORNING = datetime(2024, 5, 6, 7, 8, tzinfo=UTC)
APPOINTMENT = bytes.fromhex("0220060000000000c000000000000046")
ADDRESS = bytes.fromhex("0420060000000000c000000000000046")
Writer = Callable[[Item], bytes]
BOTH = pytest.mark.parametrize(("write", "name"), [(msg, "a.msg"), (tnef, "winmail.dat")])


def letter(**more: object) -> Item:
    properties = {
        0x001A: "IPM.Note",
        0x0037: "Größe 7",
        0x0042: "Ada, Countess",
        0x0064: "EX",
        0x0065: "/O=ENGINES/CN=ADA",
        0x5D02: "ada@example.org",
        0x0039: MORNING,
        0x1035: "<1@example.org>",
        0x1000: "The total is 100 EUR.\r\n",
    }
    recipients = [
        {0x0C15: 1, 0x3001: "Bob", 0x3002: "SMTP", 0x3003: "bob@example.org"},
        {0x0C15: 2, 0x3001: "Cleo", 0x3002: "EX", 0x3003: "/O=E/CN=CLEO", 0x39FE: "cleo@example.org"},
        {0x0C15: 3, 0x3001: "dan@example.org"},
    ]
    return Item(properties, recipients, **more)  # type: ignore[arg-type]


@BOTH
def test_an_item_has_the_headers_facts_and_parts_of_a_mail(write: Writer, name: str) -> None:
    invoice = {0x3705: 1, 0x3707: "Rechnung ü 2024.csv", 0x3704: "RECHNU~1.CSV", 0x3701: b"item,price\npaint,10\n"}
    document = parse(write(letter(attachments=[invoice])), name)
    assert parts(document, "headers") == [
        'From: "Ada, Countess" <ada@example.org>\nTo: Bob <bob@example.org>\nCc: Cleo <cleo@example.org>\n'
        "Bcc: dan@example.org\nDate: Mon, 06 May 2024 07:08:00 +0000\nSubject: Größe 7\nMessage-ID: <1@example.org>"
    ]
    assert parts(document, "body") == ["The total is 100 EUR."]
    (attached,) = parts(document, "attachment")
    assert attached.split() == ["item,price", "paint,10"] or "paint" in attached
    facts = {fact: found.value for fact, found in document.facts.items()}
    assert facts["mail.from.address"] == "ada@example.org"
    assert facts["mail.from.name"] == "Ada, Countess"
    assert facts["mail.to.address"] == ("bob@example.org",)
    assert facts["mail.cc.address"] == ("cleo@example.org",)
    assert facts["mail.subject"] == "Größe 7"
    assert facts["mail.sent"] == "2024-05-06T07:08:00Z"
    assert facts["mail.message_id"] == "1@example.org"
    assert facts["mail.attachments.name"] == ("Rechnung ü 2024.csv",)
    assert facts["mail.attachments.size"] == (20,)
    assert document.flags == ()


@BOTH
def test_items_within_items_are_mails_within_the_mail(write: Writer, name: str) -> None:
    inner = Item({0x001A: "IPM.Note", 0x0037: "inner", 0x1000: "inner text"})
    middle = Item({0x0037: "middle", 0x1000: "middle text"}, [], [{0x3705: 5, 0x3001: "inner", 0x3701: inner}])
    document = parse(write(letter(attachments=[{0x3705: 5, 0x3001: "middle", 0x3701: middle}])), name)
    messages = [part for part in document.parts if part.kind == "message"]
    assert [part.name for part in messages] == ["middle", "inner"]
    assert messages[1].parent == document.parts.index(messages[0])
    assert parts(document, "body") == ["The total is 100 EUR.", "middle text", "inner text"]
    assert document.facts["mail.attachments.name"].value == ("middle",)


@BOTH
def test_items_nested_without_end_are_cut_and_flagged(write: Writer, name: str) -> None:
    item = Item({0x1000: "deepest"})
    for _ in range(60):
        item = Item({0x1000: "level"}, [], [{0x3705: 5, 0x3701: item}])
    document = parse(write(item), name)
    assert "depth_limit" in document.flags
    assert 40 < parts(document, "body").count("level") < 60


def test_headers_of_the_transport_come_before_properties() -> None:
    head = "Microsoft Mail Internet Headers Version 2.0\r\nFrom: Eve <eve@example.org>\r\nContent-Type: text/html\r\n"
    item = letter()
    item.properties[0x007D] = head + "Date: Tue, 7 May 2024 09:00:00 +0200\r\n\r\n"
    document = parse(msg(item), "a.msg")
    assert document.facts["mail.from.address"].value == "eve@example.org"
    assert document.facts["mail.sent"].value == "2024-05-07T09:00:00+02:00"
    assert document.facts["mail.to.address"].value == ("bob@example.org",)
    assert parts(document, "body") == ["The total is 100 EUR."]


def test_an_exchange_name_is_no_address() -> None:
    item = letter()
    del item.properties[0x5D02]
    document = parse(msg(item), "a.msg")
    assert "mail.from.address" not in document.facts
    assert document.text.startswith('From: "Ada, Countess"\n')
    item.properties[0x5D01] = "office@example.org"
    assert parse(msg(item), "a.msg").text.startswith('From: "Ada, Countess"\nTo')


@pytest.mark.parametrize(("code_page", "text"), [(1251, "Привет, мир"), (932, "請求書の合計"), (1252, "Größe")])
def test_texts_of_eight_bits_have_the_code_page_of_the_item(code_page: int, text: str) -> None:
    document = parse(msg(Item({0x0037: text, 0x1000: text}, code_page=code_page)), "a.msg")
    assert document.facts["mail.subject"].value == text
    assert parts(document, "body") == [text]


def test_html_and_rtf_stand_in_for_a_missing_plain_text() -> None:
    page = "<html><meta charset=utf-8><body><table><tr><td>Paint</td><td>10 €</td></tr></table></body></html>"
    document = parse(msg(Item({0x1013: page.encode(), 0x3FDE: 65001})), "a.msg")
    assert [body.split() for body in parts(document, "body")] == [["Paint", "10", "€"]]
    rtf = (
        rb"{\rtf1\ansi\ansicpg1252\fromhtml1 \deff0{\fonttbl{\f0\fswiss Arial;}{\f1\fcharset204 Arial;}}"
        rb"{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Gr\'fc\'dfe{\*\htmltag72 </p>}\htmlrtf \par}\htmlrtf0"
        rb"{\*\htmltag64 <p>}\f1 \'cf\'f0\'e8\'e2\'e5\'f2 \f0\u8364?{\*\htmltag72 </p>}}"
    )
    document = parse(msg(Item({0x1009: packed_rtf(rtf)})), "a.msg")
    assert [line for line in parts(document, "body")[0].splitlines() if line] == ["Grüße", "Привет €"]
    plain = rb"{\rtf1\ansi{\*\generator Riched20}{\info{\title no}}{\b Dear} Bob,\par all is\tab well\par}"
    assert parts(parse(msg(Item({0x1009: packed_rtf(plain)})), "a.msg"), "body") == ["Dear Bob,\nall is\twell"]
    document = parse(msg(Item({0x1009: packed_rtf(rb"{\rtf1\ansi Pay 12{\v 99}}")})), "a.msg")
    assert (parts(document, "body"), document.flags) == (["Pay 12"], ("hidden_text",))


def test_packed_rtf_repeats_earlier_text() -> None:
    # The example of MS-OXRTFCP, 4.1.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert unpacked_rtf(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert rtf_body(unpacked_rtf(packed)) == ("hello world", "", set())
    assert unpacked_rtf(packed[:30]).startswith(b"{\\rtf1\\ansi")


@BOTH
def test_items_that_are_no_mails_show_their_main_properties(write: Writer, name: str) -> None:
    end = datetime(2024, 5, 6, 8, 0, tzinfo=UTC)
    meeting = Item({0x001A: "IPM.Appointment", 0x0037: "Budget", (APPOINTMENT, 0x820D): MORNING})
    meeting.properties |= {0x0061: end, (APPOINTMENT, 0x8208): "Room 7", 0x1000: "Bring figures."}
    document = parse(write(meeting), name)
    assert parts(document, "body") == [
        "Start: 2024-05-06 07:08 UTC\nEnd: 2024-05-06 08:00 UTC\nLocation: Room 7", "Bring figures."
    ]  # fmt: skip
    contact = Item({0x001A: "IPM.Contact", 0x3001: "Ada", 0x3A08: "+44 1", (ADDRESS, 0x8083): "ada@example.org"})
    assert parts(parse(write(contact), name), "body") == ["Name: Ada\nEmail: ada@example.org\nBusiness phone: +44 1"]


def test_tnef_within_a_mail_gives_its_attachments_to_the_mail() -> None:
    invoice = {0x3705: 1, 0x3707: "notes to self.txt", 0x3701: b"remember 4711"}
    mail = EmailMessage(policy=email.policy.SMTP)
    mail["From"] = "ada@example.org"
    mail.set_content("See below.\n")
    mail.add_attachment(
        tnef(Item({0x1000: "See below."}, [], [invoice])), maintype="application", subtype="ms-tnef",
        filename="winmail.dat",
    )  # fmt: skip
    document = parse(mail.as_bytes(), "a.eml")
    assert parts(document, "attachment") == ["", "remember 4711"]
    assert document.facts["mail.attachments.name"].value == ("winmail.dat", "notes to self.txt")
    assert parts(document, "body") == ["See below."]
    broken = mail.as_bytes().replace(b"eJ8+Ig", b"AAAAAA")
    document = parse(broken, "a.eml")
    assert document.facts["mail.attachments.name"].value == ("winmail.dat",)


def test_a_signed_mail_of_outlook_is_read_from_its_attachment() -> None:
    whole = (
        b"Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nI agree.\r\n"
        b"--b\r\nContent-Type: application/pkcs7-signature; name=smime.p7s\r\n\r\nx\r\n--b--\r\n"
    )
    signed = {0x370E: "multipart/signed", 0x3701: whole}
    item = Item({0x001A: "IPM.Note.SMIME.MultipartSigned", 0x0037: "yes"}, [], [signed])
    document = parse(msg(item), "a.msg")
    assert parts(document, "body") == ["I agree."] and document.flags == ("signed",)
    forwarded = {0x370E: "message/rfc822", 0x3707: "old.eml", 0x3701: b"Subject: Old\r\n\r\nold text\r\n"}
    document = parse(msg(letter(attachments=[forwarded])), "a.msg")
    assert parts(document, "body") == ["The total is 100 EUR.", "old text"]


def test_other_ole_files_are_named_and_damaged_ones_refused() -> None:
    other: Tree = {"WordDocument": b"x" * 600}
    for data, code in ((ole(other), "unsupported"), (msg(letter())[:600], "unsupported"), (b"\xd0\xcf\x11\xe0", "uns")):
        with pytest.raises(DocumentError) as caught:
            parse(data, "a.msg")
        assert caught.value.code.startswith(code)
    for data in (b"\x78\x9f\x3e\x22", b"\x78\x9f\x3e\x22" + bytes(20)):
        assert code_of(parse, data, "a.tnef") in ("broken", "empty")


def test_a_size_beyond_the_end_is_not_believed() -> None:
    data = tnef(Item({0x1000: "text"}))
    huge = attribute(1, 0x800C, 2, b"some text")[:5] + (2**31).to_bytes(4, "little") + b"some text"
    assert parts(parse(data + huge, "a.tnef"), "body") == ["text"]
    many = attribute(1, 0x9003, 6, (2**31).to_bytes(4, "little") + b"\x1e\x00\x37\x00" + (2**31).to_bytes(4, "little"))
    assert "truncated" in parse(data + many, "a.tnef").flags
