"""The review page tells which part of a packet a document is, and takes what a person says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.support.split_packet import split_folder

from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.extraction.review.review import Review
from cinnabar.extraction.store.reading import query


@pytest.mark.slow
def test_a_document_is_joined_with_the_next_and_its_pages_are_shown(tmp_path: Path) -> None:
    out = split_folder(tmp_path)
    digest = query(out, "select document from note where name = 'B'").rows[0][0]
    with Review(out, "Grace") as review:
        client = TestClient(review_app(review, Improving(out, ("/bin/false",))))
        told = client.get("/api/packet", params={"document": digest}).json()
        assert (told["pages"], told["place"], told["parts"][1]["first"]) == (6, 1, 3)
        blocks = client.get("/api/content", params={"document": digest, "schema": "note"}).json()["blocks"]
        assert [one["page"] for one in blocks] == [3, 4, 5]
        asked = {"document": digest, "schema": "note", "part": blocks[1]["part"]}
        assert client.get("/api/picture", params=asked).headers["content-type"] == "image/jpeg"
        joined = client.post("/api/packet", json={"document": digest, "join": [6]}).json()
        assert (joined["who"], joined["place"], len(joined["parts"])) == ("Grace", -1, 2)
        again = client.post("/api/packet", json={"document": digest, "join": [5]})
        assert again.status_code == 400 and "expected" in again.json()["error"]
        for unknown in ("x", "x" * 300, "x" * 3000, "/" * 300, "a/" * 2000, "~", "\0", "'", "\n"):
            assert client.get("/api/packet", params={"document": unknown}).json() == {}
        assert client.get("/api/packet", params={"document": "x" * 4001}).status_code == 400
    assert query(out, "select name from note").rows == [("A",)]
