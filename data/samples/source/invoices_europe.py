"""Invoices in French, Dutch, Swedish and Spanish; the second page of the Spanish one is a scanned note."""

from __future__ import annotations

from decimal import Decimal as D

from paper import Sample, Sheet, cents, money
from truths import invoice, line, party


def photographer() -> Sample:
    s = Sheet(font="Times-Roman", points=10.5, title="Facture", author="Camille Rousseau", creator="Pages")
    s.text(70, 90, "Camille Rousseau", 20, font="Times-Italic")
    s.lines(70, 108, ["photographe indépendante", "17 rue des Tanneurs", "67000 Strasbourg",
                      "SIRET 812 440 197 00026"], 13, points=9.5)
    s.lines(340, 170, ["Éditions du Vieux Pressoir SARL", "à l'attention de M. Kessler",
                       "4 place de la Halle", "68000 Colmar"], 14)
    s.text(70, 262, "Facture n° F2024-031", 13, bold=True)
    s.text(70, 280, "Strasbourg, le 3 mai 2024")
    s.text(70, 300, "Objet : reportage « Vignerons de la route des vins », bon de commande EVP-118",
           font="Times-Italic")
    rows = [("Prise de vue, journée (12, 15 et 16 avril)", "3", "620,00", "1 860,00"),
            ("Retouche, par image", "42", "14,50", "609,00"),
            ("Droits de reproduction, tirage 3 000 ex., 2 ans", "1", "450,00", "450,00"),
            ("Frais kilométriques", "286", "0,529", "151,29")]
    y = 340.0
    s.row(y, [(70, "Désignation", "left"), (370, "Qté", "right"), (450, "P.U. (€)", "right"),
              (525, "Montant (€)", "right")], bold=True)
    s.rule(70, y + 5, 525)
    for a, b, c, d in rows:
        y += 20
        s.row(y, [(70, a, "left"), (370, b, "right"), (450, c, "right"), (525, d, "right")])
    s.rule(380, y + 8, 525)
    s.row(y + 26, [(380, "Total à payer", "left"), (525, "3 070,29 €", "right")], bold=True)
    s.text(70, y + 60, "TVA non applicable, art. 293 B du CGI.", font="Times-Italic")
    s.paragraph(70, y + 82, 455, "Règlement par virement avant le 2 juin 2024. En cas de retard, pénalités "
                                 "au taux de trois fois le taux "
                "d'intérêt légal et indemnité forfaitaire de 40 € pour frais de recouvrement.", 14)
    s.text(70, y + 126, "IBAN FR76 1027 8011 3400 0207 4524 188 – BIC CMCIFR2A – Crédit Mutuel Strasbourg "
                        "Krutenau")
    values = [(a, b, c.replace(",", "."), d.replace(" ", "").replace(",", ".")) for a, b, c, d in rows]
    truth = invoice(
        "F2024-031", "2024-05-03", party("Camille Rousseau", "17 rue des Tanneurs", "67000", "Strasbourg"),
        party("Éditions du Vieux Pressoir SARL", "4 place de la Halle", "68000", "Colmar"),
        [line(a, b, None, c, d) for a, b, c, d in values], "EUR", due_date="2024-06-02", order="EVP-118",
        iban="FR7610278011340002074524188", gross="3070.29", due="3070.29")
    return Sample("docs/Facture_F2024-031.pdf", s.pdf(), truth,
                  {"net_total": ["3070.29"], "tax_total": [0], "line_items": [0]})


