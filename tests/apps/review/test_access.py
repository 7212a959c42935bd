"""Only a browser on this machine that opened the printed address gets through."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.support.cases import each

from cinnabar.apps.review.access import KEY, Access

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
