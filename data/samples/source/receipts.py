"""Receipts: till rolls as narrow PDFs, and the plain texts that tills and pumps send by mail."""

from __future__ import annotations

from paper import Sample, Sheet
from truths import receipt


def cafe() -> Sample:
    s = Sheet((204, 420), points=8.5, title="Receipt", creator="Square")
    s.text(102, 34, "Lantern & Rye", 15, bold=True, align="centre")
    s.lines(102, 50, ["61 Exmouth Market", "London EC1R 4QL", "020 7946 0417"], 11, align="centre", points=8)
    s.text(12, 100, "Sat 9 Mar 2024   10:42", color="#555555")
    s.text(192, 100, "Table 6", align="right", color="#555555")
    s.rule(12, 107, 192, dash=(2, 2))
    y = 124.0
    for text, amount in (("2 x Flat white", "7.60"), ("Oat milk", "0.50"), ("Shakshuka", "12.50"),
                         ("Sourdough, cultured butter", "4.80"),
                         ("Fresh orange juice", "4.20")):
        s.text(12, y, text)
        s.text(192, y, "£" + amount, align="right")
        y += 15
    s.rule(12, y - 6, 192, dash=(2, 2))
    for a, b, bold in (("Subtotal", "£29.60", False), ("Service 12.5% (optional)", "£3.70", False),
                       ("Total", "£33.30", True)):
        y += 8
        s.text(12, y, a, bold=bold, points=11 if bold else 0)
        s.text(192, y, b, bold=bold, align="right", points=11 if bold else 0)
        y += 7
    s.lines(12, y + 14, ["Visa contactless  •••• 9023", "Auth 418820", "VAT 20% included £5.55"], 12,
            color="#555555")
    s.text(102, y + 66, "VAT No 411 0293 76", 7, align="centre", color="#555555")
    s.text(102, y + 80, "See you soon!", 8, align="centre")
    truth = receipt("Lantern & Rye", "61 Exmouth Market London EC1R 4QL", "2024-03-09", "10:42",
                    [("Flat white", 2, "7.6"), ("Oat milk", None, "0.5"), ("Shakshuka", None, "12.5"),
                     ("Sourdough, cultured butter", None, "4.8"), ("Fresh orange juice", None, "4.2")],
                     "33.3", "GBP", "card")
    return Sample("docs/receipt-lantern-and-rye.pdf", s.pdf(), truth, {"items": ["2 x Flat white"]})


DIY = """
           HOLZ & BAU ZENTRUM
         Inh. Petra Maurer e.K.
            Industriering 40
         74523 Schwäbisch Hall
         USt-ID DE 245 118 306

4011200371 Spax 4,5x60 200St
                              14,99 A
4006885123 Leimholz Fichte 120x30
      3 x     11,49           34,47 A
2900114007 Zuschnitt
                               2,50 A
4007123900 Acryllack seidenm. 750ml
                              17,95 A
Rabatt 10% Lack               -1,80 A
----------------------------------------
ZU ZAHLEN             EUR     68,11
BAR                           70,00
RÜCKGELD                       1,89
----------------------------------------
A  19,00%   netto 57,24  MwSt. 10,87
Bon 0417  Kasse 2   17.08.24  16:55
 Es bediente Sie: Hr. Yilmaz
  Umtausch nur mit Bon, 14 Tage
"""


def diy_store() -> Sample:
    s = Sheet((226, 400), font="Courier", points=8.3, title="Kassenbon")
    s.lines(12, 20, DIY.strip("\n").split("\n"), 13.5)
    truth = receipt("Holz & Bau Zentrum", "Industriering 40 74523 Schwäbisch Hall", "2024-08-17", "16:55",
                    [("Spax 4,5x60 200St", None, "14.99"), ("Leimholz Fichte 120x30", 3, "34.47"),
                     ("Zuschnitt", None, "2.5"),
                     ("Acryllack seidenm. 750ml", None, "17.95"), ("Rabatt 10% Lack", None, "-1.8")], "68.11",
                     "EUR", "cash")
    return Sample("docs/bon_0417.pdf", s.pdf(), truth, {"merchant": ["Holz & Bau Zentrum Inh. Petra Maurer "
                                                                     "e.K."]})


PHARMACY = """\
PHARMACIE DU LION D'OR
Mme S. BERTHELOT, pharmacien titulaire
8 place Saint-Pierre
37000 TOURS
Tél : 02 47 55 01 93

Ticket 118402        le 21/11/2023 à 18h07
Vendeur : Lucie

DOLIPRANE 1000MG CPR 8         2,18 EUR
SERUM PHY GIFRER 5ML X40       5,90 EUR
CREME MAINS KARITE 75ML        8,50 EUR
  remise fidélité             -0,85 EUR

TOTAL TTC                     15,73 EUR
CB SANS CONTACT               15,73 EUR

dont TVA 2,10% : 0,04    TVA 20,00% : 2,26
Merci de votre visite
"""