def telecom() -> Sample:
    s = Sheet(points=9, title="Factuur 2024030118827", creator="OpenText Exstream")
    s.box(0, 0, 595, 8, fill="#0097a7", stroke="")
    s.text(50, 58, "nordkabel", 24, bold=True, color="#0097a7")
    s.text(166, 58, "zakelijk", 24, color="#0097a7")
    s.lines(50, 120, ["Fietsenmaker Van Loon V.O.F.", "t.a.v. mevrouw I. van Loon", "Lange Herenvest 80",
                      "2011 BV HAARLEM"], 12)
    s.text(330, 100, "Uw factuur van maart", 15, bold=True)
    for i, (a, b) in enumerate((("Factuurnummer", "2024030118827"), ("Factuurdatum", "1 maart 2024"),
                                ("Klantnummer", "7-330-9182"),
                                ("Te betalen", "€ 121,85"), ("Vervaldatum", "15 maart 2024"))):
        s.text(330, 122 + 14 * i, a)
        s.text(545, 122 + 14 * i, b, align="right", bold=i > 2)
    s.box(50, 214, 495, 34, fill="#e0f4f6", stroke="")
    s.paragraph(58, 228, 480, "U betaalt per automatische incasso. Rond 15 maart schrijven wij het bedrag "
                              "af van NL91 ABNA 0417 1643 00 "
                "o.v.v. machtiging NK-7330.", points=8.5)
    parts = [("Abonnementen 1 t/m 31 maart",
              [("Zakelijk Internet 1000 Mbit/s", "62,50"), ("Vaste lijn Flex, 2 nummers", "18,00"),
                                             ("Mobiel Onbeperkt, 06-5512 0984", "24,00")]),
             ("Gebruik in februari", [("Bellen naar het buitenland (zone 2), 14 min.", "3,08"),
                                      ("Roaming buiten de EU, 40 MB", "5,12")]),
             ("Korting", [("Combivoordeel", "-12,00")])]
    y = 280.0
    s.text(545, y, "bedrag excl. btw", 8, align="right", color="#555555")
    for head, items in parts:
        s.text(50, y, head, 10, bold=True, color="#0097a7")
        y += 16
        for name, amount in items:
            s.text(58, y, name)
            s.text(545, y, "€ " + amount, align="right")
            y += 14
        y += 8
    s.rule(50, y - 4, 545, 0.5, "#0097a7")
    for a, b, bold in (("Totaal exclusief btw", "€ 100,70", False), ("21% btw", "€ 21,15", False),
                       ("Totaal inclusief btw", "€ 121,85", True)):
        s.text(58, y + 12, a, bold=bold)
        s.text(545, y + 12, b, bold=bold, align="right")
        y += 15
    s.text(50, 800, "Nordkabel Nederland B.V. · Postbus 4410 · 1009 CK Amsterdam · KvK 34118206 · btw "
                    "NL8092.44.615.B01 · "
           "IBAN NL20 INGB 0001 2345 67", 7, color="#555555")
    lines = [line(n, line_total=a.replace(",", ".")) for _, items in parts for n, a in items]
    truth = invoice(
        "2024030118827", "2024-03-01", party("Nordkabel Nederland B.V.", "Postbus 4410", "1009 CK",
                                             "Amsterdam", vat_id="NL809244615B01"),
        party("Fietsenmaker Van Loon V.O.F.", "Lange Herenvest 80", "2011 BV", "Haarlem"), lines, "EUR",
        due_date="2024-03-15",
        iban="NL20INGB0001234567", net="100.70", tax="21.15", gross="121.85", due="121.85")
    return Sample("docs/factuur-2024030118827.pdf", s.pdf(), truth, {"line_items": [21, 2, 14, 40]})


SWEDISH = [("10-2201", "Björkved 30 cm, kubik löst mått", "12", "m3", "890,00", "25"),
           ("10-2240", "Braskaminsved i säck 40 l", "60", "säck",
           "64,00", "25"), ("88-0001", "Hemleverans Uppsala", "1", "st", "750,00", "25"),
           ("70-1100", "Lokalproducerad honung 500 g", "24", "burk", "72,00", "12")]


