"""Prices of tokens and exact costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from cinnabar.schemas.errors import UsageError

#: Enough digits for every product of a price and a number of tokens to be exact.
_EXACT = Context(prec=60)
#: Digits behind the point of a price: with these a cost has at most twelve, as its column in `runs`.
PLACES = 6


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of an answer as the server counted them; `input` includes the `cached` ones."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.input + other.input, self.cached + other.cached, self.output + other.output)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens. Raises UsageError if one is negative or has more than six decimals."""

    input: Decimal
    cached: Decimal
    output: Decimal

    def __post_init__(self) -> None:
        for price in (self.input, self.cached, self.output):
            exponent = price.as_tuple().exponent
            if not price.is_finite() or price < 0 or not isinstance(exponent, int) or exponent < -PLACES:
                raise UsageError(f"--prices: expected prices of 0 or more with six decimals, got {price}")

    @classmethod
    def parse(cls, text: str) -> Prices:
        """Returns the prices of a text `INPUT,CACHED,OUTPUT`. Raises UsageError for any other text."""
        try:
            numbers = [Decimal(part.strip()) for part in text.split(",")]
        except InvalidOperation:
            numbers = []
        if len(numbers) != 3:
            raise UsageError(f"--prices {text}: expected INPUT,CACHED,OUTPUT in dollars for a million tokens")
        return cls(*numbers)

    def cost(self, tokens: Tokens) -> Decimal:
        """Returns the exact cost of these tokens in dollars."""
        fresh = _EXACT.multiply(self.input, Decimal(tokens.input - tokens.cached))
        cached = _EXACT.multiply(self.cached, Decimal(tokens.cached))
        output = _EXACT.multiply(self.output, Decimal(tokens.output))
        return _EXACT.scaleb(_EXACT.add(_EXACT.add(fresh, cached), output), -6)


def money(amount: Decimal) -> str:
    """Returns an amount as plain decimal text with all its digits."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
