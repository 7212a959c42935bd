"""Only a browser on this machine that opened the printed address gets through, or a proxy that knows the key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.support.cases import each
from tests.support.corrected_folder import digest_of, run

from cinnabar.apps.review.access import KEY, PERSON, Access, ProxyAccess
from cinnabar.apps.review.server import open_review
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import corrections

HOST = "127.0.0.1:8765"
JSON = {"content-type": "application/json"}


def client(key: str = "secret", host: str = HOST) -> TestClient:
    async def answer(_: Request) -> Response:
        return PlainTextResponse("in")

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    headers = {KEY: key} if key else {}
    return TestClient(Access(app, "secret", [HOST]), f"http://{host}", headers=headers, follow_redirects=False)


@each("key", ["", "wrong", "secre", "secret2"])
@each("path", ["/api/overview", "/api/overview?token=secret", "/api/picture", "/x", "/page"])
def test_without_the_key_nothing_of_the_documents_is_answered(path: str, key: str) -> None:
    assert client(key).get(path).status_code == 403
    assert client(key).get(path, headers={"cookie": "cinnabar_review=secret"}).status_code == 403
    assert client(key).post("/page/x", headers=JSON, content="{}").status_code == 403


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/api/overview"])
def test_no_answer_sets_a_cookie_which_other_ports_would_get(path: str) -> None:
    for key in ("", "secret"):
        assert "set-cookie" not in client(key).get(path).headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:8765"]
)
def test_another_host_is_refused_even_with_the_key(host: str) -> None:
    assert client().get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {**JSON, "origin": "http://evil.example"},
        {**JSON, "origin": "http://127.0.0.1:1"},
        {**JSON, "origin": "null"},
        {**JSON, "sec-fetch-site": "cross-site"},
        {**JSON, "sec-fetch-site": "same-site"},
    ],
)
def test_a_change_from_elsewhere_is_refused(headers: Mapping[str, str]) -> None:
    assert client().post("/api/correct", headers=dict(headers), content="{}").status_code == 403


def test_the_page_itself_may_change_something() -> None:
    headers = {**JSON, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    assert client().post("/api/correct", headers=headers, content="{}").text == "in"


def test_a_long_body_is_refused() -> None:
    assert client().post("/", headers={**JSON, "content-length": "99999999"}, content="{}").status_code == 413


def test_every_answer_forbids_foreign_and_inline_scripts() -> None:
    for made, path in ((client(), "/"), (client(""), "/api/state")):
        policy = made.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "http" not in policy


PUBLIC, NAME = "review.example", "x-forwarded-user"
PROXY = {KEY: "secret", NAME: "Ada", "x-forwarded-proto": "https", "x-forwarded-host": PUBLIC}
CHANGE = {**PROXY, **JSON, "origin": f"https://{PUBLIC}"}


def proxied() -> TestClient:
    async def answer(request: Request) -> Response:
        return PlainTextResponse(request.scope[PERSON])

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    return TestClient(ProxyAccess(app, "secret", NAME), f"http://{HOST}", follow_redirects=False)


def test_only_the_proxy_says_who_asks() -> None:
    for path in ("/", "/page/app.js", "/api/overview"):
        for key in ({}, {KEY: ""}, {KEY: "secre"}, {KEY: "wrong"}):
            asked = {name: value for name, value in PROXY.items() if name != KEY} | key
            answer = proxied().get(path, headers=asked)
            assert answer.status_code == 403 and "proxy" in answer.text, (path, key)
        assert proxied().get(path, headers=PROXY).text == "Ada"
    assert proxied().get("/api/list", headers=[*PROXY.items(), (KEY, "secret")]).status_code == 400


def test_a_name_is_there_once_and_can_be_shown() -> None:
    assert proxied().get("/", headers={**PROXY, NAME: " "}).status_code == 401
    twice = proxied().get("/", headers=[*PROXY.items(), (NAME, "Eve")])
    assert twice.status_code == 400 and "2 times" in twice.text
    for name in ("A" * 201, "A\u202eda", "A\u2028B", "A\x07", "A\u200bda"):
        headers = [(key.encode(), value.encode()) for key, value in {**PROXY, NAME: name}.items()]
        assert proxied().get("/", headers=headers).status_code == 400, name
    composed = [(key.encode(), value.encode()) for key, value in {**PROXY, NAME: "Zoe\u0308"}.items()]
    assert proxied().get("/", headers=composed).text == "Zo\u00eb"


def test_a_change_behind_the_proxy_comes_from_its_own_page() -> None:
    assert proxied().post("/api/correct", headers=CHANGE, content="{}").text == "Ada"
    with_port = {**CHANGE, "x-forwarded-host": f"{PUBLIC}:443"}
    assert proxied().post("/api/correct", headers=with_port, content="{}").status_code == 200
    for more in (
        {"origin": "https://evil.example"},
        {"origin": f"http://{PUBLIC}"},
        {"origin": f"https://{PUBLIC}.evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"x-forwarded-proto": "http"},
        {"x-forwarded-host": "evil.example"},
        {"sec-fetch-site": "same-site"},
        {"content-type": "text/plain"},
        {KEY: "wrong"},
    ):
        assert proxied().post("/api/correct", headers={**CHANGE, **more}, content="{}").status_code == 403, more


def test_a_proxy_without_a_key_or_a_header_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for key, header in (("", "X-User"), ("short", "X-User"), ("long enough for a key", "X User")):
        monkeypatch.setenv("CINNABAR_REVIEW_KEY", key)
        with pytest.raises(UsageError, match="--name-header"), open_review(tmp_path, 0, "", header):
            pass


def test_each_correction_carries_the_name_that_the_proxy_tells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CINNABAR_REVIEW_KEY", "long enough for a key")
    run(tmp_path / "out", "e1", paths=("a.txt",))
    at = {"document": digest_of("a.txt"), "schema": "bill"}
    with open_review(tmp_path / "out", 8765, "eva", "X-Forwarded-User") as (app, _):
        for name in ("Ada", "<img src=x>"):
            headers = {**CHANGE, KEY: "long enough for a key", NAME: name}
            asked = TestClient(app, f"http://{HOST}", headers=headers)
            assert asked.get("/api/overview").json()["who"] == name
            seen = asked.get("/api/state", params=at).json()["seen"]["/number"]
            change = {"action": "value", "pointer": "/number", "after": f'"{name}"', "seen": seen}
            assert asked.post("/api/correct", json={**at, "changes": [change]}).status_code == 200
    assert {one.who for one in corrections(tmp_path / "out")} == {"Ada", "<img src=x>"}
