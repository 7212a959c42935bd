"""Parts of mails in other forms than plain MIME: mailboxes, secured and encoded parts, calendars, contacts, images."""

import base64
import binascii
import email.policy
from email.message import EmailMessage

import pytest
from tests.support.cases import each
from tests.support.parsed_files import parts

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.mail.expansion import signed_content
from cinnabar.extraction.documents.mail.mime import parameters
from cinnabar.extraction.documents.mail.quoting import joined_lines

HEAD = b"From: a@example.org\nSubject: Hello\n"
PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
MBOX = (
    b"From a@example.org Mon May  6 10:00:00 2024\n" + HEAD + b"\nfirst\n\n>From now on\nFrom Russia with love\n"
    b"Year: 1963\n\nFrom - \nFrom: b@example.org\nSubject: Second\n\nsecond\n"
)


def names(document: Document) -> object:
    return document.facts["mail.attachments.name"].value


def attached(content: bytes, media_type: str, name: str) -> EmailMessage:
    mail = EmailMessage(policy=email.policy.SMTP)
    mail["From"] = "a@example.org"
    mail.set_content("See the file.\n")
    main, _, sub = media_type.partition("/")
    mail.add_attachment(content, maintype=main, subtype=sub, filename=name)
    return mail


def test_an_mbox_is_mails_within_a_document() -> None:
    document = parse(MBOX, "a.mbox")
    assert [part.name for part in document.parts if part.kind == "message"] == ["Hello", "Second"]
    assert parts(document, "body") == ["first\n\nFrom now on\nFrom Russia with love\nYear: 1963", "second"]
    assert len(parts(parse(b"\xef\xbb\xbf" + MBOX, "a.mbox"), "message")) == 2
    within = parse(attached(MBOX, "application/mbox", "old.mbox").as_bytes(), "a.eml")
    assert parts(within, "body") == ["See the file.", *parts(document, "body")]
    assert names(within) == ("old.mbox",)
    assert parse(HEAD + b"\nalone\n", "a.mbox").facts["mail.subject"].value == "Hello"


def test_a_damaged_line_among_the_headers_keeps_its_text() -> None:
    document = parse(b"Fro :m Ada <a@example.org>\n and more\nTo : b@example.org\n" + HEAD + b"\nbody\n", "a.eml")
    (headers,) = parts(document, "headers")
    assert headers.endswith("Fro :m Ada <a@example.org> and more") and "To: b@example.org" in headers
    assert document.facts["mail.to.address"].value == ("b@example.org",) and parts(document, "body") == ["body"]
    assert "repaired" in document.flags
    many = parse(b"".join(b"odd%d : x\n" % n for n in range(300)) + HEAD + b"\nbody\n", "a.eml")
    assert parts(many, "headers")[0].count("odd") == 100 and "truncated" in many.flags


def test_mails_of_all_mailboxes_in_a_mail_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.documents.content.parse_context.MAX_MAILS", 5)
    mail = attached(MBOX, "application/mbox", "1.mbox")
    for number in range(2, 5):
        mail.add_attachment(MBOX, maintype="application", subtype="mbox", filename=f"{number}.mbox")
    document = parse(mail.as_bytes(), "a.eml")
    assert len(parts(document, "message")) == 5 and "truncated" in document.flags


def test_an_emlx_is_read_up_to_its_count() -> None:
    mail = HEAD + b"\nall is well\n"
    data = b"%d  \n" % len(mail) + mail + b'<?xml version="1.0"?><plist><dict/></plist>'
    document = parse(data, "1.emlx")
    assert parts(document, "body") == ["all is well"]
    assert document.facts["mail.subject"].value == "Hello"
    with pytest.raises(DocumentError):
        parse(b"<plist></plist>", "1.emlx")


def test_a_web_archive_is_its_page_without_its_styles() -> None:
    data = (
        b"From: <Saved by a browser>\nSubject: Prices\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/related; boundary="b"; type="text/html"\n\n'
        b"--b\nContent-Type: text/html; charset=utf-8\nContent-Location: http://example.org/\n\n<p>Paint 10</p>\n"
        b"--b\nContent-Type: text/css\nContent-Location: http://example.org/a.css\n\np {color: red}\n--b--\n"
    )
    document = parse(data, "a.mht")
    assert parts(document, "body") == ["Paint 10"]
    assert "color" not in document.text and document.flags == ()


