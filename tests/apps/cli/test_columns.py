"""The column of a field of a list: `show` tells it, and it is corrected once for all rows."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import xlsxwriter

from cinnabar.apps.cli.main import run
from cinnabar.errors import Refused, UsageError
from cinnabar.extraction.corrections import Corrector
from cinnabar.extraction.review.review import AskedChange, Review
from cinnabar.extraction.store.reading import query

FIELDS = {
    "part": {"type": "string", "description": "Number of the part."},
    "about": {"type": "string", "description": "What it is."},
    "quantity": {"type": ["integer", "null"], "description": "Quantity in stock."},
}
ITEM = {"type": "object", "properties": FIELDS, "required": [*FIELDS], "additionalProperties": False}
SCHEMA = {"title": "Stock", "type": "object", "properties": {"stock": {"type": "array", "items": ITEM}}}
ROWS = [(f"A-{100 + at}", ("Pump", "Valve", "Hose")[at % 3], 5 + at, 40 + 3 * at) for at in range(12)]


def as_text() -> bytes:
    lines = ["Stock list", "", f"{'':34}On", f"{'Part':10}{'Product':12}{'Min.':>6}    {'hand':>6}"]
    lines += [f"{part:10}{about:12}{least:>6}    {held if at != 4 else '':>6}" for at, (part, about, least, held)
              in enumerate(ROWS)]  # fmt: skip
    return "\n".join([*lines, ""]).encode()


def as_sheet() -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Stock")
        for at, row in enumerate([("Part", "Product", "Min.", "On hand"), *ROWS]):
            sheet.write_row(at, 0, [None if at == 5 and column == 3 else one for column, one in enumerate(row)])
    return file.getvalue()


@pytest.fixture(params=["stock.txt", "stock.xlsx"])
def asked(tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    (tmp_path / "stock.json").write_text(json.dumps(SCHEMA))
    (tmp_path / request.param).write_bytes(as_text() if request.param.endswith("txt") else as_sheet())
    out = str(tmp_path / "out")
    return ["extract", str(tmp_path / request.param), "--schema", str(tmp_path / "stock.json"), "--out", out]


@pytest.mark.slow
def test_the_column_of_a_field_is_told_and_corrected_once_for_all_rows(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, out = Path(asked[1]).name, Path(asked[5])
    assert run(asked) == 0
    capsys.readouterr()
    assert run(["show", name, "--out", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "columns of /stock:" in told and 'part = column "Part"' in told
    ((document,),) = query(out, "SELECT document FROM outcomes").rows
    for head, right in (("Min.", [row[2] for row in ROWS]),
                        ("On hand", [None if at == 4 else row[3] for at, row in enumerate(ROWS)])):  # fmt: skip
        with Review(out, "anna") as review:
            seen = review.state(document, "Stock")["seen"]["/stock"]
            after = json.dumps(["quantity", f'column "{head}"'])
            review.correct(document, "Stock", [AskedChange(action="column", pointer="/stock", seen=seen, after=after)])
        ((text,),) = query(out, "SELECT record_json FROM records WHERE latest").rows
        record = json.loads(text)["stock"]
        assert [row["quantity"] for row in record] == right
        assert [row["part"] for row in record] == [row[0] for row in ROWS]
    made = Corrector(out).state(document, "Stock")
    assert len(made.corrections) == 2 and made.record is not None
    leaves = {leaf.pointer: leaf for leaf in made.record.leaves}
    assert leaves["/stock/3/quantity"].origin == "human" and leaves["/stock/3/part"].origin == "copied"
    assert (evidence := leaves["/stock/3/quantity"].evidence) is not None
    assert evidence.text == "49" and evidence.place.endswith('column "On hand"')
    assert leaves["/stock/3/part"].confidence < 1.0
    assert run(["correct", name, "--out", str(out), "--undo", "all"]) == 0
    capsys.readouterr()


def test_the_review_offers_the_columns_and_refuses_others(asked: list[str]) -> None:
    out = Path(asked[5])
    assert run(asked) == 0
    ((document,),) = query(out, "SELECT document FROM outcomes").rows
    with Review(out, "anna") as review:
        state = review.state(document, "Stock")
        (listed,) = [leaf for leaf in state["leaves"] if leaf["pointer"] == "/stock"]
        assert listed["columns"]["part"] == 'column "Part"'
        heads = review.columns(document, "Stock", "/stock")
        assert heads == [f'column "{head}"' for head in ("Part", "Product", "Min.", "On hand")]

        def change(field: str, head: str, pointer: str = "/stock") -> None:
            after = json.dumps([field, head])
            seen = state["seen"]["/stock"]
            review.correct(document, "Stock", [AskedChange(action="column", pointer=pointer, seen=seen, after=after)])

        wrong = ("quantity", "Max.", "/stock"), ("price", heads[2], "/stock"), ("x", "y", "/none")
        for field, head, pointer in wrong:
            with pytest.raises(UsageError):
                change(field, head, pointer)
        # A schema that allows no null refuses the empty cells, with their places.
        with pytest.raises(Refused):
            change("about", heads[3])
        change("quantity", heads[3])
        held = json.loads(review.state(document, "Stock")["record"])["stock"]
    assert held[0]["quantity"] == ROWS[0][3] and held[4]["quantity"] is None
