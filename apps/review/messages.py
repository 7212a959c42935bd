"""The parts of requests that all routes of the review page share, and their answers."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

#: The header of answers that no browser keeps.
NEVER_KEPT = {"cache-control": "no-store"}

# No name has a NUL, a number counts characters of a text, and no place of a list is beyond a billion.
Name = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
Count = Annotated[int, Field(ge=0, le=1 << 31)]
Spans = Annotated[list[tuple[Count, Count]], Field(max_length=1000)]


class AskedDocument(BaseModel):
    """The document that a request is about, by its digest, and the name of its schema."""

    document: Name
    schema_name: Name = Field(alias="schema")


def as_json(value: Any, status: int = 200) -> Response:
    """Returns an answer in JSON."""
    body = json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    # A lone surrogate of a damaged name is no UTF-8.
    return Response(
        body.encode("utf-8", "replace"), status, {**NEVER_KEPT}, media_type="application/json; charset=utf-8"
    )
