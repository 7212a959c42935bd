"""What stands before the headers of a mail, and which of the bodies that stand for each other is read."""

from __future__ import annotations

import base64
import random
from email.message import EmailMessage

import pytest
from tests.support.cases import each

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse

_BODY = base64.b64encode("Order number: PO-4711\nTotal: 99.10 EUR\nGrößen: 5\n".encode())
_MAIL = (
    b"From: Kim <kim@x.example>\nTo: b@y.example\nSubject: Order 4711\nDate: Mon, 4 Mar 2024 10:00:00 +0100\n"
    b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + _BODY + b"\n"
)
_AHEAD = {
    "nothing": b"",
    "mark": b"\xef\xbb\xbf",
    "blank": b"\n",
    "blanks": b" \n\t\n",
    "from line": b"From kim@x.example Mon Mar  4 10:00:00 2024\n",
    "quoted from line": b">From kim@x.example Mon Mar  4 10:00:00 2024\n",
    "tool": b"Message 5 of 7\n",
    "answer": b"+OK 1234 octets\n",
    "count": b"305\n\n",
    "server": b"Received: from a by b; Mon, 4 Mar 2024 10:00:00 +0100\n\n",
}


@each("seed", range(40))
def test_headers_are_read_whatever_stands_before_them(seed: int) -> None:
    rng = random.Random(seed)
    ahead = [name for name in rng.sample(sorted(_AHEAD), rng.randint(1, 3)) if name != "mark"]
    data = b"".join(_AHEAD[name] for name in ahead) + _MAIL
    if rng.random() < 0.5:
        data = data.replace(b"\n", b"\r\n")
    wide = rng.choice(("", "", "utf-16", "utf-16-le"))
    data = data.decode().encode(wide) if wide else rng.choice((b"", _AHEAD["mark"])) + data
    _assert_read(parse(data, "a.eml"))
    if "tool" in ahead:
        assert "Message 5 of 7" in parse(data, "a.eml").text
    _assert_read(parse(b"Subject: x\nFrom: z@z.example\nContent-Type: message/rfc822\n\n" + data, "a.eml"), outer=True)


def _assert_read(document: Document, outer: bool = False) -> None:
    assert "PO-4711" in document.text and "Größen: 5" in document.text and "\ufeff" not in document.text
    assert document.facts["mail.from.address"].value == ("z@z.example" if outer else "kim@x.example")
    assert outer or "mail.sent" in document.facts


@pytest.mark.parametrize(
    "text",
    [
        "Just words.\n\nFrom: Berlin\nTo: Munich\n",
        "X-Spam: no\n\nDate: 5 March\nTotal: 5 EUR\n",
        "From Monday on\nwe rest\n",
    ],
)
def test_text_that_only_looks_like_headers_is_kept(text: str) -> None:
    for line in text.replace("X-Spam: no\n", "").split("\n"):
        assert line in parse(text.encode(), "a.eml").text


_ROWS = [("Order number:", "PO-4711"), ("Total:", "99.10 EUR")]
_HTML = (
    "<p>Dear customer,</p><p>thank you for your order.</p><table>"
    + "".join(f"<tr><td>{label}</td><td>{value}</td></tr>" for label, value in _ROWS)
    + "</table><p>Kind regards<br>The shop</p>"
)
_SAYING_NOTHING = [
    "", " \u200c\u00a0\n", "Order confirmation", "[cid:image001.png@01DA6E2B.4711A990]", "[image: logo2024.png]",
    "Your mail program does not show HTML. Open https://mail.example/v/4711/99 in a browser.",
    "Order number: {{order.number}}\nTotal: *|TOTAL|*", "Dear customer,\nthank you for your order.\n\nKind regards",
    "Bitte aktivieren Sie HTML.", "-- \n", "<https://x.example/2024/4711>",
]  # fmt: skip


def _bodies(*bodies: tuple[str, str]) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "kim@x.example", "Your order"
    parts = "".join(f"--B\nContent-Type: {kind}; charset=utf-8\n\n{text}\n" for kind, text in bodies)
    return mail.as_string().strip().encode() + (
        f"\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=B\n\n{parts}--B--\n".encode()
    )


@pytest.mark.parametrize("plain", _SAYING_NOTHING)
def test_html_is_read_where_the_plain_text_says_nothing(plain: str) -> None:
    document = parse(_bodies(("text/plain", plain), ("text/html", _HTML)), "a.eml")
    assert "Order number:  PO-4711" in document.text
    assert "conflict" not in document.flags
    names = _HTML.replace("PO-4711", "Kim Lee").replace("99.10 EUR", "Lyon")
    assert "Kim Lee" in parse(_bodies(("text/plain", plain[:40]), ("text/html", names)), "a.eml").text


@pytest.mark.parametrize(
    "plain", ["Order number: PO-4711\nTotal: 99.10 EUR", "PO-4711 for 99.10 EUR; call 555 0123 at 10:30"]
)
def test_plain_text_with_all_figures_is_read(plain: str) -> None:
    document = parse(_bodies(("text/plain", plain), ("text/html", _HTML)), "a.eml")
    assert plain in document.text and "Dear customer" not in document.text


def test_figures_that_contradict_each_other_are_flagged() -> None:
    document = parse(_bodies(("text/plain", "PO-4712 for 199.10 EUR"), ("text/html", _HTML)), "a.eml")
    assert "PO-4712" in document.text and document.flags == ("conflict",)


