"""The routes of the review page: JSON over the functions of `Review`, and the files of the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, Response

from cinnabar.apps.review.access import PERSON
from cinnabar.apps.review.improving import Improving
from cinnabar.errors import CinnabarError, InUse, Overtaken, UsageError
from cinnabar.extraction.corrections import Refused
from cinnabar.extraction.maintenance.packets import amend, packet_around
from cinnabar.extraction.review.listing import MOST_LISTED, ListGone, ListSelection
from cinnabar.extraction.review.review import AskedChange, Count, Name, Review, Spans
from cinnabar.extraction.store.packets import Packet, PacketStatement

#: The files of the page, by their path in the address; no other file is served.
PAGE = Path(__file__).parent / "page"
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


#: The header of answers that no browser keeps.
NEVER_KEPT = {"cache-control": "no-store"}


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


class _Picked(AskedDocument):
    pointer: Name
    spans: Spans = []
    said: Name = ""


class _Changed(AskedDocument):
    changes: Annotated[list[AskedChange], Field(max_length=1000)]


class _Undone(AskedDocument):
    identities: Annotated[list[Name], Field(max_length=10_000)] | None = None
    seen: Name


class _Improved(BaseModel):
    action: Name
    schema_name: Name = Field("", alias="schema")
    minutes: Annotated[float, Field(ge=0.1, le=600, allow_inf_nan=False)] | None = None


def review_app(review: Review, improving: Improving) -> FastAPI:
    """Returns the application; `Access` or `ProxyAccess` must stand before it."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(GZipMiddleware, minimum_size=2048, compresslevel=1)
    _answer_errors(app)
    _serve_page(app)
    _serve_list(app, review)
    _serve_document(app, review)
    _serve_changes(app, review)
    _serve_training(app, review, improving)
    serve_packets(app, review)
    return app


def _person(request: Request, review: Review) -> str:
    """Returns the name of who asks: the one that a proxy tells, else the review's own."""
    return str(request.scope.get(PERSON, review.who))


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    def answer_refusal(_: Request, error: Refused) -> Response:
        places = [{"pointer": pointer, "message": message} for pointer, message in error.places]
        # A refusal is an answer, and not a failure that the browser's console reports.
        return as_json({"refused": str(error), "places": places})

    @app.exception_handler(Overtaken)
    def overtaken(_: Request, error: Overtaken) -> Response:
        return as_json({"error": str(error), "overtaken": [asdict(one) for one in error.places]}, 409)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        # Without the value, which may be anything.
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        return as_json({"error": problems[:1000]}, 400)

    def answer_failure(_: Request, error: Exception) -> Response:
        statuses = {ListGone: 410, InUse: 503, UsageError: 400, CinnabarError: 500}
        return as_json({"error": str(error)}, next(code for kind, code in statuses.items() if isinstance(error, kind)))

    app.add_exception_handler(CinnabarError, answer_failure)


def _serve_page(app: FastAPI) -> None:
    files = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in _TYPES}

    @app.get("/")
    def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html; charset=utf-8", headers=NEVER_KEPT)

    @app.get("/page/{name:path}")
    def file(name: str) -> Response:
        if (path := files.get(name)) is None:
            raise HTTPException(404)
        return FileResponse(path, media_type=_TYPES[path.suffix], headers={"cache-control": "no-cache"})


def _serve_list(app: FastAPI, review: Review) -> None:
    @app.get("/api/overview")
    def overview(request: Request) -> Response:
        return as_json({**review.overview(), "who": _person(request, review), "alone": PERSON not in request.scope})

    @app.get("/api/list")
    def sort(
        search: Name = "",
        schema: Name = "",
        status: Name = "",
        code: Name = "",
        flag: Name = "",
        reviewed: bool | None = None,
        doubtful: bool = False,
        order: Name = "need",
        document: Name = "",
        document_schema: Name = "",
    ) -> Response:
        chosen = ListSelection(search, schema, status, code, flag, reviewed, doubtful, order)
        listed = review.listing.sort(chosen)
        place = review.listing.place(listed.name, document, document_schema) if document else -1
        return as_json({"list": listed.name, "total": listed.total, "place": place})

    @app.get("/api/documents")
    def documents(
        name: Annotated[Name, Query(alias="list")], start: Count = 0, count: int = Query(100, ge=1, le=MOST_LISTED)
    ) -> Response:
        return as_json(review.listing.page(name, start, count) | {"start": start})

    @app.get("/api/next")
    def next_document(
        name: Annotated[Name, Query(alias="list")], after: int = Query(ge=-1, le=1 << 31)
    ) -> Response:
        return as_json(review.listing.next_place(name, after))


