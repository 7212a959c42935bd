"""A proposal of a schema from a few documents of one kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cinnabar.extraction.documents import Document
from cinnabar.extraction.drafting.drafting import SchemaDraft, draft_schema
from cinnabar.extraction.ingest import parse
from cinnabar.schemas import compile_schema, load_schema

INVOICE = """{shop}

Invoice no.: {number}
Date:        {day}
Payment      {payment}
Terms:       net

Items
Article            Quantity    Amount
Copper kettle             {pieces}     12.50
Tea towel, linen          4      1,008.00

Total: EUR {total}

Please pay before {due}, thank you. Our telephone: 030 123456
"""
ROWS = [
    ("Anna's kettles", "A-17", "14 March 2026", "card", 1, "1,020.50", "28 March 2026"),
    ("Bert's pots", "A-18", "15 March 2026", "cash", 2, "33.00", "29 March 2026"),
    ("Carl's cups", "B-2", "2 April 2026", "card", 3, "45.10", "16 April 2026"),
    ("Dora's pans", "B-5", "3 April 2026", "card", 3, "7.00", "17 April 2026"),
]
NAMES = ("shop", "number", "day", "payment", "pieces", "total", "due")


def documents(texts: list[str], name: str = "a.txt") -> list[Document]:
    return [parse(text.encode(), name) for text in texts]


@pytest.fixture
def invoices() -> SchemaDraft:
    return draft_schema(documents([INVOICE.format(**dict(zip(NAMES, row, strict=True))) for row in ROWS]), "invoice")


def test_labels_tables_and_phrases_become_fields_with_types(invoices: SchemaDraft) -> None:
    properties = invoices.schema["properties"]
    assert [*properties] == ["heading", "invoice_no", "date", "payment", "items", "total", "please_pay_before"]
    assert properties["date"] == {
        "title": "Date", "description": 'The value behind "Date".', "type": ["string", "null"], "format": "date",
    }  # fmt: skip
    assert properties["invoice_no"]["examples"] == ["A-17", "A-18"]
    assert (properties["total"]["type"], properties["total"]["x-cinnabar-decimals"]) == (["number", "null"], 2)
    assert properties["total"]["description"] == 'The value behind "Total", without the currency.'
    assert properties["please_pay_before"]["format"] == "date"
    items = properties["items"]["items"]["properties"]
    assert {name: part["type"][0] for name, part in items.items()} == {
        "article": "string", "quantity": "integer", "amount": "number",
    }  # fmt: skip


def test_what_is_the_same_in_all_documents_belongs_to_the_form(invoices: SchemaDraft) -> None:
    assert not {"terms", "our_telephone"} & set(invoices.schema["properties"])


def test_the_texts_behind_each_field_are_told_by_document(invoices: SchemaDraft) -> None:
    assert invoices.values["/payment"] == [["card"], ["cash"], ["card"], ["card"]]
    assert invoices.values["/items/*/quantity"] == [["1", "4"], ["2", "4"], ["3", "4"], ["3", "4"]]


def test_a_draft_is_a_schema_that_can_be_enforced(invoices: SchemaDraft) -> None:
    compiled = compile_schema(load_schema(invoices.schema).schema)
    assert compiled.accepts(compiled.minimal())
    assert len(compiled.form.slots) == 9


def test_one_document_is_enough_for_its_labels() -> None:
    found = draft_schema(documents(["Name: Anna\nBorn: 3 May 1980\n"]), "person").schema
    assert {name: part.get("format") for name, part in found["properties"].items()} == {"name": None, "born": "date"}


def test_labels_that_come_equally_often_make_a_list_of_objects() -> None:
    block = "Port: {0}\nState: {1}\n\n"
    texts = ["".join(block.format(f"e{n}", "up" if n % 2 else "down") for n in range(k)) for k in (2, 3, 4)]
    (entries,) = draft_schema(documents(texts), "ports").schema["properties"].values()
    assert [*entries["items"]["properties"]] == ["port", "state"]
    assert entries["items"]["properties"]["state"]["enum"] == ["down", "up", None]


def test_bullets_below_a_heading_make_a_list_of_texts() -> None:
    texts = [f"# Minutes of {day}\n\nPresent:\n- Ann\n- Bob {day}\n" for day in ("Monday", "Friday")]
    present = draft_schema(documents(texts), "minutes").schema["properties"]["present"]
    assert (present["type"], present["items"]["type"]) == ("array", "string")


def test_headers_of_mails_are_bound_to_their_facts() -> None:
    mail = "From: Ann <ann@a.example>\nTo: Bob <bob@b.example>\nSubject: Order {0}\n"
    mail += "Date: {0} Mar 2026 10:00:00 +0100\n\nOrder: {0}x\n"
    found = draft_schema(documents([mail.format(n) for n in (1, 2, 3)], "a.eml"), "order").schema["properties"]
    assert {name: part.get("x-cinnabar-from") for name, part in found.items()} == {
        "from_name": "mail.from.name", "from_address": "mail.from.address", "to_address": "mail.to.address",
        "sent": "mail.sent", "subject": "mail.subject", "order": None,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["x", "x" * 100_000, "|" * 1000, ": : :\n" * 50, "a:\n" * 50, "\t\t\n- \n# \n"])
def test_odd_texts_give_a_schema_all_the_same(text: str) -> None:
    found: dict[str, Any] = draft_schema(documents([text, text, text]), "odd").schema
    load_schema(found)


def test_a_file_that_cannot_be_read_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cinnabar.flows.cli.main import run

    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    assert run(["schema", "draft", str(tmp_path)]) == 2
    assert "expected documents with text to draft from" in capsys.readouterr().err
    (tmp_path / "a.txt").write_text("Name: Anna\n")
    assert run(["schema", "draft", str(tmp_path), "--to", str(tmp_path / "person.yaml")]) == 0
    told = capsys.readouterr()
    assert "broken.pdf: left out: " in told.err
    assert load_schema(tmp_path / "person.yaml").name == "person"


def test_init_drafts_the_schema_from_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cinnabar.flows.cli.main import run

    (tmp_path / "mails").mkdir()
    (tmp_path / "mails" / "a.txt").write_text("Name: Anna\nBorn: 3 May 1980\n")
    assert run(["init", str(tmp_path / "people"), str(tmp_path / "mails")]) == 0
    assert f"cinnabar extract {tmp_path / 'mails'} " in capsys.readouterr().out
    assert not (tmp_path / "people" / "documents").exists()
    source = load_schema(tmp_path / "people" / "schema.yaml")
    assert source.name == "people"
    assert f'paths: ["{tmp_path / "mails"}"]' in (tmp_path / "people" / "prefect.yaml").read_text()
    assert "from people" in (tmp_path / "people" / "README.md").read_text()
