"""Small files of every kind that mutations begin with; each build gives the same bytes."""

from __future__ import annotations

import gzip
import io
import random
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pypdf
from pypdf.annotations import FreeText, Text
from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject, TextStringObject
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas

#: The password of the encrypted seeds.
PASSWORD = "secret"
#: The kinds of seeds, each with the suffixes of its files.
KINDS: dict[str, tuple[str, ...]] = {
    "pdf": (".pdf",),
    "mail": (".eml", ".emlx", ".mht", ".mbox", ".msg", ".tnef", ".ics", ".vcf"),
    "office": (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".rtf", ".xls", ".epub"),
    "archive": (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz"),
    "data": (".json", ".jsonl", ".xml", ".csv", ".html", ".txt"),
    "image": (".png", ".jpg", ".gif", ".tif", ".webp", ".bmp"),
}
_STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


@cache
def built() -> dict[str, bytes]:
    """Returns the seeds by name."""
    return dict(sorted([*_pdfs(), *_mails(), *_office(), *_data(), *_images(), *_archives()]))


def seeds_of(kind: str) -> dict[str, bytes]:
    """Returns the seeds of a kind by name."""
    return {name: data for name, data in built().items() if Path(name).suffix in KINDS[kind]}


def _drawn(draw: Callable[[canvas.Canvas], None], *, packed: bool = False, lock: StandardEncryption = None) -> bytes:
    held = io.BytesIO()
    sheet = canvas.Canvas(held, invariant=1, pageCompression=int(packed), encrypt=lock)
    draw(sheet)
    sheet.save()
    return held.getvalue()


def _written(writer: pypdf.PdfWriter) -> bytes:
    held = io.BytesIO()
    writer.write(held)
    return held.getvalue()


def _pdfs() -> Iterator[tuple[str, bytes]]:
    plain = _drawn(_text)
    yield "text.pdf", plain
    yield "table.pdf", _drawn(_table, packed=True)
    yield "fonts.pdf", _drawn(_fonts)
    yield "hidden.pdf", _drawn(_hidden)
    yield "graphics.pdf", _drawn(_graphics)
    yield "images.pdf", _drawn(_pictures)
    yield "locked.pdf", _drawn(_text, lock=StandardEncryption("", "owner", strength=40))
    yield "password.pdf", _drawn(_text, packed=True, lock=StandardEncryption(PASSWORD, strength=128))
    yield "form.pdf", _form(plain)
    for algorithm in ("AES-128", "AES-256"):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(plain))
        with patch("secrets.token_bytes", random.Random(3).randbytes):
            writer.encrypt(PASSWORD, "owner", algorithm=algorithm)
            yield f"{algorithm.lower()}.pdf", _written(writer)
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(plain))
    writer.add_attachment("a.txt", b"total 5")
    writer.add_attachment("b.pdf", _drawn(_hidden, packed=True))
    writer.add_attachment("c.xml", b"<a><b>1</b></a>")
    yield "files.pdf", _written(writer)
    yield "streams.pdf", _with_object_streams(plain)
    yield "filters.pdf", _with_filters()


def _text(sheet: canvas.Canvas) -> None:
    for number in range(2):
        sheet.drawString(72, 780, f"Page {number + 1} of a contract between Alice and Bob")
        sheet.bookmarkPage(str(number))
        sheet.addOutlineEntry(f"Chapter {number}", str(number))
        sheet.linkURL("http://example.org/", (72, 700, 200, 720))
        sheet.setPageRotation(180 * number)
        sheet.showPage()


def _table(sheet: canvas.Canvas) -> None:
    for row in range(12):
        for column in range(5):
            sheet.drawString(50 + 100 * column, 780 - 14 * row, f"{row * column}.50")
        sheet.line(50, 778 - 14 * row, 550, 778 - 14 * row)


def _fonts(sheet: canvas.Canvas) -> None:
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))
    for at, (font, text) in enumerate(
        (("HeiseiMin-W3", "請求書 合計"), ("STSong-Light", "发票 金额"), ("Vera", "Grüße"), ("Symbol", "abc"))
    ):
        sheet.setFont(font, 12)
        sheet.drawString(72, 700 - 20 * at, text)


def _hidden(sheet: canvas.Canvas) -> None:
    sheet.drawString(72, 780, "plainly visible words")
    sheet.drawString(72, 700, "covered")
    sheet.rect(60, 690, 150, 30, fill=1)
    sheet.setFillGray(1)
    sheet.drawString(72, 600, "white")
    invisible = sheet.beginText(72, 500)
    invisible.setTextRenderMode(3)
    invisible.textOut("invisible")
    sheet.drawText(invisible)
    sheet._code.append("/OC /Layer BDC")
    sheet.drawString(72, 400, "layer")
    sheet._code.append("EMC")


