"""The schema of the library that documents look like, and what is said if they look like none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.review.drafting.draft import OFFER_SCHEMA, nearest_schema
from cinnabar.schemas import load_schema

INVOICE = """Invoice INV-{0}
Invoice date: 14 March 2026
Due date: 28 March 2026
Seller: Kettles Ltd, 4 Mill Lane, Leeds
Bill to: Anna Brown

Description   Quantity   Unit price   Amount
Kettle        1          12.50        12.50

Subtotal 12.50
VAT 20%   2.50
Total GBP 15.00
"""
POEM = "The sea was still.\nA gull stood on the wall and looked at nothing, and nobody looked at it.\n"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(INVOICE.format(number))
    (folder / "poem.txt").write_text(POEM)
    return folder


def test_the_schema_with_the_best_mean_probability_is_chosen_if_that_is_a_half() -> None:
    invoice, poem = (parse(text.encode(), "a.txt") for text in (INVOICE.format(1), POEM))
    nearest, mean = nearest_schema([invoice, invoice, poem])
    assert nearest == "invoice" and mean >= OFFER_SCHEMA > nearest_schema([invoice, poem, poem])[1]


def test_init_takes_the_schema_that_the_documents_look_like(
    inbox: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (inbox / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    bills = tmp_path / "bills"
    assert run(["init", str(bills), str(inbox)]) == 0
    told = capsys.readouterr()
    assert "broken.pdf: truncated: " in told.err
    assert f"cd {bills}\n  cinnabar extract\n" in told.out and "looked at: like `invoice`" in told.err
    assert f'inbox = ["{inbox}"]' in (bills / "cinnabar.toml").read_text("utf-8")
    assert not (bills / "documents").exists()
    own, library = load_schema(bills / "schema.yaml"), load_schema("invoice").schema
    assert own.name == "invoice" and isinstance(own.schema, dict) and isinstance(library, dict)
    assert own.schema["properties"] == library["properties"]
    assert f'paths: ["{inbox}"]' in (bills / "prefect.yaml").read_text()
    assert "from invoice" in (bills / "README.md").read_text()


def test_init_refuses_documents_of_which_none_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    assert run(["init", str(tmp_path / "new"), str(tmp_path / "broken.pdf")]) == 2
    assert "expected documents with text, got none" in capsys.readouterr().err


def test_init_writes_no_fields_of_another_kind_for_documents_without_labels_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "poem.txt").write_text(POEM)
    assert run(["init", str(tmp_path / "new"), str(tmp_path / "poem.txt")]) == 0
    assert "properties: {}" in (tmp_path / "new" / "schema.yaml").read_text()
    told = capsys.readouterr()
    assert "they print no labels alike: the schema has no fields" in told.err and "nothing found" not in told.out


NOTICE = """Ferry notice
Ticket no.: F-{0}
Crossing on: {1} May 2026
Vehicle over 2 m high: {2}
Fare: GBP {3}
Remarks of the office on duty that day: {4}
"""


def test_init_shows_each_drafted_field_with_what_it_finds_in_the_first_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (inbox := tmp_path / "inbox").mkdir()
    (inbox / "a.txt").write_text(NOTICE.format(101, 3, "yes", "1,200.50", "none"))
    (inbox / "b.txt").write_text(NOTICE.format(102, 4, "no", "80.00", "none").replace("Fare: GBP 80.00\n", ""))
    (inbox / "c.txt").write_text(NOTICE.format(103, 5, "no", "75.20", "none"))
    own = tmp_path / "own"
    assert run(["init", str(own), str(inbox)]) == 0
    told = capsys.readouterr().out.partition("Edit the schema")[0]
    table = [line.rstrip() for line in told.splitlines() if line.strip() and line[0] == " "]
    assert max(map(len, table)) <= 80 and table[0].split() == ["field", "type", "a.txt", "b.txt"]
    assert [line.split() for line in table[2:6]] == [
        ["ticket_no", "text", "F-101", "F-102"],
        ["crossing_on", "date", "2026-05-03", "2026-05-04"],
        ["vehicle_over_2_m_high", "choice", "yes", "no"],
        ["fare", "number", "1200.50", "nothing", "found"],
    ]
    fields = load_schema(own / "schema.yaml").schema
    assert isinstance(fields, dict) and fields["required"] == [line.split()[0] for line in table[2:6]]
    assert run(["init", str(own), str(inbox), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fields"] == [], "the schema that was there already is none of these"
