"""Invoices in English: British, Irish, American and Canadian houses, each with its own habits."""

from __future__ import annotations

from decimal import Decimal as D

from paper import Sample, Sheet, cents, money
from reportlab.lib.pagesizes import letter
from truths import invoice, line, party

CATERING = [  # code, product, case, quantity, price, VAT code
    ("BKR118", "Strong white bread flour 16kg", "sack", 6, "11.85", "Z"),
    ("OIL042", "Extended life rapeseed oil 20L", "box", 4, "31.40", "Z"),
    ("DAI007", "Unsalted butter 250g x 40", "case", 2, "74.20", "Z"),
    ("BEV210", "Still elderflower 330ml x 24", "case", 5, "18.96", "S"),
    ("CON305", "Dark chocolate callets 54% 5kg", "bag", 3, "42.75", "S"),
    ("CLN019", "Blue roll 2-ply 150m x 6", "pack", 8, "9.49", "S"),
    ("FRZ551", "Skin-on chips 12mm 2.27kg x 4", "case", 10, "12.10", "Z"),
]


def catering() -> Sample:
    s = Sheet(points=8.5, title="Invoice 40217", creator="Sage 50cloud Accounts")
    s.text(40, 56, "Pellgate", 26, bold=True, color="#1d4d2b")
    s.text(146, 56, "Catering Supplies Ltd", 13, color="#1d4d2b")
    s.lines(555, 44, ["Unit 14 Skelton Moor Trading Estate", "Leeds LS14 1AH", "Tel 0113 496 0182",
                      "VAT Reg No GB 384 1127 09"],
            11, align="right", points=8)
    s.text(40, 108, "INVOICE TO", 7.5, bold=True, color="#777777")
    s.lines(40, 121, ["The Cobbled Yard Bakery", "9 Bridge Street", "Otley", "West Yorkshire", "LS21 3BQ"],
            11.5)
    s.text(220, 108, "DELIVER TO", 7.5, bold=True, color="#777777")
    s.lines(220, 121, ["Cobbled Yard Production Kitchen", "Unit 3 Ilkley Road Mill", "Otley LS21 3JP"], 11.5)
    s.box(395, 98, 160, 74, fill="#eef4ef", stroke="#1d4d2b")
    for i, (a, b) in enumerate((("Invoice No", "40217"), ("Tax point", "04/03/2024"), ("Account", "COB004"),
                                ("Your order", "PO-2271 / Maya"), ("Van / drop", "7 / 12"))):
        s.text(402, 112 + 13 * i, a)
        s.text(548, 112 + 13 * i, b, align="right", bold=i == 0)
    y = 206.0
    s.box(40, y - 12, 515, 16, fill="#1d4d2b", stroke="")
    s.row(y, [(44, "Code", "left"), (92, "Product", "left"), (330, "Unit", "left"), (395, "Qty", "right"),
              (450, "Price", "right"),
              (500, "Value", "right"), (545, "VAT", "right")], bold=True, color="#ffffff")
    for i, (code, name, unit, quantity, price, vat) in enumerate(CATERING):
        y += 18
        if i % 2:
            s.box(40, y - 12, 515, 18, fill="#f5f7f5", stroke="")
        s.row(y, [(44, code, "left"), (92, name, "left"), (330, unit, "left"), (395, str(quantity), "right"),
                  (450, price, "right"), (500, money(quantity * D(price)), "right"), (545, vat, "right")])
    base = {v: sum(q * D(p) for *_, q, p, w in CATERING if w == v) for v in "SZ"}
    vat_total = cents(base["S"] * D("0.2"))
    goods = base["S"] + base["Z"]
    y += 40
    s.row(y, [(44, "VAT analysis", "left"), (180, "Goods", "right"), (240, "VAT", "right")], bold=True)
    s.row(y + 13, [(44, "S  20.00%", "left"), (180, money(base["S"]), "right"),
                   (240, money(vat_total), "right")])
    s.row(y + 26, [(44, "Z  0.00%", "left"), (180, money(base["Z"]), "right"), (240, "0.00", "right")])
    for i, (a, b) in enumerate((("Goods total", goods), ("VAT", vat_total),
                                ("TOTAL  GBP", goods + vat_total))):
        s.text(400, y + 14 * i, a, bold=i == 2)
        s.text(545, y + 14 * i, money(b), bold=i == 2, align="right")
    s.paragraph(40, y + 70, 515, "Terms strictly 30 days from tax point. Shortages and damage must be "
                                 "notified within 24 hours "
                "of delivery. Title to the goods does not pass until they are paid for in full.", points=7.5,
                color="#555555")
    s.text(40, y + 104, "BACS: Sort code 40-27-15  Account 71440286  (Pellgate Catering Supplies Ltd)", 8.5,
           bold=True)
    s.text(298, 815, "Registered in England No. 06114429", 7, align="centre", color="#777777")
    truth = invoice(
        "40217", "2024-03-04",
        party("Pellgate Catering Supplies Ltd", "Unit 14 Skelton Moor Trading Estate", "LS14 1AH", "Leeds",
              vat_id="GB384112709"),
        party("The Cobbled Yard Bakery", "9 Bridge Street", "LS21 3BQ", "Otley"),
        [line(n, q, u, p, q * D(p), 20 if v == "S" else 0, c) for c, n, u, q, p, v in CATERING], "GBP",
        order="PO-2271 / Maya", net=goods, tax=vat_total, gross=goods + vat_total, due=goods + vat_total)
    return Sample("docs/invoice_40217.pdf", s.pdf(), truth, {"order_reference": ["PO-2271"]})


