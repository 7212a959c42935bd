"""Short ways to write the true record of an invoice or a receipt."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

Number = Decimal | str | int | float | None


def number(value: Number) -> float | int | None:
    """A JSON number; whole ones without a fraction."""
    if value is None:
        return None
    exact = Decimal(str(value))
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def party(name: str | None = None, street: str | None = None, postcode: str | None = None,
          city: str | None = None,
          country: str | None = None, vat_id: str | None = None) -> dict[str, Any]:
    return {"name": name, "vat_id": vat_id, "street": street, "postcode": postcode, "city": city,
            "country": country}


def line(description: str, quantity: Number = None, unit: str | None = None, unit_price: Number = None,
         line_total: Number = None, tax_rate: Number = None, article: str | None = None) -> dict[str, Any]:
    return {"description": description, "article_number": article, "quantity": number(quantity), "unit": unit,
            "unit_price": number(unit_price), "tax_rate": number(tax_rate), "line_total": number(line_total)}


def invoice(number_: str, issue_date: str | None, seller: dict[str, Any], buyer: dict[str, Any],
            lines: list[dict[str, Any]], currency: str | None, *, due_date: str | None = None,
            order: str | None = None,
            iban: str | None = None, net: Number = None, tax: Number = None, gross: Number = None,
            due: Number = None) -> dict[str, Any]:
    return {"number": number_, "issue_date": issue_date, "due_date": due_date, "order_reference": order,
            "currency": currency, "seller": seller, "buyer": buyer, "iban": iban, "line_items": lines,
            "net_total": number(net), "tax_total": number(tax), "gross_total": number(gross),
            "amount_due": number(due)}


def receipt(merchant: str | None, address: str | None, date: str | None, time: str | None,
            items: list[tuple[str, Number, Number]], total: Number, currency: str | None,
            payment: str | None) -> dict[str, Any]:
    return {"merchant": merchant, "address": address, "date": date, "time": time,
            "items": [{"description": d, "quantity": number(q), "amount": number(a)} for d, q, a in items],
            "total": number(total), "currency": currency, "payment_method": payment}
