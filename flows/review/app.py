"""The HTTP interface of the review page: JSON over the functions of `Review`, and the files of the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, Response

from cinnabar.extraction.corrections import Refused
from cinnabar.extraction.documents import Span
from cinnabar.extraction.reviewing.listing import ListSelection
from cinnabar.extraction.reviewing.review import Review
from cinnabar.flows.review.improving import Improving
from cinnabar.schemas.errors import CinnabarError, UsageError

#: The files of the page, by their path in the address; no other file is served.
PAGE = Path(__file__).parent / "page"
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_NEVER_KEPT = {"cache-control": "no-store"}


class _Asked(BaseModel):
    document: str
    schema_name: str = Field(alias="schema")


class _Picked(_Asked):
    pointer: str
    spans: list[tuple[int, int]]


class _Changed(_Asked):
    changes: list[dict[str, Any]]


class _Undone(_Asked):
    identities: list[str] | None = None


class _Improved(BaseModel):
    action: str
    schema_name: str = Field("", alias="schema")
    minutes: float | None = None


def review_app(review: Review, improving: Improving) -> FastAPI:
    """Returns the application; `Access` must stand before it."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(GZipMiddleware, minimum_size=2048, compresslevel=1)
    files = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in _TYPES}

    @app.exception_handler(Refused)
    def refused(_: Request, error: Refused) -> Response:
        places = [{"pointer": pointer, "message": message} for pointer, message in error.places]
        # A refusal is an answer, and not a failure that the browser's console reports.
        return _json({"refused": str(error), "places": places})

    @app.exception_handler(UsageError)
    def wrong(_: Request, error: UsageError) -> Response:
        return _json({"error": str(error)}, 400)

    @app.exception_handler(CinnabarError)
    def failed(_: Request, error: CinnabarError) -> Response:
        return _json({"error": str(error)}, 500)

    @app.get("/")
    def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html; charset=utf-8", headers=_NEVER_KEPT)

    @app.get("/page/{name:path}")
    def file(name: str) -> Response:
        if (path := files.get(name)) is None:
            raise HTTPException(404)
        return FileResponse(path, media_type=_TYPES[path.suffix], headers={"cache-control": "no-cache"})

    @app.get("/api/overview")
    def overview() -> Response:
        return _json(review.overview())

    @app.get("/api/documents")
    def documents(
        start: int = 0,
        count: int = Query(100, ge=1, le=500),
        search: str = "",
        schema: str = "",
        status: str = "",
        code: str = "",
        flag: str = "",
        reviewed: bool | None = None,
        doubtful: bool = False,
        order: str = "need",
        next_first: bool = False,
    ) -> Response:
        among = review.next_to_label(schema) if next_first else None
        chosen = ListSelection(search, schema, status, code, flag, reviewed, doubtful, among, order)
        found = review.documents(chosen, start, count)
        return _json({"total": found.total, "start": start, "rows": found.rows})

    @app.get("/api/state")
    def state(document: str, schema: str) -> Response:
        return _json(review.state(document, schema))

    @app.get("/api/content")
    def content(document: str, schema: str) -> Response:
        return _json(review.content(document, schema))

    @app.get("/api/text")
    def text(document: str, schema: str, start: int, end: int) -> Response:
        return _json(review.text(document, schema, start, end))

    @app.get("/api/picture")
    def picture(document: str, schema: str, part: int) -> Response:
        jpeg = review.picture(document, schema, part)
        if jpeg is None:
            return Response(status_code=204, headers=_NEVER_KEPT)
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": "private, max-age=3600"})

    @app.get("/api/steps")
    def steps(document: str, schema: str) -> Response:
        return _json({"steps": [asdict(one) for one in review.steps(document, schema)]})

    @app.post("/api/readings")
    def readings(asked: _Picked) -> Response:
        spans = [Span(start, end) for start, end in asked.spans]
        return _json({"values": review.readings(asked.document, asked.schema_name, asked.pointer, spans)})

    @app.post("/api/correct")
    def correct(asked: _Changed) -> Response:
        return _json(review.correct(asked.document, asked.schema_name, asked.changes))

    @app.post("/api/undo")
    def undo(asked: _Undone) -> Response:
        return _json(review.undo(asked.document, asked.schema_name, asked.identities))

    @app.get("/api/improve")
    def told() -> Response:
        return _json(improving.told())

    @app.post("/api/improve")
    def improve(asked: _Improved) -> Response:
        actions: Mapping[str, Callable[[], object]] = {
            "start": lambda: improving.start(asked.schema_name, asked.minutes),
            "stop": improving.stop,
            "keep": lambda: improving.decide(asked.schema_name, True),
            "discard": lambda: improving.decide(asked.schema_name, False),
        }
        if asked.action not in actions:
            raise UsageError(f"action: expected one of {', '.join(actions)}, got {asked.action[:40]!r}")
        actions[asked.action]()
        return _json(improving.told())

    return app


def _json(value: Any, status: int = 200) -> Response:
    body = json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    # A lone surrogate of a damaged name is no UTF-8.
    return Response(
        body.encode("utf-8", "replace"), status, {**_NEVER_KEPT}, media_type="application/json; charset=utf-8"
    )