def test_files_between_the_lines_of_a_text_are_attachments() -> None:
    lines = b"".join(binascii.b2a_uu(b"item;price\npaint;10\n"[at : at + 45]) for at in range(0, 20, 45))
    data = HEAD + b"\nabove\nbegin 644 prices \xfc.txt\n" + lines + b"`\nend\nbelow\nbegin again with care\n"
    document = parse(data, "a.eml")
    assert parts(document, "body") == ["above", "below\nbegin again with care"]
    assert parts(document, "attachment") == ["item;price\npaint;10"]
    assert names(document) == ("prices ü.txt",)
    coded = bytes((byte + 42) % 256 for byte in b"remember 4711").replace(b"=", b"=}")
    data = HEAD + b"\nabove\n=ybegin line=128 size=13 name=note.txt\n" + coded + b"\n=yend size=13\nbelow\n"
    document = parse(data, "a.eml")
    assert parts(document, "attachment") == ["remember 4711"] and names(document) == ("note.txt",)
    assert parts(document, "body") == ["above", "below"]


def der(tag: int, *values: bytes) -> bytes:
    content = b"".join(values)
    size = bytes([len(content)]) if len(content) < 128 else b"\x82" + len(content).to_bytes(2, "big")
    return bytes([tag]) + size + content


SIGNED, DATA = bytes.fromhex("06092a864886f70d010702"), bytes.fromhex("06092a864886f70d010701")
INNER = b"Content-Type: text/plain; charset=utf-8\r\n\r\nThe code is 4711.\r\n"


@pytest.mark.parametrize(
    "content",
    [
        der(0xA0, der(0x04, INNER)),
        der(0xA0, der(0x24, der(0x04, INNER[:20]), der(0x04, INNER[20:]))),
        b"\xa0\x80\x24\x80" + der(0x04, INNER) + bytes(4),
    ],
)
def test_the_content_of_signed_data_is_read(content: bytes) -> None:
    inside = b"\x30\x80" + DATA + content + bytes(2)
    signed = b"\x30\x80" + SIGNED + b"\xa0\x80\x30\x80" + b"\x02\x01\x01" + b"\x31\x00" + inside
    assert signed_content(signed) == INNER
    assert signed_content(signed[:30]) == signed_content(b"") == b""
    data = HEAD + b"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"
    document = parse(data + b"Content-Transfer-Encoding: base64\n\n" + base64.b64encode(signed), "a.eml")
    assert parts(document, "body") == ["The code is 4711."]
    assert document.flags == ("signed",) and names(document) == ("smime.p7m",)


def signed_by(content: bytes) -> bytes:
    inside = der(0x30, DATA, der(0xA0, der(0x04, content)))
    return der(0x30, SIGNED, der(0xA0, der(0x30, b"\x02\x01\x01", b"\x31\x00", inside)))


_ROWS = b"Item;Net\nlamp;4711\npen;12\n"
_ORDER = HEAD + b"\nThe code is 4711.\n"


@each(
    "name, data",
    [
        ("rows.csv.p7m", signed_by(_ROWS)),
        ("rows.csv.p7m.p7m", signed_by(signed_by(_ROWS))),
        ("order.eml.p7m", signed_by(_ORDER)),
        ("order.p7m", signed_by(_ORDER)),
        ("part.p7m", signed_by(INNER)),
        ("page.p7m", signed_by(b"<html><body>The code is 4711.</body></html>")),
        ("rows.csv.p7m", base64.encodebytes(signed_by(_ROWS))),
        ("rows.p7m", b"-----BEGIN PKCS7-----\n" + base64.encodebytes(signed_by(_ORDER)) + b"-----END PKCS7-----\n"),
    ],
)
def test_what_a_signed_file_holds_is_read(name: str, data: bytes) -> None:
    document = parse(data, name)
    assert "4711" in document.text and document.flags == ("signed",)
    assert ("mail.from.address" in document.facts) == (b"Subject" in signed_content(data))
    within = parse(attached(data, "application/octet-stream", name).as_bytes(), "a.eml")
    assert "4711" in within.text and within.flags == ("signed",)


def test_a_signed_file_without_plain_content_is_refused() -> None:
    with pytest.raises(DocumentError, match="encrypted or holds a signature alone"):
        parse(der(0x30, DATA), "a.pdf.p7m")


_SEAL = "-----BEGIN PGP SIGNATURE-----\nVersion: 2\n\niQEzBAEBCAAdFiEE\n=abcd\n-----END PGP SIGNATURE-----\n"
_CLEAR = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n- - lamp\nTotal: 5\n\n"