def firewood() -> Sample:
    s = Sheet(points=9, title="Faktura 88213", creator="Fortnox", producer="iText")
    s.text(45, 60, "Skogsgårdens Ved & Lantbruk AB", 15, bold=True)
    s.text(550, 60, "Faktura", 20, bold=True, align="right")
    s.box(300, 78, 250, 84)
    for i, (a, b) in enumerate((("Fakturanr", "88213"), ("Fakturadatum", "2024-10-14"),
                                ("Förfallodatum", "2024-11-13"),
                                ("OCR-nummer", "8821300497"), ("Er referens", "Margareta Sjölund"),
                                ("Ert ordernr", "UF-2024/55"))):
        s.text(308, 91 + 13 * i, a)
        s.text(420, 91 + 13 * i, b, bold=i in (0, 2))
    s.lines(45, 100, ["Uppsala Folkets Park Ekonomisk Förening", "Att: Ekonomi", "Box 1714",
                      "751 47 Uppsala"], 12.5)
    s.box(45, 186, 505, 15, fill="#dddddd")
    s.row(197, [(49, "Artnr", "left"), (100, "Benämning", "left"), (335, "Antal", "right"),
                (342, "Enhet", "left"), (430, "À-pris", "right"),
                (470, "Moms", "right"), (545, "Belopp", "right")], bold=True, points=8)
    y, base = 216.0, {"25": D(0), "12": D(0)}
    lines = []
    for number, name, quantity, unit, price, rate in SWEDISH:
        value = D(quantity) * D(price.replace(",", "."))
        base[rate] += value
        lines.append(line(name, quantity, unit, price.replace(",", "."), value, rate, number))
        s.row(y, [(49, number, "left"), (100, name, "left"), (335, quantity, "right"), (342, unit, "left"),
                  (430, price, "right"),
                  (470, rate + " %", "right"), (545, money(value, "fr"), "right")])
        y += 15
    s.text(100, y + 6, "Leverans skedde 2024-10-11. Dröjsmålsränta debiteras enligt räntelagen.",
           font="Helvetica-Oblique")
    net, tax = sum(base.values(), D(0)), sum((cents(v * int(k) / 100) for k, v in base.items()), D(0))
    s.rule(45, 640, 550)
    heads = ["Exkl. moms", "Moms 25 %", "Moms 12 %", "Moms totalt", "Öresutjämning", "ATT BETALA"]
    values = [money(net, "fr"), money(base["25"] * D("0.25"), "fr"), money(base["12"] * D("0.12"), "fr"),
              money(tax, "fr"), "0,14",
              "SEK " + money(cents(net + tax, 0), "fr")]
    assert cents(net + tax, 0) - net - tax == D("0.14")
    for i, (a, b) in enumerate(zip(heads, values, strict=True)):
        s.text(49 + 82 * i, 654, a, 7.5, color="#444444")
        s.text(49 + 82 * i, 668, b, 10 if i == 5 else 9, bold=i == 5)
    s.rule(45, 678, 550)
    for x, rows in ((49, ["Skogsgårdens Ved & Lantbruk AB", "Almby Skogsgård 3", "755 91 Uppsala"]),
                    (200, ["Telefon 018-555 01 74", "info@skogsgarden.example", "Säte: Uppsala"]),
                    (330, ["Org.nr 556871-2204", "Momsreg.nr SE556871220401", "Godkänd för F-skatt"]),
                    (450, ["Bankgiro 5814-0097", "IBAN SE45 5000 0000", "0583 9825 7466"])):
        s.lines(x, 694, rows, 11, points=7.5)
    truth = invoice(
        "88213", "2024-10-14", party("Skogsgårdens Ved & Lantbruk AB", "Almby Skogsgård 3", "755 91",
                                     "Uppsala", vat_id="SE556871220401"),
        party("Uppsala Folkets Park Ekonomisk Förening", "Box 1714", "751 47", "Uppsala"), lines, "SEK",
        due_date="2024-11-13",
        order="UF-2024/55", iban="SE4550000000058398257466", net=net, tax=tax, gross=cents(net + tax, 0),
        due=cents(net + tax, 0))
    return Sample("docs/Faktura_88213.pdf", s.pdf(), truth, {"gross_total": [str(net + tax)]})