def pharmacy() -> Sample:
    truth = receipt("Pharmacie du Lion d'Or", "8 place Saint-Pierre 37000 TOURS", "2023-11-21", "18:07",
                    [("DOLIPRANE 1000MG CPR 8", None, "2.18"), ("SERUM PHY GIFRER 5ML X40", None, "5.9"),
                     ("CREME MAINS KARITE 75ML", None, "8.5"), ("remise fidélité", None, "-0.85")], "15.73",
                     "EUR", "card")
    return Sample("docs/ticket_118402.txt", PHARMACY.encode(), truth)


FUEL = """\
          PRAIRIE STAR TRAVEL PLAZA #211
              I-80 EXIT 312
          GRAND ISLAND, NE 68803
              308-555-0126

DATE 06/29/24   TIME 7:18 PM
PUMP 09    INVOICE 663021
AUTH 05512B

PRODUCT:    UNLEADED PLUS
GALLONS:        12.614
PRICE/G:        $3.299
FUEL SALE:     $41.61

INSIDE SALE
  FTN DRINK 32OZ         1.79
  BEEF JERKY 3OZ         6.49
  SALES TAX              0.62

TOTAL                  $50.51
DEBIT   XXXXXXXXXXXX2210
        CHIP READ

   THANK YOU FOR DRIVING WITH US
"""


def fuel() -> Sample:
    truth = receipt("Prairie Star Travel Plaza #211", "I-80 EXIT 312 GRAND ISLAND, NE 68803", "2024-06-29",
                    "19:18",
                    [("UNLEADED PLUS", "12.614", "41.61"), ("FTN DRINK 32OZ", None, "1.79"),
                     ("BEEF JERKY 3OZ", None, "6.49")],
                    "50.51", "USD", "card")
    return Sample("docs/663021.txt", FUEL.encode(), truth, {"merchant": ["Prairie Star Travel Plaza"]})


def taxi() -> Sample:
    s = Sheet((283, 198), font="Times-Roman", points=10, title="Quittung")
    s.box(8, 8, 267, 182, line=1)
    s.text(20, 32, "Taxi Limmat AG", 15, bold=True)
    s.text(262, 32, "QUITTUNG", 10, align="right", color="#aa0000")
    s.text(20, 46, "Hardturmstrasse 201, 8005 Zürich · Tel. 044 555 21 21", 8)
    s.rule(20, 53, 262)
    for i, (a, b) in enumerate((("Datum / Zeit:", "5.12.2023   23:40"), ("von:", "Hauptbahnhof"),
                                ("nach:", "Flughafen Terminal 2"),
                                ("Wagen-Nr.:", "318"), ("Fahrpreis CHF:", "62.80"), ("Trinkgeld:", "5.20"))):
        s.text(20, 72 + 15 * i, a)
        s.text(110, 72 + 15 * i, b, font="Courier")
    s.text(20, 166, "Total CHF", 11, bold=True)
    s.text(110, 166, "68.00", 11, font="Courier-Bold")
    s.text(20, 181, "[x] bar    [ ] Karte    [ ] Rechnung", 8)
    s.text(262, 181, "inkl. 8.1% MWST", 7, align="right")
    truth = receipt("Taxi Limmat AG", "Hardturmstrasse 201, 8005 Zürich", "2023-12-05", "23:40",
                    [("Fahrpreis", None, "62.8"), ("Trinkgeld", None, "5.2")], 68, "CHF", "cash")
    return Sample("docs/taxi.pdf", s.pdf(), truth, {"items": ["Fahrpreis CHF"]})


PARKING = """\
*** CHARGE RECEIPT / ADMHÁIL ***
Drury Quay Car Park
Fleet Lane, Dublin 2, D02 XY61
VAT IE3318820KH

Entry   Thu 18-Apr-2024 08:51
Exit    Thu 18-Apr-2024 13:06
Stay    4h 15m        Ticket 00718826

Parking fee   EUR 17.00
VAT @23% incl.     3.18
Paid: Apple Pay (Mastercard 0071)
Total         EUR 17.00
"""


def parking() -> Sample:
    truth = receipt("Drury Quay Car Park", "Fleet Lane, Dublin 2, D02 XY61", "2024-04-18", "13:06",
                    [("Parking fee", None, 17)],
                    17, "EUR", "mobile")
    return Sample("docs/parking-00718826.txt", PARKING.encode(), truth, {"time": ["08:51"]})


GROCER = [("ORG BANANAS", "2.31 lb @ 0.79/lb", "1.82 F"), ("WHOLE MILK GAL", "", "4.29 F"),
          ("SOURDOUGH LOAF", "", "5.49 F"),
          ("CANNED TOMATO 28OZ", "3 @ 2.19", "6.57 F"), ("DISH SOAP LEMON", "", "3.99 T"),
          ("STORE CPN DISH SOAP", "", "-1.00 T"),
          ("FREE RANGE EGGS DZ", "", "5.79 F")]