@each("end", ["\n", "\r\n"])
@each(
    "text, read",
    [
        (_CLEAR + _SEAL, "- lamp\nTotal: 5"),
        ("Note\n" + _CLEAR + _SEAL + "Bye\n", "Note\n- lamp\nTotal: 5\n\n\nBye"),
        (_CLEAR + _SEAL.partition("=")[0], "- lamp\nTotal: 5"),
        (_CLEAR + "-----BEGIN PGP SIGNATURE-----\nNet: 4\n", "- lamp\nTotal: 5\n\nNet: 4"),
    ],
)
def test_the_armour_of_a_signed_text_is_no_text(text: str, read: str, end: str) -> None:
    data = text.replace("\n", end).encode()
    name = "a.txt.asc" if text.startswith("-----") else "a.txt"
    mail = attached(data, "application/octet-stream", name).as_bytes()
    for document in (parse(data, name), parse(HEAD + b"\n" + data, "a.eml"), parse(mail, "a.eml")):
        assert read.split() == document.text[document.text.index(read.split()[0]) :].split()
        assert document.flags == ("signed",)


def test_secured_parts_are_named_and_left_closed() -> None:
    enveloped = b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nx\n"
    document = parse(HEAD + enveloped, "a.eml")
    assert document.flags == ("encrypted",) and names(document) == ("smime.p7m",)
    assert parts(document, "attachment") == [""]
    document = parse(
        HEAD + b'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b\n\n'
        b"--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n"
        b"--b\nContent-Type: application/octet-stream; name=encrypted.asc\n\n-----BEGIN PGP MESSAGE-----\nx\n--b--\n",
        "a.eml",
    )
    assert document.flags == ("encrypted",) and names(document) == ("encrypted.asc",)
    document = parse(
        HEAD + b"Content-Type: multipart/signed; boundary=b\n\n--b\n\nI agree.\n"
        b"--b\nContent-Type: application/pgp-signature; name=signature.asc\n\n-----BEGIN PGP SIGNATURE-----\n--b--\n",
        "a.eml",
    )
    assert document.flags == ("signed",) and parts(document, "body") == ["I agree."]
    document = parse(HEAD + b"\n-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nI agree.\n", "a.eml")
    assert document.flags == ("signed",) and "I agree." in document.text


CALENDAR = """BEGIN:VCALENDAR\r
VERSION:2.0\r
METHOD:REQUEST\r
BEGIN:VTIMEZONE\r
TZID:Europe/Berlin\r
BEGIN:STANDARD\r
DTSTART:19701025T030000\r
END:STANDARD\r
END:VTIMEZONE\r
BEGIN:VEVENT\r
SUMMARY;LANGUAGE=de:Budget\\, zweite\r
  Runde\r
DTSTART;TZID=Europe/Berlin:20240506T100000\r
DTEND:20240506T090000Z\r
ORGANIZER;CN="Ada, Countess":MAILTO:ada@example.org\r
LOCATION:Raum 7\r
DESCRIPTION:Zahlen:\\n- 2024\r
X-MICROSOFT-CDO-BUSYSTATUS:BUSY\r
BEGIN:VALARM\r
DESCRIPTION:Reminder\r
END:VALARM\r
END:VEVENT\r
BEGIN:VEVENT\r
SUMMARY:Holiday\r
DTSTART;VALUE=DATE:20240509\r
END:VEVENT\r
END:VCALENDAR\r
"""


@pytest.mark.parametrize(
    ("name", "content", "flags"),
    [
        ("a.pdf.asc", b"-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n", ("encrypted",)),
        ("a.pdf.gpg", b"\x85\x02\x0c\x03 secret", ("encrypted",)),
        ("a.pdf.sig", b"\x89\x01\x33\x04 seal", ("signed",)),
        ("a.txt.asc", b"-----BEGIN PGP SIGNATURE-----\n\niQEz\n", ("signed",)),
        ("a.gpg", b"plain words", ("attachment_unsupported",)),
    ],
)
def test_files_of_openpgp_are_named_and_left_closed(name: str, content: bytes, flags: tuple[str, ...]) -> None:
    document = parse(attached(content, "application/octet-stream", name).as_bytes(), "a.eml")
    assert names(document) == (name,) and parts(document, "attachment") == [""]
    assert document.flags == flags


def test_events_are_labelled_lines_with_their_place() -> None:
    document = parse(CALENDAR.encode(), "a.ics")
    assert document.text == (
        "Summary: Budget, zweite Runde\nStart: 2024-05-06 10:00 Europe/Berlin\nEnd: 2024-05-06 09:00 UTC\n"
        "Organizer: Ada, Countess <ada@example.org>\nLocation: Raum 7\nDescription: Zahlen:\n- 2024\n\n"
        "Summary: Holiday\nStart: 2024-05-09"
    )
    assert document.places.at(document.text.index("Raum")) == "event 1"
    assert document.places.at(document.text.index("Holiday")) == "event 2"
    mail = EmailMessage(policy=email.policy.SMTP)
    mail["From"] = "a@example.org"
    mail.set_content("You are invited.\n")
    mail.add_alternative(CALENDAR, subtype="calendar")
    within = parse(mail.as_bytes(), "a.eml")
    assert parts(within, "attachment") == [document.text] and within.flags == ()


