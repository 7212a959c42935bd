"""Invoices in German: a joiner's letter, a hotel bill in francs, an electrical wholesaler's two pages."""

from __future__ import annotations

from decimal import Decimal as D

from paper import Sample, Sheet, cents, flow, money
from reportlab.lib.colors import HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import Paragraph, Spacer, Table, TableStyle
from truths import invoice, line, party

# description, quantity, unit, price of one
JOINER_LINES = [
    ("Einbauschrank Eiche furniert, Flur OG, nach Aufmaß", D(1), "St.", D("2480.00")),
    ("Schiebetürbeschlag Hawa Junior 80, 2-flg.", D(2), "St.", D("214.50")),
    ("Montage vor Ort (2 Monteure)", D("11.5"), "Std.", D("58.00")),
    ("Anfahrt / Entsorgung Verpackung", D(1), "psch.", D("65.00")),
]


def joiner() -> Sample:
    s = Sheet(points=9.5, title="Rechnung", author="Tischlerei Wiesner", producer="LibreOffice 7.5")
    s.text(60, 62, "TISCHLEREI WIESNER", 17, font="Times-Bold", color="#5b3a1e")
    s.text(60, 77, "Möbel · Innenausbau · Restaurierung", 9, font="Times-Italic", color="#5b3a1e")
    s.rule(60, 86, 535, 1.2, "#5b3a1e")
    s.text(60, 141, "Tischlerei Wiesner · Am Anger 7 · 99423 Weimar", 6.5, color="#555555")
    s.lines(60, 158, ["Frau", "Dr. Annegret Pohlmann", "Cranachstraße 31", "99423 Weimar"], 13)
    y = 158
    for label, value in (("Rechnung", "2024/0187"), ("Datum", "11.06.2024"), ("Kunde", "10442"),
                         ("Leistungszeitraum", "03.06.–07.06.2024")):
        s.text(360, y, label)
        s.text(535, y, value, align="right")
        y += 13
    s.text(60, 262, "Ihr Auftrag vom 18. April – Einbauschrank Flur", 11, bold=True)
    y = s.paragraph(60, 284, 475, "Sehr geehrte Frau Dr. Pohlmann, für die ausgeführten Arbeiten erlaube "
                                  "ich mir, wie "
                    "vereinbart zu berechnen:")
    y += 8
    s.row(y, [(60, "Pos", "left"), (84, "Leistung", "left"), (368, "Menge", "right"),
              (450, "Einzelpreis", "right"),
              (535, "Betrag", "right")], bold=True)
    s.rule(60, y + 4, 535)
    y += 18
    for number, (name, quantity, unit, price) in enumerate(JOINER_LINES, 1):
        amount = money(quantity.normalize(), "de", 1) if quantity % 1 else str(quantity)
        s.row(y, [(60, str(number), "left"), (84, name, "left"), (368, f"{amount} {unit}", "right"),
                  (450, money(price, "de"), "right"), (535, money(quantity * price, "de"), "right")])
        y += 17
    net = sum(q * p for _, q, _, p in JOINER_LINES)
    tax = cents(net * D("0.19"))
    s.rule(340, y - 6, 535)
    for label, value, bold in (("Zwischensumme", net, False), ("zzgl. 19 % MwSt.", tax, False),
                               ("Rechnungsbetrag", net + tax, True)):
        y += 9
        s.text(344, y, label, bold=bold)
        s.text(535, y, money(value, "de") + " €", align="right", bold=bold)
        y += 7
    y = s.paragraph(60, y + 34, 475, "Zahlbar ohne Abzug bis zum 25.06.2024 auf das unten genannte Konto. "
                                     "Bitte geben Sie "
                    "die Rechnungsnummer an. Hinweis nach § 14 UStG: Privatpersonen bewahren diese Rechnung "
                    "zwei Jahre auf.")
    s.lines(60, y + 20, ["Mit freundlichen Grüßen", "", "Jörg Wiesner, Tischlermeister"], 14)
    s.rule(60, 770, 535, 0.5, "#5b3a1e")
    for x, rows in ((60, ["Tischlerei Wiesner", "Am Anger 7", "99423 Weimar"]),
                    (200, ["Tel. 03643 518 22 07", "werkstatt@wiesner-holz.example", "Inh. Jörg Wiesner"]),
                    (370, ["Sparkasse Mittelthüringen", "DE71 8205 1000 0163 0229 84",
                           "USt-IdNr. DE 150 873 442"])):
        s.lines(x, 782, rows, 10, points=7.5, color="#444444")
    truth = invoice(
        "2024/0187", "2024-06-11",
        party("Tischlerei Wiesner", "Am Anger 7", "99423", "Weimar", vat_id="DE150873442"),
        party("Dr. Annegret Pohlmann", "Cranachstraße 31", "99423", "Weimar"),
        [line(name, q, u, p, q * p) for name, q, u, p in JOINER_LINES], "EUR", due_date="2024-06-25",
        iban="DE71820510000163022984", net=net, tax=tax, gross=net + tax, due=net + tax)
    also = {"line_items": [19], "seller": ["Jörg Wiesner"],
            "buyer": ["Frau Dr. Annegret Pohlmann", "Annegret Pohlmann"]}
    return Sample("docs/rechnung_2024-0187_wiesner.pdf", s.pdf(), truth, also)


