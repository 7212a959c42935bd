"""Announcements of events: posters, a conference leaflet, mails to lists, programmes as text."""

from __future__ import annotations

from typing import Any

from mailkit import message, qp
from paper import Sample, Sheet
from reportlab.lib.pagesizes import A4, A5, letter


def event(title: str, starts: str | None, start: str | None, ends: str | None = None, end: str | None = None,
          *, venue: str | None = None,
          city: str | None = None, organiser: str | None = None, speakers: tuple[str, ...] = (),
          price: float | int | None = None,
          currency: str | None = None, deadline: str | None = None, url: str | None = None) -> dict[str, Any]:
    """The record that a careful person reads from an announcement."""
    return {"title": title, "starts_at": starts, "start_time": start, "end_date": ends, "end_time": end,
            "venue": venue, "city": city,
            "organiser": organiser, "speakers": list(speakers), "price": price, "currency": currency,
            "registration_deadline": deadline, "url": url}


def organ() -> Sample:
    s = Sheet(A4, font="Times-Roman", points=14, title="Plakat Orgelnacht")
    s.box(0, 0, 595, 842, fill="#1c1f3a", stroke="")
    s.box(28, 28, 539, 786, stroke="#c9a45c", line=1.5)
    gold, white = "#c9a45c", "#f4efe4"
    s.text(298, 120, "Kantorei St. Jakobi", 18, align="centre", color=white)
    s.text(298, 240, "Orgelnacht", 72, font="Times-Italic", align="centre", color=gold)
    s.text(298, 290, "bei Kerzenschein", 30, font="Times-Italic", align="centre", color=gold)
    s.text(298, 380, "Werke von Buxtehude, Reger und Messiaen", 16, align="centre", color=white)
    s.text(298, 430, "an der Schnitger-Orgel:", 13, align="centre", color=white)
    s.text(298, 456, "Friederike Ahlers und Jonas Wittenberg", 22, align="centre", color=white)
    s.text(298, 560, "Samstag, 9. November 2024 · 21 Uhr", 22, bold=True, align="centre", color=gold)
    s.text(298, 590, "Hauptkirche St. Jakobi, Hamburg", 18, align="centre", color=white)
    s.text(298, 690, "Eintritt 15 € / ermäßigt 8 € · nur Abendkasse ab 20.15 Uhr", 14, align="centre",
           color=white)
    s.text(298, 770, "www.kantorei-jakobi.example", 12, align="centre", color=gold)
    truth = event("Orgelnacht bei Kerzenschein", "2024-11-09", "21:00", "2024-11-09",
                  venue="Hauptkirche St. Jakobi", city="Hamburg",
                  organiser="Kantorei St. Jakobi", speakers=("Friederike Ahlers", "Jonas Wittenberg"),
                  price=15, currency="EUR",
                  url="www.kantorei-jakobi.example")
    return Sample("docs/plakat_orgelnacht.pdf", s.pdf(), truth, {"title": ["Orgelnacht"]})


def seminar() -> Sample:
    head = """
From: Wei-Lin Cho <wlcho@dept.uni-ashby.example>
To: oceans-all@lists.uni-ashby.example
Subject: [oceans-all] Seminar Thu 17 Oct: Dr Samira Haddad, kelp forests
Date: Thu, 10 Oct 2024 09:12:45 +0100
List-Id: <oceans-all.lists.uni-ashby.example>
Precedence: list
Message-ID: <20241010081245.GA2217@dept.uni-ashby.example>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit
"""
    body = """
OCEANS & CLIMATE SEMINAR, School of Earth Sciences, University of Ashby

  Speaker:  Dr Samira Haddad (Scottish Association for Marine Science)
  Title:    What a warming shelf does to kelp forests
  When:     Thursday 17 October 2024, 1.15 - 2.15pm
  Where:    Lecture Theatre B, Wolfson Building
  Chair:    Prof. Alun Pritchard

Abstract
--------
Kelp forests line a quarter of the world's coasts. Drawing on twelve years of diver surveys from Orkney to Pembrokeshire,
I show that canopy loss follows the number of hot days and not the annual mean, and ask what that means for the
restoration projects now being funded.

Tea and biscuits from 1pm. All welcome, no booking needed. If you would like to meet Samira in the afternoon, tell me
by Tuesday.

Wei-Lin
_______________________________________________
oceans-all mailing list
https://lists.uni-ashby.example/mailman/listinfo/oceans-all
"""  # noqa: E501
    truth = event("What a warming shelf does to kelp forests", "2024-10-17", "13:15", "2024-10-17", "14:15",
                  venue="Lecture Theatre B, Wolfson Building",
                  organiser="School of Earth Sciences, University of Ashby",
                  speakers=("Samira Haddad",))
    return Sample("docs/seminar_17oct.eml", message(head, body), truth, {
        "organiser": ["School of Earth Sciences", "University of Ashby", "Wei-Lin Cho"], "city": ["Ashby"],
        "price": [0],
        "url": ["https://lists.uni-ashby.example/mailman/listinfo/oceans-all"],
        "speakers": ["Dr Samira Haddad"]})