_FILE = base64.b64encode(b"Room: 4711\n" * 12).decode()
_FOLDED = "\n ".join(_FILE[at : at + 60] for at in range(0, len(_FILE), 60))


@each(
    "line, read",
    [
        (f"ATTACH;ENCODING=BASE64;VALUE=BINARY;FMTTYPE=text/plain;FILENAME=room.txt:{_FOLDED}", True),
        (f"ATTACH;FMTTYPE=text/plain;X-FILENAME=room.txt;ENCODING=b:{_FILE}", True),
        (f"ATTACH:data:text/plain;base64,{_FILE}", True),
        (f"ATTACH;FMTTYPE=text/plain;BASE64:\n{_FOLDED.replace(' ', '')}\n", True),
        (f"IMAGE;VALUE=BINARY;ENCODING=BASE64:{_FOLDED}", False),
        (f"NOTE;ENCODING=BASE64:{_FILE}", False),
        (f"ATTACH;ENCODING=BASE64;FMTTYPE=application/x-unknown:{_FILE * 4000}", False),
    ],
)
def test_files_within_content_lines_are_attachments_or_left_out(line: str, read: bool) -> None:
    data = f"BEGIN:VEVENT\nSUMMARY:Tour\n{line}\nLOCATION:Gate\nEND:VEVENT\n"
    document = parse(data.encode(), "a.ics")
    assert document.text.startswith("Summary: Tour\nLocation: Gate")
    assert len(document.text) < 300 and document.text.count("Room: 4711") == 12 * read
    within = parse(attached(data.encode(), "text/calendar", "a.ics").as_bytes(), "a.eml")
    assert document.text in within.text and within.flags == document.flags


@each(
    "lines, text",
    [
        ("X-ALT-DESC;FMTTYPE=text/html:<p>Gate: 7</p>\\n<p>Bring a hat\\, Kim</p>", "Gate: 7\n\nBring a hat, Kim"),
        ("STYLED-DESCRIPTION;FMTTYPE=text/html:<b>Gate</b>: 7", "Gate: 7"),
        ("X-ALT-DESC;FMTTYPE=text/html:<p>rich</p>\nDESCRIPTION:plain", "plain"),
        ("DESCRIPTION: \nX-ALT-DESC;FMTTYPE=text/html:<p>rich</p>", "rich"),
    ],
)
def test_a_page_stands_for_a_missing_description(lines: str, text: str) -> None:
    document = parse(f"BEGIN:VEVENT\nSUMMARY:Tour\n{lines}\nEND:VEVENT\n".encode(), "a.ics")
    assert document.text == f"Summary: Tour\nDescription: {text}"


@pytest.mark.parametrize("data", [b"BEGIN:VEVENT\n" * 3000, b"END:VEVENT\n" * 50 + b"X", b"BEGIN:VALARM\nX y"])
def test_broken_calendars_end(data: bytes) -> None:
    try:
        parse(data, "a.ics")
    except DocumentError as error:
        assert error.code == "empty"


def test_contacts_are_labelled_lines() -> None:
    card = (
        "BEGIN:VCARD\nVERSION:2.1\nN:Lovelace;Ada\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Ada Gr=C3=A4=\nfin\n"
        "item1.TEL;WORK;VOICE:+44 1\nADR;HOME:;;1 Street;London;;;UK\nPHOTO;ENCODING=b:AAAA\n AAAA\nEND:VCARD\n"
    )
    document = parse(card.encode(), "a.vcf")
    assert document.text == "Name: Ada Gräfin\nPhone: +44 1\nAddress: 1 Street, London, UK"
    assert document.places.at(0) == "contact 1"


def test_images_without_room_for_a_letter_raise_no_flag() -> None:
    page = f'<p>Paint 10</p><img src="data:image/gif;base64,{base64.b64encode(PIXEL).decode()}"><img src="cid:1">'
    mail = EmailMessage(policy=email.policy.SMTP)
    mail["From"] = "a@example.org"
    mail.set_content(page, subtype="html")
    mail.add_related(PIXEL, maintype="image", subtype="gif", cid="<1>")
    document = parse(mail.as_bytes(), "a.eml")
    assert document.flags == () and parts(document, "body") == ["Paint 10"]


