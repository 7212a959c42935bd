"""The routes of the review page for packets: the parts around a document, and where documents begin."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from cinnabar.extraction.documents.packets.part import part_digest
from cinnabar.extraction.people.packets import amend
from cinnabar.extraction.people.reviewing.review import Review
from cinnabar.extraction.store.packets import Packet, packets_of, stored_packet
from cinnabar.schemas.errors import UsageError


class _Said(BaseModel):
    document: str = Field(pattern=r"^[0-9a-f]{64}$")
    action: Literal["split", "join"]
    page: int = Field(ge=1, le=10_000)


def serve_packets(app: FastAPI, review: Review) -> None:
    """Adds the routes to the application of the review page."""

    def packet_of(document: str) -> Packet | None:
        return next((stored_packet(review.out, digest) for digest in packets_of(review.out, [document])), None)

    @app.get("/api/packet")
    def packet(document: str) -> dict[str, Any]:
        found = packet_of(document)
        return {} if found is None else _told(found, document)

    @app.post("/api/packet")
    def say(said: _Said) -> dict[str, Any]:
        found = packet_of(said.document)
        if found is None:
            raise UsageError("document: expected a part of a packet that `extract --split` has read")
        split, join = ([said.page], []) if said.action == "split" else ([], [said.page])
        return _told(amend(review.out, found, split, join, review.who), said.document)


def _told(packet: Packet, document: str) -> dict[str, Any]:
    """Returns the parts of a packet, and which of them is this document; -1 if it is none any more."""
    ranges = packet.ranges()
    own = [part_digest(packet.digest, one.first, one.last) for one in ranges]
    at = own.index(document) if document in own else 0 if packet.digest == document and len(ranges) == 1 else -1
    parts = [{"first": one.first, "last": one.last, "probability": one.probability} for one in ranges]
    return {"pages": packet.pages, "sheets": packet.sheets, "who": packet.who, "parts": parts, "place": at}
