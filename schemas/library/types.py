"""Value types shared by the schemas of the library."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field, PlainSerializer, WithJsonSchema

from cinnabar.schemas.keywords import DECIMALS

# Four decimal places are the most that ISO 4217 gives any currency, and enough for printed unit prices and quantities.
# The keyword makes the column a decimal and not a float. Pydantic's own schema for Decimal (a number, or a string with
# a pattern) would leave two spellings for one value.
Money = Annotated[
    Decimal,
    Field(decimal_places=4),
    PlainSerializer(float, return_type=float, when_used="json"),
    WithJsonSchema({"type": "number", DECIMALS: 4}),
]
"""An amount of money or a quantity: a JSON number with at most four decimal places."""

CurrencyCode = Annotated[str, Field(pattern="^[A-Z]{3}$")]
"""A three-letter code of ISO 4217."""

CountryCode = Annotated[str, Field(pattern="^[A-Z]{2}$")]
"""A two-letter code of ISO 3166-1."""

# Not `datetime.time`: the format `time` of JSON Schema demands an offset from UTC, which no receipt prints.
ClockTime = Annotated[str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")]
"""A time of day, hours and minutes on the 24-hour clock."""
