"""Damages files: bytes, members of archives, and the structure of PDFs; the same draws give the same damage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress

#: Tokens of the formats, which are written over bytes or between them.
TOKENS: tuple[bytes, ...] = (
    b"\xff", b"\0", b"<", b">", b"&", b"99999999999", b"-1", b'"', b"NaN", b"1e999", b"/>", b"\r\n\r\n",
    b"\xef\xbb\xbf",
    b"<![CDATA[", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"xml:space", b"--", b"boundary=", b"Content-Type: ",
    b"Content-Transfer-Encoding: base64\n", b"multipart/mixed", b"message/rfc822", b"=?utf-8?Q?", b"?=", b"charset=",
    b"begin 644 a", b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x1f\x8b", b"ustar", b"\xd0\xcf\x11\xe0",
    b"%PDF-", b"%%EOF", b"obj", b"endobj", b"stream\n", b"endstream", b"xref", b"trailer", b"startxref", b"<<", b">>",
    b"[", b"]", b"(", b")", b"{", b"}", b"\\u0000", b"\xed\xa0\x80", b"\xff\xfe", b"\x7f\xff\xff\xff", b"\x80\0\0\0",
)  # fmt: skip

#: Numbers at the ends of the types that parsers keep them in.
_NUMBERS = (
    b"0", b"-1", b"1", b"2", b"7", b"255", b"256", b"65535", b"65536", b"2147483647", b"2147483648", b"-2147483648",
    b"4294967295", b"4294967296", b"9223372036854775807", b"99999999999999999999", b"0.0000001", b"-0.5", b"1e38",
    b"3.4e39", b"14400", b"1000000000", b"--5", b"+", b".",
)  # fmt: skip
_FILTERS = (
    b"/FlateDecode", b"/LZWDecode", b"/ASCIIHexDecode", b"/ASCII85Decode", b"/RunLengthDecode", b"/CCITTFaxDecode",
    b"/DCTDecode", b"/JPXDecode", b"/JBIG2Decode", b"/Crypt", b"/Fl", b"/Unknown", b"null", b"[]",
    b"[/FlateDecode /FlateDecode]", b"[" + b"/FlateDecode " * 40 + b"]", b"[/ASCII85Decode /FlateDecode]",
)  # fmt: skip
_BOXES = (
    b"[0 0 0 0]", b"[0 0 1 1]", b"[0 0 1e9 1e9]", b"[0 0 2147483647 2147483647]", b"[612 792 0 0]", b"[0 0 1000000 1]",
    b"[-1e38 -1e38 1e38 1e38]", b"[0 0 612]", b"[(a) /b null 3]", b"[0 0 14400 14400]", b"[0 0 .001 .001]",
)  # fmt: skip
_PIECES = (
    b" /Parent 1 0 R", b" /Kids [1 0 R 2 0 R 3 0 R]", b" /Type /Pages", b" /Type /ObjStm", b" /Rotate 90",
    b" /Prev 0", b" /UserUnit 1e9", b" /Predictor 12", b" /Columns 1000000", b" /Colors 2147483647",
    b" /ImageMask true",
    b" /FT /Tx /V (a)", b" /SMask 4 0 R", b" /Contents [4 0 R 4 0 R 4 0 R]", b" /Encrypt 5 0 R", b" /Extends 1 0 R",
    b" /DecodeParms << /Predictor 15 /Columns 4 /Colors 0 /BitsPerComponent 16 >>", b" /F (/etc/passwd)",
)  # fmt: skip
#: Keys of PDFs that hold sizes, places and counts.
_SIZES = re.compile(
    rb"/(?:Length1?|Count|Predictor|Columns|Colors|BitsPerComponent|Width|Height|Size|Prev|First|N|V|R|P|FirstChar"
    rb"|LastChar|Rotate|Index|W|K|Rows|Ff|F|FontMatrix|BBox|Matrix|Widths|DW|Domain|Range|EarlyChange)\b\s*(-?[\d.]+)"
)
_REFERENCE = re.compile(rb"\b\d{1,6} \d{1,5} R\b")
_OBJECT = re.compile(rb"\b(\d{1,6}) (\d{1,5}) obj\b")
_WHOLE_OBJECT = re.compile(rb"\b\d{1,6} \d{1,5} obj\b.{0,20000}?\bendobj\b", re.DOTALL)
_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?\b")
_NAME = re.compile(rb"/[A-Za-z][A-Za-z0-9+#-]{0,30}")
_ENTRY = re.compile(
    rb"(/[A-Za-z][A-Za-z0-9]{0,30})\s*(\d+ \d+ R|-?[\d.]+|/[A-Za-z0-9]+|\([^()]{0,80}\)|\[[^\[\]]{0,200}\])"
)
_BOX = re.compile(rb"/(?:MediaBox|CropBox|Rect|BBox)\s*(\[[^\]]{0,80}\])")
_KIDS = re.compile(rb"/(?:Kids|Annots|Fields|Contents|Names|Nums)\s*(\[[^\]]{0,200}\])")
_FILTER = re.compile(rb"/Filter\s*(\[[^\]]{0,80}\]|/\w+)")
_XREF_ENTRY = re.compile(rb"\b(\d{10}) (\d{5}) [nf]")
_STARTXREF = re.compile(rb"startxref\s+(\d+)")
_STREAM = re.compile(rb"stream\r?\n(.{1,100000}?)\r?\nendstream", re.DOTALL)
_OPERATOR = re.compile(rb"[A-Za-z*']{1,3}(?=\s)")
_OPERATORS = (b"Tj", b"TJ", b"Do", b"cm", b"Tm", b"Td", b"Tf", b"sh", b"gs", b"scn", b"re", b"c", b"BDC", b"'")
_LENGTH = re.compile(rb"/Length \d+\b")

#: Changes bytes: the data, other seeds of the kind, and the source of chance.
Change = Callable[[bytes, Sequence[bytes], random.Random], bytes]


def mutated(name: str, data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    """Returns a damaged copy of a seed.

    name: of the seed; its suffix chooses the changes that know the structure. others: seeds of the kind, pieces of
    which are spliced in.
    """
    if not data:
        return data
    changes: list[Change] = [_bytes]
    if data[:1024].find(b"%PDF-") >= 0:
        changes += [_pdf, _pdf, _pdf_stream]
    elif data.startswith(b"PK\x03\x04"):
        changes += [_member, _member]
    elif data[:2] in (b"\x1f\x8b", b"BZ") or data.startswith(b"\xfd7zXZ"):
        changes += [_packed, _packed]
    elif name.endswith((".eml", ".mbox", ".emlx", ".mht", ".ics", ".vcf", ".csv", ".json", ".jsonl", ".html", ".xml")):
        changes.append(_lines)
    return drawn.choice(changes)(data, others, drawn)


def _bytes(data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    """Flips, overwrites, inserts, deletes, repeats, splices and cuts at random places."""
    held = bytearray(data)
    for _ in range(drawn.choice((1, 1, 2, 4, 16))):
        at = drawn.randrange(len(held) + 1)
        piece = drawn.choice(TOKENS)
        match drawn.randrange(10):
            case 0 if at < len(held):
                held[at] = drawn.randrange(256)
            case 1 if at < len(held):
                held[at] ^= 1 << drawn.randrange(8)
            case 2:
                held[at:at] = piece
            case 3:
                held[at : at + len(piece)] = piece
            case 4 if len(held) > 200:
                del held[at : at + drawn.choice((1, 20, 100))]
            case 5:
                held[at:at] = held[at : at + drawn.choice((1, 20, 400))] * drawn.choice((1, 2, 50))
            case 6:
                size = drawn.choice((2, 16, 256))
                held[at : at + size] = bytes([drawn.choice((0, 255))]) * size
            case 7 if others:
                other = drawn.choice(others)
                start = drawn.randrange(len(other) + 1)
                held[at : at + drawn.choice((0, 400))] = other[start : start + drawn.choice((8, 100, 4000))]
            case 8 if len(held) > 40 and drawn.random() < 0.3:
                del held[at:]
            case _:
                held[at : at + 4] = drawn.randrange(1 << 32).to_bytes(4, drawn.choice(("little", "big")))
    return bytes(held)


def _lines(data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    """Drops, repeats, exchanges and inserts lines."""
    lines = data.splitlines(keepends=True)
    for _ in range(drawn.choice((1, 2, 8))):
        at, other = drawn.randrange(len(lines)), drawn.randrange(len(lines))
        match drawn.randrange(5):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines[at:at] = lines[other : other + drawn.choice((1, 3))] * drawn.choice((1, 2, 40))
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                if others:
                    lines.insert(at, drawn.choice(drawn.choice(others).splitlines(keepends=True) or [b"\n"]))
            case _:
                lines[at] = _bytes(lines[at], (), drawn)
    return b"".join(lines)


def _member(data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    """Returns a ZIP file, whole by itself, with one damaged member."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        infos = [info for info in old.infolist() if not info.flag_bits & 1]
        if not infos:
            return _bytes(data, others, drawn)
        chosen = drawn.choice(infos)
        for info in infos:
            held = old.read(info)
            new.writestr(info, mutated(info.filename, held, (), drawn) if info is chosen else held)
    return made.getvalue()