SPANISH = [("Aceite de oliva virgen extra 5 l", 40, "31.50", 4),
           ("Aceituna manzanilla 3 kg", 24, "12.80", 10),
           ("Vinagre de Jerez reserva 75 cl", 36, "6.45", 10),
           ("Garrafa inox. 25 l con grifo", 2, "84.00", 21)]


def olive_oil() -> Sample:
    s = Sheet(font="Times-Roman", points=10, title="Factura A-24/0719", creator="ContaPlus")
    s.text(60, 70, "ALMAZARA SIERRA DE LA UMBRÍA, S.L.", 14, bold=True, color="#4d5b1f")
    s.lines(60, 86, ["C.I.F. B-23661094", "Ctra. de Baeza, km 4", "23400 Úbeda (Jaén) – España"], 12.5)
    s.box(330, 110, 215, 78, line=1)
    s.lines(338, 126, ["CLIENTE", "Restaurante Casa Ferrán, S.A.", "N.I.F. A-08114427",
                       "Carrer de la Ribera, 22", "08003 Barcelona"], 13.5)
    s.text(60, 150, "FACTURA  A-24/0719", 12, bold=True)
    s.lines(60, 166, ["Fecha: 12 de julio de 2024", "Albarán: 2024/1182", "Vencimiento: 10-09-2024"], 13)
    y = 236.0
    s.row(y, [(60, "CONCEPTO", "left"), (330, "CANT.", "right"), (400, "PRECIO", "right"),
              (450, "IVA", "right"), (545, "IMPORTE", "right")], bold=True)
    s.rule(60, y + 5, 545, 1, "#4d5b1f")
    base: dict[int, D] = {}
    for name, quantity, price, rate in SPANISH:
        y += 18
        value = quantity * D(price)
        base[rate] = base.get(rate, D(0)) + value
        s.row(y, [(60, name, "left"), (330, str(quantity), "right"), (400, money(price, "de"), "right"),
                  (450, f"{rate}%", "right"),
                  (545, money(value, "de"), "right")])
    y += 40
    s.row(y, [(230, "BASE IMPONIBLE", "right"), (330, "% IVA", "right"), (430, "CUOTA", "right")], bold=True)
    tax = D(0)
    for rate, value in base.items():
        y += 14
        tax += cents(value * rate / 100)
        s.row(y, [(230, money(value, "de"), "right"), (330, f"{rate},00", "right"),
                  (430, money(value * rate / 100, "de"), "right")])
    net = sum(base.values(), D(0))
    y += 28
    s.row(y, [(230, "Total base: " + money(net, "de"), "right"),
              (400, "Total IVA: " + money(tax, "de"), "right")])
    s.row(y + 24, [(545, "TOTAL FACTURA  " + money(net + tax, "de") + " €", "right")], bold=True, points=12)
    s.lines(60, y + 64, ["Forma de pago: transferencia a 60 días", "Unicaja Banco  ES79 2100 0813 6101 2345 "
                                                                   "6789"], 14)
    s.text(298, 800, "Inscrita en el Registro Mercantil de Jaén, tomo 611, folio 94, hoja J-11820", 8,
           align="centre")
    s.page()
    s.scan("albaran.jpg")
    truth = invoice(
        "A-24/0719", "2024-07-12", party("Almazara Sierra de la Umbría, S.L.", "Ctra. de Baeza, km 4",
                                         "23400", "Úbeda", "ES"),
        party("Restaurante Casa Ferrán, S.A.", "Carrer de la Ribera, 22", "08003", "Barcelona"),
        [line(n, q, None, p, q * D(p), r) for n, q, p, r in SPANISH], "EUR", due_date="2024-09-10",
        iban="ES7921000813610123456789", net=net, tax=tax, gross=net + tax, due=net + tax)
    also = {"seller": ["ESB23661094", "B23661094", "Úbeda (Jaén)"], "buyer": ["ESA08114427", "A08114427"]}
    return Sample("docs/factura_A-24-0719.pdf", s.pdf(), truth, also)


SAMPLES = [photographer, telecom, firewood, olive_oil]
