"""The routes of the review page for packets: the parts around a document, and what a person says of them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, Field

from cinnabar.extraction.people.packets import amend, packet_around
from cinnabar.extraction.people.reviewing.review import Review
from cinnabar.extraction.store.packets import PACKETS, Packet, Said
from cinnabar.schemas.errors import UsageError


class _Asked(BaseModel):
    document: str = Field(pattern=r"^[0-9a-f]{64}$")
    split: list[int] = []
    join: list[int] = []
    turns: dict[int, int] = {}
    kinds: dict[int, str] = {}


def serve_packets(app: FastAPI, review: Review) -> None:
    """Adds the routes to the application of the review page."""

    def told(packet: Packet, document: str) -> dict[str, Any]:
        """Returns the parts, and which of them is this document; -1 if it is none any more."""
        own = packet.digests()
        return packet.as_json() | {"place": own.index(document) if document in own else -1}

    @app.get("/api/packet")
    def packet(document: str) -> dict[str, Any]:
        if not (review.out / PACKETS).is_dir():
            return {}
        try:
            return told(packet_around(review.out, document), document)
        except UsageError:
            return {}

    @app.post("/api/packet")
    def say(asked: _Asked) -> dict[str, Any]:
        said = Said(asked.split, asked.join, asked.turns, asked.kinds)
        return told(amend(review.out, packet_around(review.out, asked.document), said, review.who), asked.document)