def _packed(data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    """Returns a stream that was packed again after its content was damaged."""
    module: dict[bytes, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
        b"\x1f": (gzip.decompress, lambda held: gzip.compress(held, mtime=0)),
        b"B": (bz2.decompress, bz2.compress),
        b"\xfd": (lzma.decompress, lzma.compress),
    }
    unpack, pack = module[data[:1]]
    return pack(_bytes(unpack(data), others, drawn))


def _pdf(data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    """Changes what the objects of a PDF say; half of the files get a table of references that is right again."""
    for _ in range(drawn.choice((1, 1, 2, 3, 8))):
        data = _pdf_change(data, others, drawn)
    return _with_references(data) if drawn.random() < 0.5 else data


def _pdf_change(data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    numbers = [match[1] + b" " + match[2] + b" R" for match in _OBJECT.finditer(data)] or [b"1 0 R"]
    match drawn.randrange(16):
        case 0 | 1:
            return _replaced(data, _REFERENCE, drawn.choice([*numbers, b"0 0 R", b"999999 0 R", b"null"]), drawn)
        case 2 | 3:
            return _replaced(data, _SIZES, drawn.choice(_NUMBERS), drawn)
        case 4:
            return _replaced(data, _NUMBER, drawn.choice(_NUMBERS), drawn)
        case 5:
            kids = [drawn.choice(numbers) for _ in range(drawn.choice((0, 1, 3, 200)))]
            return _replaced(data, _KIDS, b"[" + b" ".join(kids) + b"]", drawn)
        case 6:
            return _replaced(data, _BOX, drawn.choice(_BOXES), drawn)
        case 7:
            return _replaced(data, _FILTER, drawn.choice(_FILTERS), drawn)
        case 8:
            return _exchanged(data, [match.span(2) for match in _ENTRY.finditer(data)], drawn)
        case 9:
            return _exchanged(data, [match.span() for match in _NAME.finditer(data)], drawn)
        case 10:
            if drawn.random() < 0.3:
                return _replaced(data, _STARTXREF, drawn.choice(_NUMBERS), drawn)
            place = drawn.choice((0, 9, len(data), 1 << 31, 9_999_999_999))
            return _replaced(data, _XREF_ENTRY, b"%010d" % place, drawn)
        case 11:
            # An object with the number of another one.
            return _replaced(data, _OBJECT, drawn.choice(numbers).split()[0], drawn)
        case 12:
            return _exchanged(data, [match.span() for match in _WHOLE_OBJECT.finditer(data)], drawn)
        case 13 if others:
            found = _WHOLE_OBJECT.findall(drawn.choice(others))
            return _inserted(data, b"endobj", b"\n" + drawn.choice(found) + b"\n" if found else b"\n", drawn)
        case 14:
            return _replaced(data, _WHOLE_OBJECT, b"", drawn)
        case _:
            return _inserted(data, b"<<", drawn.choice(_PIECES), drawn)


def _replaced(data: bytes, pattern: re.Pattern[bytes], new: bytes, drawn: random.Random) -> bytes:
    """Puts `new` in the place of one match, or of its first group where the pattern has groups."""
    found = list(pattern.finditer(data))
    if not found:
        return data
    start, end = drawn.choice(found).span(1 if pattern.groups else 0)
    return data[:start] + new + data[end:]


def _exchanged(data: bytes, spans: Sequence[tuple[int, int]], drawn: random.Random) -> bytes:
    if len(spans) < 2:
        return data
    (a, b), (c, d) = sorted(drawn.sample(spans, 2))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:] if b <= c else data


def _inserted(data: bytes, after: bytes, piece: bytes, drawn: random.Random) -> bytes:
    places = [match.end() for match in re.finditer(re.escape(after), data)]
    if not places:
        return data
    at = drawn.choice(places)
    return data[:at] + piece + data[at:]


def _pdf_stream(data: bytes, others: Sequence[bytes], drawn: random.Random) -> bytes:
    """Damages the unpacked content of one stream, packs it again and writes its length."""
    found = list(_STREAM.finditer(data))
    if not found:
        return _bytes(data, others, drawn)
    match = drawn.choice(found)
    content, packed = match[1], False
    with suppress(zlib.error):
        content, packed = zlib.decompress(content), True
    content = _operators(content, drawn) if drawn.random() < 0.5 else _bytes(content, (), drawn)
    content = zlib.compress(content) if packed else content
    begun = data.rfind(b"obj", 0, match.start())
    head = _LENGTH.sub(b"/Length %d" % len(content), data[max(0, begun) : match.start(1)], count=1)
    return _with_references(data[: max(0, begun)] + head + content + data[match.end(1) :])


def _operators(content: bytes, drawn: random.Random) -> bytes:
    """Changes numbers and operators of a content stream."""
    for _ in range(drawn.choice((1, 2, 8))):
        match drawn.randrange(4):
            case 0:
                content = _replaced(content, _NUMBER, drawn.choice(_NUMBERS), drawn)
            case 1:
                content = _exchanged(content, [one.span() for one in re.finditer(rb"[^\s]+", content)], drawn)
            case 2:
                operator = drawn.choice((b" q", b" Q", b" BT", b" ET", b" 3 Tr", b" W n", b" BI", b" EMC", b" 1e9 Tf"))
                content = _inserted(content, b" ", operator * drawn.choice((1, 2, 2000)) + b" ", drawn)
            case _:
                content = _replaced(content, _OPERATOR, drawn.choice(_OPERATORS), drawn)
    return content


def _with_references(data: bytes) -> bytes:
    """Writes the places of the objects into a classic table of references, where there is one."""
    at = {int(match[1]): match.start() for match in _OBJECT.finditer(data)}
    begun = data.rfind(b"\nxref")
    if begun < 0:
        return data
    table = re.compile(rb"\s*xref\s+0 \d+\s+(?:\d{10} \d{5} [nf]\s{0,2})+").match(data, begun)
    if table is None:
        return data
    count = min(max(at, default=0), 5000) + 1
    rows = [b"%010d 00000 n \n" % at[n] if n in at else b"0000000000 65535 f \n" for n in range(count)]
    rest = _STARTXREF.sub(b"startxref\n%d" % (begun + 1), data[table.end() :])
    return data[:begun] + b"\nxref\n0 %d\n" % count + b"".join(rows) + rest
