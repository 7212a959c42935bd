"""Trade papers: a credit note from a line printer, and a freight forwarder's bill on a broad page."""

from __future__ import annotations

from decimal import Decimal as D

from paper import Sample, Sheet, cents, money
from reportlab.lib.pagesizes import A4, landscape
from truths import invoice, line, party


def credit() -> Sample:
    s = Sheet(font="Courier", points=9.5, title="CN 7731", creator="AS/400 spool")
    rows = [
        "BRIGHTWATER PUMPS & VALVES PLC                      *** CREDIT NOTE ***",
        "COLLIERY LANE                                       NUMBER    CN 7731",
        "CHESTERFIELD                                        DATE      19-NOV-23",
        "S41 9QD                                             ACCOUNT   ASHM01",
        "VAT NO. GB 127 6640 38                              OUR INV   118840",
        "                                                    YOUR REF  P/88213",
        "ASHMOLE BREWING CO LTD",
        "THE MALTINGS",
        "SHEPTON MALLET",
        "BA4 5LH",
        "",
        "PART NO      DESCRIPTION                    QTY    UNIT PRICE      VALUE",
        "------------------------------------------------------------------------",
        "GV-050-SS    GATE VALVE 50MM ST/STEEL        -2         86.20    -172.40",
        "DK-11        DIAPHRAGM KIT SERIES 11         -1         54.90     -54.90",
        "             RESTOCKING CHARGE                1         15.00      15.00",
        "------------------------------------------------------------------------",
        "                                             NETT                -212.30",
        "                                             VAT AT 20.0%         -42.46",
        "                                             TOTAL CREDIT   GBP  -254.76",
        "",
        "REASON: GOODS RETURNED UNUSED, RMA 23-0619.",
        "THIS AMOUNT WILL BE SET AGAINST YOUR NEXT STATEMENT. DO NOT PAY.",
    ]
    s.lines(60, 80, rows, 13.5)
    truth = invoice(
        "CN 7731", "2023-11-19", party("Brightwater Pumps & Valves PLC", "Colliery Lane", "S41 9QD",
                                       "Chesterfield",
                                       vat_id="GB127664038"),
        party("Ashmole Brewing Co Ltd", "The Maltings", "BA4 5LH", "Shepton Mallet"),
        [line("GATE VALVE 50MM ST/STEEL", -2, None, "86.2", "-172.4", article="GV-050-SS"),
         line("DIAPHRAGM KIT SERIES 11", -1, None, "54.9", "-54.9", article="DK-11"),
         line("RESTOCKING CHARGE", 1, None, 15, 15)], "GBP", order="P/88213",
        net="-212.3", tax="-42.46", gross="-254.76", due="-254.76")
    return Sample("docs/CN7731.pdf", s.pdf(), truth, {"line_items": [20], "amount_due": [0]})


FREIGHT = [("Ocean freight FCL 1x40'HC  Ningbo – Felixstowe", "2,150.00", "1", "0"),
           ("Terminal handling, destination", "225.00", "1", "0"),
           ("Customs clearance, import entry", "65.00", "1", "20"),
           ("Additional tariff headings", "6.50", "4", "20"),
           ("Haulage Felixstowe – Northampton NN4", "415.00", "1", "20"),
           ("Fuel surcharge 11.5%", "47.73", "1", "20")]


def freight() -> Sample:
    s = Sheet(landscape(A4), points=8.5, title="Forwarding invoice", creator="CargoWise One")
    s.text(40, 50, "TIDEWAY INTERNATIONAL FORWARDING LIMITED", 14, bold=True, color="#0b2d5c")
    s.text(40, 64, "Trelawny House, The Dock, Felixstowe, Suffolk IP11 3TF, United Kingdom    "
                   "VAT GB 902 5518 61", 8)
    s.text(802, 50, "TAX INVOICE  S00071844/A", 13, bold=True, align="right")
    s.rule(40, 72, 802, 1.2, "#0b2d5c")
    s.lines(40, 92, ["CONSIGNEE / INVOICE TO", "Hearthside Furnishings Ltd", "Brackmills Industrial Estate",
                     "Gowerton Road",
                     "Northampton NN4 7BW"], 11.5)
    cells = [("SHIPMENT", "S00071844"), ("HOUSE BILL", "TWIFNGB2408113"),
             ("VESSEL / VOYAGE", "EVER GLADE 0917W"), ("ETA", "28-Aug-24"),
             ("CONTAINER", "EITU9128834"), ("ORDER REF", "HF-PO-6620"), ("INVOICE DATE", "02-Sep-24"),
             ("DUE DATE", "16-Sep-24")]
    for i, (a, b) in enumerate(cells):
        x, y = 330 + (i % 4) * 118, 84 + (i // 4) * 34
        s.box(x, y, 118, 34, stroke="#8899aa")
        s.text(x + 4, y + 10, a, 6.5, color="#556677")
        s.text(x + 4, y + 25, b, 9)
    s.box(40, 172, 762, 16, fill="#dde5ef", stroke="")
    s.row(183, [(44, "CHARGE", "left"), (420, "UNITS", "right"), (500, "RATE GBP", "right"),
                (590, "NET GBP", "right"), (640, "VAT %", "right"),
                (710, "VAT GBP", "right"), (798, "TOTAL GBP", "right")], bold=True)
    y, net, vat, lines, with_tax = 204.0, D(0), D(0), [], []
    for text, rate, units, percent in FREIGHT:
        value = D(rate.replace(",", "")) * int(units)
        tax = cents(value * int(percent) / 100)
        net, vat = net + value, vat + tax
        s.row(y, [(44, text, "left"), (420, units, "right"), (500, rate, "right"),
                  (590, money(value), "right"), (640, percent, "right"),
                  (710, money(tax), "right"), (798, money(value + tax), "right")])
        lines.append(line(text.replace("  ", " "), units, None, rate.replace(",", ""), value, percent))
        with_tax.append(str(value + tax))
        y += 17
    s.rule(40, y - 6, 802)
    s.row(y + 8, [(500, "INVOICE TOTAL", "right"), (590, money(net), "right"), (710, money(vat), "right"),
                  (798, money(net + vat), "right")],
          bold=True)
    s.lines(40, y + 50, ["Remit to: Tideway International Forwarding Limited, Barclays Bank PLC",
                         "IBAN GB33 BUKB 2020 1555 5502 14   SWIFT BUKBGB22",
                         "Ocean freight of USD 2,730.50 converted at 1.2700. All business is transacted "
                         "under BIFA Standard Trading Conditions 2021."], 12)
    truth = invoice(
        "S00071844/A", "2024-09-02",
        party("Tideway International Forwarding Limited", "Trelawny House, The Dock", "IP11 3TF",
              "Felixstowe", "GB", "GB902551861"),
        party("Hearthside Furnishings Ltd", "Gowerton Road", "NN4 7BW", "Northampton"), lines, "GBP",
        due_date="2024-09-16",
        order="HF-PO-6620", iban="GB33BUKB20201555550214", net=net, tax=vat, gross=net + vat, due=net + vat)
    return Sample("docs/S00071844_A.pdf", s.pdf(), truth,
                  {"buyer": ["Brackmills Industrial Estate, Gowerton Road"],
                   "line_items": with_tax})


SAMPLES = [credit, freight]