def _graphics(sheet: canvas.Canvas) -> None:
    sheet.beginForm("stamp")
    sheet.drawString(10, 10, "within a form")
    sheet.endForm()
    sheet.doForm("stamp")
    sheet.linearGradient(0, 0, 100, 100, ("red", "blue"))
    sheet.setFillAlpha(0.5)
    sheet.setDash(3, 2)
    sheet.bezier(10, 10, 100, 200, 200, 100, 300, 300)
    path = sheet.beginPath()
    path.circle(300, 300, 50)
    sheet.clipPath(path)
    sheet.rotate(30)
    sheet.drawString(300, 10, "oblique")


def _pictures(sheet: canvas.Canvas) -> None:
    from PIL import Image

    photo, jpeg = Image.new("RGB", (16, 16), "red"), io.BytesIO()
    photo.save(jpeg, "JPEG")
    for at, image in enumerate((photo, photo.convert("L"), photo.convert("RGBA"), Image.open(jpeg))):
        sheet.drawImage(ImageReader(image), 50 + 60 * at, 600, 50, 50, mask="auto")
    sheet.drawInlineImage(photo, 50, 500, 50, 50)
    sheet.drawString(72, 780, "pictures")


def _form(plain: bytes) -> bytes:
    def draw(sheet: canvas.Canvas) -> None:
        form = sheet.acroForm
        form.textfield(name="customer", value="Alice", x=150, y=700, width=200, height=20)
        form.checkbox(name="agreed", checked=True, x=100, y=600)
        for at, value in enumerate(("red", "blue")):
            form.radio(name="colour", value=value, selected=value == "red", x=100 + 40 * at, y=520)
        form.choice(name="country", value="Peru", options=["Peru", "Chile"], x=100, y=480, width=100, height=20)
        sheet.drawString(100, 740, "Order")

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(_drawn(draw)))
    writer.add_annotation(0, Text(text="Check this sum", rect=(50, 550, 200, 650), open=True))
    writer.add_annotation(0, FreeText(text="typed on top", rect=(50, 450, 200, 480)))
    packet = DecodedStreamObject()
    packet.set_data(b"<datasets><data><order><buyer>Alice</buyer></order></data></datasets>")
    form = writer.root_object["/AcroForm"].get_object()
    assert isinstance(form, DictionaryObject)
    form[NameObject("/XFA")] = ArrayObject([TextStringObject("datasets"), writer._add_object(packet)])
    writer.append(io.BytesIO(plain))
    return _written(writer)


def _with_object_streams(plain: bytes) -> bytes:
    """Returns a PDF with its dictionaries in an object stream, and a reference stream with a predictor."""
    bodies = {
        int(match[1]): match[2].strip() for match in re.finditer(rb"(?:^|\n)(\d+) 0 obj(.*?)endobj", plain, re.DOTALL)
    }
    root = re.search(rb"/Root (\d+) 0 R", plain)
    assert root is not None
    made = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
    within = [number for number, body in bodies.items() if b"stream" not in body]
    rows = {0: (0, 0, 65535)}
    for number, body in bodies.items():
        if number not in within:
            rows[number] = (1, len(made), 0)
            made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    pairs, content = b"", b""
    holder = max(bodies) + 1
    for place, number in enumerate(within):
        rows[number] = (2, holder, place)
        pairs += b"%d %d " % (number, len(content))
        content += bodies[number] + b"\n"
    packed = zlib.compress(pairs + content)
    rows[holder] = (1, len(made), 0)
    about = b"/Type /ObjStm /N %d /First %d /Filter /FlateDecode " % (len(within), len(pairs))
    made += b"%d 0 obj\n%s\nendobj\n" % (holder, _stream(about, packed))
    begun = len(made)
    rows[holder + 1] = (1, begun, 0)
    table, before = b"", bytes(7)
    for number in range(holder + 2):
        kind, second, third = rows.get(number, (0, 0, 0))
        row = bytes([kind]) + second.to_bytes(4, "big") + third.to_bytes(2, "big")
        table += b"\x02" + bytes((a - b) & 255 for a, b in zip(row, before, strict=True))
        before = row
    about = b"/Type /XRef /Size %d /W [1 4 2] /Root %s 0 R /Filter /FlateDecode " % (holder + 2, root[1])
    about += b"/DecodeParms << /Predictor 12 /Columns 7 >> "
    body = _stream(about, zlib.compress(table))
    made += b"%d 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (holder + 1, body, begun)
    return bytes(made)


