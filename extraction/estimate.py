"""What a run would cost, told before it begins, from a sample of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from cinnabar.engine.models.remote.prices import Prices, Tokens
from cinnabar.engine.models.remote.sizes import expected_tokens, tokens_of
from cinnabar.engine.request import Request
from cinnabar.extraction.chunking import chunks, overlap_of
from cinnabar.extraction.documents import Document
from cinnabar.extraction.planning import passage_of
from cinnabar.schemas.form import Form

if TYPE_CHECKING:
    from cinnabar.extraction.ingest.message import Message
    from cinnabar.extraction.ingest.sandbox import ParserPool

#: Documents that are read for it, evenly from all.
SAMPLE = 24


@dataclass(frozen=True, slots=True)
class Estimate:
    """About what so many documents take, asked once each; `read` of them were looked at.

    `cost` is in dollars, None where prices are not known. `at_most` says that only a part of it will be
    asked, as with tiers.
    """

    documents: int
    read: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    at_most: bool = False

    def __str__(self) -> str:
        about = "at most about" if self.at_most else "about"
        cost = "a cost that is not known" if self.cost is None else f"${self.cost:.4f}"
        tokens = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        return f"{self.documents} documents, {about} {cost} ({tokens}; from a look at {self.read} of them)"


def estimate(
    items: Sequence[Path | Message],
    form: Form,
    pool: ParserPool,
    prices: Prices | None,
    room: int,
    context: int | None,
    at_most: bool = False,
) -> Estimate:
    """The estimate for these documents: a sample of them is parsed, and its tokens are counted by bytes.

    `room` are the tokens that a passage may have for the model, `context` those that are wanted.
    """
    step = max(1, -(-len(items) // SAMPLE))
    sample = items[::step]
    found = [read for _, read in pool.parse_many(sample)]
    documents = [read for read in found if isinstance(read, Document)]
    limit = min(context or room, room)
    requests = [request for document in documents for request in _requests(document, form, limit)]
    inputs, outputs = expected_tokens(requests)
    scale = Decimal(len(items)) / max(1, len(sample))
    tokens = Tokens(int(inputs * scale), 0, int(outputs * scale))
    cost = None if prices is None else prices.cost(tokens)
    return Estimate(len(items), len(sample), tokens.input, tokens.output, cost, at_most)


def _requests(document: Document, form: Form, limit: int) -> list[Request]:
    pieces = chunks(document, limit, overlap_of(limit), tokens_of)
    return [Request("", form, passage_of(document, c.start, c.end)) for c in pieces]
