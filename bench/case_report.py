"""Measures how many mismatches between the documents of a case are found, and how many are told that are none.

    python -m bench.case_report [--cases 30] [--mismatches 12] [--model reader]

Each case is an order, a delivery note and an invoice of one folder, drawn by seed: letters in several wordings, with
dates, persons and other figures beside the ones that count. In some cases one figure differs: the invoice's total, the
pieces that were delivered, or the date. The documents go through `extract --route --case folder`.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

from bench.reporting import table
from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.reading import query

_NULLABLE = {"text": ["string", "null"], "number": ["number", "null"], "whole": ["integer", "null"]}
_ORDERS = (
    "Purchase order {number}\n\n{place}, {day}\n\nDear {person},\n\nwe order {pieces} pieces of article {article}.\n"
    "Pieces: {pieces}\nPrice a piece: EUR {price}\nOrder total: EUR {total}\n",
    "ORDER\nOrder no.: {number}\nOrder date: {day}\nArticle: {article}\nQuantity: {pieces}\nUnit price: {price} EUR\n"
    "Total amount: {total} EUR\nPlease deliver to {place}.\n",
)
_NOTES = (
    "Delivery note\n\nOrder no.: {number}\nDate of delivery: {later}\nArticle: {article}\nPieces delivered: {pieces}\n"
    "Packages: {packages}\nReceived by: {person}\n",
    "DELIVERY NOTE for your order {number}\nDelivered on {later} to {place}\nQuantity delivered: {pieces}\n"
    "Article {article}, {packages} packages\n",
)
_INVOICES = (
    "INVOICE {invoice}\nInvoice date: {later}\nYour order no.: {number} of {day}\nArticle {article}, {pieces} pieces at"
    " {price} EUR\nInvoice total: {total} EUR\nPayable within {packages} days.\n",
    "Invoice\n\nInvoice number: {invoice}\nOrder number: {number}\nDate: {later}\nQuantity: {pieces}\n"
    "Total due: EUR {total}\nContact: {person}, {place}\n",
)


def _schema(title: str, description: str, fields: dict[str, tuple[str, str]], **own: object) -> dict[str, object]:
    properties = {name: {"type": _NULLABLE[kind], "description": said} for name, (kind, said) in fields.items()}
    return {
        "title": title, "description": description, "type": "object", "properties": properties,
        "required": [*properties], **own,
    }  # fmt: skip


SCHEMAS = [
    _schema("order", "A purchase order: what a buyer orders from a seller.", {
        "order_number": ("text", "Number of the order"), "pieces": ("whole", "Number of pieces that are ordered"),
        "total": ("number", "Total amount of the order"),
    }),
    _schema("delivery_note", "A delivery note: what was delivered with an order.", {
        "order_number": ("text", "Number of the order"), "pieces": ("whole", "Number of pieces that were delivered"),
    }, **{"x-cinnabar-checks": {"as_delivered": "delivery_note.pieces = order.pieces"}}),
    _schema("invoice", "An invoice that a seller sends for an order.", {
        "order_number": ("text", "Number of the buyer's order"), "pieces": ("whole", "Number of pieces"),
        "total": ("number", "Total amount of the invoice that is due"),
    }, **{"x-cinnabar-checks": {
        "as_ordered": "invoice.total = order.total",
        "same_order": "invoice.order_number = order.order_number",
    }}),
]  # fmt: skip


def _case(place: Path, draw: random.Random, wrong: str) -> None:
    pieces, cents = draw.randint(3, 400), draw.randint(150, 90_000)
    total = pieces * cents
    facts: dict[str, object] = {
        "number": f"PO-{draw.randint(10_000, 99_999)}", "invoice": f"R{draw.randint(1000, 9999)}/26",
        "day": f"{draw.randint(1, 12)} March 2026", "later": f"{draw.randint(13, 28)} March 2026",
        "article": f"{draw.choice('ABCD')}{draw.randint(100, 999)}", "pieces": pieces, "packages": draw.randint(2, 14),
        "price": f"{cents / 100:.2f}", "total": f"{total / 100:,.2f}",
        "person": draw.choice(("Ms Ito", "Mr Okafor", "Ms Lind", "Mr Rossi")),
        "place": draw.choice(("Leeds", "Graz", "Turin", "Lyon")),
    }  # fmt: skip
    changed: dict[str, dict[str, object]] = {
        "as_ordered": {"total": f"{(total + draw.choice((-1, 1)) * draw.randint(1, 5000)) / 100:,.2f}"},
        "as_delivered": {"pieces": pieces + draw.choice((-1, 1, 10))},
        "same_order": {"number": f"PO-{draw.randint(10_000, 99_999)}"},
    }
    place.mkdir(parents=True)
    for name, texts, about in (("order", _ORDERS, ""), ("note", _NOTES, "as_delivered"), ("invoice", _INVOICES, "")):
        told = wrong == about or (name == "invoice" and wrong in ("as_ordered", "same_order"))
        text = draw.choice(texts).format_map(facts | (changed[wrong] if told and wrong else {}))
        (place / f"{name}.txt").write_text(text, encoding="utf-8")


def main() -> None:
    """Prints the mismatches that were planted, found, and told without being planted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--mismatches", type=int, default=12)
    parser.add_argument("--model", default="reader")
    parser.add_argument("--seed", type=int, default=52)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    names = ("as_ordered", "as_delivered", "same_order")
    planted = {f"case{at:03}": names[at % 3] for at in draw.sample(range(asked.cases), asked.mismatches)}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for at in range(asked.cases):
            _case(place / "in" / f"case{at:03}", draw, planted.get(f"case{at:03}", ""))
        named: list[str] = []
        for schema in SCHEMAS:
            file = place / f"{schema['title']}.json"
            file.write_text(json.dumps(schema), encoding="utf-8")
            named += ["--schema", str(file)]
        where = ["--out", str(place / "out"), "--model", asked.model]
        run(["extract", str(place / "in"), *named, "--route", "--case", "folder", *where])
        sql = "SELECT parse_filename(case_name), check_name FROM case_checks WHERE holds = false"
        told = {(str(case), str(name)) for case, name in query(place / "out", sql).rows}
        (opened,) = query(place / "out", "SELECT count(*) FROM case_checks WHERE holds IS NULL").rows[0]
    found = told & {*planted.items()}
    rows = [
        ("cases, mismatches planted", f"{asked.cases}, {len(planted)}"),
        ("found", str(len(found))),
        ("false alarms", str(len(told) - len(found))),
        ("results that are open", str(opened)),
    ]
    print(table(("what", "got"), rows))
    for case, name in sorted({*planted.items()} - told):
        print("missed", case, name)
    for case, name in sorted(told - {*planted.items()}):
        print("false", case, name)


if __name__ == "__main__":
    main()
