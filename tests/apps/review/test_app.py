"""The requests behind the review page: hostile ones are refused in words, lists keep their order, nobody waits."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.effort import QUICK
from tests.support.reviewed_folder import write_folder

from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.errors import UsageError
from cinnabar.extraction.review.listing import ListSelection
from cinnabar.extraction.review.review import Review

HOSTILE: list[Any] = [
    "", "\0", "a\0b", "--help", "-1", -1, 1 << 31, 1 << 63, 1 << 64, 10**4000, 1e308, 1.5, "NaN", "9" * 5000,
    "/" * 3000, "/lines/" + "9" * 5000, "/lines/" + "9" * 5000 + "/count", "/lines/-1", "/lines/٣", "/~2", "\ud800",
    "x " * 2000, "'; DROP TABLE listing; --", "../../etc/passwd", [], {}, [[]], [[1e308, 2]], [[1 << 70, 1 << 71]],
    [[5, 1]], [[0, 1 << 40]], [["a", "b"]], [1], None, True, "null", "{", "1e309", "1e99999999", "[" * 900, "\u202e",
]  # fmt: skip


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    with Review(write_folder(tmp_path_factory.mktemp("reviewed")), "Grace") as found:
        yield found


@pytest.fixture(scope="module")
def client(review: Review) -> TestClient:
    command = ("/bin/false",)
    return TestClient(review_app(review, Improving(review.out, command)), raise_server_exceptions=False)


def listed(client: TestClient, **asked: Any) -> dict[str, Any]:
    return dict(client.get("/api/list", params=asked).json())


def rows(client: TestClient, name: str) -> list[dict[str, Any]]:
    return list(client.get("/api/documents", params={"list": name}).json()["rows"])


def row_of(client: TestClient, name: str) -> dict[str, Any]:
    (row,) = (one for one in rows(client, listed(client)["list"]) if one["path"].endswith(name))
    return {"document": row["document"], "schema": row["schema_name"]}


def requests(client: TestClient) -> list[tuple[str, str, dict[str, Any]]]:
    at, name = row_of(client, "letter.txt"), listed(client)["list"]
    change = {"action": "value", "pointer": "/lines/0/count", "after": "3", "spans": [[0, 4]], "seen": "/lines/0"}
    return [
        ("GET", "/api/list", {**dict.fromkeys(("search", "schema", "status", "code", "flag", "order"), ""), **at}),
        ("GET", "/api/list", {"schema": at["schema"], "reviewed": "", "doubtful": ""}),
        ("GET", "/api/documents", {"list": name, "start": 0, "count": 5}),
        ("GET", "/api/next", {"list": name, "after": 0}),
        ("GET", "/api/state", at),
        ("GET", "/api/content", at),
        ("GET", "/api/text", {**at, "start": 0, "end": 10}),
        ("GET", "/api/picture", {**at, "part": 0}),
        ("POST", "/api/readings", {**at, "pointer": "/carrier", "spans": [[0, 4]]}),
        ("POST", "/api/readings", {**at, "pointer": "/day", "said": "4.5.2026"}),
        ("POST", "/api/correct", {**at, "changes": [change]}),
        (
            "POST",
            "/api/correct",
            {**at, "changes": [{**change, "action": "insert", "pointer": "/lines/0", "seen": "/lines"}]},
        ),
        ("POST", "/api/correct", {**at, "changes": [{**change, "action": "absent"}]}),
        ("POST", "/api/undo", {**at, "identities": ["x"], "seen": "x"}),
        ("POST", "/api/improve", {"action": "keep", "schema": at["schema"], "minutes": 3}),
        ("POST", "/api/improve", {"action": "start", "schema": at["schema"], "minutes": 3}),
    ]


def _with_what_is_seen(client: TestClient, said: dict[str, Any]) -> Any:
    """The changes with the digests of the places that they name as seen, so that they are not refused for these."""
    try:
        state = client.get("/api/state", params={name: said[name] for name in ("document", "schema")}).json()
        return [{**one, "seen": state["seen"].get(one["seen"], one["seen"])} for one in said["changes"]]
    except (TypeError, KeyError, ValueError):
        return said["changes"]


def ask(client: TestClient, method: str, path: str, said: dict[str, Any]) -> Any:
    if method == "GET":
        # As a client of another make would send it.
        return client.get(path, params={k: str(v).encode("utf-8", "surrogatepass") for k, v in said.items()})
    if path == "/api/correct":
        said = {**said, "changes": _with_what_is_seen(client, said)}
    body = json.dumps(said).replace("1e+308", "1e309")
    return client.post(path, content=body.encode(), headers={"content-type": "application/json"})


def hostile(client: TestClient) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for method, path, said in requests(client):
        for name in said:
            for value in HOSTILE:
                yield method, path, {**said, name: value}
        for name in said["changes"][0] if "changes" in said else ():
            for value in HOSTILE:
                yield method, path, {**said, "changes": [{**said["changes"][0], name: value}]}


def test_no_hostile_parameter_is_a_failure_of_the_server(client: TestClient) -> None:
    cases = list(hostile(client))
    chosen = random.Random(7).sample(cases, 50 if QUICK else 400)
    before = client.get("/api/overview").json()["documents"]
    for method, path, said in chosen:
        answer = ask(client, method, path, said)
        assert answer.status_code < 500, (method, path, str(said)[:400], answer.text[:400])
        if answer.status_code >= 400:
            assert answer.json()["error"], (method, path, str(said)[:400])
    assert client.get("/api/overview").json()["documents"] == before


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("GET", "/api/documents", {"start": 1 << 63}),
        ("POST", "/api/readings", {"spans": [[1e308, 2]]}),
        ("POST", "/api/correct", {"changes": [{"action": "absent", "pointer": "/lines/" + "9" * 5000, "seen": "x"}]}),
        ("POST", "/api/correct", {"changes": [{"action": "absent", "pointer": "", "seen": "", "spans": [[1e308, 2]]}]}),
        ("POST", "/api/correct", {"changes": [{"action": "absent", "pointer": "/note"}]}),
        ("GET", "/api/list", {"schema": "a\0b"}),
        ("GET", "/api/list", {"search": "x " * 2000}),
        ("POST", "/api/improve", {"action": "start", "schema": "--help"}),
    ],
)  # fmt: skip
def test_what_a_stranger_sent_is_refused_in_words(
    client: TestClient, method: str, path: str, more: dict[str, Any]
) -> None:
    (said,) = [said for one, other, said in requests(client)[1:] if (one, other) == (method, path)][:1]
    answer = ask(client, method, path, {**said, **more})
    assert answer.status_code in (400, 409)
    assert any(word in answer.json()["error"] for word in ("expected", "should", "required", "has changed"))


def test_what_is_typed_is_answered_with_its_value_and_words(client: TestClient) -> None:
    for name in ("letter.txt", "gone.txt"):
        asked = {**row_of(client, name), "pointer": "/day"}
        found = [client.post("/api/readings", json={**asked, "said": said}).json() for said in ("4.5.2026", "soon")]
        assert found[0] == {"values": ['"2026-05-04"'], "words": ["4 May 2026"], "expected": found[1]["expected"]}
        assert found[1]["values"] == []


def test_a_list_keeps_its_order_and_its_next_place_is_the_next_that_nobody_reviewed(client: TestClient) -> None:
    listing = listed(client)
    before = [one["document"] for one in rows(client, listing["list"])]
    names = [Path(one["path"]).name for one in rows(client, listing["list"])]
    assert names[0] == "held.txt", "a record that can be mended comes first"
    third = rows(client, listing["list"])[3]
    at = {"document": third["document"], "schema": third["schema_name"]}
    seen = client.get("/api/state", params=at).json()["seen"][""]
    change = {"action": "accept", "pointer": "", "seen": seen}
    assert client.post("/api/correct", json={**at, "changes": [change]}).status_code == 200
    now = rows(client, listing["list"])
    assert [one["document"] for one in now] == before and now[3]["reviewed"]
    following = client.get("/api/next", params={"list": listing["list"], "after": 2}).json()
    assert (following["place"], following["left"]) == (4, len(before) - 2)
    last = client.get("/api/next", params={"list": listing["list"], "after": len(before) - 1}).json()
    assert last["place"] == 0, "from the beginning again"
    again = listed(client, document=at["document"], document_schema=at["schema"])
    assert again["place"] == len(before) - 1, "sorted anew, what is reviewed comes last"
    assert client.get("/api/documents", params={"list": "gone"}).status_code == 410


def test_who_is_late_gets_409_with_both_values(client: TestClient) -> None:
    at = row_of(client, "third.txt")
    seen = client.get("/api/state", params=at).json()["seen"]

    def said(text: str) -> Any:
        change = {"action": "value", "pointer": "/note", "after": text, "seen": seen["/note"]}
        return client.post("/api/correct", json={**at, "changes": [change]})

    assert said('"first"').status_code == 200
    late = said('"second"')
    assert late.status_code == 409
    (place,) = late.json()["overtaken"]
    assert (place["pointer"], place["mine"], place["theirs"], place["who"]) == ("/note", '"second"', '"first"', "Grace")


def test_a_search_holds_up_nobody(review: Review) -> None:
    with review.listing._lock:
        # Whoever asks holds the lock only to open a cursor.
        assert review.listing.page(review.listing.sort(ListSelection(search="txt")).name, 0, 5)["total"] > 3
    with pytest.raises(UsageError, match="at most 16 words"):
        ListSelection(search="x " * 2000)
    with pytest.raises(UsageError, match="400 characters"):
        ListSelection(search="x" * 2000)


def test_a_list_is_read_while_the_table_behind_it_is_replaced(review: Review) -> None:
    listing = review.listing
    reader = listing._connection.cursor()
    reader.execute("BEGIN; SELECT count(*) FROM listing")
    before = reader.fetchone()
    listing._commits = frozenset({0})
    listing.refresh(dict)  # or the thread of the review has done it
    assert listing._commits != {0}
    assert reader.execute("SELECT count(*) FROM listing").fetchone() == before
    assert listing.page(listing.sort(ListSelection()).name, 0, 5)["total"] == (before or (0,))[0]
    reader.close()