STUDIO = [("Brand workshop, two days on site", "2", "1,850.00"),
          ("Logo system and usage guide", "1", "4,200.00"),
          ("Packaging dielines (set of 3)", "3", "640.00"), ("Printed sample kit", "25", "18.40")]


def studio() -> Sample:
    s = Sheet(letter, points=10, title="INV-0098", creator="QuickBooks Online")
    s.text(54, 74, "Juniper & Vale Design, LLC", 18, bold=True)
    s.lines(54, 92, ["1420 NE Alberta Street, Suite 210", "Portland, OR 97211",
                     "billing@junipervale.example  |  (503) 555-0148"], 13,
            color="#555555")
    s.text(558, 78, "INVOICE", 26, align="right", color="#c4673a")
    s.text(54, 168, "Bill To", bold=True, color="#c4673a")
    s.lines(54, 182, ["Cascade Kettle Foods Inc.", "Attn: Accounts Payable", "88 Harbor Way",
                      "Tacoma, WA 98402"], 13)
    s.text(230, 168, "Ship To", bold=True, color="#c4673a")
    s.lines(230, 182, ["Cascade Kettle Foods Inc.", "Marketing, Dock 4", "2100 Port Center Rd",
                       "Tacoma, WA 98421"], 13)
    for i, (a, b) in enumerate((("Invoice #", "INV-0098"), ("Invoice Date", "10/07/2024"),
                                ("Due Date", "11/06/2024"),
                                ("P.O. #", "4500018827"), ("Terms", "Net 30"))):
        s.text(470, 168 + 14 * i, a, bold=True, align="right")
        s.text(558, 168 + 14 * i, b, align="right")
    s.rule(54, 256, 558, 1, "#c4673a")
    s.row(271, [(54, "Description", "left"), (380, "Qty", "right"), (460, "Rate", "right"),
                (558, "Amount", "right")], bold=True)
    s.rule(54, 278, 558, 1, "#c4673a")
    y, net = 298.0, D(0)
    for text, quantity, rate in STUDIO:
        amount = D(quantity) * D(rate.replace(",", ""))
        net += amount
        s.row(y, [(54, text, "left"), (380, quantity, "right"), (460, rate, "right"),
                  (558, money(amount), "right")])
        s.rule(54, y + 7, 558, 0.3, "#cccccc")
        y += 22
    tax = cents(D("2380.00") * D("0.1035"))
    y += 10
    for a, b in (("Subtotal", money(net)), ("Sales tax (10.35% on tangible goods)", money(tax)),
                 ("Total", "$" + money(net + tax)),
                 ("Deposit received 09/16/2024", "-5,000.00")):
        s.text(460, y, a, align="right", bold=a == "Total")
        s.text(558, y, b, align="right", bold=a == "Total")
        y += 16
    due = net + tax - 5000
    s.box(330, y - 4, 228, 24, fill="#c4673a", stroke="")
    s.text(460, y + 12, "Balance Due", 11, bold=True, align="right", color="#ffffff")
    s.text(552, y + 12, "$" + money(due), 11, bold=True, align="right", color="#ffffff")
    s.paragraph(54, 640, 504, "Thank you for your business! Please make checks payable to Juniper & Vale "
                              "Design, LLC or pay by ACH "
                "(routing 123000848, account 153792204). A late fee of 1.5% per month applies after the due "
                "date.", color="#555555")
    truth = invoice(
        "INV-0098", "2024-10-07", party("Juniper & Vale Design, LLC", "1420 NE Alberta Street, Suite 210",
                                        "97211", "Portland"),
        party("Cascade Kettle Foods Inc.", "88 Harbor Way", "98402", "Tacoma"),
        [line(t, q, None, r.replace(",", ""), D(q) * D(r.replace(",", ""))) for t, q, r in STUDIO], "USD",
        due_date="2024-11-06",
        order="4500018827", net=net, tax=tax, gross=net + tax, due=due)
    return Sample("docs/INV-0098_JuniperVale.pdf", s.pdf(), truth, {"line_items": [10.35]})


