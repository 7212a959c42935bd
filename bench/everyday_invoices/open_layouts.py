"""The five open layouts: each draws the document of a name (layout, language, 0 or 1)."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from email.message import EmailMessage
from email.utils import format_datetime

from bench.everyday_invoices.bill import HERE, Bill, Line, cents
from bench.everyday_invoices.paper import Document, Layouts, Paper


def letter_head(paper: Paper, bill: Bill, right: float) -> None:
    """Draws the seller, its address in one small line above the addressee, and the addressee."""
    paper.text(right, 50, bill.seller, "r", True, 14)
    paper.text(50, 110, f"{bill.seller} · {bill.streets[0]} · {bill.towns[0]}", size=6.5)
    paper.lines(50, 128, (bill.buyer, bill.streets[1], bill.towns[1]))


def facts_of(bill: Bill) -> list[tuple[str, str]]:
    """Returns the labels and values of number, date, due date and customer."""
    values = (bill.number, bill.day(bill.issued), bill.day(bill.due_on), bill.customer)
    return [(bill.label(key), value) for key, value in zip(("number", "date", "due", "customer"), values, strict=True)]


def sums_of(bill: Bill, sign: bool = False) -> list[tuple[str, str]]:
    """Returns the labels and amounts of net, the tax of each rate, and total."""
    taxes = [
        (f"{bill.label('tax')} {bill.number_text(rate)} %", bill.money(tax, sign))
        for rate, (_, tax) in bill.taxes().items()
    ]
    net, total = (bill.label("net"), bill.money(bill.net, sign)), (bill.label("total"), bill.money(bill.total, sign))
    return [net, *taxes, total]


def service_box(name: str) -> Document:
    """Facts with labels above values in a ruled grid, sums in a box, and a payment slip at the foot."""
    bill, paper = Bill(HERE, name, 5), Paper()
    letter_head(paper, bill, 545)
    for at, (label, value) in enumerate(facts_of(bill)):
        x, y = 355 + at % 2 * 95, 105.0 + at // 2 * 32
        paper.box(x, y, 95, 32)
        paper.text(x + 5, y + 11, label, size=7)
        paper.text(x + 5, y + 25, value, bold=True)
    paper.text(50, 230, bill.label("invoice"), bold=True, size=16)
    columns = ((50.0, "l"), (350.0, "r"), (440.0, "r"), (540.0, "r"))
    paper.row(262, columns, [bill.label(key) for key in ("description", "quantity", "price", "amount")], True)
    paper.rule(50, 267, 545)
    y = 283.0
    for line in bill.lines:
        shown = f"{bill.number_text(line.quantity)} {line.unit}"
        paper.row(y, columns, (line.description, shown, bill.money(line.price), bill.money(line.amount)))
        y += 17
    paper.box(355, y + 12, 190, 20 * 3)
    for at, (label, amount) in enumerate(sums_of(bill, True)):
        paper.row(y + 26 + 20 * at, ((362, "l"), (538, "r")), (label, amount), at == 2)
    paper.text(50, y + 26, bill.label("pay"))
    paper.text(50, 590, f"{bill.label('vat_id')} {bill.vat_id}", size=7)
    paper.rule(0, 610, 595, True)
    slip = [bill.label("slip", part) for part in range(4)]
    paper.text(50, 630, slip[0], bold=True, size=11)
    boxes = ((slip[1], bill.seller), ("IBAN", bill.spaced_iban()), (slip[2], bill.number),
             (slip[3], bill.money(bill.total)))  # fmt: skip
    for at, (label, value) in enumerate(boxes):
        x, y = 50 + at % 2 * 260, 645.0 + at // 2 * 45
        paper.box(x, y, 235, 36)
        paper.text(x + 4, y + 10, label, size=6.5)
        paper.text(x + 8, y + 27, value, size=11)
    return paper.done(bill.truth("tax_rate"))


def wholesale(name: str) -> Document:
    """Eight columns with discount and tax code, a freight line with blank cells, and a table of the taxes."""
    bill, paper = Bill(HERE, name, 7, rates=2), Paper(size=8)
    for line in bill.lines:
        line.discount = bill.rng.choice((0, 0, 3, 5, 10))
        line.amount = cents(line.amount * (100 - line.discount) / 100)
    bill.lines.append(Line(bill.label("freight"), None, "", None, bill.lines[0].rate, Decimal("18.50") + bill.at * 9))
    paper.text(50, 48, bill.seller, bold=True, size=13)
    paper.text(50, 62, f"{bill.streets[0]}, {bill.towns[0]}   {bill.label('vat_id')}: {bill.vat_id}")
    paper.lines(50, 110, (bill.buyer, bill.streets[1], bill.towns[1]))
    for at, (label, value) in enumerate(facts_of(bill)):
        paper.row(110 + 12 * at, ((380, "l"), (545, "r")), (label, value))
    paper.text(50, 185, f"{bill.label('invoice')} {bill.number}", bold=True, size=12)
    columns = ((50.0, "l"), (100.0, "l"), (312.0, "r"), (320.0, "l"), (405.0, "r"), (450.0, "r"), (480.0, "r"),
               (545.0, "r"))  # fmt: skip
    heads = [bill.label(key) for key in ("article", "description", "quantity", "price", "discount", "code", "amount")]
    paper.rule(50, 200, 545)
    paper.row(211, columns, [*heads[:3], "", *heads[3:]], True)
    paper.rule(50, 216, 545)
    codes = {rate: str(at + 1) for at, rate in enumerate(bill.taxes())}
    for at, line in enumerate(bill.lines):
        article = str(bill.rng.randint(10000, 99999)) if line.quantity else ""
        paper.row(229 + 15 * at, columns, (
            article, line.description, bill.number_text(line.quantity), line.unit, bill.money(line.price),
            str(line.discount or ""), codes[line.rate] if line.quantity else "", bill.money(line.amount),
        ))  # fmt: skip
        paper.rule(50, 233 + 15 * at, 545)
    y = 250.0 + 15 * len(bill.lines)
    for label, amount in sums_of(bill):
        paper.row(y, ((400, "l"), (545, "r")), (label, amount))
        y += 13
    small = ((50.0, "l"), (130.0, "r"), (210.0, "r"), (280.0, "r"))
    paper.row(y + 20, small, (bill.label("code"), "%", bill.label("net"), bill.label("tax")), True)
    for at, (rate, (net, tax)) in enumerate(bill.taxes().items()):
        cells = (codes[rate], bill.number_text(rate), bill.money(net), bill.money(tax))
        paper.row(y + 34 + 12 * at, small, cells)
    paper.text(50, 800, f"IBAN {bill.spaced_iban()}   EUR")
    return paper.done(bill.truth("tax_rate", *(["tax_total"] if len(codes) > 1 else [])))


def hotel_folio(name: str) -> Document:
    """Charges by day with debit, credit and balance; payments stand among them, and tax is within the sum."""
    bill, paper = Bill(HERE, name, 8, gross=True), Paper(size=9)
    paper.text(297, 50, bill.seller, "c", True, 15)
    paper.text(297, 64, f"{bill.streets[0]} - {bill.towns[0]} - {bill.label('vat_id')} {bill.vat_id}", "c", size=7.5)
    paper.lines(50, 100, (bill.buyer, bill.streets[1], bill.towns[1]))
    leaving = bill.issued
    arriving = leaving - timedelta(3)
    room = str(bill.rng.randint(101, 540))
    stay = [bill.label("stay", part) for part in range(3)]
    facts = [*facts_of(bill)[:2], (stay[0], room), (stay[1], bill.day(arriving)), (stay[2], bill.day(leaving))]
    for at, (label, value) in enumerate(facts):
        paper.text(360, 100 + 13 * at, f"{label} : {value}")
    columns = ((50.0, "l"), (120.0, "l"), (380.0, "r"), (460.0, "r"), (545.0, "r"))
    paper.row(195, columns, [bill.label("folio", part) for part in range(5)], True)
    paper.rule(50, 199, 545)
    charges = []
    for line in bill.lines:
        line.amount = line.price = line.price or Decimal(1)
        nights = 3 if line is bill.lines[0] or line is bill.lines[1] else 1
        charges += [(bill.rng.randrange(3) if nights == 1 else night, line) for night in range(nights)]
    charges.sort(key=lambda one: one[0])
    bill.lines = [line for _, line in charges]
    down = Decimal(50 + 30 * bill.at)
    entries: list[tuple[date, str, Decimal | None, Decimal | None]] = [(arriving, bill.label("paid"), None, down)]
    entries += [(arriving + timedelta(night), line.description, line.amount, None) for night, line in charges]
    entries.append((leaving, bill.label("paid"), None, bill.total - down))
    balance, y = Decimal(0), 215.0
    for on, what, debit, credit in entries:
        balance += (debit or 0) - (credit or 0)
        paper.row(y, columns, (bill.day(on), what, bill.money(debit), bill.money(credit), bill.money(balance)))
        y += 15
    paper.rule(50, y - 8, 545)
    for part, amount in enumerate((bill.total, bill.tax, bill.net)):
        paper.row(y + 8 + 14 * part, ((240, "l"), (380, "r")), (bill.label("within", part), bill.money(amount, True)))
    return paper.done(bill.truth("due_date", "customer_number", "iban", "quantity", "unit_price", "tax_rate"))


def mail_prices(name: str) -> Document:
    """A mail whose sentences name the priced lines."""
    bill = Bill(HERE, name, 4)
    message = EmailMessage()
    message["From"] = f'"{bill.seller}" <office@shop{bill.rng.randint(10, 99)}.example>'
    message["To"] = f'"{bill.buyer}" <info@client.example>'
    message["Subject"] = f"{bill.label('invoice')} {bill.number}"
    issued = bill.issued
    message["Date"] = format_datetime(datetime(issued.year, issued.month, issued.day, 9, 30))
    (rate,) = bill.taxes()
    named = {
        "number": bill.number, "date": bill.day(issued), "due": bill.day(bill.due_on), "iban": bill.spaced_iban(),
        "seller": bill.seller, "rate": bill.number_text(rate), "net": bill.money(bill.net, True),
        "tax": bill.money(bill.tax, True), "total": bill.money(bill.total, True),
    }  # fmt: skip
    each = [
        ("- " if bill.at else "") + bill.label("each").format(
            quantity=bill.number_text(line.quantity), unit=line.unit, description=line.description,
            price=bill.money(line.price, True), amount=bill.money(line.amount, True),
        )
        for line in bill.lines
    ]  # fmt: skip
    head, sums, to = (bill.label(key).format(**named) for key in ("mail", "sums", "to"))
    foot = f"{bill.seller}\n{bill.streets[0]}, {bill.towns[0]}\n{bill.label('vat_id')} {bill.vat_id}"
    body = "\n\n".join((bill.label("hello"), head, "\n".join(each), sums, to, f"-- \n{foot}"))
    message.set_content(body)
    return Document(bytes(message), ".eml", body, bill.truth("customer_number", "tax_rate"))


def carried_landscape(name: str) -> Document:
    """A wide page, descriptions wrapped over three lines, and the sum carried to the second page."""
    bill, paper = Bill(HERE, name, 9), Paper(842, 595, "Times", 9.5)
    letter_head(paper, bill, 790)
    for at, (label, value) in enumerate(facts_of(bill)):
        paper.text(560, 110 + 13 * at, f"{label}: {value}")
    paper.text(50, 190, f"{bill.label('invoice')} {bill.number}", bold=True, size=13)
    columns = ((50.0, "l"), (80.0, "l"), (430.0, "r"), (440.0, "l"), (620.0, "r"), (790.0, "r"))

    def heads(y: float) -> None:
        named = [bill.label(key) for key in ("description", "quantity", "price", "amount")]
        paper.row(y, columns, ("#", named[0], named[1], "", named[2], named[3]), True)
        paper.rule(50, y + 5, 790)

    def carry(y: float) -> None:
        paper.row(y, columns, ("", bill.label("carried"), "", "", "", bill.money(carried, True)), True)

    heads(212)
    y, carried = 230.0, Decimal(0)
    for at, line in enumerate([*bill.lines, None], 1):
        wrapped = paper.broken(line.description, 270) if line else []
        # The sums and what stands below them need more room than a line.
        if y + (12 * len(wrapped) if line else 90) > 530:
            carry(545)
            paper.text(790, 575, f"{bill.label('page')} 1", "r")
            paper.turn()
            heads(60)
            carry(80)
            y = 100.0
        if line:
            cells = (str(at), wrapped[0], bill.number_text(line.quantity), line.unit, bill.money(line.price),
                     bill.money(line.amount))  # fmt: skip
            paper.row(y, columns, cells)
            y = paper.lines(80, y + 12, wrapped[1:]) + 6
            carried += line.amount
    paper.rule(560, y, 790)
    for label, amount in sums_of(bill, True):
        y += 14
        paper.row(y, ((560, "l"), (790, "r")), (label, amount))
    paper.lines(50, y + 30, (bill.label("pay"), f"{bill.seller}  IBAN: {bill.spaced_iban()}"))
    paper.text(50, y + 54, f"{bill.label('vat_id')}: {bill.vat_id}")
    paper.text(790, 575, f"{bill.label('page')} 2", "r")
    return paper.done(bill.truth("tax_rate"))


LAYOUTS: Layouts = {
    carried_landscape: ("de", "en"), hotel_folio: ("fr", "it"), mail_prices: ("de", "it"), service_box: ("en", "fr"),
    wholesale: ("de", "fr"),
}  # fmt: skip