def _serve_document(app: FastAPI, review: Review) -> None:
    @app.get("/api/state")
    def state(document: Name, schema: Name) -> Response:
        return as_json(review.state(document, schema))

    @app.get("/api/content")
    def content(document: Name, schema: Name) -> Response:
        return as_json(review.content(document, schema))

    @app.get("/api/text")
    def text(document: Name, schema: Name, start: Count, end: Count) -> Response:
        return as_json(review.text(document, schema, start, end))

    @app.get("/api/picture")
    def picture(document: Name, schema: Name, part: Count) -> Response:
        jpeg = review.picture(document, schema, part)
        if jpeg is None:
            return Response(status_code=204, headers=NEVER_KEPT)
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": "private, max-age=3600"})

    @app.post("/api/readings")
    def readings(picked: _Picked) -> Response:
        place = picked.document, picked.schema_name, picked.pointer
        return as_json(review.readings(*place, picked.spans, picked.said))

    @app.get("/api/columns")
    def columns(document: Name, schema: Name, pointer: Name) -> Response:
        return as_json({"columns": review.columns(document, schema, pointer)})


def _serve_changes(app: FastAPI, review: Review) -> None:
    @app.post("/api/correct")
    def correct(request: Request, changed: _Changed) -> Response:
        who = _person(request, review)
        return as_json(review.correct(changed.document, changed.schema_name, changed.changes, who))

    @app.post("/api/undo")
    def undo(request: Request, undone: _Undone) -> Response:
        who = _person(request, review)
        return as_json(review.undo(undone.document, undone.schema_name, undone.identities, undone.seen, who))


def _serve_training(app: FastAPI, review: Review, improving: Improving) -> None:
    @app.get("/api/improve")
    def improve_status() -> Response:
        return as_json(improving.status())

    @app.post("/api/improve")
    def improve(decision: _Improved) -> Response:
        actions: Mapping[str, Callable[[], object]] = {
            "start": lambda: improving.start(decision.schema_name, decision.minutes),
            "stop": improving.stop,
            "keep": lambda: improving.decide(decision.schema_name, True),
            "discard": lambda: improving.decide(decision.schema_name, False),
        }
        if decision.action not in actions:
            raise UsageError(f"action: expected one of {', '.join(actions)}, got {decision.action[:40]!r}")
        names = [one["name"] for one in review.overview()["schemas"]]
        # It becomes an argument of a command.
        if decision.action != "stop" and decision.schema_name not in names:
            known = ", ".join(names) or "none yet"
            raise UsageError(f"schema: expected one of {known}, got {decision.schema_name[:80]!r}")
        actions[decision.action]()
        return as_json(improving.status())


# The routes of the review page for packets: the parts around a document, and what a person says of them.


class _PacketChange(PacketStatement):
    document: str = Field(pattern=r"^[0-9a-f]{64}$")
    #: The packet's `state` that the person saw; None if they do not tell.
    state: str | None = None


def serve_packets(app: FastAPI, review: Review) -> None:
    """Adds the routes to the application of the review page."""

    def packet_json(packet: Packet, document: str) -> dict[str, Any]:
        """Returns the parts, and which of them is this document; -1 if it is none any more."""
        own = packet.digests()
        return packet.as_json() | {"place": own.index(document) if document in own else -1}

    @app.get("/api/packet")
    def packet(document: Annotated[str, Field(max_length=4000)]) -> dict[str, Any]:
        try:
            return packet_json(packet_around(review.out, document), document)
        except UsageError:  # it is no part of a packet
            return {}

    @app.post("/api/packet")
    def say(request: Request, asked: _PacketChange) -> dict[str, Any]:
        found = packet_around(review.out, asked.document)
        who = _person(request, review)
        return packet_json(amend(review.out, found, asked, who, asked.state), asked.document)
