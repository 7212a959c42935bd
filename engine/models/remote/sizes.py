"""Estimates a server's tokens from bytes, because its tokenizer is not at hand, and divides its context."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from cinnabar.engine.examples import Examples
from cinnabar.engine.few_shot import FewShot
from cinnabar.engine.models.remote.prices import Tokens
from cinnabar.engine.models.remote.prompting import body_of, messages_of
from cinnabar.engine.models.remote.serving import Served
from cinnabar.engine.replies.provider_schema import Wire
from cinnabar.engine.request import Request
from cinnabar.schemas.form.form import Form

#: Bytes of a token, rather too few: English has about 4.5, tables, German and numbers about 3.
BYTES = 3
#: Divisors of the context: for an answer, for an answer without lists, and for the task and the schema.
LISTS, SCALARS, TASK = 4, 16, 8
#: Tokens of a value in an answer, with its name, and the assumed items of a list.
VALUE, ITEMS = 14, 8
#: The average room for each value of a form without lists, in tokens.
LONG = 4 * VALUE


def tokens_of(text: str) -> int:
    """Estimates the tokens of a text, rather too many."""
    return -(-len(text.encode()) // BYTES)


def few_shot_of(examples: Examples | None, served: Served) -> FewShot:
    """Returns the choice of examples for a server's prompts. Raises UsageError if no example of a form fits."""
    return FewShot(examples, served.context, tokens_of)


def passage_room(context: int, few_shot: FewShot) -> int:
    """Returns the most tokens of a passage beside the task, the schema, the examples and the answer."""
    return context - context // LISTS - context // TASK - few_shot.room


def answer_room(form: Form, context: int) -> int:
    """Returns the most tokens of an answer."""
    most = context // LISTS
    return most if form.arrays else min(most, max(context // SCALARS, LONG * len(form.slots)))


def bytes_of(body: dict[str, Any]) -> int:
    """Returns the bytes of a request's body."""
    return len(json.dumps(body, ensure_ascii=False).encode())


def most_of(served: Served, body: dict[str, Any]) -> Decimal:
    """Returns the most dollars that a request can cost: a token has a byte or more, and nothing is cached."""
    tokens = Tokens(bytes_of(body), 0, body["max_tokens"])
    return Decimal(0) if served.prices is None else served.prices.cost(tokens)


def dearest(served: Served, requests: Sequence[Request], few_shot: FewShot) -> Decimal:
    """Returns the most dollars that one of these requests can cost."""
    costs = [Decimal(0)]
    for request in requests:
        wire = Wire(request.form, request.known, request.counted)
        if wire.schema is not None:
            room = answer_room(request.form, served.context)
            costs.append(most_of(served, body_of(served, "medium", wire, messages_of(request, wire, few_shot), room)))
    return max(costs)


def expected_tokens(requests: Sequence[Request], few_shot: FewShot) -> tuple[int, int]:
    """Estimates the input and output tokens of these requests, asked once each."""
    inputs = outputs = 0
    for request in requests:
        wire = Wire(request.form, request.known, request.counted)
        if wire.schema is not None:
            asked = json.dumps([messages_of(request, wire, few_shot), wire.schema], ensure_ascii=False)
            inputs += tokens_of(asked)
            outputs += sum(VALUE * (ITEMS if "*" in slot.path else 1) for slot in request.form.slots)
    return inputs, outputs
