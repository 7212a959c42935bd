"""Mails in every charset, declared rightly, wrongly or not at all, keep their text and the fact of their language."""

import base64
import quopri

import pytest
from tests.support.cases import each

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.mail.mime import decode_header
from cinnabar.extraction.documents.plain.charsets import decode, known_charset

TEXTS = {
    "ru": "Здравствуйте, Анна Сергеевна! Направляем вам счёт на оплату за май. Пожалуйста, оплатите его до пятницы.",
    "uk": "Доброго дня, пане Іване! Надсилаємо вам рахунок за травень. Будь ласка, сплатіть його до четверга.",
    "el": "Αγαπητή κυρία Μαρία, σας στέλνουμε το τιμολόγιο για τον Μάιο. Παρακαλούμε να το πληρώσετε σύντομα.",
    "he": "שלום רב, אנו שולחים לך את החשבונית עבור חודש מאי. אנא שלמי אותה עד יום שישי. בברכה, מחלקת המכירות.",
    "ar": "السيدة فاطمة، نرسل إليكم فاتورة شهر مايو. يرجى دفعها قبل يوم الجمعة. مع خالص التحية، قسم المبيعات.",
    "tr": "Sayın Ayşe Hanım, mayıs ayına ait faturayı size gönderiyoruz. Lütfen cuma gününe kadar ödeyiniz.",
    "pl": "Szanowna Pani Małgorzato, przesyłamy fakturę za maj. Prosimy o zapłatę do piątku. Dział sprzedaży, Łódź.",
    "de": "Sehr geehrte Frau Müller, anbei die Rechnung für Mai. Bitte überweisen Sie den Betrag bis Freitag.",
    "fr": "Chère Madame Lefèvre, voici la facture du mois de mai. Merci de la régler avant vendredi, à bientôt.",
    "ja": "お世話になります。五月分の請求書をお送りいたします。金曜日までにお支払いくださいますようお願いします。",
    "zh": "尊敬的客户，您好！我们现将五月份的发票寄给您，请您在星期五之前付款。如果您有任何问题，请给我们打电话。",
    "zh-tw": "尊敬的客戶，您好！我們將五月份的發票寄給您，請您在星期五之前付款。如果您有任何問題，請給我們打電話。",
    "ko": "안녕하세요. 오월분 청구서를 보내 드립니다. 금요일까지 결제해 주시기 바랍니다. 감사합니다.",
}
CHARSETS = [
    ("ru", "koi8-r"), ("ru", "windows-1251"), ("ru", "iso-8859-5"), ("uk", "koi8-u"), ("uk", "windows-1251"),
    ("el", "windows-1253"), ("el", "iso-8859-7"), ("he", "windows-1255"), ("he", "iso-8859-8"),
    ("ar", "windows-1256"), ("ar", "iso-8859-6"), ("tr", "windows-1254"), ("tr", "iso-8859-9"),
    ("pl", "windows-1250"), ("pl", "iso-8859-2"), ("de", "windows-1252"), ("de", "iso-8859-15"),
    ("fr", "iso-8859-1"), ("ja", "shift_jis"), ("ja", "euc-jp"), ("ja", "iso-2022-jp"), ("zh", "gb2312"),
    ("zh", "gb18030"), ("zh", "hz-gb-2312"), ("zh-tw", "big5"), ("ko", "euc-kr"), ("ko", "iso-2022-kr"),
    ("ko", "ks_c_5601-1987"),
]  # fmt: skip
ALL = each("language, charset", CHARSETS)
HEAD = b"From: a@example.org\nSubject: hello\n"


def coded(language: str, charset: str) -> tuple[bytes, str]:
    codec = known_charset(charset)
    assert codec is not None
    raw = TEXTS[language].encode(codec, "ignore")
    return raw, raw.decode(codec)


def body(document: Document) -> str:
    return next(document.text[part.start : part.end] for part in document.parts if part.kind == "body")


def check(document: Document, language: str, text: str) -> None:
    assert body(document) == text
    assert document.facts["document.language"].value == language[:2]


@ALL
def test_a_declared_charset_is_read(language: str, charset: str) -> None:
    raw, text = coded(language, charset)
    head = HEAD + f'Content-Type: text/plain; charset="{charset.upper()}"\n'.encode()
    plain = parse(head + b"Content-Transfer-Encoding: 8bit\n\n" + raw, "a.eml")
    check(plain, language, text)
    assert plain.flags == ()
    check(parse(head + b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(raw), "a.eml"), language, text)
    quoted = quopri.encodestring(raw)
    check(parse(head + b"Content-Transfer-Encoding: quoted-printable\n\n" + quoted, "a.eml"), language, text)


