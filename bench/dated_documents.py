"""Generated documents with one date in figures whose day and month are both below thirteen.

Each is an invoice, a letter, a receipt or a mail of a country, with one or two signs of it: its language, the currency,
the decimal comma, an address, a prefix of a telephone number, the domain of an address, the day that a mail was sent.
Documents in English of the United States and of Britain may have none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime

#: What fields ask of these documents.
SCHEMA = {
    "title": "dated",
    "type": "object",
    "properties": {
        "order_date": {
            "type": ["string", "null"],
            "format": "date",
            "description": "Date of the invoice, receipt, letter or order; not the day of sending.",
        },
        "total": {"type": ["number", "null"], "description": "Total amount."},
    },
    "required": ["order_date", "total"],
}


@dataclass(frozen=True, slots=True)
class Country:
    """How a country writes: its language, the order of dates (None: either), and the texts of each sign."""

    language: str
    day_first: bool | None
    comma: bool
    currencies: tuple[str, ...]
    addresses: tuple[str, ...]
    phone: str
    domain: str


COUNTRIES = {
    "US": Country("en", False, False, (), ("480 Oak Avenue, Austin, TX 78701", "12 Elm St, Dayton, OH 45402", "USA"),
                  "+1 512 555 0147", ""),
    "GB": Country("en", True, False, ("£{}", "GBP {}"), ("9 Mill Lane, Leeds LS1 4AB", "2 Kew Road, London, UK"),
                  "+44 113 496 0102", "co.uk"),
    "IN": Country("en", True, False, ("₹{}", "Rs. {}", "INR {}"), ("4 MG Road, Bengaluru 560001, India",),
                  "+91 80 5550 0133", "in"),
    "MY": Country("en", True, False, ("RM{}", "MYR {}"), ("7 Jalan Ampang, 50450 Kuala Lumpur", "Malaysia"),
                  "+60 3 5550 1200", "com.my"),
    "AU": Country("en", True, False, ("AUD {}", "A${}"), ("5 George Street, Sydney NSW 2000", "Perth, Australia"),
                  "+61 2 5550 1234", "com.au"),
    "CA": Country("en", None, False, ("CAD {}", "C${}"), ("31 King Street, Toronto ON M5H 1A1", "Ottawa, Canada"),
                  "+1 416 555 0199 (Canada)", "ca"),
    "DE": Country("de", True, True, ("{} EUR", "{} €"), ("Lindenstraße 4, 10969 Berlin", "D-50667 Köln"),
                  "+49 30 5550 112", "de"),
    "FR": Country("fr", True, True, ("{} €", "{} EUR"), ("8 rue de la Paix, 75002 Paris, France",),
                  "+33 1 55 50 01 12", "fr"),
    "ES": Country("es", True, True, ("{} €", "{} EUR"), ("Calle Mayor 3, 28013 Madrid, España",),
                  "+34 915 550 123", "es"),
    "IT": Country("it", True, True, ("{} €", "EUR {}"), ("Via Roma 12, 20121 Milano, Italia",),
                  "+39 02 5550 1234", "it"),
    "NL": Country("nl", True, True, ("€ {}", "EUR {}"), ("Keizersgracht 5, 1015 CJ Amsterdam, Nederland",),
                  "+31 20 555 0123", "nl"),
    "PT": Country("pt", True, True, ("{} €", "{} EUR"), ("Rua Augusta 9, 1100-048 Lisboa, Portugal",),
                  "+351 21 555 0123", "pt"),
    "PL": Country("pl", True, True, ("{} zł", "{} PLN"), ("ul. Długa 7, 00-238 Warszawa, Polska",),
                  "+48 22 555 01 23", "pl"),
}  # fmt: skip
# Of each kind: its lines in a language, with {date} and {total}; mails begin with a subject.
_TEXTS = {
    "en": {
        "invoice": "Invoice R-{n}\nInvoice date: {date}\nAmount due: {total}\nPlease pay within 14 days of receipt.",
        "letter": "Date: {date}\n\nDear customer,\n\nwe confirm your order of {total} and thank you for your trust.\n",
        "receipt": "RECEIPT {n}\n{date} 14:05\nCoffee beans, two bags\nTotal {total}\nThank you for your visit",
        "mail": "Your order {n}\nHello,\n\nwe received your order on {date}. The total is {total}.\n\nKind regards",
    },
    "de": {
        "invoice": "Rechnung R-{n}\nRechnungsdatum: {date}\nGesamtbetrag: {total}\nBitte zahlen Sie binnen 14 Tagen.",
        "letter": "Datum: {date}\n\nSehr geehrte Damen und Herren,\n\nwir bestätigen Ihren Auftrag über {total}.\n",
        "receipt": "Kassenbon {n}\n{date} 14:05\nKaffeebohnen, zwei Beutel\nSumme {total}\nDanke für Ihren Einkauf",
        "mail": "Ihre Bestellung {n}\nGuten Tag,\n\nIhre Bestellung vom {date} über {total} ist eingegangen.\n\nGrüße",
    },
    "fr": {
        "invoice": "Facture R-{n}\nDate de facture : {date}\nMontant total : {total}\nMerci de régler sous 14 jours.",
        "letter": "Date : {date}\n\nMadame, Monsieur,\n\nnous confirmons votre commande d'un montant de {total}.\n",
        "receipt": "Ticket de caisse {n}\n{date} 14:05\nCafé en grains, deux sachets\nTotal {total}\nMerci beaucoup",
        "mail": "Votre commande {n}\nBonjour,\n\nnous avons reçu votre commande du {date}, soit {total}.\n\nMerci",
    },
    "es": {
        "invoice": "Factura R-{n}\nFecha de la factura: {date}\nImporte total: {total}\nLe rogamos el pago en 14 días.",
        "letter": "Fecha: {date}\n\nEstimado cliente:\n\nconfirmamos su pedido por un importe de {total}. Gracias.\n",
        "receipt": "Recibo {n}\n{date} 14:05\nCafé en grano, dos bolsas\nTotal {total}\nGracias por su visita",
        "mail": "Su pedido {n}\nHola:\n\nhemos recibido su pedido del {date} por {total}.\n\nUn saludo",
    },
    "it": {
        "invoice": "Fattura R-{n}\nData della fattura: {date}\nImporto totale: {total}\nPagare entro 14 giorni.",
        "letter": "Data: {date}\n\nGentile cliente,\n\nconfermiamo il Suo ordine per un importo di {total}.\n",
        "receipt": "Scontrino {n}\n{date} 14:05\nCaffè in grani, due sacchetti\nTotale {total}\nGrazie della visita",
        "mail": "Il Suo ordine {n}\nBuongiorno,\n\nabbiamo ricevuto il Suo ordine del {date} per {total}.\n\nSaluti",
    },
    "nl": {
        "invoice": "Factuur R-{n}\nFactuurdatum: {date}\nTotaalbedrag: {total}\nGelieve binnen 14 dagen te betalen.",
        "letter": "Datum: {date}\n\nGeachte klant,\n\nwij bevestigen uw bestelling ten bedrage van {total}.\n",
        "receipt": "Kassabon {n}\n{date} 14:05\nKoffiebonen, twee zakken\nTotaal {total}\nBedankt voor uw bezoek",
        "mail": "Uw bestelling {n}\nGoedendag,\n\nwij hebben uw bestelling van {date} ontvangen: {total}.\n\nGroeten",
    },
    "pt": {
        "invoice": "Fatura R-{n}\nData da fatura: {date}\nValor total: {total}\nPedimos o pagamento em 14 dias.",
        "letter": "Data: {date}\n\nExmo. cliente,\n\nconfirmamos a sua encomenda no valor de {total}. Obrigado.\n",
        "receipt": "Recibo {n}\n{date} 14:05\nCafé em grão, dois sacos\nTotal {total}\nObrigado pela sua visita",
        "mail": "A sua encomenda {n}\nBom dia,\n\nrecebemos a sua encomenda de {date}, no valor de {total}.\n\nAté já",
    },
    "pl": {
        "invoice": "Faktura R-{n}\nData faktury: {date}\nRazem do zapłaty: {total}\nProsimy o zapłatę w ciągu 14 dni.",
        "letter": "Data: {date}\n\nSzanowni Państwo,\n\npotwierdzamy zamówienie na kwotę {total}. Dziękujemy.\n",
        "receipt": "Paragon {n}\n{date} 14:05\nKawa ziarnista, dwie torebki\nSuma {total}\nDziękujemy za wizytę",
        "mail": "Zamówienie {n}\nDzień dobry,\n\notrzymaliśmy zamówienie z {date} na kwotę {total}.\n\nPozdrawiamy",
    },
}


@dataclass(frozen=True, slots=True)
class DatedDocument:
    """A file, with its date as it is printed and in ISO 8601, and the signs of the country that it has."""

    name: str
    data: bytes
    printed: str
    value: str
    country: str
    signs: tuple[str, ...]

    @property
    def meanings(self) -> tuple[str, str]:
        """The two days that the printed date may mean."""
        year, month, day = self.value.split("-")
        return self.value, f"{year}-{day}-{month}"

    @property
    def is_decided(self) -> bool:
        """Whether a sign tells the order of day and month."""
        ordered = COUNTRIES[self.country].day_first is not None
        return "sent" in self.signs or (ordered and bool(self.signs))


def dated_documents(seed: int, count: int) -> Iterator[DatedDocument]:
    """Yields so many documents; the same seed gives the same ones."""
    draw = random.Random(seed)
    for number in range(count):
        yield _document(draw, number)


def _document(draw: random.Random, number: int) -> DatedDocument:
    name = draw.choice([*COUNTRIES])
    country, kind = COUNTRIES[name], draw.choice(["invoice", "letter", "receipt", "mail"])
    month, day = draw.sample(range(1, 13), 2)
    told = date(draw.randint(2019, 2026), month, day)
    day_first = draw.random() < 0.5 if country.day_first is None else country.day_first
    order = (day, month) if day_first else (month, day)
    mark, width, year = draw.choice("//-"), draw.choice(["02", "02", ""]), told.year % draw.choice([100, 10000, 10000])
    printed = mark.join([*(format(part, width) for part in order), str(year)])
    possible = [sign for sign, has in {
        "currency": country.currencies, "comma": country.comma, "address": country.addresses,
        "phone": country.phone, "domain": country.domain, "sent": kind == "mail",
    }.items() if has]  # fmt: skip
    foreign = country.language != "en"
    least = 0 if foreign or name in ("US", "GB") else 1
    signs = draw.sample(possible, min(len(possible), draw.randint(least, 2)))
    amount = f"{draw.randint(20, 900)}"
    if "comma" in signs:
        amount += f",{draw.randint(0, 99):02d}"
    total = draw.choice(country.currencies).format(amount) if "currency" in signs else amount
    lines = [_TEXTS[country.language][kind].format(n=draw.randint(10, 9999), date=printed, total=total)]
    if "address" in signs:
        lines.append(draw.choice(country.addresses))
    if "phone" in signs:
        lines.append(country.phone)
    if "domain" in signs:
        lines.append(draw.choice(["info@orders.{}", "www.orders.{}", "https://orders.{}/help"]).format(country.domain))
    data = "\n".join(lines).encode()
    if kind == "mail":
        sent = told + timedelta(draw.randint(0, 6))
        if "sent" not in signs:
            # Months behind both of its readings, so that the day of sending tells nothing.
            sent = max(told, date(told.year, day, month)) + timedelta(draw.randint(40, 90))
        moment = datetime(sent.year, sent.month, sent.day, draw.randint(8, 18), 12, tzinfo=UTC)
        subject, body = data.split(b"\n", 1)
        head = f"From: Kim <kim@orders.example>\nTo: you@home.example\nDate: {format_datetime(moment)}\nSubject: "
        data = head.encode() + subject.decode().encode("ascii", "replace") + (
            b"\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n" + body
        )
    own = (("language",) if foreign else ()) + tuple(sorted(signs))
    return DatedDocument(f"{number}.{'eml' if kind == 'mail' else 'txt'}", data, printed, told.isoformat(), name, own)
