"""Estimates the cost of a run before it begins, from a sample of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cinnabar.engine.asking.few_shot import Examples, FewShot
from cinnabar.engine.remote.estimates import expected_tokens, passage_room, tokens_of
from cinnabar.engine.remote.ledger import Tokens
from cinnabar.engine.remote.serving import Served
from cinnabar.engine.request import Request
from cinnabar.extraction.documents.chunking import chunks, on_pages, overlap_of
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.asked_chunks import NOTHING, requests_of
from cinnabar.extraction.filling.overlay.facts import facts_of
from cinnabar.extraction.filling.overlay.given import known_to_model
from cinnabar.schemas.form.form import Form
from cinnabar.wording import with_noun

if TYPE_CHECKING:
    from cinnabar.extraction.documents.content.inputs import Content
    from cinnabar.extraction.documents.ingest.sandbox import ParserPool

T = TypeVar("T")

#: Documents in the sample, evenly spaced over all.
ESTIMATE_SAMPLE = 24


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The expected tokens and cost of asking about `documents` documents once each, from a sample of `read`.

    `cost` is in dollars. `dearest` is the highest possible cost of one request, which a budget must have room for. Both
    are None if prices are unknown. `at_most` says that the run may ask for only a part, as with tiers.
    """

    documents: int
    read: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    dearest: Decimal | None
    at_most: bool = False

    def __str__(self) -> str:
        about = "at most about" if self.at_most else "about"
        tokens = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        basis = f"({tokens}; from a sample of {self.read})"
        if self.cost is None or self.dearest is None:
            return f"{with_noun(self.documents, 'document')}, {about} {basis} at unknown prices (see `prices`)"
        enough, most = (
            amount.quantize(Decimal("0.0001"), ROUND_UP) for amount in (self.cost + self.dearest, self.dearest)
        )
        room = f"one request may cost up to ${most}, so all need a --budget of about ${enough}"
        return f"{with_noun(self.documents, 'document')}, {about} ${self.cost:.4f} {basis}; {room}"


def sample(items: Sequence[T], most: int = ESTIMATE_SAMPLE) -> Sequence[T]:
    """Returns some of these items, evenly spread over all."""
    return items[:: max(1, -(-len(items) // most))]


def estimate_cost(
    items: Sequence[Path | Content],
    form: Form,
    pool: ParserPool,
    served: Served,
    context: int | None,
    at_most: bool = False,
    examples: Examples | None = None,
) -> CostEstimate:
    """Returns the estimate for these documents from a parsed sample whose tokens are counted from bytes.

    `context` is the wanted tokens of a passage; the model's room limits it. `examples` stand in each prompt.
    """
    tried = sample(items)
    parsed = [on_pages(read, form.pages) for _, read in pool.parse_many(tried)]
    documents = [read for read in parsed if isinstance(read, Document)]
    few_shot = FewShot(examples, served.context, tokens_of)
    room = passage_room(served.context, few_shot)
    limit = min(context or room, room)
    requests = [request for document in documents for request in _requests(document, form, limit)]
    inputs, outputs, dearest = expected_tokens(served, requests, few_shot)
    scale = Decimal(len(items)) / max(1, len(tried))
    tokens = Tokens(int(inputs * scale), 0, int(outputs * scale))
    cost, most = (None, None) if served.prices is None else (served.prices.cost(tokens), dearest)
    return CostEstimate(len(items), len(tried), tokens.input, tokens.output, cost, most, at_most)


def _requests(document: Document, form: Form, limit: int) -> list[Request]:
    found = chunks(document, limit, overlap_of(limit), tokens_of)
    pieces = [(c, NOTHING) for c in found if document.text[c.start : c.end].strip()]
    return requests_of(document, form, pieces, known_to_model(facts_of(document, form).given))