@ALL
@each("declared", ["", "unknown-8bit", "x-user-defined", "us-ascii", "x-no-such-charset", "utf-8"])
def test_an_undeclared_charset_is_found(language: str, charset: str, declared: str) -> None:
    if declared == "utf-8" and known_charset(charset) in ("iso2022_jp", "iso2022_kr", "hz"):
        return  # it is ASCII, and declared to be
    raw, text = coded(language, charset)
    head = HEAD + (f"Content-Type: text/plain; charset={declared}\n".encode() if declared else b"")
    document = parse(head + b"\n" + raw, "a.eml")
    check(document, language, text)
    assert document.flags == ("charset_guess",) or declared == "us-ascii"


@each(
    "language, charset, declared",
    [
        ("ru", "koi8-r", "iso-8859-1"), ("ru", "windows-1251", "iso-8859-1"), ("ru", "koi8-r", "windows-1251"),
        ("ru", "windows-1251", "koi8-r"), ("el", "iso-8859-7", "windows-1252"), ("zh", "gb2312", "iso-8859-1"),
        ("ja", "shift_jis", "iso-8859-1"), ("ko", "euc-kr", "iso-8859-1"), ("zh-tw", "big5", "windows-1252"),
        ("zh", "gb18030", "gb2312"), ("ja", "utf-8", "iso-8859-1"), ("de", "utf-8", "iso-8859-1"),
        ("fr", "utf-8", "windows-1252"), ("ru", "utf-8", "us-ascii"), ("de", "windows-1252", "utf-8"),
    ],
)  # fmt: skip
def test_a_wrongly_declared_charset_is_noticed(language: str, charset: str, declared: str) -> None:
    raw, text = coded(language, charset)
    check(parse(HEAD + f"Content-Type: text/plain; charset={declared}\n\n".encode() + raw, "a.eml"), language, text)


def test_a_page_may_tell_its_own_charset() -> None:
    page = f'<html><meta charset="iso-8859-5"><p>{TEXTS["ru"][:20]}</p></html>'.encode("iso-8859-5")
    document = parse(HEAD + b"Content-Type: text/html\n\n" + page, "a.eml")
    assert body(document) == TEXTS["ru"][:20].strip() and document.flags == ()


@pytest.mark.parametrize(
    "text", ["Grüße", "Café à la crème", "Où ça ? À côté.", "ÄÖÜ", "Preis: 10 € – 5 %", "“Yes”", "São Tomé, 7 °C", "ß"]
)
def test_few_letters_beyond_ascii_stay_western(text: str) -> None:
    for declared in (b"", b"Content-Type: text/plain; charset=iso-8859-1\n"):
        assert body(parse(HEAD + declared + b"\n" + text.encode("cp1252"), "a.eml")) == text


def test_a_few_wrong_bytes_leave_the_declared_charset_standing() -> None:
    text = "Die Rechnung für Mai ist überfällig. " * 5
    document = parse(HEAD + b"Content-Type: text/plain; charset=utf-8\n\n" + text.encode() + b"\xff\xfe", "a.eml")
    assert body(document).startswith("Die Rechnung für Mai") and body(document).endswith("\ufffd\ufffd")
    assert document.flags == ("charset_guess",)


def test_raw_headers_are_in_the_charset_of_a_part() -> None:
    head = "From: Анна <a@example.org>\nSubject: Счёт\n".encode("koi8-r")
    kind = b'Content-Type: text/plain; charset=koi8-r; name="\xf3\xde\xa3\xd4.txt"\n\n'
    document = parse(head + kind + TEXTS["ru"].encode("koi8-r"), "a.eml")
    assert document.facts["mail.subject"].value == "Счёт"
    assert document.facts["mail.from.name"].value == "Анна"
    assert document.facts["mail.attachments.name"].value == ("Счёт.txt",)
    document = parse("From: Zoë <a@example.org>\nSubject: Grüße\n\nx".encode(), "a.eml")
    assert document.facts["mail.from.name"].value == "Zoë" and document.flags == ()


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("Windows-1251", "cp1251"), ("x-windows-949", "cp949"), ("win-1250", "cp1250"), ("CP-1252", "cp1252"),
        ("x-gbk", "gbk"), ("macintosh", "mac-roman"), ("UTF8", "utf-8"), (" Latin1 ", "iso8859-1"),
        ("Shift-JIS", "shift_jis"), ('"big5"', "big5"),
        *((name, None) for name in ("zip", "base64", "rot13", "hex", "zlib", "punycode", "idna")),
        ("unicode_escape", None), ("", None), (None, None), ("a\0", None),
    ],
)  # fmt: skip
def test_names_of_charsets(name: str | None, codec: str | None) -> None:
    assert known_charset(name) == codec


def test_text_of_control_codes_is_not_taken_for_an_escape() -> None:
    text = "red \x1b[31mtext\x1b[0m and {~} ~{ code ~}"
    assert decode(text.encode()) == (text, False)


def test_headers_folded_among_many_blanks_come_on_one_line() -> None:
    assert decode_header(f"a{' ' * 16_000}b \r\n\t c") == ("a b c", False)
