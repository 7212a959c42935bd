"""The routes of the review page for packets: the parts around a document, and what a person says of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Request
from pydantic import Field

from cinnabar.apps.review.people import person_of
from cinnabar.extraction.people.packets import amend, packet_around
from cinnabar.extraction.people.reviewing.review import Review
from cinnabar.extraction.store.packets import Packet, Said
from cinnabar.schemas.errors import UsageError


class _Asked(Said):
    document: str = Field(pattern=r"^[0-9a-f]{64}$")
    #: The packet's `state` that the person saw; None if they do not tell.
    state: str | None = None


def serve_packets(app: FastAPI, review: Review) -> None:
    """Adds the routes to the application of the review page."""

    def told(packet: Packet, document: str) -> dict[str, Any]:
        """Returns the parts, and which of them is this document; -1 if it is none any more."""
        own = packet.digests()
        return packet.as_json() | {"place": own.index(document) if document in own else -1}

    @app.get("/api/packet")
    def packet(document: Annotated[str, Field(max_length=4000)]) -> dict[str, Any]:
        try:
            return told(packet_around(review.out, document), document)
        except UsageError:  # it is no part of a packet
            return {}

    @app.post("/api/packet")
    def say(request: Request, asked: _Asked) -> dict[str, Any]:
        found = packet_around(review.out, asked.document)
        who = person_of(request.scope, review.who).name
        return told(amend(review.out, found, asked, who, asked.state), asked.document)