def test_an_image_within_a_page_is_an_attachment_of_its_own() -> None:
    wide = PIXEL[:6] + (200).to_bytes(2, "little") * 2 + PIXEL[10:]
    page = f'<p>Paint 10</p><img src="data:image/gif;base64,{base64.b64encode(wide).decode()}">'
    document = parse(HEAD + b"Content-Type: text/html\n\n" + page.encode(), "a.eml")
    (part,) = [part for part in document.parts if part.kind == "attachment"]
    assert part.media_type == "image/gif"
    assert names(document) == ()


@pytest.mark.parametrize(
    ("media_type", "name", "content", "text"),
    [
        ("text/plain", "a.eml", HEAD + b"\ninside\n", "inside"),
        ("text/html", "a.html", "<p>Größe</p>".encode("latin-1"), "Größe"),
        ("text/plain", "a.html", b"<p>Paint</p>", "Paint"),
        ("application/octet-stream", "a.html", b"<p>Paint</p>", "Paint"),
        ("text/x-vcard", "a.vcf", b"BEGIN:VCARD\nFN:Ada\nEND:VCARD", "Name: Ada"),
    ],
)
def test_attached_texts_are_read_by_their_format(media_type: str, name: str, content: bytes, text: str) -> None:
    head = HEAD + f'Content-Type: {media_type}; charset=iso-8859-1\n'.encode()
    document = parse(head + f'Content-Disposition: attachment; filename="{name}"\n\n'.encode() + content, "b.eml")
    assert parts(document, "attachment")[0].endswith(text)
    assert "<p>" not in document.text


def test_soft_line_ends_are_undone() -> None:
    text = "The total of \nthis order \nis 10.\n>  quoted \n> line\n> end\n-- \nAda"
    assert joined_lines(text, False) == "The total of this order is 10.\n>  quoted line\n> end\n-- \nAda"
    assert joined_lines("請求 \n書", True) == "請求書"
    flowed = HEAD + b"Content-Type: text/plain; format=flowed\n\nThe total of \nthis order.\n"
    assert parts(parse(flowed, "a.eml"), "body") == ["The total of this order."]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b"attachment; filename*0*=utf-8''Rech%C3; filename*1*=%A4g; filename*2=\".pdf\"", "Rechäg.pdf"),
        (b"attachment; filename=a.pdf; filename*=iso-8859-2''%b3%f3d%bc.pdf", "łódź.pdf"),
        (b"attachment; filename*=x-nothing''%C3%A4.pdf", "ä.pdf"),
        (b'attachment; filename="=?koi8-r?B?89DJ08/L?= 1.doc"', "Список 1.doc"),
        (b"attachment; filename==?koi8-r?B?89DJ08/LLmRvYw==?=", "Список.doc"),
        (b"attachment; filename=my report.pdf; size=3", "my report.pdf"),
        (b'attachment; filename="say \\"hi\\".pdf', 'say "hi".pdf'),
        ("attachment; filename=\"größe.pdf\"".encode("latin-1"), "größe.pdf"),
        ("attachment; filename=\"größe.pdf\"".encode(), "größe.pdf"),
        (b"attachment; size=3", "other.pdf"),
        (b'attachment;\n\tfilename="=?utf-8?Q?Gr=C3=B6?=\n =?utf-8?Q?=C3=9Fe.pdf?="', "Größe.pdf"),
    ],
)  # fmt: skip
def test_names_of_attachments_are_found_in_all_their_forms(header: bytes, name: str) -> None:
    data = HEAD + b"Content-Type: application/octet-stream; name=other.pdf\nContent-Disposition: " + header + b"\n\nx"
    assert names(parse(data, "a.eml")) == (name,)


def test_a_boundary_may_hold_any_bytes() -> None:
    mark = b"b\xff\xc3\xa4"
    data = HEAD + b'Content-Type: multipart/mixed; boundary="%b"\n\n--%b\n\nfirst\n--%b--\n' % (mark, mark, mark)
    assert parts(parse(data, "a.eml"), "body") == ["first"]


def test_parameters_are_read_in_linear_time() -> None:
    assert parameters("a" * 100_000 + ';x="' + "\\" * 100_000) == {}
    assert len(parameters(";a*1=b" * 100_000)) == 1


def test_long_lines_of_a_contact_take_linear_time() -> None:
    # In quadratic time a line of this length takes ten minutes.
    document = parse(b"BEGIN:VCARD\nFN:Ada\nNOTE " + b"QUOTED-PRINTABLE" * 100_000 + b"\nEND:VCARD", "a.vcf")
    assert document.text.startswith("Name: Ada")