@each("first", ["text/plain", "text/html", ""])
@each("other", ["text/x-amp-html", "text/watch-html", "text/rtf", "application/rtf"])
def test_bodies_that_stand_for_each_other_count_once(first: str, other: str) -> None:
    texts = {"text/plain": "Order number: PO-4711\nTotal: 99.10 EUR", "text/html": _HTML}
    same = (
        "{\\rtf1\\ansi Order number: PO-4711\\par Total: 99.10 EUR\\par}"
        if "rtf" in other
        else f"<html amp4email>{_HTML}"
    )
    document = parse(_bodies(*([(first, texts[first])] if first else []), (other, same)), "a.eml")
    assert document.text.count("PO-4711") == document.text.count("99.10") == 1
    rest = [("text/html", _HTML)] if first == "text/plain" else [("text/plain", texts["text/plain"])]
    document = parse(_bodies((other, same), *rest, *([(first, texts[first])] if first else [])), "a.eml")
    assert document.text.count("PO-4711") == 1


@pytest.mark.parametrize("kind", ["text/rtf", "application/rtf"])
def test_rich_text_is_a_body(kind: str) -> None:
    rtf = "{\\rtf1\\ansi Order number: PO-4711\\par Total: 99.10 EUR\\par}"
    assert "Total: 99.10 EUR" in parse(f"From: a@b.example\nContent-Type: {kind}\n\n{rtf}".encode(), "a.eml").text
    assert "Total: 99.10 EUR" in parse(_bodies(("text/plain", "\n"), (kind, rtf)), "a.eml").text


def test_images_that_come_with_an_unread_body_stay() -> None:
    related = (
        f'--C\nContent-Type: text/html\n\n{_HTML}\n--C\nContent-Type: text/plain; name="a.txt"\n\nlisted apart\n--C--'
    )
    mail = (
        "Content-Type: multipart/alternative; boundary=B\n\n--B\nContent-Type: text/plain\n\nPO-4711, 99.10 EUR\n--B\n"
        "Content-Type: multipart/mixed; boundary=D\n\n--D\n"
        f"Content-Type: multipart/related; boundary=C\n\n{related}\n--D--\n--B--\n"
    )
    text = parse(mail.encode(), "a.eml").text
    assert text.count("PO-4711") == 1 and "listed apart" in text


def test_a_mail_of_nothing_but_data_for_programs_is_read() -> None:
    data = '{"@type": "Order", "orderNumber": "PO-4711"}'
    page = f'<html><body><script type="application/ld+json">{data}</script></body></html>'
    for kind, content in (("text/html", page), ("application/ld+json", data)):
        mail = f"From: a@b.example\nContent-Type: {kind}\n\n{content}"
        assert "orderNumber: PO-4711" in parse(mail.encode(), "a.eml").text


_LINES_AMONG = [
    "Forwarded by the gateway", "a folded line that lost its blank", "=== headers as received ===", "?", ": no name",
    "From postmaster@y.example Mon Mar  4 10:00:00 2024", "Çevrimiçi mesaj", "one line\nand another one",
]  # fmt: skip


@each("line", _LINES_AMONG)
@each("above", range(1, 7))
def test_a_line_among_the_headers_is_kept_and_those_below_it_count(line: str, above: int) -> None:
    lines = _MAIL.split(b"\n")
    document = parse(b"\n".join([*lines[:above], line.encode(), *lines[above:]]), "a.eml")
    _assert_read(document)
    assert all(one in document.text for one in line.split("\n")) and document.flags == ("repaired",)


@each(
    "text",
    [
        "Hello Kim,\nTotal: 5 EUR\n\nRegards\n",
        "see the mail below.\nFrom: Ada <ada@x.example>\nSubject: Rent\n\nIt is due.\n",
        "two things\nTo: ada@x.example\nTotal: 5 EUR\n\nRegards\n",
        "a line\nTo: ada@x.example\nCc: no blank line ends them\n",
        "bGluZXMgb2YgYmFzZTY0IG9m\nTo: ada@x.example\n\nRegards\n",
    ],
)
def test_a_text_without_a_blank_line_above_it_is_no_header(text: str) -> None:
    document = parse(b"From: Kim <kim@x.example>\nSubject: Order\n" + text.encode(), "a.eml")
    body = next(part for part in document.parts if part.kind == "body")
    assert document.text[body.start : body.end].split() == text.split() and document.flags == ()


def test_a_delimiter_right_below_the_headers_begins_a_part() -> None:
    mail = _MAIL.partition(b"\nContent-Type")[0] + b"\nContent-Type: multipart/mixed; boundary=B\n--B\n"
    _assert_read(parse(mail + _MAIL.partition(b"+0100\n")[2] + b"--B--\n", "a.eml"))


@each("type_", ["plain;\ncharset=utf-8", "plain;\n format=fixed;\ncharset=utf-8", "plain; charset=utf-8\nodd line"])
@each("last", [True, False])
def test_parameters_that_lost_the_blank_of_their_fold_count(type_: str, last: bool) -> None:
    coded = b"Content-Transfer-Encoding: base64"
    lines = [coded, b"Content-Type: text/" + type_.encode()][:: 1 if last else -1]
    for boundary in (b" boundary=B", b"boundary=B"):
        mail = _MAIL.partition(b"\nContent-Type")[0] + b"\nContent-Type: multipart/mixed;\n" + boundary + b"\n\n--B\n"
        document = parse(mail + b"\n".join(lines) + b"\n\n" + _BODY + b"\n--B--\n", "a.eml")
        _assert_read(document)
        assert document.flags == ("repaired",) and "charset" not in document.text
        assert ("odd line" in document.text) == ("odd" in type_)
