"""The five sealed layouts: each draws the document of a name (layout, language, 0 or 1)."""

from __future__ import annotations

import io
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from docx import Document as new_docx

from bench.everyday_invoices.bill import RATES, Bill, Line, cents
from bench.everyday_invoices.open_layouts import facts_of, sums_of
from bench.everyday_invoices.paper import Document, Layouts, Paper

HERE = Path(__file__).parent / "sealed"


def till_receipt(name: str) -> Document:
    """A till's slip of 40 columns: the quantity stands in a line of its own, the tax is a letter."""
    bill = Bill(HERE, name, 7, rates=2, gross=True)
    paper = Paper(230, 460, "Courier", 8.5)
    cash, change, total, slip = (bill.label("till", part) for part in range(4))
    said = [bill.seller, bill.streets[0], bill.towns[0], f"{bill.label('vat_id')}: {bill.vat_id}"]
    said = [one.center(40).rstrip() for one in said] + [""]
    letters = {rate: "AB"[at] for at, rate in enumerate(bill.taxes())}
    for line in bill.lines:
        line.quantity = Decimal(bill.rng.choice((1, 1, 2, 3)))
        line.amount = line.quantity * (line.price or 0)
        said.append(f"{line.description:<28}{bill.money(line.amount):>9} {letters[line.rate]}")
        if line.quantity > 1:
            said.append(f"   {line.quantity} x {bill.money(line.price)}")
        else:
            line.quantity = line.price = None
    given = bill.total if bill.at else (bill.total // 10 + 1) * 10
    said += ["-" * 40, f"{total:<24}{bill.money(bill.total, True):>14}"]
    said += [f"{cash:<24}{bill.money(given):>14}", f"{change:<24}{bill.money(given - bill.total):>14}", ""]
    said.append(f"{bill.label('tax')[:8]:<10}{'%':>5}{bill.label('net')[:12]:>13}{bill.label('tax')[:8]:>10}")
    for rate, (net, tax) in bill.taxes().items():
        said.append(f"{letters[rate]:<10}{bill.number_text(rate):>5}{bill.money(net):>13}{bill.money(tax):>10}")
    clock = f"{bill.rng.randint(9, 19)}:{bill.rng.randint(10, 59)}"
    said += ["", f"{slip} {bill.number}", f"{bill.day(bill.issued)}  {clock}"]
    paper.lines(12, 25, said, 11)
    absent = ["due_date", "buyer", "customer_number", "iban", "tax_rate", "net_total", "tax_total"]
    return paper.done(bill.truth(*(absent[:5] if len(bill.taxes()) == 1 else absent)))


def utility_meter(name: str) -> Document:
    """Three boxes with the sums above, a table of the meter, and the priced lines below it."""
    bill, paper = Bill(HERE, name, 5), Paper()
    used = bill.rng.randint(900, 4200)
    for line in bill.lines:
        line.quantity = Decimal(used if line.unit == "kWh" else 12 if line.price and line.price > 8 else 2)
        line.amount = cents(line.quantity * (line.price or 0))
    paid = Decimal(int(bill.total) // 100 * 80)
    paper.text(50, 50, bill.seller, bold=True, size=15)
    paper.lines(50, 64, (f"{bill.streets[0]}, {bill.towns[0]}", f"{bill.label('vat_id')} {bill.vat_id}"), 10, size=7.5)
    paper.lines(50, 115, (bill.buyer, bill.streets[1], bill.towns[1]))
    paper.text(330, 100, bill.label("invoice"), bold=True, size=12)
    for at, (label, value) in enumerate(facts_of(bill)):
        paper.row(115 + 13 * at, ((330, "l"), (430, "l")), (label, value))
    boxes = [bill.money(one, True) for one in (bill.total, bill.total - paid)]
    boxes.insert(0, f"{bill.number_text(Decimal(used))} kWh")
    for at, value in enumerate(boxes):
        paper.box(50 + 170 * at, 190, 155, 52)
        paper.text(127 + 170 * at, 207, bill.label("boxes", at), "c")
        paper.text(127 + 170 * at, 230, value, "c", True, 14)
    meter = ((50.0, "l"), (280.0, "r"), (400.0, "r"), (545.0, "r"))
    before = Decimal(bill.rng.randint(8000, 70000))
    readings = [bill.number_text(one) for one in (before, before + used, Decimal(used))]
    paper.row(275, meter, [bill.label("meter", part) for part in range(4)], True)
    paper.rule(50, 280, 545)
    paper.row(294, meter, (f"1EMH{bill.rng.randint(10**7, 10**8)}", *readings))
    columns = ((50.0, "l"), (320.0, "r"), (430.0, "r"), (545.0, "r"))
    paper.row(330, columns, [bill.label(key) for key in ("description", "quantity", "price", "amount")], True)
    paper.rule(50, 335, 545)
    y = 350.0
    for line in bill.lines:
        shown = f"{bill.number_text(line.quantity)} {line.unit}"
        paper.row(y, columns, (line.description, shown, bill.money(line.price), bill.money(line.amount)))
        y += 15
    paper.rule(330, y - 8, 545)
    due = [(bill.label("paid"), "-" + bill.money(paid, True)), (bill.label("boxes", 2), boxes[2])]
    for label, amount in (*sums_of(bill, True), *due):
        paper.row(y + 6, ((330, "l"), (545, "r")), (label, amount))
        y += 15
    paper.text(50, 780, f"IBAN {bill.spaced_iban()}")
    return paper.done(bill.truth("tax_rate"))


def craft_groups(name: str) -> Document:
    """Labour and material as groups with a heading and a sum of their own."""
    bill, paper = Bill(HERE, name, 8), Paper(size=9.5, font="Times")
    paper.text(545, 50, bill.seller, "r", True, 13)
    paper.lines(545, 64, (bill.streets[0], bill.towns[0], f"{bill.label('vat_id')} {bill.vat_id}"), 11, align="r")
    paper.lines(50, 120, (bill.buyer, bill.streets[1], bill.towns[1]))
    paper.text(50, 190, "   ".join(f"{label}: {value}" for label, value in facts_of(bill)), size=8.5)
    columns = ((50.0, "l"), (70.0, "l"), (330.0, "r"), (340.0, "l"), (450.0, "r"), (545.0, "r"))
    heads = [bill.label(key) for key in ("description", "quantity", "price", "amount")]
    paper.row(220, columns, ("", heads[0], heads[1], "", heads[2], heads[3]), True)
    paper.rule(50, 225, 545)
    work = [line for line in bill.lines if line.unit in ("h", "forf", "ore", "corpo")]
    stuff = [line for line in bill.lines if line not in work]
    y = 242.0
    for part, group in enumerate((work, stuff)):
        paper.text(50, y, bill.label("groups", part), bold=True)
        for at, line in enumerate(group, 1):
            y += 14
            paper.row(y, columns, (
                f"{part + 1}.{at}", line.description, bill.number_text(line.quantity), line.unit,
                bill.money(line.price), bill.money(line.amount),
            ))  # fmt: skip
        y += 16
        held = bill.money(sum((line.amount for line in group), Decimal(0)))
        paper.row(y, ((340.0, "l"), (545.0, "r")), (f"{bill.label('groups', 2)} {bill.label('groups', part)}", held))
        y += 24
    for label, amount in sums_of(bill, True):
        paper.row(y, ((340, "l"), (545, "r")), (label, amount), True)
        y += 15
    paper.text(50, 800, f"IBAN: {bill.spaced_iban()}")
    bill.lines = work + stuff
    return paper.done(bill.truth("tax_rate"))


def side_by_side(name: str) -> Document:
    """The priced lines at the left, and payments so far beside them in a table of their own."""
    bill, paper = Bill(HERE, name, 6), Paper(size=8.5)
    paper.text(50, 50, bill.seller, bold=True, size=14)
    paper.text(50, 63, f"{bill.streets[0]}, {bill.towns[0]}, {bill.label('vat_id')} {bill.vat_id}", size=7.5)
    paper.lines(50, 110, (bill.buyer, bill.streets[1], bill.towns[1]))
    paper.text(320, 95, bill.label("invoice"), bold=True, size=12)
    for at, (label, value) in enumerate(facts_of(bill)):
        paper.row(110 + 12 * at, ((320, "l"), (430, "l")), (label, value))
    columns = ((50.0, "l"), (195.0, "r"), (270.0, "r"), (335.0, "r"))
    beside = ((385.0, "l"), (545.0, "r"))
    paper.text(385, 200, bill.label("beside", 0), bold=True)
    paper.row(216, columns, [bill.label(key) for key in ("description", "quantity", "price", "amount")], True)
    paper.row(216, beside, (bill.label("beside", 1), bill.label("beside", 2)), True)
    paper.rule(50, 221, 335)
    paper.rule(385, 221, 545)
    for at, line in enumerate(bill.lines):
        y = 236.0 + 15 * at
        cells = (line.description, bill.number_text(line.quantity), bill.money(line.price), bill.money(line.amount))
        paper.row(y, columns, cells)
        if at < 4:
            on = bill.issued - timedelta(30 * (4 - at) + bill.at)
            paper.row(y, beside, (bill.day(on), bill.money(Decimal(bill.rng.randint(20, 90)))))
    y = 246.0 + 15 * len(bill.lines)
    for label, amount in sums_of(bill, True):
        paper.row(y, ((130, "l"), (335, "r")), (label, amount))
        y += 14
    paper.text(50, 790, f"IBAN {bill.spaced_iban()}")
    return paper.done(bill.truth("tax_rate"))


def merged_docx(name: str) -> Document:
    """Cells over rows (the rate of all lines of a part) and over columns (headings of parts, labels of sums)."""
    bill, paper = Bill(HERE, name, 6), new_docx()
    for line in bill.lines[3:] if bill.at else ():
        line.rate = Decimal(RATES[bill.language][1])
    paper.add_heading(bill.seller, 1)
    paper.add_paragraph(f"{bill.streets[0]}, {bill.towns[0]}\n{bill.label('vat_id')} {bill.vat_id}")
    facts = paper.add_table(4, 3, "Table Grid")
    facts.cell(0, 0).merge(facts.cell(3, 0)).text = "\n".join((bill.buyer, bill.streets[1], bill.towns[1]))
    for row, pair in zip(facts.rows, facts_of(bill), strict=True):
        row.cells[1].text, row.cells[2].text = pair
    paper.add_paragraph(bill.label("invoice"))
    table = paper.add_table(1, 5, "Table Grid")
    for cell, key in zip(table.rows[0].cells, ("description", "quantity", "price", "rate", "amount"), strict=True):
        cell.text = bill.label(key)
    for part, group in enumerate((bill.lines[:3], bill.lines[3:])):
        row = table.add_row().cells
        row[0].merge(row[4]).text = bill.label("parts", part)
        _merged_group(table, bill, group)
    for label, amount in sums_of(bill, True):
        row = table.add_row().cells
        row[0].merge(row[3]).text, row[4].text = label, amount
    paper.add_paragraph(f"IBAN {bill.spaced_iban()}")
    stored = io.BytesIO()
    paper.save(stored)
    cells = [cell.text for one in paper.tables for row in one.rows for cell in row.cells]
    text = "\n".join([*(one.text for one in paper.paragraphs), *cells])
    return Document(stored.getvalue(), ".docx", text, bill.truth(*["tax_total"] * (len(bill.taxes()) > 1)))


def _merged_group(table: Any, bill: Bill, group: list[Line]) -> None:
    """Adds rows of which the rate is one cell."""
    first = len(table.rows)
    for line in group:
        row = table.add_row().cells
        row[0].text, row[1].text = line.description, f"{bill.number_text(line.quantity)} {line.unit}"
        row[2].text, row[4].text = bill.money(line.price), bill.money(line.amount)
    held = table.cell(first, 3).merge(table.cell(len(table.rows) - 1, 3))
    held.text = bill.number_text(group[0].rate)


LAYOUTS: Layouts = {
    till_receipt: ("en", "fr"), utility_meter: ("en", "it"), craft_groups: ("fr", "it"), merged_docx: ("de", "it"),
    side_by_side: ("de", "en"),
}  # fmt: skip
