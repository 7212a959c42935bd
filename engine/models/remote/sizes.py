"""How much text fits: tokens of a server whose tokenizer is not at hand, counted by bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from cinnabar.engine.answers.wire import Wire
from cinnabar.engine.models.remote.prices import Tokens
from cinnabar.engine.models.remote.prompting import body_of, messages_of
from cinnabar.engine.models.remote.serving import Served
from cinnabar.engine.request import Request
from cinnabar.schemas.form.form import Form

#: Bytes of a token, rather too few: English has about 4.5, tables, German and numbers about 3.
BYTES = 3
#: Share of the context that an answer may take, and one without lists; room for the task and the schema.
LISTS, SCALARS, TASK = 4, 16, 8
#: Tokens that a value takes in an answer, with its name, and items that a list is taken to have.
VALUE, ITEMS = 14, 8
#: Tokens that there is room for, on the average, for each value of a form without lists.
LONG = 4 * VALUE


def tokens_of(text: str) -> int:
    """About the tokens of a text, rather too many."""
    return -(-len(text.encode()) // BYTES)


def passage_room(context: int) -> int:
    """Tokens that a passage may have beside the task, the schema and the answer."""
    return context - context // LISTS - context // TASK


def answer_room(form: Form, context: int) -> int:
    """Tokens that an answer may have."""
    most = context // LISTS
    return most if form.arrays else min(most, max(context // SCALARS, LONG * len(form.slots)))


def bytes_of(body: dict[str, Any]) -> int:
    """Bytes of a request's body."""
    return len(json.dumps(body, ensure_ascii=False).encode())


def most_of(served: Served, body: dict[str, Any]) -> Decimal:
    """Dollars that a request can cost at most: a token has a byte or more, and nothing is cached."""
    tokens = Tokens(bytes_of(body), 0, body["max_tokens"])
    return Decimal(0) if served.prices is None else served.prices.cost(tokens)


def dearest(served: Served, requests: Sequence[Request]) -> Decimal:
    """Dollars that one of these requests can cost at most."""
    found = [Decimal(0)]
    for request in requests:
        wire = Wire(request.form, request.known)
        if wire.schema is not None:
            room = answer_room(request.form, served.context)
            found.append(most_of(served, body_of(served, "medium", wire, messages_of(request), room)))
    return max(found)


def expected_tokens(requests: Sequence[Request]) -> tuple[int, int]:
    """About the tokens in and out that these requests take, asked once each."""
    inputs = outputs = 0
    for request in requests:
        wire = Wire(request.form, request.known)
        if wire.schema is not None:
            asked = json.dumps([messages_of(request), wire.schema], ensure_ascii=False)
            inputs += tokens_of(asked)
            outputs += sum(VALUE * (ITEMS if "*" in slot.path else 1) for slot in request.form.slots)
    return inputs, outputs
