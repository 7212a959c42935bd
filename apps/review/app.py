"""The routes of the review page: JSON over the functions of `Review`, and the files of the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, StringConstraints
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, Response

from cinnabar.apps.review.improving import Improving
from cinnabar.apps.review.packets import serve_packets
from cinnabar.extraction.corrections import Refused
from cinnabar.extraction.people.reviewing.listing import MOST_LISTED, ListGone, ListSelection
from cinnabar.extraction.people.reviewing.review import AskedChange, Review
from cinnabar.schemas.errors import CinnabarError, InUse, Overtaken, UsageError

#: The files of the page, by their path in the address; no other file is served.
PAGE = Path(__file__).parent / "page"
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_NEVER_KEPT = {"cache-control": "no-store"}


# No name has a NUL, a number counts characters of a text, and no place of a list is beyond a billion.
_Name = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
_Count = Annotated[int, Field(ge=0, le=1 << 31)]
_Spans = Annotated[list[tuple[_Count, _Count]], Field(max_length=1000)]


class _Asked(BaseModel):
    document: _Name
    schema_name: _Name = Field(alias="schema")


class _Picked(_Asked):
    pointer: _Name
    spans: _Spans


class _Change(BaseModel):
    action: _Name
    pointer: _Name
    seen: _Name
    after: str | None = None
    spans: _Spans = []


class _Changed(_Asked):
    changes: Annotated[list[_Change], Field(max_length=1000)]


class _Undone(_Asked):
    identities: Annotated[list[_Name], Field(max_length=10_000)] | None = None
    seen: _Name


class _Improved(BaseModel):
    action: _Name
    schema_name: _Name = Field("", alias="schema")
    minutes: Annotated[float, Field(ge=0.1, le=600, allow_inf_nan=False)] | None = None


def review_app(review: Review, improving: Improving) -> FastAPI:
    """Returns the application; `Access` must stand before it."""
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


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    def refused(_: Request, error: Refused) -> Response:
        places = [{"pointer": pointer, "message": message} for pointer, message in error.places]
        # A refusal is an answer, and not a failure that the browser's console reports.
        return _json({"refused": str(error), "places": places})

    @app.exception_handler(Overtaken)
    def overtaken(_: Request, error: Overtaken) -> Response:
        return _json({"error": str(error), "overtaken": [asdict(one) for one in error.places]}, 409)

    @app.exception_handler(ListGone)
    def gone(_: Request, error: ListGone) -> Response:
        return _json({"error": str(error)}, 410)

    @app.exception_handler(InUse)
    def busy(_: Request, error: InUse) -> Response:
        return _json({"error": str(error)}, 503)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        # Without the value, which may be anything.
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        return _json({"error": problems[:1000]}, 400)

    @app.exception_handler(UsageError)
    def wrong(_: Request, error: UsageError) -> Response:
        return _json({"error": str(error)}, 400)

    @app.exception_handler(CinnabarError)
    def failed(_: Request, error: CinnabarError) -> Response:
        return _json({"error": str(error)}, 500)


def _serve_page(app: FastAPI) -> None:
    files = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in _TYPES}

    @app.get("/")
    def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html; charset=utf-8", headers=_NEVER_KEPT)

    @app.get("/page/{name:path}")
    def file(name: str) -> Response:
        if (path := files.get(name)) is None:
            raise HTTPException(404)
        return FileResponse(path, media_type=_TYPES[path.suffix], headers={"cache-control": "no-cache"})


def _serve_list(app: FastAPI, review: Review) -> None:
    @app.get("/api/overview")
    def overview() -> Response:
        return _json(review.overview())

    @app.get("/api/list")
    def sort(
        search: _Name = "",
        schema: _Name = "",
        status: _Name = "",
        code: _Name = "",
        flag: _Name = "",
        reviewed: bool | None = None,
        doubtful: bool = False,
        order: _Name = "need",
        document: _Name = "",
        document_schema: _Name = "",
    ) -> Response:
        chosen = ListSelection(search, schema, status, code, flag, reviewed, doubtful, order)
        listed = review.sort(chosen)
        place = listed.places.get((document, document_schema), -1)
        return _json({"list": listed.name, "total": len(listed.pairs), "place": place})

    @app.get("/api/documents")
    def documents(
        name: Annotated[_Name, Query(alias="list")], start: _Count = 0, count: int = Query(100, ge=1, le=MOST_LISTED)
    ) -> Response:
        part = review.documents(name, start, count)
        return _json({"total": part.total, "start": start, "rows": part.rows, "added": part.added})

    @app.get("/api/next")
    def following(name: Annotated[_Name, Query(alias="list")], after: int = Query(ge=-1, le=1 << 31)) -> Response:
        return _json(asdict(review.next_place(name, after)))


def _serve_document(app: FastAPI, review: Review) -> None:
    @app.get("/api/state")
    def state(document: _Name, schema: _Name) -> Response:
        return _json(review.state(document, schema))

    @app.get("/api/content")
    def content(document: _Name, schema: _Name) -> Response:
        return _json(review.content(document, schema))

    @app.get("/api/text")
    def text(document: _Name, schema: _Name, start: _Count, end: _Count) -> Response:
        return _json(review.text(document, schema, start, end))

    @app.get("/api/picture")
    def picture(document: _Name, schema: _Name, part: _Count) -> Response:
        jpeg = review.picture(document, schema, part)
        if jpeg is None:
            return Response(status_code=204, headers=_NEVER_KEPT)
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": "private, max-age=3600"})

    @app.get("/api/steps")
    def steps(document: _Name, schema: _Name) -> Response:
        return _json({"steps": [asdict(one) for one in review.steps(document, schema)]})

    @app.post("/api/readings")
    def readings(picked: _Picked) -> Response:
        values = review.readings(picked.document, picked.schema_name, picked.pointer, picked.spans)
        return _json({"values": values})


def _serve_changes(app: FastAPI, review: Review) -> None:
    @app.post("/api/correct")
    def correct(changed: _Changed) -> Response:
        changes = [AskedChange(**one.model_dump()) for one in changed.changes]
        return _json(review.correct(changed.document, changed.schema_name, changes))

    @app.post("/api/undo")
    def undo(undone: _Undone) -> Response:
        return _json(review.undo(undone.document, undone.schema_name, undone.identities, undone.seen))


def _serve_training(app: FastAPI, review: Review, improving: Improving) -> None:
    @app.get("/api/improve")
    def improve_status() -> Response:
        return _json(improving.status())

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
        return _json(improving.status())


def _json(value: Any, status: int = 200) -> Response:
    body = json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    # A lone surrogate of a damaged name is no UTF-8.
    return Response(
        body.encode("utf-8", "replace"), status, {**_NEVER_KEPT}, media_type="application/json; charset=utf-8"
    )
