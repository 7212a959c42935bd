"""The schema of the library that documents look like, and what is said if they look like none."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.fetched_release import fetched_release

from cinnabar.apps.cli.main import run
from cinnabar.engine.request import Filled
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.review.drafting import draft
from cinnabar.extraction.review.drafting.draft import choose_library_schema, drafted_schema
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
    choice = choose_library_schema([invoice, invoice, poem])
    assert choice.schema == "invoice"
    assert str(choice).startswith("3 documents look like `invoice` (mean probability 0.")
    assert choose_library_schema([invoice, poem, poem]).schema is None


def test_init_takes_the_schema_that_the_documents_look_like(
    inbox: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (inbox / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    bills = tmp_path / "bills"
    assert run(["init", str(bills), str(inbox)]) == 0
    told = capsys.readouterr()
    assert "broken.pdf: left out: " in told.err
    assert f"cd {bills}\n  cinnabar extract\n" in told.out and "look like `invoice`" in told.err
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


def test_init_keeps_its_template_for_documents_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text(POEM)
    assert run(["init", str(tmp_path / "new"), str(tmp_path / "poem.txt")]) == 0
    assert load_schema(tmp_path / "new" / "schema.yaml").name == "parcel"


def test_a_kind_that_the_library_lacks_is_drafted_by_a_fetched_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    fetched_release(tmp_path / "models")
    (tmp_path / "poem.txt").write_text(POEM)
    assert run(["init", str(tmp_path / "own"), str(tmp_path / "poem.txt")]) == 0
    assert re.search(r"(no|\d+) fields (found|drafted) by qwen", capsys.readouterr().err)
    schema = load_schema(tmp_path / "own" / "schema.yaml").schema
    assert isinstance(schema, dict)
    assert all(field["description"] for field in schema["properties"].values())


LABELS = [
    {"label": "Ref. no: ", "kind": "text"},
    {"label": "Weight (kg)", "kind": "number"},
    {"label": "REF NO", "kind": "date"},
    {"label": None, "kind": "date"},
    {"label": "Due", "kind": "date"},
    {"label": "Paid", "kind": None},
    {"label": "Colour", "kind": "text"},
]


@pytest.mark.parametrize(("labels", "names"), [(LABELS, ["ref_no", "weight_kg", "due", "paid"]), (LABELS[2:4], None)])
def test_each_printed_label_is_once_a_demanded_field_of_its_kind(
    labels: list[dict[str, str | None]], names: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Filled("draft", {"labels": labels}, {}, {}, 0, 0)
    monkeypatch.setattr(draft, "LanguageEngine", lambda _: SimpleNamespace(fill=lambda _: [answer]))
    printed = b"Ref. no: 5, REF NO 6\nWeight\n(kg) 2\nDue 1 May\nPaid no"
    schema = drafted_schema(parse(printed, "note.txt"), SimpleNamespace())  # type: ignore[arg-type]
    if names is None:
        assert schema is None
        return
    assert schema is not None and schema["required"] == [*schema["properties"]] == names
    fields = [(one["title"], one["type"][0], one.get("format")) for one in schema["properties"].values()]
    kinds = [("Ref. no", "string", None), ("Weight (kg)", "number", None), ("Due", "string", "date")]
    assert fields == [*kinds, ("Paid", "string", None)]
