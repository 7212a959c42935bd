"""The schema of an invoice or credit note: its head, its lines and its totals."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from cinnabar.schemas.library.types import CountryCode, CurrencyCode, Money


class InvoiceParty(BaseModel):
    """One of the two parties of an invoice, as printed."""

    model_config = ConfigDict(extra="forbid", title="Party")

    name: str | None = Field(
        None,
        title="Name",
        description="Name of the company or person, as printed, with its legal form; null where not printed.",
    )
    vat_id: str | None = Field(
        None,
        title="VAT ID",
        description=(
            "VAT identification number without blanks or dots (DE123456789); a plain tax number is not one;"
            " null where not printed."
        ),
    )
    street: str | None = Field(
        None,
        title="Street",
        description="Street and house number, or post box, in one line; null where not printed.",
    )
    postcode: str | None = Field(
        None,
        title="Postcode",
        description="Postal code as printed, without the country prefix; null where not printed.",
    )
    city: str | None = Field(
        None, title="City", description="City or town, without the postal code; null where not printed."
    )
    country: CountryCode | None = Field(
        None,
        title="Country",
        description=(
            "Country of the address as a two-letter ISO 3166-1 code (DE, FR); null where the address names "
            "none."
        ),
    )


class InvoiceLine(BaseModel):
    """One line of an invoice."""

    model_config = ConfigDict(extra="forbid", title="Line")

    description: str | None = Field(
        None,
        title="Description",
        description="Name of the product or service as printed in the line; null where the line has none.",
    )
    article_number: str | None = Field(
        None,
        title="Article number",
        description="The seller's article or item number; null where not printed.",
    )
    quantity: Money | None = Field(
        None,
        title="Quantity",
        description=(
            "Quantity invoiced, without its unit; negative for returned goods; null where not printed."
        ),
    )
    unit: str | None = Field(
        None,
        title="Unit",
        description="Unit of the quantity as printed (pcs, h, kg); null where not printed.",
    )
    unit_price: Money | None = Field(
        None,
        title="Unit price",
        description="Price of one unit in the invoice's currency, as printed; null where not printed.",
    )
    tax_rate: Money | None = Field(
        None,
        title="Tax rate",
        description="Rate of VAT or sales tax of this line in percent (19 for 19 %); null where not printed.",
    )
    line_total: Money | None = Field(
        None,
        title="Line total",
        description="Amount of the whole line in the invoice's currency, as printed; null where not printed.",
    )


class Invoice(BaseModel):
    """An invoice or credit note. Amounts are in the invoice's currency."""

    model_config = ConfigDict(extra="forbid", title="Invoice")

    number: str = Field(
        title="Invoice number",
        min_length=1,
        description="Number that the seller gave this invoice, as printed.",
    )
    issue_date: date | None = Field(
        None,
        title="Invoice date",
        description="Date of issue, ISO 8601 (YYYY-MM-DD); null where not printed.",
    )
    due_date: date | None = Field(
        None,
        title="Due date",
        description=(
            "Date by which the whole amount is to be paid, ISO 8601 (YYYY-MM-DD); the date of a cash "
            "discount is not one; null where no date is printed."
        ),
    )
    order_reference: str | None = Field(
        None, title="Purchase order", description="The buyer's order number; null where not printed."
    )
    currency: CurrencyCode | None = Field(
        None,
        title="Currency",
        description=(
            "ISO 4217 code of the invoice's currency (EUR), also where the invoice has only a sign (€ is "
            "EUR); null where no amount has a currency."
        ),
    )
    seller: InvoiceParty = Field(title="Seller", description="The party that issues the invoice.")
    buyer: InvoiceParty = Field(
        title="Buyer", description="The party that is invoiced; not a delivery address that differs from it."
    )
    iban: str | None = Field(
        None,
        title="IBAN",
        description=(
            "IBAN of the account to pay to, without blanks, the first where there are several; null where "
            "not printed."
        ),
    )
    line_items: list[InvoiceLine] = Field(
        title="Lines",
        description=(
            "The invoice's lines in printed order, without subtotals, carry-overs and totals; empty where "
            "there are none."
        ),
    )
    net_total: Money | None = Field(
        None, title="Net total", description="Total without tax; null where not printed."
    )
    tax_total: Money | None = Field(
        None,
        title="Tax total",
        description="Total of VAT or sales tax over all rates; null where not printed.",
    )
    gross_total: Money | None = Field(
        None, title="Gross total", description="Total with tax; null where not printed."
    )
    amount_due: Money | None = Field(
        None,
        title="Amount due",
        description=(
            "Amount still to be paid, after prepayments; the gross total where nothing was prepaid; null "
            "where no total is printed."
        ),
    )
