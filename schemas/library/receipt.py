"""The schema of a receipt of a shop or restaurant."""

from __future__ import annotations

from datetime import date as Date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cinnabar.schemas.library.types import ClockTime, CurrencyCode, Money


class ReceiptItem(BaseModel):
    """One article on a receipt."""

    model_config = ConfigDict(extra="forbid", title="Item")

    description: str | None = Field(
        None,
        title="Description",
        description="Name of the article as printed, without its number; null where the line has none.",
    )
    quantity: Money | None = Field(
        None,
        title="Quantity",
        description="Number of pieces, or weight without its unit; null where not printed.",
    )
    amount: Money | None = Field(
        None,
        title="Amount",
        description="Amount of the whole line as printed, negative for a discount; null where not printed.",
    )


class Receipt(BaseModel):
    """A receipt. Amounts are in the receipt's currency."""

    model_config = ConfigDict(extra="forbid", title="Receipt")

    merchant: str | None = Field(
        None,
        title="Merchant",
        description=(
            "Name of the shop or company that issued the receipt, as printed; null where not printed."
        ),
    )
    address: str | None = Field(
        None,
        title="Address",
        description=(
            "Address of the shop as printed, its lines joined by a blank, without telephone and tax "
            "numbers; null where not printed."
        ),
    )
    date: Date | None = Field(
        None, title="Date", description="Date of the purchase, ISO 8601 (YYYY-MM-DD); null where not printed."
    )
    time: ClockTime | None = Field(
        None,
        title="Time",
        description=(
            "Time of the purchase, hours and minutes on the 24-hour clock (HH:MM, 14:05); null where not "
            "printed."
        ),
    )
    items: list[ReceiptItem] = Field(
        title="Items",
        description=(
            "The articles in printed order, discounts included, without totals, taxes and payments; empty "
            "where there are none."
        ),
    )
    total: Money | None = Field(
        None,
        title="Total",
        description=(
            "Amount to pay, with tax and after discounts and rounding; not the cash given; null where not "
            "printed."
        ),
    )
    currency: CurrencyCode | None = Field(
        None,
        title="Currency",
        description=(
            "ISO 4217 code (EUR), also where the receipt has only a sign (€ is EUR); null where no currency"
            " is printed."
        ),
    )
    payment_method: Literal["cash", "card", "mobile", "voucher", "other"] | None = Field(
        None,
        title="Payment method",
        description=(
            "How it was paid. cash = notes and coins; card = debit or credit card; "
            "mobile = a telephone or watch; "
            "voucher = voucher or gift card; other = any other way that is printed; null where not printed."
        ),
    )