def solicitor() -> Sample:
    s = Sheet(font="Times-Roman", points=11, title="Bill of costs", creator="Microsoft Word",
              producer="Microsoft: Print To PDF")
    s.text(298, 70, "CORMAC DELANEY & ASSOCIATES", 15, bold=True, align="centre")
    s.text(298, 85, "SOLICITORS · COMMISSIONERS FOR OATHS", 8.5, align="centre")
    s.text(298, 98, "12 Eyre Square, Galway, H91 FP40 · DX 4502 Galway · info@delaneylaw.example", 8.5,
           align="centre")
    s.rule(72, 106, 523)
    s.lines(72, 142, ["Brannock Seafoods Ltd", "The Docks", "Rossaveel", "Co. Galway", "H91 K2Y3"], 14)
    s.text(523, 142, "22nd January 2024", align="right")
    s.lines(72, 228, ["Our ref: CD/mf/BRA-0417", "Bill no. 24/0032"], 14)
    s.text(72, 270, "RE: Purchase of cold store premises at Inverin – professional services", bold=True)
    y = s.paragraph(72, 292, 451, "TO OUR PROFESSIONAL CHARGES in acting on your behalf in the above matter "
                                  "from September 2023 to "
                    "date, including investigation of title, requisitions, negotiation of the contract and "
                    "attendance on "
                    "completion, as agreed in our letter of 11th September 2023:", 15)
    y += 12
    entries = [("Professional fee", "6,750.00"), ("VAT on professional fee @ 23%", "1,552.50"), ("", ""),
               ("Outlay (not liable to VAT):", ""), ("Tailte Éireann registration fee", "800.00"),
               ("Commissioner's fees", "60.00"),
               ("Planning and judgment searches", "148.50")]
    for a, b in entries:
        s.text(90, y, a)
        s.text(500, y, b, align="right")
        y += 16
    s.rule(420, y - 10, 500)
    s.text(90, y + 6, "Total due", bold=True)
    s.text(500, y + 6, "€9,311.00", bold=True, align="right")
    s.rule(420, y + 11, 500)
    s.rule(420, y + 13, 500)
    s.paragraph(72, y + 50, 451, "Payment may be made by electronic transfer to our office account with "
                                 "Bank of Ireland, IBAN "
                "IE64 BOFI 9038 1612 4485 70, quoting the bill number. VAT registration IE 6388 1047 V. E. "
                "& O. E.", 15)
    s.text(72, y + 120, "_______________________________")
    s.text(72, y + 136, "Cormac Delaney, principal")
    truth = invoice(
        "24/0032", "2024-01-22", party("Cormac Delaney & Associates", "12 Eyre Square", "H91 FP40", "Galway",
                                       vat_id="IE63881047V"),
        party("Brannock Seafoods Ltd", "The Docks", "H91 K2Y3", "Rossaveel"),
        [line("Professional fee", line_total="6750", tax_rate=23),
         line("Tailte Éireann registration fee", line_total=800),
         line("Commissioner's fees", line_total=60),
         line("Planning and judgment searches", line_total="148.5")], "EUR",
        iban="IE64BOFI90381612448570", tax="1552.5", gross=9311, due=9311)
    return Sample("docs/bill_24-0032.pdf", s.pdf(), truth,
                  {"net_total": ["7758.50"], "line_items": [0], "buyer": ["Co. Galway"]})