def grocer() -> Sample:
    s = Sheet((216, 470), font="Courier", points=9, title="receipt")
    s.text(108, 32, "GREEN BARN MARKET", 15, bold=True, align="centre", font="Helvetica-Bold")
    s.lines(108, 48, ["Store 014  -  (617) 555-0183", "755 Somerville Ave", "Cambridge MA 02140"], 12,
            align="centre")
    y = 102.0
    for name, note, amount in GROCER:
        s.text(12, y, name)
        s.text(204, y, amount, align="right")
        y += 12
        if note:
            s.text(24, y, note, 8)
            y += 12
    s.rule(12, y - 6, 204)
    for a, b in (("SUBTOTAL", "26.95"), ("TAX 6.25%", "0.19"), ("TOTAL", "$27.14"),
                 ("GIFT CARD *7718", "27.14"), ("CHANGE", "0.00")):
        y += 13
        s.text(40, y, a, bold=a == "TOTAL")
        s.text(190, y, b, bold=a == "TOTAL", align="right")
    s.lines(108, y + 34, ["ITEMS SOLD 8", "Your cashier was Dolores", "01/26/2024  12:03  REG 3  TRN 4471",
                          "YOU SAVED $1.00 TODAY"], 13, align="centre")
    truth = receipt("Green Barn Market", "755 Somerville Ave Cambridge MA 02140", "2024-01-26", "12:03",
                    [(n, q, a.split()[0]) for (n, _, a),
                     q in zip(GROCER, ["2.31", None, None, 3, None, None, None], strict=True)],
                    "27.14", "USD", "voucher")
    return Sample("docs/greenbarn_4471.pdf", s.pdf(), truth)


BAKERY = """\
Fra: Bageriet Rundhyl <kvittering@rundhyl.example>
Emne: Din kvittering

BAGERIET RUNDHYL ApS
Jægersborggade 88, 2200 København N
CVR 38 11 40 92

07-02-2024 kl. 08.14      Bon 20917

1 Rugbrød, skåret            48,00
4 Tebirkes                   88,00
2 Kaffe, sort                56,00
------------------------------------
I alt DKK                   192,00
MobilePay                   192,00
Heraf moms 25%               38,40

Tak for besøget - vi ses!
"""


def bakery() -> Sample:
    truth = receipt("Bageriet Rundhyl ApS", "Jægersborggade 88, 2200 København N", "2024-02-07", "08:14",
                    [("Rugbrød, skåret", 1, 48), ("Tebirkes", 4, 88), ("Kaffe, sort", 2, 56)], 192, "DKK",
                    "mobile")
    return Sample("docs/kvittering_20917.txt", BAKERY.encode(), truth, {"merchant": ["Bageriet Rundhyl"]})


def tapas() -> Sample:
    s = Sheet((210, 380), font="Vera", points=7.2, title="Factura simplificada")
    s.text(105, 30, "TABERNA EL CANDIL", 11, bold=True, align="centre")
    s.lines(105, 44, ["Hostelería Candil 2011 SL · B87220914", "C/ de la Cava Baja, 38", "28005 MADRID"], 11,
            align="centre")
    s.text(12, 92, "FACT. SIMPLIF. T-55120")
    s.text(198, 92, "Mesa 11 · 4 pax", align="right")
    s.text(12, 104, "30/05/2024   22:31")
    s.row(126, [(12, "Ud", "left"), (34, "Artículo", "left"), (198, "Importe", "right")], bold=True)
    y = 140.0
    for n, name, amount in (("4", "Pan y servicio", "6,00"), ("1", "Jamón ibérico 1/2", "14,50"),
                            ("2", "Croquetas (6 ud.)", "19,00"),
                            ("1", "Pulpo a feira", "22,00"), ("1", "Ribera crianza 75cl", "24,00"),
                            ("4", "Café cortado", "7,20")):
        s.row(y, [(12, n, "left"), (34, name, "left"), (198, amount, "right")])
        y += 13
    s.rule(12, y - 4, 198)
    s.text(12, y + 14, "TOTAL (IVA incl.)", 10, bold=True)
    s.text(198, y + 14, "92,70 €", 10, bold=True, align="right")
    s.lines(12, y + 34, ["Base 10%: 84,27   Cuota: 8,43", "Entregado: 100,00   Cambio: 7,30", "Efectivo"], 12)
    s.text(105, y + 84, "¡Gracias por su visita!", align="centre", font="Vera-Italic")
    truth = receipt("Taberna El Candil", "C/ de la Cava Baja, 38 28005 MADRID", "2024-05-30", "22:31",
                    [("Pan y servicio", 4, 6), ("Jamón ibérico 1/2", 1, "14.5"), ("Croquetas (6 ud.)", 2, 19),
                     ("Pulpo a feira", 1, 22),
                     ("Ribera crianza 75cl", 1, 24), ("Café cortado", 4, "7.2")], "92.7", "EUR", "cash")
    return Sample("docs/ticket_T-55120.pdf", s.pdf(), truth, {"merchant": ["Hostelería Candil 2011 SL"]})


SAMPLES = [cafe, diy_store, pharmacy, fuel, taxi, parking, grocer, bakery, tapas]