def _with_filters() -> bytes:
    """Returns a page with a picture in each filter that other builders do not use."""
    from PIL import Image

    grey, jpeg_2000, fax = Image.linear_gradient("L").resize((16, 16)), io.BytesIO(), io.BytesIO()
    grey.save(jpeg_2000, "JPEG2000")
    grey.convert("1").save(fax, "TIFF", compression="group4")
    tags = Image.open(fax).tag_v2  # type: ignore[attr-defined]
    strip = fax.getvalue()[tags[273][0] :][: tags[279][0]]
    rows = b"".join(b"\x01" + grey.tobytes()[at : at + 1] + bytes(15) for at in range(0, 256, 16))
    pictures = (
        (b"/JPXDecode", b"", jpeg_2000.getvalue(), 8),
        (b"/CCITTFaxDecode", b"/DecodeParms << /K -1 /Columns 16 /Rows 16 >>", strip, 1),
        (b"/RunLengthDecode", b"", b"\x81\x40\x81\xf0\x80", 8),
        (b"[/ASCIIHexDecode /FlateDecode]", b"", zlib.compress(grey.tobytes()).hex().encode() + b">", 8),
        (b"/FlateDecode", b"/DecodeParms << /Predictor 15 /Columns 16 >>", zlib.compress(rows), 8),
    )
    head = b"/Type /XObject /Subtype /Image /Width 16 /Height 16 /ColorSpace /DeviceGray"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> "
        b"/XObject << %s >> >> >>" % b" ".join(b"/I%d %d 0 R" % (at, 6 + at) for at in range(len(pictures))),
        _stream(b"", b"BT /F 12 Tf 72 700 Td (pictures) Tj ET " + b" ".join(
            b"q 50 0 0 50 %d 500 cm /I%d Do Q" % (60 * at, at) for at in range(len(pictures))
        )),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *(
            _stream(b"%s /BitsPerComponent %d /Filter %s %s " % (head, bits, name, more), data)
            for name, more, data, bits in pictures
        ),
    ]  # fmt: skip
    made, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    tail = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return bytes(made) + tail % (size, table, size, len(made))


def _stream(about: bytes, content: bytes) -> bytes:
    return b"<< %s/Length %d >>\nstream\n%s\nendstream" % (about, len(content), content)


def _mails() -> Iterator[tuple[str, bytes]]:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann <a@example.org>", "b@example.org", "Prix réduit"
    mail["Date"], mail["Message-ID"] = "Mon, 2 Nov 2026 10:00:00 +0100", "<1@example.org>"
    mail.set_content("Grüße\n\n> quoted\n-- \nAnn\n")
    mail.add_alternative("<p>Grüße</p><table><tr><td>1<td>2</table>", subtype="html")
    mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="Größe.csv")
    inner = EmailMessage()
    inner["Subject"], inner["From"] = "inner", "c@example.org"
    inner.set_content("innermost")
    mail.add_attachment(inner)
    for part in mail.walk():
        if part.is_multipart() and part.get_content_type().startswith("multipart"):
            part.set_boundary("=-" + part.get_content_subtype())
    whole = mail.as_bytes()
    yield "whole.eml", whole
    head = b"From: a@example.org\nSubject: =?iso-8859-1?Q?Sch=F6n?=\nContent-Type: text/plain; charset=latin1\n\n"
    yield "plain.eml", head + b"Sch\xf6n\n"
    yield "saved.emlx", b"%d\n%s<?xml version='1.0'?><plist><dict/></plist>" % (len(whole), whole)
    yield "box.mbox", b"".join(b"From a@example.org Mon Nov  2 10:00:00 2026\n" + whole + b"\n" for _ in range(2))
    head = b"MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n"
    yield "page.mht", head + b"<p>Page</p>\n--b--\n"
    event = b"BEGIN:VEVENT\nSUMMARY:Meeting\nDTSTART;TZID=Europe/Paris:20261102T100000\nEND:VEVENT\n"
    yield "a.ics", b"BEGIN:VCALENDAR\n" + event + b"END:VCALENDAR\n"
    yield "a.vcf", b"BEGIN:VCARD\nVERSION:4.0\nFN:Ann Smith\nEMAIL;TYPE=work:a@example.org\nEND:VCARD\n"
    yield from _outlook()


