"""Damaged office files and archives end as a document or with a code, whatever the damage."""

from __future__ import annotations

import io
import random
import tarfile
import zipfile

import docx
import openpyxl
import pytest

from cinnabar.extraction.ingest import CODES, parse
from cinnabar.schemas.errors import DocumentError

INSERTED = (b"\xff", b"\0", b"<", b">", b"&", b"99999999999", b"-1", b'"', b"NaN", b"1e999", b"/>")


def word() -> bytes:
    made, document = io.BytesIO(), docx.Document()
    document.add_paragraph("words")
    document.add_table(2, 2).cell(0, 0).text = "cell"
    document.save(made)
    return made.getvalue()


def excel() -> bytes:
    made, book = io.BytesIO(), openpyxl.Workbook()
    for number in range(5):
        book.active.append([number, "text", number * 1.5, True])
    book.save(made)
    return made.getvalue()


def archive(kind: str) -> bytes:
    made = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(made, "w") as held:
            held.writestr("x.txt", "words")
            held.writestr("y.csv", "a,b\n1,2\n")
    else:
        with tarfile.open(fileobj=made, mode="w:gz") as held_tar:
            info = tarfile.TarInfo("x.txt")
            info.size = 5
            held_tar.addfile(info, io.BytesIO(b"words"))
    return made.getvalue()


def mutated(data: bytes, drawn: random.Random) -> bytes:
    held = bytearray(data)
    for _ in range(drawn.choice((1, 2, 4, 16))):
        at = drawn.randrange(len(held))
        piece = drawn.choice(INSERTED)
        kind = drawn.randrange(4)
        if kind == 0:
            held[at] = drawn.randrange(256)
        elif kind == 1:
            held[at:at] = piece
        elif kind == 2 and len(held) > 200:
            del held[at : at + drawn.choice((1, 20, 100))]
        else:
            held[at : at + len(piece)] = piece
    return bytes(held)


def within(data: bytes, drawn: random.Random) -> bytes:
    """Returns a ZIP file, whole by itself, with one damaged member."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        names = [name for name in old.namelist() if name.endswith((".xml", ".rels"))]
        chosen = drawn.choice(names)
        for name in old.namelist():
            new.writestr(name, mutated(old.read(name), drawn) if name == chosen else old.read(name))
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.docx", word()),
        ("a.xlsx", excel()),
        ("a.zip", archive("zip")),
        ("a.tar.gz", archive("tar")),
        ("a.json", b'{"a": [{"b": 1.5}, {"b": null}], "c": {"d": [1, [2, "x"]]}}'),
        ("a.xml", b"<?xml version='1.0'?><a x='1'><b>1</b><c><d>1</d></c><c><d>2</d></c>t</a>"),
        ("a.csv", b'a;b\n1;"x\ny"\n' * 5),
    ],
    # Bytes in a name would hold the time, and each process would collect other names.
    ids=lambda value: value if isinstance(value, str) else "data",
)
def test_a_mutated_file_is_a_document_or_has_a_code(name: str, data: bytes) -> None:
    drawn = random.Random(7)
    for number in range(60):
        inside = name.endswith(("docx", "xlsx")) and number % 2
        damaged = within(data, drawn) if inside else mutated(data, drawn)
        try:
            parse(damaged, name)
        except DocumentError as error:
            assert error.code in CODES