def conference() -> Sample:
    s = Sheet(A4, points=9, title="Leaflet", creator="Scribus 1.5.8")
    s.box(0, 0, 595, 150, fill="#0f6b5c", stroke="")
    s.text(40, 62, "Cold Chain Europe 2025", 30, bold=True, color="#ffffff")
    s.text(40, 88, "The meeting of refrigerated transport and storage", 13, color="#d7efe9")
    s.text(40, 122, "20–22 May 2025  |  Palais des Congrès, Liège, Belgium", 13, bold=True, color="#ffffff")
    left, right = 40.0, 310.0
    s.text(left, 182, "Why come", 12, bold=True, color="#0f6b5c")
    y = s.paragraph(left, 200, 245, "Three days on natural refrigerants, data loggers that last, and what "
                                    "the F-gas rules mean for your fleet. "
                    "Sixty exhibitors, twenty-four talks, one visit to the cold store at Bierset airport.")
    s.text(left, y + 16, "Programme", 12, bold=True, color="#0f6b5c")
    y += 34
    for when, what in (("Tue 09:30", "Opening and keynote"), ("Tue 14:00", "Refrigerants after 2030"),
                       ("Wed 09:00", "Telematics and loggers"),
                       ("Wed 19:00", "Dinner on the Meuse (extra)"), ("Thu 09:00", "Visit to Bierset"),
                       ("Thu 13:00", "Close")):
        s.text(left, y, when, bold=True)
        s.text(left + 62, y, what)
        y += 15
    s.text(right, 182, "Keynote speakers", 12, bold=True, color="#0f6b5c")
    y = 200.0
    for name, place in (("Annelies De Smet", "Port of Antwerp"), ("Prof. Matti Korhonen", "Aalto University"),
                        ("Giulia Ferrante", "FrigoSud S.p.A.")):
        s.text(right, y, name, bold=True)
        s.text(right, y + 12, place, color="#555555")
        y += 32
    s.box(right, y + 6, 245, 112, fill="#eef6f4", stroke="#0f6b5c")
    s.text(right + 12, y + 26, "Registration", 12, bold=True, color="#0f6b5c")
    for i, (a, b) in enumerate((("Three days, incl. lunches", "EUR 690"),
                                ("Early bird until 15 March 2025", "EUR 540"), ("One day", "EUR 290"),
                                ("Students", "EUR 120"))):
        s.text(right + 12, y + 46 + 14 * i, a)
        s.text(right + 233, y + 46 + 14 * i, b, align="right")
    s.text(right + 12, y + 108, "Registration closes on 9 May 2025", bold=True, points=8.5)
    s.box(0, 770, 595, 72, fill="#0f6b5c", stroke="")
    s.text(40, 800, "Organised by the European Association for Cold Logistics (EACL) a.i.s.b.l.", 10,
           color="#ffffff")
    s.text(40, 818, "https://coldchain-europe.example/2025    events@eacl.example", 10, color="#d7efe9")
    truth = event("Cold Chain Europe 2025", "2025-05-20", "09:30", "2025-05-22", "13:00",
                  venue="Palais des Congrès", city="Liège",
                  organiser="European Association for Cold Logistics (EACL) a.i.s.b.l.",
                  speakers=("Annelies De Smet", "Matti Korhonen", "Giulia Ferrante"), price=690,
                  currency="EUR", deadline="2025-05-09",
                  url="https://coldchain-europe.example/2025")
    return Sample("docs/cce2025_leaflet.pdf", s.pdf(), truth, {
        "organiser": ["European Association for Cold Logistics", "European Association for Cold Logistics "
                                                                 "(EACL)"], "title": ["Cold Chain Europe"],
        "speakers": ["Prof. Matti Korhonen"]})


