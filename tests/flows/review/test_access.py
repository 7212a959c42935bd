"""Only a browser on this machine that opened the printed address gets through."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from cinnabar.flows.review.access import Access

HOST = "127.0.0.1:8765"
JSON = {"content-type": "application/json"}


def client(cookie: bool = True, host: str = HOST) -> TestClient:
    async def answer(_: Request) -> Response:
        return PlainTextResponse("in")

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    made = TestClient(Access(app, "secret", [HOST], "cinnabar_review"), f"http://{host}", follow_redirects=False)
    if cookie:
        made.cookies.set("cinnabar_review", "secret")
    return made


def test_the_printed_address_sets_a_cookie_that_no_script_and_no_other_site_can_use() -> None:
    answer = client(cookie=False).get("/?token=secret")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    told = answer.headers["set-cookie"]
    assert "HttpOnly" in told and "SameSite=strict" in told


@pytest.mark.parametrize(
    "path", ["/", "/?token=wrong", "/?token=", "/api/overview", "/page/app.js", "/api/overview?token=secret"]
)
def test_without_the_token_nothing_is_answered(path: str) -> None:
    assert client(cookie=False).get(path).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:8765"]
)
def test_another_host_is_refused_even_with_the_cookie(host: str) -> None:
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
    for made, path in ((client(), "/"), (client(cookie=False), "/api/state")):
        policy = made.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "http" not in policy