HOTEL_LINES = [  # date, text, number, price of one, tax rate
    ("14.02.24", "Doppelzimmer Seeblick, inkl. Frühstück", 1, D("245.00"), "3.8"),
    ("14.02.24", "Restaurant «Stüva» Tisch 12", 1, D("134.50"), "8.1"),
    ("15.02.24", "Doppelzimmer Seeblick, inkl. Frühstück", 1, D("245.00"), "3.8"),
    ("15.02.24", "Parkgarage", 2, D("18.00"), "8.1"),
    ("15.02.24", "Minibar", 1, D("14.00"), "8.1"),
]
HOTEL_TAXES = {"3.8": (D("472.06"), D("17.94")), "8.1": (D("170.68"), D("13.82"))}


def hotel() -> Sample:
    s = Sheet(font="Times-Roman", points=10, title="Rechnung / Invoice", author="Hotel Arvenhof",
              creator="Protel Air")
    s.text(298, 60, "H O T E L   A R V E N H O F", 16, align="centre", color="#23413a")
    s.text(298, 76, "Via Maistra 44 · 7504 Pontresina · Schweiz", 9, align="centre")
    s.text(298, 88, "CHE-114.882.907 MWST", 8, align="centre")
    s.lines(70, 140, ["Herr", "Lorenzo Bianchi", "c/o Bianchi & Figli SA", "Via Nassa 15", "6900 Lugano"], 13)
    for y, a, b in ((140, "Rechnung Nr.", "58 114"), (153, "Zimmer", "207"), (166, "Anreise", "14.02.2024"),
                    (179, "Abreise", "16.02.2024"), (192, "Personen", "2")):
        s.text(370, y, a)
        s.text(525, y, b, align="right")
    s.text(70, 240, "Pontresina, 16. Februar 2024", 10)
    s.box(70, 256, 455, 18, fill="#e6ece9", stroke="")
    s.row(269, [(76, "Datum", "left"), (136, "Leistung", "left"), (350, "Anz.", "right"),
                (420, "Preis", "right"),
                (455, "MWST", "right"), (519, "CHF", "right")], bold=True)
    y = 290.0
    for day, text, number, price, rate in HOTEL_LINES:
        s.row(y, [(76, day, "left"), (136, text, "left"), (350, str(number), "right"),
                  (420, money(price, "ch"), "right"),
                  (455, rate + "%", "right"), (519, money(price * number, "ch"), "right")])
        y += 16
    total = sum(p * n for _, _, n, p, _ in HOTEL_LINES)
    s.rule(70, y - 6, 525, 0.8)
    s.row(y + 8, [(136, "Total inkl. MWST", "left"), (519, "CHF " + money(total, "ch"), "right")], bold=True)
    s.row(y + 24, [(136, "Anzahlung Kreditkarte 02.01.2024", "left"), (519, "-200.00", "right")])
    s.row(y + 40, [(136, "Bezahlt Visa **** 4417", "left"), (519, "-" + money(total - 200, "ch"), "right")])
    s.row(y + 56, [(136, "Offener Saldo", "left"), (519, "0.00", "right")], bold=True)
    y += 92
    s.row(y, [(76, "MWST-Satz", "left"), (240, "Netto", "right"), (320, "MWST", "right"),
              (400, "Brutto", "right")], points=8.5)
    for rate, (net, tax) in HOTEL_TAXES.items():
        y += 13
        s.row(y, [(76, rate + " %", "left"), (240, money(net, "ch"), "right"),
                  (320, money(tax, "ch"), "right"),
                  (400, money(net + tax, "ch"), "right")], points=8.5)
    s.text(298, 740, "Wir danken für Ihren Aufenthalt und freuen uns auf ein Wiedersehen in Pontresina.", 10,
           align="centre",
           font="Times-Italic")
    s.text(298, 790, "Tel. +41 81 838 99 20 · reception@arvenhof.example · IBAN CH58 0077 4010 3512 9800 1",
           8, align="centre")
    truth = invoice(
        "58 114", "2024-02-16",
        party("Hotel Arvenhof", "Via Maistra 44", "7504", "Pontresina", "CH", "CHE114882907MWST"),
        party("Lorenzo Bianchi", "Via Nassa 15", "6900", "Lugano"),
        [line(text, n, None, p, p * n, rate) for _, text, n, p, rate in HOTEL_LINES], "CHF",
        iban="CH5800774010351298001", gross=total, due=0)
    also = {"seller": ["CHE114882907", "CHE-114882907"],
            "buyer": ["Bianchi & Figli SA", "Herr Lorenzo Bianchi"],
            "net_total": ["642.74"], "tax_total": ["31.76"]}
    return Sample("docs/arvenhof_58114.pdf", s.pdf(), truth, also)


