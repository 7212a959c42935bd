"""The schema of a customer's message to an insurance company."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cinnabar.schemas.library.types import CurrencyCode, Money

Intent = Literal["complaint", "enquiry", "claim", "cancellation", "change_of_details", "payment", "other"]


class InsuranceMail(BaseModel):
    """A message to an insurance company: who writes, about what, and what is wanted."""

    model_config = ConfigDict(extra="forbid", title="InsuranceMail")

    intent: Intent | None = Field(
        None,
        title="Intent",
        description=(
            "What the sender mainly wants. complaint = is dissatisfied and wants it put right; "
            "enquiry = asks for information; claim = reports a loss or follows up a claim; "
            "cancellation = ends or withdraws from a policy; "
            "change_of_details = tells a new address, name, bank account or insured object; "
            "payment = is about a premium, an invoice or a refund; other = anything else; "
            "null where nobody can tell."
        ),
    )
    sender_name: str | None = Field(
        None,
        title="Sender",
        description=(
            "Name of the person who writes, as signed or else as in the sender line; null where there is "
            "none."
        ),
    )
    policy_number: str | None = Field(
        None,
        title="Policy number",
        description=(
            "Number of the insurance policy or contract, as written, the first where there are several; "
            "null where not given."
        ),
    )
    claim_number: str | None = Field(
        None,
        title="Claim number",
        description="Number of the claim or case, as written; null where not given.",
    )
    incident_date: date | None = Field(
        None,
        title="Date of the incident",
        description=(
            "Day on which the loss or incident happened, ISO 8601 (YYYY-MM-DD); null where the message "
            "tells of none."
        ),
    )
    amount_claimed: Money | None = Field(
        None,
        title="Amount claimed",
        description=(
            "Amount of money that the sender asks for or reports as damage, without its currency; null "
            "where none is named."
        ),
    )
    currency: CurrencyCode | None = Field(
        None,
        title="Currency",
        description=(
            "ISO 4217 code of the amount claimed (EUR), also where only a sign is written; null where no "
            "amount is named."
        ),
    )
    summary: str | None = Field(
        None,
        title="Summary",
        description=(
            "The sentence or two of the message that say best what is wanted, copied from the text; null "
            "for an empty message."
        ),
    )
