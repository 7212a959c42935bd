"""A form that tests ask a server about, requests for it, and answers as a server gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cinnabar.engine.asking.provider_schema import Wire
from cinnabar.engine.request import Passage, Request
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

EMPTY = np.zeros(0, np.int32)
NOTE: dict[str, Any] = {
    "type": "object",
    "title": "note",
    "properties": {
        "name": {"type": "string", "title": "Author", "description": "Who wrote it."},
        "day": {"type": ["string", "null"], "format": "date"},
        "kind": {"enum": ["a", "b"], "description": "a: short; b: long"},
        "paid": {"type": "boolean"},
        "seller": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "lines": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
                "required": ["what", "price"],
            },
        },
    },
    "required": ["name", "day", "lines"],
}


def form_of(schema: dict[str, Any]) -> Form:
    return compile_schema(schema).form


def request(form: Form, text: str, known: dict[str, str | None] | None = None) -> Request:
    passage = Passage("d", text, 0, EMPTY, EMPTY, np.zeros((0, 4), np.float32))
    return Request("r", form, passage, known or {})


def answer_of(form: Form, record: Any) -> str:
    """The answer that says this record, to a form without known values."""
    answer = Wire(form, {}).answer(record)
    assert answer is not None
    return answer