VILLAGE = """\
                     COMITÉ DES FÊTES DE SAINT-VÉRAN-LE-VIEUX

                           FÊTE DE LA CHÂTAIGNE

                    samedi 19 et dimanche 20 octobre 2024
                         Place du Marché, Privas

SAMEDI
  14h00   Ouverture, marché des producteurs
  16h30   Concours de la plus grosse châtaigne
  20h30   Bal folk avec Les Sabots Rouges

DIMANCHE
  10h00   Randonnée commentée (7 km, départ devant la mairie)
  12h30   Repas châtaigne (18 €, sur réservation avant le 12 octobre 2024 au 04 75 55 01 60)
  17h00   Tirage de la tombola et clôture

Entrée libre. Buvette et petite restauration sur place.
En cas de pluie la fête se tient à la salle polyvalente.
"""


def village() -> Sample:
    truth = event("Fête de la Châtaigne", "2024-10-19", "14:00", "2024-10-20", "17:00",
                  venue="Place du Marché", city="Privas",
                  organiser="Comité des Fêtes de Saint-Véran-le-Vieux", speakers=("Les Sabots Rouges",),
                  price=0, currency=None,
                  deadline="2024-10-12")
    return Sample("docs/programme_fete_chataigne.txt", VILLAGE.encode(), truth, {"currency": ["EUR"]})


def pottery() -> Sample:
    html = """<html><body style="background:#f7f3ee"><table width="600" align="center" bgcolor="#ffffff"><tr><td style="padding:24px">
<h1 style="font-family:Georgia">Raku Firing Weekend</h1>
<p>Pull a glowing pot from the kiln with your own tongs! Two days outdoors with <b>Marisol Quintana</b>, who has fired raku in New Mexico
for thirty years. Beginners welcome, bring cotton clothes and closed shoes.</p>
<table><tr><td><b>When</b></td><td>June 14&ndash;15, 2025, 9:30 a.m. &ndash; 4 p.m. each day</td></tr>
<tr><td><b>Where</b></td><td>Sawmill Arts Yard, 1220 Willow Creek Rd, Asheville, NC</td></tr>
<tr><td><b>Tuition</b></td><td>$265 (members $240), clay and glazes included</td></tr>
<tr><td><b>Sign up by</b></td><td>June 1, 2025 (max. 10 people)</td></tr></table>
<p><a href="https://sawmillarts.example/raku">sawmillarts.example/raku</a></p>
<p style="font-size:11px;color:#777">You get this because you took a class at the Asheville Clay Guild. Unsubscribe</p></td></tr></table></body></html>
"""  # noqa: E501
    head = """
From: Asheville Clay Guild <news@clayguild.example>
To: friends@clayguild.example
Subject: Two spots left: Raku Firing Weekend
Date: Mon, 12 May 2025 15:00:02 +0000
Message-ID: <0100018f-6c1e@email.clayguild.example>
List-Unsubscribe: <https://clayguild.example/u/8f21>
MIME-Version: 1.0
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable
"""
    truth = event("Raku Firing Weekend", "2025-06-14", "09:30", "2025-06-15", "16:00",
                  venue="Sawmill Arts Yard", city="Asheville",
                  organiser="Asheville Clay Guild", speakers=("Marisol Quintana",), price=265, currency="USD",
                  deadline="2025-06-01",
                  url="sawmillarts.example/raku")
    return Sample("docs/raku_weekend.eml", message(head, qp(html)), truth, {
        "venue": ["Sawmill Arts Yard, 1220 Willow Creek Rd"], "url": ["https://sawmillarts.example/raku"]})


def lecture() -> Sample:
    s = Sheet(letter, font="Times-Roman", points=12, title="poster")
    s.rule(54, 60, 558, 3)
    s.text(54, 92, "THE HOLLIS PUBLIC LIBRARY", 13, bold=True)
    s.text(54, 108, "presents the annual Everett Lamb Lecture", 12, font="Times-Italic")
    s.lines(54, 190, ["Bread, Ice and Ledger Books:", "How a Mill Town Ate, 1870–1914"], 40, points=30,
            bold=True)
    s.text(54, 300, "Constance Abernathy", 22)
    s.text(54, 318, "author of A Pantry of One's Own", 12, font="Times-Italic")
    y = s.paragraph(54, 360, 330, "Grocers' ledgers, ice tickets and the letters of a boarding-house "
                    "keeper tell what families in Hollis put on the table, and who could not afford to. "
                    "With slides, and a tasting of brown bread afterward.", 17)
    s.box(54, y + 30, 504, 110)
    s.lines(72, y + 56, ["Wednesday, March 12, 2025", "Doors 6:30 p.m.  ·  Lecture 7:00 p.m.",
                         "Reading Room, 2nd floor, 40 Canal Street, Hollis, NH",
                         "Free and open to the public. Seating is limited."], 22, points=14)
    s.text(54, 730, "Supported by the Friends of the Library and the Merrimack Savings Bank.", 10,
           font="Times-Italic")
    truth = event("Bread, Ice and Ledger Books: How a Mill Town Ate, 1870–1914", "2025-03-12", "19:00",
                  "2025-03-12", venue="Reading Room, 2nd floor",
                  city="Hollis", organiser="The Hollis Public Library", speakers=("Constance Abernathy",),
                  price=0)
    return Sample("docs/lamb_lecture_poster.pdf", s.pdf(), truth, {
        "organiser": ["Hollis Public Library"], "venue": ["Reading Room", "The Hollis Public Library",
        "Reading Room, 2nd floor, 40 Canal Street"], "start_time": ["18:30"]})


