"""The exact sums of a run's requests, tokens and costs at a server, and the budget that bounds them.

A whole answer is charged by its `usage`; without a `usage` its cost is not known. A request that was sent and got no
whole answer may have been charged or not; it counts as unanswered. For both the ledger knows the most that they can
have cost, and the budget counts that. So a run never costs more than its budget. The prices are exact decimals.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Context, Decimal, InvalidOperation

from cinnabar.errors import EngineFailure, UsageError

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
                raise UsageError(f"prices: expected prices of 0 or more with six decimals, got {price}")

    @classmethod
    def parse(cls, text: str) -> Prices:
        """Returns the prices of a text `INPUT,CACHED,OUTPUT`. Raises UsageError for any other text."""
        try:
            numbers = [Decimal(part.strip()) for part in text.split(",")]
        except InvalidOperation:
            numbers = []
        if len(numbers) != 3:
            raise UsageError(f"prices {text}: expected INPUT,CACHED,OUTPUT in dollars for a million tokens")
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


@dataclass(slots=True)
class Ledger:
    """The sums of one run. `cost` and `unanswered_cost` are in dollars, 0 where prices are not known.

    answers: whole answers. unmetered: those without a usable `usage`; their cost is at most `unmetered_cost`.
    retries: requests sent again after a failure. asked_again: further asks, each with the problems of the last answer.
    """

    prices: Prices | None
    answers: int = 0
    unmetered: int = 0
    unmetered_cost: Decimal = Decimal(0)
    tokens: Tokens = field(default_factory=Tokens)
    cost: Decimal = Decimal(0)
    retries: int = 0
    asked_again: int = 0
    unanswered: int = 0
    unanswered_cost: Decimal = Decimal(0)

    @property
    def spent(self) -> Decimal:
        """The most that the run can have cost so far."""
        return self.cost + self.unmetered_cost + self.unanswered_cost

    def charge(self, tokens: Tokens | None, most: Decimal) -> None:
        """Enters an answer; without `tokens` it enters `most` as the unmetered cost."""
        self.answers += 1
        if tokens is None:
            self.unmetered += 1
            self.unmetered_cost += most
        else:
            self.tokens += tokens
            self.cost += self.prices.cost(tokens) if self.prices else Decimal(0)

    def doubt(self, most: Decimal) -> None:
        """Enters a request without a whole answer and the most that it can have cost."""
        self.unanswered += 1
        self.unanswered_cost += most

    def usage(self) -> dict[str, int | str | None]:
        """Returns the sums as JSON values."""
        known = self.prices is not None
        metered = self.answers > self.unmetered or not self.answers
        return {
            "requests": self.answers,
            "input_tokens": self.tokens.input,
            "cached_tokens": self.tokens.cached,
            "output_tokens": self.tokens.output,
            "cost": money(self.cost) if known and metered else None,
            "unmetered": self.unmetered,
            "unmetered_cost_at_most": money(self.unmetered_cost) if known else None,
            "retries": self.retries,
            "asked_again": self.asked_again,
            "unanswered": self.unanswered,
            "unanswered_cost_at_most": money(self.unanswered_cost) if known else None,
        }


class Budget:
    """The bound of a run: known cost, possible cost and reserved dollars together never exceed it.

    `open` begins a batch of requests in the running event loop. Once a request does not fit, no later one is sent, so
    that the requests left out do not depend on which documents are small. `stopped` holds the reason.
    """

    def __init__(self, ledger: Ledger, limit: Decimal | None) -> None:
        self._ledger, self._limit = ledger, limit
        self._under_way = Decimal(0)
        self.stopped: str | None = None
        self._freed = asyncio.Event()

    def open(self) -> None:
        """Begins a batch with nothing under way."""
        self._under_way = Decimal(0)
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def reserve(self, most: Decimal) -> AsyncIterator[None]:
        """Reserves `most` dollars of the budget while a request is under way; waits until they are free.

        Raises EngineFailure `budget` if they cannot become free.
        """
        while not self._fits(most):
            if self.stopped or not self._under_way:
                self.stopped = self.stopped or self._exhausted_text(most)
                raise EngineFailure("budget", f"not asked: {self._exhausted_text(most)}")
            self._freed.clear()
            await self._freed.wait()
        self._under_way += most
        try:
            yield
        finally:
            self._under_way -= most
            self._freed.set()

    def _exhausted_text(self, most: Decimal) -> str:
        spent = money(self._ledger.spent)
        return f"a request may cost ${money(most)}, and ${spent} of the budget of ${self._limit} is spent"

    def _fits(self, most: Decimal) -> bool:
        if self._limit is None:
            return True
        return not self.stopped and 0 < self._limit >= self._ledger.spent + self._under_way + most