def _outlook() -> Iterator[tuple[str, bytes]]:
    from tests.support.outlook_files import Item, msg, tnef

    item = Item({0x0037: "Subject", 0x1000: "The body of an item", 0x0C1F: "a@example.org", 0x0C1A: "Ann"})
    item.recipients.append({0x3001: "Bob", 0x3003: "b@example.org", 0x0C15: 1})
    item.attachments.append({0x3707: "a.txt", 0x3701: b"total 5", 0x3705: 1})
    yield "item.msg", msg(item)
    yield "winmail.tnef", tnef(item)


def _office() -> Iterator[tuple[str, bytes]]:
    import docx
    import openpyxl
    import pptx

    held, document = io.BytesIO(), docx.Document()
    document.add_paragraph("words")
    document.add_table(2, 2).cell(0, 0).text = "cell"
    document.save(held)
    yield "a.docx", _repacked(held.getvalue())
    held, book = io.BytesIO(), openpyxl.Workbook()
    for number in range(5):
        book.active.append([number, "text", number * 1.5, True])
    book.save(held)
    yield "a.xlsx", _repacked(held.getvalue())
    held, slides = io.BytesIO(), pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = "Title"
    slides.save(held)
    yield "a.pptx", _repacked(held.getvalue())
    row = "<table-row><table-cell><p>1</p></table-cell><table-cell><p>2</p></table-cell></table-row>"
    for suffix, kind in (("odt", "text"), ("ods", "spreadsheet")):
        body = f"<{kind}><h>Head</h><table name='T'>{row}</table></{kind}>"
        content = f"<document-content><body>{body}</body></document-content>"
        media_type = f"application/vnd.oasis.opendocument.{kind}"
        yield f"a.{suffix}", _zipped(("mimetype", media_type.encode()), ("content.xml", content.encode()))
    yield "a.rtf", rb"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0 Sum\par \'e4\u233?\trowd a\cell b\cell\row}"
    chapter = b"<html><body><p>Chapter</p></body></html>"
    spine = b"<manifest><item id='a' href='a.xhtml'/></manifest><spine><itemref idref='a'/></spine>"
    package = b"<package>" + spine + b"</package>"
    container = b"<container><rootfiles><rootfile full-path='a.opf'/></rootfiles></container>"
    yield "a.epub", _zipped(("mimetype", b"application/epub+zip"), ("META-INF/container.xml", container),
                            ("a.opf", package), ("a.xhtml", chapter))  # fmt: skip


def _data() -> Iterator[tuple[str, bytes]]:
    yield "a.json", b'{"a": [{"b": 1.5}, {"b": null}], "c": {"d": [1, [2, "x"]]}}'
    yield "a.jsonl", b'{"a": 1}\n{"a": "x"}\n'
    yield "a.xml", b"<?xml version='1.0'?><a x='1'><b>1</b><c><d>1</d></c><c><d>2</d></c>t</a>"
    yield "a.csv", b'a;b\n1;"x\ny"\n' * 5
    body = b"<body><h1>Head</h1><table><tr><td>1<td>2</table></body>"
    yield "a.html", b"<html><head><meta charset=utf-8></head>" + body + b"</html>"
    yield "a.txt", "Grüße aus Köln, 12.50 €\n".encode()


def _images() -> Iterator[tuple[str, bytes]]:
    from PIL import Image

    image = Image.linear_gradient("L").resize((32, 32))
    for suffix, form in {
        "png": "PNG",
        "jpg": "JPEG",
        "gif": "GIF",
        "tif": "TIFF",
        "webp": "WEBP",
        "bmp": "BMP",
    }.items():
        held = io.BytesIO()
        image.save(held, form)
        yield f"a.{suffix}", held.getvalue()


def _archives() -> Iterator[tuple[str, bytes]]:
    from tests.support.encrypted_archive import encrypted_zip

    yield "a.zip", _zipped(("x.txt", b"words"), ("y.csv", b"a,b\n1,2\n"), ("z.zip", _zipped(("in.txt", b"inner"))))
    yield "locked.zip", encrypted_zip("x.txt", b"words", PASSWORD)
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name in ("x.txt", "y.txt"):
            info = tarfile.TarInfo(name)
            info.size = 5
            archive.addfile(info, io.BytesIO(b"words"))
    yield "a.tar", held.getvalue()
    yield "a.tgz", gzip.compress(held.getvalue(), mtime=0)
    yield "a.txt.gz", gzip.compress(b"words", mtime=0)


def _zipped(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def _repacked(data: bytes) -> bytes:
    """Returns a package without the time of its making, and without its thumbnail and pictures of the template."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _zipped(*((name, _STAMP.sub(b"2026-11-02T10:00:00", archive.read(name))) for name in archive.namelist()))
