"""The routes for people who work together: claims, audits, and what only owners do."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from cinnabar.apps.review.messages import AskedDocument, Name, as_json
from cinnabar.apps.review.people import person_of
from cinnabar.extraction.people.forgetting import forget as remove
from cinnabar.extraction.people.reviewing.auditing import Auditing, Judged
from cinnabar.extraction.people.reviewing.claims import Claims
from cinnabar.extraction.people.reviewing.review import Review
from cinnabar.extraction.run.quarantine import held
from cinnabar.extraction.run.quarantine import release as let_through
from cinnabar.schemas.errors import UsageError

_Tab = Annotated[str, Field(min_length=1, max_length=64)]


class _Claimed(AskedDocument):
    tab: _Tab


class _Left(BaseModel):
    tab: _Tab


class _Verdict(BaseModel):
    pointer: Name
    right: bool
    after: str | None = None


class _Audited(AskedDocument):
    seen: Name
    places: Annotated[list[_Verdict], Field(max_length=100_000)]


class _Released(AskedDocument):
    fields: Annotated[list[Name], Field(max_length=1000)] = Field(default_factory=list)


def serve_claims(app: FastAPI, review: Review, claims: Claims) -> None:
    """Adds the routes of claims: a page renews its own while it is open, and releases it when it is left."""

    @app.post("/api/claim")
    def claim(request: Request, claimed: _Claimed) -> Response:
        who = person_of(request.scope, review.who).name
        return as_json({"held": claims.take((claimed.document, claimed.schema_name), who, claimed.tab)})

    @app.post("/api/leave")
    def leave(request: Request, left: _Left) -> Response:
        claims.leave(person_of(request.scope, review.who).name, left.tab)
        return as_json({})

    @app.post("/api/free")
    def free(freed: AskedDocument) -> Response:
        claims.free((freed.document, freed.schema_name))
        return as_json({})


def serve_audits(app: FastAPI, review: Review, claims: Claims) -> None:
    """Adds the routes of the second reader."""
    auditing = Auditing(review)

    @app.get("/api/audit")
    def overview() -> Response:
        return as_json(auditing.overview())

    @app.get("/api/audit/next")
    def following(request: Request) -> Response:
        who = person_of(request.scope, review.who)
        return as_json(auditing.following(who.name, claims.of_others(who.name), who.alone))

    @app.get("/api/audit/document")
    def document(document: Name, schema: Name) -> Response:
        return as_json(auditing.document(document, schema))

    @app.post("/api/audit")
    def judge(request: Request, audited: _Audited) -> Response:
        judged = [Judged(one.pointer, one.right, one.after) for one in audited.places]
        who = person_of(request.scope, review.who).name
        auditing.judge(audited.document, audited.schema_name, audited.seen, judged, who)
        return as_json({})


def serve_ownership(app: FastAPI, review: Review) -> None:
    """Adds what only owners do to a document: release it from quarantine, and forget it."""

    @app.post("/api/release")
    def release(asked: _Released) -> Response:
        chosen = [one for one in held(review.out, [asked.document]) if one.schema_name == asked.schema_name]
        done = let_through(review.out, chosen, asked.fields)
        if not done.released:
            raise UsageError(next(iter(done.refused.values()), "release: this document is not in quarantine"))
        review.forgotten(asked.document, asked.schema_name)
        return as_json({})

    @app.post("/api/forget")
    def forget(asked: AskedDocument) -> Response:
        if not review.has(asked.document, asked.schema_name):
            raise UsageError("forget: expected a document of this folder")
        remove(review.out, asked.document)
        review.forgotten(asked.document, asked.schema_name)
        return as_json({})
