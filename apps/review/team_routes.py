"""The routes for people who work together: claims, and the second reader's audit."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Request
from pydantic import Field
from starlette.responses import Response

from cinnabar.apps.review.messages import AskedDocument, Name, as_json
from cinnabar.apps.review.people import person_of
from cinnabar.extraction.people.reviewing.auditing import Auditing, Judged
from cinnabar.extraction.people.reviewing.claims import Claims
from cinnabar.extraction.people.reviewing.review import Review


class _Claimed(AskedDocument):
    tab: Annotated[str, Field(min_length=1, max_length=64)]


class _Audited(AskedDocument):
    seen: Name
    places: Annotated[list[Judged], Field(max_length=100_000)]


def serve_team(app: FastAPI, review: Review, claims: Claims) -> None:
    """Adds the routes; a page renews its claim while it is open."""
    auditing = Auditing(review)

    @app.post("/api/claim")
    def claim(request: Request, claimed: _Claimed) -> Response:
        who = person_of(request.scope, review.who).name
        return as_json({"held": claims.take((claimed.document, claimed.schema_name), who, claimed.tab)})

    @app.get("/api/audit")
    def next_to_audit(request: Request) -> Response:
        who = person_of(request.scope, review.who)
        # Who works alone is the second reader of their own corrections.
        return as_json(auditing.next_document("" if who.alone else who.name, claims.of_others(who.name)))

    @app.get("/api/audit/document")
    def document(document: Name, schema: Name) -> Response:
        return as_json(auditing.document(document, schema))

    @app.post("/api/audit")
    def judge(request: Request, audited: _Audited) -> Response:
        who = person_of(request.scope, review.who).name
        auditing.judge(audited.document, audited.schema_name, audited.seen, audited.places, who)
        return as_json({})
