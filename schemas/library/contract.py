"""The schema of a non-disclosure agreement: its parties, its dates, its term, its law."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, Field


class NonDisclosureAgreement(BaseModel):
    """Key terms of a non-disclosure or confidentiality agreement."""

    model_config = ConfigDict(extra="forbid", title="NonDisclosureAgreement")

    parties: list[str] = Field(
        title="Parties",
        json_schema_extra={"uniqueItems": True},
        description=(
            "Full names of the contracting companies and persons, with their legal form, in the order of the "
            "text; neither the people who sign for a company nor defined short names; empty where none is "
            "named."
        ),
    )
    effective_date: date | None = Field(
        None,
        title="Effective date",
        description=(
            "Date from which the agreement is effective, often the one it is made as of, ISO 8601 "
            "(YYYY-MM-DD); null where day, month or year is left blank."
        ),
    )
    governing_law: str | None = Field(
        None,
        title="Governing law",
        description=(
            "State or country whose law governs the agreement, its short name only (New York, not State of "
            "New York); null where the agreement names none."
        ),
    )
    term: str | None = Field(
        None,
        title="Term",
        pattern=r"^[0-9]+ \S+$",
        description=(
            "How long the confidentiality obligation lasts: a number and a unit (2 years, 18 months); "
            "null where the agreement sets no period."
        ),
    )
    mutual: bool | None = Field(
        None,
        title="Mutual",
        description=(
            "True where both parties disclose and are bound, false where only one is bound; "
            "null where the text does not say."
        ),
    )
    purpose: str | None = Field(
        None,
        title="Purpose",
        description=(
            "What the information may be used for, in the agreement's own words, one phrase; null where not"
            " said."
        ),
    )
