"""Estimates what a request costs: a server's tokens from bytes, as its tokenizer is not at hand, and dollars."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from cinnabar.engine.asking.few_shot import FewShot
from cinnabar.engine.asking.instructions import Message
from cinnabar.engine.asking.provider_schema import Wire
from cinnabar.engine.asking.server_prompt import messages_of
from cinnabar.engine.remote.ledger import Tokens
from cinnabar.engine.remote.serving import Served
from cinnabar.engine.request import Request
from cinnabar.schemas.form.form import Form

# A changed one changes values: raise the part `remote` (engine/version.py).
#: Bytes of a token, rather too few: English has about 4.5, tables, German and numbers about 3.
TOKEN_BYTES = 3
#: Divisors of the context: for an answer, for an answer without lists, and for the task and the schema.
LISTS_DIVISOR, SCALARS_DIVISOR, TASK_DIVISOR = 4, 16, 8
#: Tokens of a value in an answer, with its name, and the assumed items of a list.
VALUE_TOKENS, ASSUMED_ITEMS = 14, 8
#: The average room for each value of a form without lists, in tokens.
LONG = 4 * VALUE_TOKENS


def body_of(served: Served, effort: str, wire: Wire, messages: Sequence[Message], max_tokens: int) -> dict[str, Any]:
    """Returns the body of a request for a chat completion."""
    schema = {"name": "record", "strict": wire.strict, "schema": wire.schema}
    body: dict[str, Any] = {
        "model": served.model,
        "messages": list(messages),
        "response_format": {"type": "json_schema", "json_schema": schema},
        "max_tokens": max_tokens,
    }
    return body | {"reasoning_effort": effort} if served.effort else body


def tokens_of(text: str) -> int:
    """Estimates the tokens of a text, rather too many."""
    return -(-len(text.encode()) // TOKEN_BYTES)


def passage_room(context: int, few_shot: FewShot) -> int:
    """Returns the most tokens of a passage beside the task, the schema, the examples and the answer."""
    return context - context // LISTS_DIVISOR - context // TASK_DIVISOR - few_shot.room


def answer_room(form: Form, context: int) -> int:
    """Returns the most tokens of an answer."""
    most = context // LISTS_DIVISOR
    return most if form.arrays else min(most, max(context // SCALARS_DIVISOR, LONG * len(form.slots)))


def highest_cost(served: Served, body: dict[str, Any]) -> Decimal:
    """Returns the most dollars that a request can cost: a token has a byte or more, and nothing is cached."""
    tokens = Tokens(len(json.dumps(body, ensure_ascii=False).encode()), 0, body["max_tokens"])
    return Decimal(0) if served.prices is None else served.prices.cost(tokens)


def expected_tokens(served: Served, requests: Sequence[Request], few_shot: FewShot) -> tuple[int, int, Decimal]:
    """Estimates the input and output tokens of these requests, asked once each, and the most dollars of one of them."""
    inputs, outputs, dearest = 0, 0, Decimal(0)
    for request in requests:
        wire = Wire(request.form, request.known, request.counted)
        if wire.schema is not None:
            messages = messages_of(request, wire, few_shot)
            body = body_of(served, "medium", wire, messages, answer_room(request.form, served.context))
            dearest = max(dearest, highest_cost(served, body))
            inputs += tokens_of(json.dumps([messages, wire.schema], ensure_ascii=False))
            outputs += sum(VALUE_TOKENS * (ASSUMED_ITEMS if "*" in slot.path else 1) for slot in request.form.slots)
    return inputs, outputs, dearest