def webinar() -> Sample:
    head = """
From: Tax Desk at Brennecke & Partner <taxdesk@brennecke.example>
To: undisclosed-recipients:;
Subject: Invitation: e-invoicing becomes mandatory - are you ready? (webinar, 28.11.)
Date: Wed, 6 Nov 2024 10:00:00 +0100
Message-ID: <mc.70b1@brennecke.example>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable
"""
    body = qp("""Dear clients and friends,

from January German businesses must be able to receive electronic invoices. In our webinar

    E-invoicing from 1 January 2025: what to do before Christmas

our tax advisers Dr. Silke Brennecke and Marc Oduya explain the formats, the transition periods and
the five mistakes that cost input tax.

Date: 28.11.2024, 16:00 - 17:15 h (CET)
Place: online (Microsoft Teams), the link follows after registration
Fee: 49 € plus VAT; free of charge for clients
Please register by 25.11.2024: https://www.brennecke.example/webinare/e-rechnung

The webinar will be held in English and recorded.

Brennecke & Partner mbB, Steuerberater, Düsseldorf
""")
    truth = event("E-invoicing from 1 January 2025: what to do before Christmas", "2024-11-28", "16:00",
                  "2024-11-28", "17:15",
                  venue="Microsoft Teams", organiser="Brennecke & Partner mbB",
                  speakers=("Silke Brennecke", "Marc Oduya"), price=49,
                  currency="EUR", deadline="2024-11-25", url="https://www.brennecke.example/webinare/e-rechnung")
    return Sample("docs/webinar_e-invoicing.eml", message(head, body), truth, {
        "venue": ["online (Microsoft Teams)", "online"],
        "organiser": ["Brennecke & Partner", "Brennecke & Partner mbB, Steuerberater"],
        "speakers": ["Dr. Silke Brennecke"], "title": ["E-invoicing from 1 January 2025"]})


def tasting() -> Sample:
    s = Sheet(A5, font="Vera", points=8, title="Einladung")
    s.box(0, 0, 420, 120, fill="#7b1e3a", stroke="")
    s.text(24, 56, "Vinothek am Rennweg", 20, bold=True, color="#ffffff")
    s.text(24, 80, "Degustation: Pinot Noir aus der Bündner Herrschaft", 9.5, color="#f3dbe2")
    s.text(24, 102, "Fr 7. Februar 2025, 18.30–21 Uhr", 11, bold=True, color="#ffffff")
    y = s.paragraph(24, 150, 372, "Zwölf Weine, vier Dörfer, ein Winzer zum Fragen: Gian-Andrea Hitz vom "
                                  "Weingut Hitz in Malans schenkt selber aus. "
                    "Dazu Bergkäse, Trockenfleisch und Birnbrot.", 13)
    for a, b in (("Ort", "Gewölbekeller, Rennweg 30, 8001 Zürich"), ("Preis", "CHF 75.– pro Person"),
                 ("Anmeldung", "bis 31. Januar 2025 unter 044 555 08 30"), ("Web",
                                                                            "vinothek-rennweg.example/pinot")):
        y += 18
        s.text(24, y, a, bold=True)
        s.text(104, y, b)
    s.text(24, 560, "Bei weniger als acht Anmeldungen findet der Anlass nicht statt.", font="Vera-Italic",
           color="#555555")
    truth = event("Degustation: Pinot Noir aus der Bündner Herrschaft", "2025-02-07", "18:30", "2025-02-07",
                  "21:00", venue="Gewölbekeller",
                  city="Zürich", organiser="Vinothek am Rennweg", speakers=("Gian-Andrea Hitz",), price=75,
                  currency="CHF",
                  deadline="2025-01-31", url="vinothek-rennweg.example/pinot")
    return Sample("docs/degustation_pinot.pdf", s.pdf(), truth, {
        "title": ["Pinot Noir aus der Bündner Herrschaft"], "venue": ["Gewölbekeller, Rennweg 30"]})


SAMPLES = [organ, seminar, conference, village, pottery, lecture, webinar, tasting]
