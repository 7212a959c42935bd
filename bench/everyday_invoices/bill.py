"""What an invoice says, drawn by seed: parties, priced lines and their sums, and how its language prints them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
RATES = {"de": ("19", "7"), "en": ("20", "5"), "fr": ("20", "5.5"), "it": ("22", "10")}
_MARKS = {"de": (".", ","), "en": (",", "."), "fr": (" ", ","), "it": (".", ",")}
_COUNTRIES = {"de": ("DE", 18, 9), "en": ("GB", 18, 9), "fr": ("FR", 23, 11), "it": ("IT", 23, 11)}
#: The units of which a half may be charged.
_PARTED = {"h", "hr", "hrs", "heures", "ore", "Std", "Std.", "kg", "day", "days", "jours", "m", "metre"}
#: The scalars of a record outside of its list, in the order of the schema.
SCALARS = (
    "number", "date", "due_date", "currency", "seller", "buyer", "seller_vat_id", "customer_number", "iban",
    "net_total", "tax_total", "total",
)  # fmt: skip


@dataclass(slots=True)
class Line:
    """A priced line; `rate` is its tax in percent, `discount` is in percent of quantity times price."""

    description: str
    quantity: Decimal | None
    unit: str
    price: Decimal | None
    rate: Decimal
    amount: Decimal
    discount: int = 0


def cents(value: Decimal) -> Decimal:
    """Returns an amount rounded to hundredths."""
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


@cache
def words(path: Path) -> dict[str, Any]:
    """Returns the words of a file."""
    return tomllib.loads(path.read_text("utf-8"))


class Bill:
    """The contents of one document; with `gross` the prices include tax."""

    def __init__(self, folder: Path, name: str, count: int, rates: int = 1, gross: bool = False) -> None:
        layout, self.language, at = name.split("-")
        self.name, self.at, self.gross, self.rng = name, int(at), gross, Random(name)
        self.labels: dict[str, list[str]] = words(folder / "words.toml")["labels"][self.language]
        own, places = words(folder / "words.toml")[layout][self.language], words(HERE / "places.toml")[self.language]
        rng = self.rng
        self.seller, self.buyer = own["sellers"][self.at], own["buyers"][self.at]
        self.streets, self.towns = rng.sample(places["streets"], 2), rng.sample(places["towns"], 2)
        self.number = rng.choice(("{}", "{}-25", "A{}", "2025/{}")).format(rng.randint(1200, 98000))
        self.customer = str(rng.randint(10400, 998000))
        self.issued = date(2025, rng.randint(1, 12), rng.randint(1, 28))
        self.due_on = self.issued + timedelta(rng.choice((10, 14, 21, 30)))
        country, account, vat = _COUNTRIES[self.language]
        digits = "".join(rng.choices("0123456789", k=account))
        bban = {"GB": f"NWBK{digits[:14]}", "IT": f"X{digits[:22]}"}.get(country, digits)
        spelled = "".join(str(int(c, 36)) for c in f"{bban}{country}00")
        self.iban = f"{country}{98 - int(spelled) % 97:02}{bban}"
        self.vat_id = country + "".join(rng.choices("123456789", k=vat))
        self.lines = [self._line(text, Decimal(RATES[self.language][i % rates]))
                      for i, text in enumerate(own["items"])]  # fmt: skip
        self.lines = [self.lines[i] for i in sorted(rng.sample(range(len(self.lines)), min(count, len(self.lines))))]

    def _line(self, text: str, rate: Decimal) -> Line:
        description, unit, price = (part.strip() for part in text.split(";"))
        few = Decimal(price) > 100
        quantity = Decimal(self.rng.randint(1, 4 if few else 24)) * (100 if Decimal(price) < 1 else 1)
        if unit in _PARTED and self.rng.random() < 0.5:
            quantity += Decimal("0.5")
        return Line(description, quantity, unit, Decimal(price), rate, cents(quantity * Decimal(price)))

    def label(self, key: str, part: int | None = None) -> str:
        """Returns the words of a label, or one part of several."""
        found = self.labels[key][self.at]
        return found if part is None else found.split("|")[part]

    def number_text(self, value: Decimal | None, places: int | None = None) -> str:
        """Returns a number as the language prints it; nothing for None."""
        if value is None:
            return ""
        plain = f"{value:,f}" if places is None else f"{value:,.{places}f}"
        thousands, mark = _MARKS[self.language]
        return plain.replace(",", "\0").replace(".", mark).replace("\0", thousands)

    def money(self, value: Decimal | None, sign: bool = False) -> str:
        """Returns an amount with two decimals (a price below one may have four), with the currency's sign if asked."""
        exact = value is not None and value != cents(value)
        text = self.number_text(value, None if exact else 2)
        return text if not sign else f"£{text}" if self.language == "en" else f"{text} €"

    def day(self, value: date) -> str:
        """Returns a date as the language prints it."""
        if self.language == "en":
            return f"{value.day} {value:%B %Y}" if self.at else f"{value:%d/%m/%Y}"
        return f"{value:%d.%m.%Y}" if self.language == "de" else f"{value:%d/%m/%Y}"

    def taxes(self) -> dict[Decimal, tuple[Decimal, Decimal]]:
        """Returns net sum and tax of each rate."""
        found = {}
        for rate in sorted({line.rate for line in self.lines}, reverse=True):
            held = sum((line.amount for line in self.lines if line.rate == rate), Decimal(0))
            net = cents(held / (1 + rate / 100)) if self.gross else held
            found[rate] = (net, held - net if self.gross else cents(net * rate / 100))
        return found

    @property
    def net(self) -> Decimal:
        return sum((net for net, _ in self.taxes().values()), Decimal(0))

    @property
    def tax(self) -> Decimal:
        return sum((tax for _, tax in self.taxes().values()), Decimal(0))

    @property
    def total(self) -> Decimal:
        return self.net + self.tax

    def spaced_iban(self) -> str:
        """Returns the account in groups of four."""
        return " ".join(self.iban[at : at + 4] for at in range(0, len(self.iban), 4))

    def truth(self, *absent: str) -> dict[str, Any]:
        """Returns the record, null in the scalars and the columns that are not printed."""
        values: tuple[Any, ...] = (
            self.number, str(self.issued), str(self.due_on), "GBP" if self.language == "en" else "EUR", self.seller,
            self.buyer, self.vat_id, self.customer, self.iban, float(self.net), float(self.tax), float(self.total),
        )  # fmt: skip
        told = {name: None if name in absent else value for name, value in zip(SCALARS, values, strict=True)}
        rows = [
            {
                "description": line.description, "quantity": line.quantity, "unit_price": line.price,
                "amount": line.amount, "tax_rate": line.rate,
            }
            for line in self.lines
        ]  # fmt: skip
        return told | {"items": [
            {name: None if name in absent else float(v) if isinstance(v, Decimal) else v for name, v in row.items()}
            for row in rows
        ]}  # fmt: skip