WHOLESALE_LINES = [  # article, text, quantity, unit, list price of one, discount in percent
    ("110-4402", "NYM-J 3x1,5 mm² Mantelleitung, Ring 100 m", 12, "Rg", "68.40", 35),
    ("110-4410", "NYM-J 5x2,5 mm² Mantelleitung, Trommel 500 m", 2, "Tr", "1120.00", 35),
    ("110-7215", "H07V-K 16 mm² grün-gelb, Ring 50 m", 3, "Rg", "112.80", 30),
    ("121-0031", "FR-Rohr M20 flexibel, Bund 50 m", 20, "Bd", "24.90", 40),
    ("121-0047", "FR-Rohr M25 flexibel, Bund 50 m", 14, "Bd", "31.50", 40),
    ("133-5001", "Gerätedose UP 61 mm tief", 400, "St", "0.78", 45),
    ("133-5008", "Gerätedose Hohlwand winddicht", 250, "St", "1.46", 45),
    ("133-5120", "Verbindungsdose AP IP54 85x85", 60, "St", "2.35", 45),
    ("140-2216", "LS-Schalter B16 1-polig 6 kA", 96, "St", "8.90", 52),
    ("140-2230", "LS-Schalter C16 3-polig 6 kA", 18, "St", "34.20", 52),
    ("140-3340", "FI-Schutzschalter 40 A / 30 mA 4-polig", 16, "St", "71.50", 48),
    ("140-3363", "FI-Schutzschalter 63 A / 30 mA Typ B", 2, "St", "498.00", 28),
    ("140-6012", "Überspannungsableiter Typ 1+2 TN-S", 4, "St", "389.00", 25),
    ("152-0308", "Kleinverteiler UP 3-reihig 36 TE", 8, "St", "64.30", 38),
    ("152-0514", "Zählerschrank 1-Z/1-V H=1100", 2, "St", "612.00", 32),
    ("160-1101", "Schalter Aus/Wechsel Einsatz", 140, "St", "5.35", 50),
    ("160-1106", "Kreuzschalter Einsatz", 24, "St", "12.80", 50),
    ("160-1300", "Steckdose SCHUKO mit Kinderschutz, reinweiß", 320, "St", "6.15", 50),
    ("160-1421", "Rahmen 1-fach reinweiß glänzend", 210, "St", "2.40", 50),
    ("160-1422", "Rahmen 2-fach reinweiß glänzend", 95, "St", "4.10", 50),
    ("160-1423", "Rahmen 3-fach reinweiß glänzend", 40, "St", "6.90", 50),
    ("160-1550", "Wippe für Wechselschalter reinweiß", 164, "St", "2.95", 50),
    ("171-9020", "LED-Feuchtraumleuchte 1500 mm 45 W 4000 K", 36, "St", "54.90", 33),
    ("171-9144", "LED-Einbaustrahler 8 W 3000 K dimmbar", 110, "St", "18.75", 33),
    ("171-9302", "Rettungszeichenleuchte Wand, Einzelbatterie", 9, "St", "148.00", 20),
    ("182-0450", "Netzwerkdose Cat6A 2-fach UP", 48, "St", "19.60", 30),
    ("182-0713", "Datenleitung Cat7 S/FTP, Trommel 500 m", 4, "Tr", "415.00", 27),
    ("190-3311", "Nagelschellen 7–12 mm, VPE 100", 25, "Pk", "3.95", 30),
    ("190-3500", "Wago-Klemme 221-413, VPE 50", 30, "Pk", "19.90", 36),
]


