"""Files within PDFs are parts of their document, and passwords open encrypted ones."""

import io
import zlib
from email.message import EmailMessage
from pathlib import PurePath

import pypdf
import pytest
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, StreamObject, TextStringObject
from reportlab.lib.utils import ImageReader
from tests.extraction.documents.web.test_invoice import CII
from tests.support.drawn_pages import drawn, text_pages, written

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Sent
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.passages import stretches_of

HIDDEN = ParserSettings(hidden=True)


def page(text: str = "cover page") -> bytes:
    return text_pages(text)


def with_files(data: bytes, *files: tuple[str, bytes]) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    for name, content in files:
        writer.add_attachment(name, content)
    return written(writer)


def encrypted(user: str, owner: str, text: str = "secret sum", algorithm: str = "AES-256") -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(page(text)))
    writer.encrypt(user, owner, algorithm=algorithm)
    return written(writer)


def texts(document: Document) -> list[tuple[str, str, str]]:
    return [(part.kind, part.name, document.text[part.start : part.end]) for part in document.parts]


def test_embedded_files_are_parts_in_their_order_and_to_any_depth() -> None:
    inner = with_files(page("inner page"), ("note.txt", b"innermost"))
    document = parse(with_files(page(), ("a.txt", b"total 5"), ("inner.pdf", inner)), "a.pdf", HIDDEN)
    found = texts(document)
    assert found[:2] == [("page", "", "cover page"), ("attachment", "a.txt", "total 5")]
    assert found[2][:2] == ("attachment", "inner.pdf")
    assert found[3:] == [("page", "", "inner page"), ("attachment", "note.txt", "innermost")]
    assert [part.parent for part in document.parts] == [-1, -1, -1, 2, 2]
    assert document.facts["document.pages"].value == 1


def test_files_beside_pages_with_words_are_read_only_if_hidden_text_is() -> None:
    invoice = b"<invoice><total>5</total></invoice>"
    document = parse(with_files(page(), ("factur-x.xml", invoice)), "a.pdf")
    assert texts(document) == [("page", "", "cover page"), ("attachment", "factur-x.xml", "")]
    assert document.flags == ("embedded_files",)
    asked = parse(with_files(page(), ("factur-x.xml", invoice)), "a.pdf", HIDDEN)
    assert "total: 5" in asked.text and "embedded_files" not in asked.flags
    assert "total: 5" in parse(with_files(page(""), ("factur-x.xml", invoice)), "a.pdf").text


def test_the_data_of_an_invoice_are_read_before_its_vouchers_stay_closed() -> None:
    files = ("bill.txt", b"total 9"), ("other.xml", b"<a>5</a>"), ("factur-x.xml", CII)
    document = parse(with_files(page(), *files), "a.pdf")
    kinds = [(part.kind, part.name, part.parent) for part in document.parts]
    assert kinds == [
        ("page", "", -1),
        ("attachment", "factur-x.xml", -1),
        ("invoice", "", 1),
        ("attachment", "bill.txt", -1),
        ("attachment", "other.xml", -1),
    ]
    assert document.text.startswith("cover page\n\nInvoice number: R-7")
    assert document.flags == ("embedded_files",)
    stretches = stretches_of(document)
    assert [(document.text[one.start : one.end].split()[0], one.copy) for one in stretches] == [
        ("cover", True),
        ("Invoice", False),
    ]
    mail = EmailMessage()
    mail.set_content("See the invoice.")
    mail.add_attachment(with_files(page(), *files), maintype="application", subtype="pdf", filename="a.pdf")
    asked = stretches_of(parse(mail.as_bytes(), "a.eml"))
    assert [one.copy for one in asked] == [False, True, False]


def test_a_file_without_the_data_of_an_invoice_is_read_in_one() -> None:
    other = with_files(page(), ("a.xml", b"<a>5</a>"))
    for document in (parse(page(), "a.pdf"), parse(CII, "a.xml"), parse(other, "a.pdf")):
        assert stretches_of(document) == [Chunk(0, len(document.text))]


def test_a_portfolio_is_more_than_its_cover() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(with_files(page("open in a viewer"), ("bill.pdf", page("sum 7")))))
    writer.root_object[NameObject("/Collection")] = DictionaryObject({NameObject("/View"): NameObject("/D")})
    document = parse(written(writer), "a.pdf")
    assert document.text == "open in a viewer\n\nsum 7"