SEATS = [("Team plan, annual, 18 seats", "Oct 12, 2024 – Oct 11, 2025", 18, "168.00"),
         ("Audit log add-on", "Oct 12, 2024 – Oct 11, 2025",
         1, "540.00"), ("Extra storage 500 GB", "Sep 1 – Sep 30, 2024", 2, "24.50")]


def software() -> Sample:
    s = Sheet(font="Vera", points=8, title="Invoice MPL-2024-553190", creator="Chromium",
              producer="Skia/PDF m121")
    s.text(48, 64, "Invoice", 20, bold=True)
    s.text(547, 62, "mapleboard", 17, bold=True, align="right", color="#4b2fd0")
    for i, (a, b) in enumerate((("Invoice number", "MPL-2024-553190"), ("Date of issue", "October 12, 2024"),
                                ("Date due", "October 26, 2024"))):
        s.text(48, 92 + 13 * i, a, bold=True)
        s.text(150, 92 + 13 * i, b)
    s.lines(48, 152, ["Mapleboard Software Corp.", "200 King Street West, Floor 11",
                      "Toronto, Ontario M5H 3T4", "Canada",
                      "ar@mapleboard.example"], 12)
    s.text(300, 152, "Bill to", bold=True)
    s.lines(300, 164, ["Vermeulen Logistiek B.V.", "Waalhaven Zuidzijde 62", "3089 JH Rotterdam",
                       "Netherlands",
                       "NL VAT NL861204477B01"], 12)
    total = sum(n * D(p) for *_, n, p in SEATS)
    s.text(48, 260, f"${money(total)} USD due October 26, 2024", 13, bold=True)
    s.row(300, [(48, "Description", "left"), (380, "Qty", "right"), (460, "Unit price", "right"),
                (547, "Amount", "right")],
          color="#666666", points=7)
    s.rule(48, 306, 547)
    y = 324.0
    for text, period, n, price in SEATS:
        s.row(y, [(48, text, "left"), (380, str(n), "right"), (460, f"${price}", "right"),
                  (547, f"${money(n * D(price))}", "right")])
        s.text(48, y + 11, period, 6.5, color="#666666")
        y += 32
    for a, b in (("Subtotal", total), ("Tax (reverse charge)", D(0)), ("Total", total),
                 ("Amount due", total)):
        s.rule(300, y - 11, 547, 0.3, "#cccccc")
        s.text(300, y, a, bold=a == "Amount due")
        s.text(547, y, f"${money(b)}" + (" USD" if a == "Amount due" else ""), align="right",
               bold=a == "Amount due")
        y += 17
    s.paragraph(48, y + 30, 480, "VAT reverse charged to the recipient under Article 196 of Council "
                                 "Directive 2006/112/EC. Wire "
                "payments: quote the invoice number.", color="#666666", points=7)
    s.text(547, 815, "Page 1 of 1", 6.5, align="right", color="#666666")
    truth = invoice(
        "MPL-2024-553190", "2024-10-12",
        party("Mapleboard Software Corp.", "200 King Street West, Floor 11", "M5H 3T4", "Toronto", "CA"),
        party("Vermeulen Logistiek B.V.", "Waalhaven Zuidzijde 62", "3089 JH", "Rotterdam", "NL",
              "NL861204477B01"),
        [line(t, n, None, p, n * D(p)) for t, _, n, p in SEATS], "USD", due_date="2024-10-26", net=total,
        tax=0, gross=total, due=total)
    return Sample("docs/Invoice-MPL-2024-553190.pdf", s.pdf(), truth)


SAMPLES = [catering, studio, solicitor, software]