def wholesale_amount(item: tuple[str, str, int, str, str, int]) -> D:
    return cents(item[2] * D(item[4]) * (100 - item[5]) / 100)


def wholesale() -> Sample:
    small = ParagraphStyle("small", fontName="Helvetica", fontSize=8, leading=10)
    head = ParagraphStyle("head", parent=small, fontName="Helvetica-Bold")

    def letterhead(canvas, _template) -> None:  # type: ignore[no-untyped-def]
        canvas.setFillColor(HexColor("#b3131b"))
        canvas.rect(0, 812, 595, 30, fill=1, stroke=0)
        canvas.setFillColor(HexColor("#ffffff"))
        canvas.setFont("Helvetica-Bold", 15)
        canvas.drawString(50, 821, "ELEKTRO-KONTOR NORD")
        canvas.setFont("Helvetica", 8)
        canvas.drawRightString(545, 822, f"Rechnung 90077315 · Seite {canvas.getPageNumber()} von 2")
        canvas.setFillColor(HexColor("#444444"))
        canvas.setFont("Helvetica", 6.5)
        canvas.drawString(50, 34, "Elektro-Kontor Nord GmbH & Co. KG · Speicherstraße 118 · 28217 Bremen · "
                                  "HRA 24417 Amtsgericht "
                          "Bremen · USt-IdNr. DE811402963")
        canvas.drawString(50, 25, "Bankverbindung: Bremer Landesbank · IBAN DE20 2905 0000 1070 4418 02 · "
                                  "BIC BRLADE22XXX · "
                          "Steuer-Nr. 460/118/02274")

    address = Table([[Paragraph("Elektro-Kontor Nord GmbH &amp; Co. KG, Speicherstraße 118, 28217 Bremen",
                                ParagraphStyle("tiny", parent=small, fontSize=6)), "", ""],
                     [Paragraph("Haustechnik Lührs GmbH<br/>Wareneingang<br/>Gewerbepark 9<br/>27283 Verden "
                                "(Aller)",
                                ParagraphStyle("address", parent=small, fontSize=10, leading=13)),
                      Paragraph("Rechnungsnummer<br/>Rechnungsdatum<br/>Kundennummer<br/>Ihre "
                                "Bestellung<br/>Lieferschein<br/>"
                                "Lieferdatum<br/>Sachbearbeiterin", small),
                      Paragraph("<b>90077315</b><br/>30.09.2024<br/>204 811<br/>HL-B 24-0931<br/>LS "
                                "4410920<br/>26.09.2024<br/>"
                                "Fr. Behnken, -214", small)]], colWidths=[275, 100, 120])
    address.setStyle(TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0)]))
    rows: list[list[object]] = [["Pos.", "Art.-Nr.", "Bezeichnung", "Menge", "ME", "Listenpreis", "Rab. %",
                                 "Gesamt €"]]
    for number, item in enumerate(WHOLESALE_LINES, 1):
        article, text, quantity, unit, price, discount = item
        rows.append([str(number), article, Paragraph(text, small), str(quantity), unit, money(price, "de"),
                     str(discount),
                     money(wholesale_amount(item), "de")])
    table = Table(rows, colWidths=[26, 52, 200, 36, 24, 56, 36, 65], repeatRows=1)
    table.setStyle(TableStyle([
        ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 8), ("FONT", (0, 1), (-1, -1), "Helvetica", 8),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, HexColor("#b3131b")),
        ("LINEBELOW", (0, 1), (-1, -1), 0.2, HexColor("#bbbbbb")),
        ("ALIGN", (3, 0), (3, -1), "RIGHT"), ("ALIGN", (5, 0), (-1, -1), "RIGHT"),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ("TOPPADDING", (0, 0), (-1, -1), 6), ("BOTTOMPADDING", (0, 0), (-1, -1), 6)]))
    net = sum(map(wholesale_amount, WHOLESALE_LINES), D(0)) + D("48.00")
    tax = cents(net * D("0.19"))
    sums = Table([["Frachtpauschale", money("48", "de")], ["Nettobetrag", money(net, "de")],
                  ["Umsatzsteuer 19,00 %", money(tax, "de")], ["Endbetrag EUR", money(net + tax, "de")]],
                 colWidths=[120, 80], hAlign="RIGHT")
    sums.setStyle(TableStyle([("FONT", (0, 0), (-1, -1), "Helvetica", 9),
                              ("FONT", (0, 3), (-1, 3), "Helvetica-Bold", 10),
                              ("ALIGN", (1, 0), (1, -1), "RIGHT"),
                              ("LINEABOVE", (0, 3), (-1, 3), 0.8, HexColor("#000000"))]))
    discount = cents((net + tax) * D("0.02"))
    terms = Paragraph(f"Zahlungsbedingungen: bis 10.10.2024 mit 2 % Skonto ({money(discount, 'de')} EUR), "
                      f"spätestens "
                      "30.10.2024 netto. Die Ware bleibt bis zur vollständigen Bezahlung unser Eigentum.",
                      small)
    story = [Spacer(1, 12 * mm), address, Spacer(1, 8 * mm),
             Paragraph("RECHNUNG", ParagraphStyle("h", parent=head, fontSize=14)),
             Spacer(1, 5 * mm), table, Spacer(1, 6 * mm), sums, Spacer(1, 6 * mm), terms]
    data = flow(story, margins=(50, 45, 50, 55), on_page=letterhead, title="Rechnung 90077315",
                creator="proAlpha")
    truth = invoice(
        "90077315", "2024-09-30",
        party("Elektro-Kontor Nord GmbH & Co. KG", "Speicherstraße 118", "28217", "Bremen",
              vat_id="DE811402963"),
        party("Haustechnik Lührs GmbH", "Gewerbepark 9", "27283", "Verden (Aller)"),
        [line(text, q, u, p, wholesale_amount((a, text, q, u, p, r)), article=a) for a, text, q, u, p,
         r in WHOLESALE_LINES],
        "EUR", due_date="2024-10-30", order="HL-B 24-0931", iban="DE20290500001070441802",
        net=net, tax=tax, gross=net + tax, due=net + tax)
    return Sample("docs/90077315.pdf", data, truth, {"line_items": [19]})


SAMPLES = [joiner, hotel, wholesale]
