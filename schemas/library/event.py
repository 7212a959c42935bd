"""The schema of an announcement of an event: a talk, a conference, a course, a concert."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from cinnabar.schemas.library.types import ClockTime, CurrencyCode, Money


class Event(BaseModel):
    """One event: what, when, where, by whom and for how much."""

    model_config = ConfigDict(extra="forbid", title="Event")

    title: str = Field(
        title="Title",
        min_length=1,
        description="Name of the event or title of the talk, as printed, without date and place.",
    )
    starts_at: date | None = Field(
        None,
        title="First day",
        description=(
            "Day on which the event begins, ISO 8601 (YYYY-MM-DD), the year taken from the text; null where"
            " not told."
        ),
    )
    start_time: ClockTime | None = Field(
        None,
        title="Start time",
        description=(
            "Time at which it begins, hours and minutes on the 24-hour clock (HH:MM, 19:30), local time; "
            "null where not told."
        ),
    )
    end_date: date | None = Field(
        None,
        title="Last day",
        description=(
            "Last day of the event, ISO 8601 (YYYY-MM-DD); the first day again for one day; null where not "
            "told."
        ),
    )
    end_time: ClockTime | None = Field(
        None,
        title="End time",
        description=(
            "Time at which it ends, hours and minutes on the 24-hour clock (HH:MM), local time; null where "
            "not told."
        ),
    )
    venue: str | None = Field(
        None,
        title="Venue",
        description=(
            "Room, building or place where it is held, as printed, without the city; the platform where it "
            "is held online; null where not told."
        ),
    )
    city: str | None = Field(
        None, title="City", description="City or town where it is held; null where not told."
    )
    organiser: str | None = Field(
        None,
        title="Organiser",
        description="Organisation or person that holds the event; null where not told.",
    )
    speakers: list[str] = Field(
        title="Speakers",
        json_schema_extra={"uniqueItems": True},
        description=(
            "Names of speakers, teachers or performers in the order of the text, without titles and "
            "affiliations; empty where none is named."
        ),
    )
    price: Money | None = Field(
        None,
        title="Price",
        description=(
            "Regular price of admission for one person, without its currency; 0 where it is said to be "
            "free; null where not told."
        ),
    )
    currency: CurrencyCode | None = Field(
        None,
        title="Currency",
        description=(
            "ISO 4217 code of the price (EUR), also where only a sign is printed; null where there is no "
            "price."
        ),
    )
    registration_deadline: date | None = Field(
        None,
        title="Registration deadline",
        description="Last day to register or buy a ticket, ISO 8601 (YYYY-MM-DD); null where not told.",
    )
    url: str | None = Field(
        None,
        title="Link",
        description=(
            "Address of the event's page, as printed, the first where there are several; null where not "
            "given."
        ),
    )