def test_a_file_of_a_comment_is_read_once() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(page()))
    stream = StreamObject()
    stream.set_data(b"from a pin")
    held = DictionaryObject({NameObject("/F"): writer._add_object(stream)})
    spec = writer._add_object(
        DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Filespec"),
                NameObject("/F"): TextStringObject("pin.txt"),
                NameObject("/UF"): TextStringObject("pin.txt"),
                NameObject("/EF"): held,
            }
        )
    )
    pin = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject("/FileAttachment"),
            NameObject("/Rect"): ArrayObject([NumberObject(at) for at in (10, 10, 30, 30)]),
            NameObject("/FS"): spec,
        }
    )
    writer.pages[0][NameObject("/Annots")] = ArrayObject([writer._add_object(pin), writer._add_object(pin)])
    assert texts(parse(written(writer), "a.pdf", HIDDEN))[1:] == [("attachment", "pin.txt", "from a pin")]


def test_a_file_that_cannot_be_read_is_a_flag_and_the_pages_stay() -> None:
    broken = ("x.bin", b"\x00\x01\x02"), ("b.pdf", b"%PDF-1.7 nothing"), ("e.txt", b"")
    document = parse(with_files(page(), *broken, ("a.txt", b"total 5")), "a.pdf", HIDDEN)
    assert document.text.strip() == "cover page\n\ntotal 5"
    assert {"attachment_unsupported", "attachment_truncated", "attachment_empty"} <= set(document.flags)


def test_careful_parsers_leave_files_closed() -> None:
    document = parse(with_files(page(), ("a.txt", b"total 5")), "a.pdf", ParserSettings(careful=True, hidden=True))
    assert texts(document) == [("page", "", "cover page"), ("attachment", "a.txt", "")]
    assert document.flags == ("attachment_skipped",)


def test_files_of_a_bomb_are_counted_before_they_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.documents.content.parse_context.MAX_UNPACKED", 100_000)
    bomb = with_files(page(), ("a.txt", b"a" * 80_000), ("b.txt", b"b" * 80_000))
    document = parse(bomb, "a.pdf", HIDDEN)
    assert "a" * 80_000 in document.text
    assert "bb" not in document.text
    assert document.flags == ("attachment_unpacked",)


def test_a_large_bomb_ends_neither_the_document_nor_the_pool() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(with_files(page(), ("bomb.txt", b"x"))))
    squeezed = zlib.compressobj(1)
    packed = b"".join(squeezed.compress(bytes(1 << 20)) for _ in range(500)) + squeezed.flush()
    stream = writer.root_object["/Names"]["/EmbeddedFiles"]["/Names"][1].get_object()["/EF"]["/F"].get_object()  # type: ignore[index]
    stream._data = packed
    stream[NameObject("/Filter")] = NameObject("/FlateDecode")
    bomb = Sent(PurePath("bomb.pdf"), written(writer))
    with ParserPool(1, time_limit=20, settings=HIDDEN) as pool:
        found = pool.submit(bomb).result()
        after = pool.submit(Sent(PurePath("a.pdf"), page())).result()
    assert isinstance(after, Document)
    assert isinstance(found, Document)
    assert found.text.startswith("cover page")
    assert any(flag.startswith("attachment_") for flag in found.flags)


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
@pytest.mark.parametrize("right", ["user-Ä", "owner"])
def test_a_password_of_the_user_or_the_owner_opens_a_file(algorithm: str, right: str) -> None:
    data = encrypted("user-Ä", "owner", algorithm=algorithm)
    assert parse(data, "a.pdf", ParserSettings(passwords=("wrong", right))).text == "secret sum"
    for passwords in ((), ("wrong", "")):
        with pytest.raises(DocumentError) as caught:
            parse(data, "a.pdf", ParserSettings(passwords=passwords))
        assert caught.value.code == "password"
        assert "wrong" not in str(caught.value)


def test_passwords_reach_the_parser_process_and_embedded_files() -> None:
    outer = with_files(page(), ("inner.pdf", encrypted("inner", "owner")))
    with ParserPool(1, settings=ParserSettings(passwords=("inner",), hidden=True)) as pool:
        found = pool.submit(Sent(PurePath("a.pdf"), outer)).result()
    assert isinstance(found, Document)
    assert found.text == "cover page\n\nsecret sum"
    assert parse(outer, "a.pdf", HIDDEN).flags == ("attachment_password",)


def test_an_image_only_cover_does_not_hide_the_files() -> None:
    from PIL import Image

    picture = ImageReader(Image.new("RGB", (20, 20), "red"))
    data = drawn(lambda sheet: sheet.drawImage(picture, 72, 600, 100, 100))
    document = parse(with_files(data, ("a.txt", b"total 5")), "a.pdf", ParserSettings(ocr="never"))
    assert document.text == "total 5"
