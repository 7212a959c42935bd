"""Only the named proxy says who asks, and nobody does more than their role allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient
from tests.support.review_team import PUBLIC, headers_of, said, team_of, team_review
from tests.support.reviewed_folder import written

from cinnabar.apps.review.access import _LEAST, Role, least_role
from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.apps.review.server import Team
from cinnabar.errors import UsageError
from cinnabar.extraction.review.review import Review

Served = tuple[Review, TestClient]
_NAME = "x-forwarded-user"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("team")
    with team_review(written(root, 2), root) as found:
        yield found


@pytest.fixture
def client(served: Served) -> TestClient:
    return served[1]


def row_of(client: TestClient, name: str = "Ada") -> dict[str, str]:
    listed = said(client, name, "GET", "/api/list").json()["list"]
    row = said(client, name, "GET", "/api/documents", {"list": listed}).json()["rows"][0]
    return {"document": row["document"], "schema": row["schema_name"]}


def note(client: TestClient, name: str, at: dict[str, str], text: str, **more: str) -> Any:
    seen = said(client, "Ada", "GET", "/api/state", at).json()["seen"]
    change = {"action": "value", "pointer": "/note", "after": f'"{text}"', "seen": seen["/note"]}
    return said(client, name, "POST", "/api/correct", {**at, "changes": [change]}, **more)


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/api/overview", "/api/state"])
def test_without_the_proxy_a_name_in_a_header_is_refused(client: TestClient, path: str) -> None:
    app = client.app
    for host in ("10.0.0.3", "127.0.0.1", "testclient", ""):
        stranger = TestClient(app, "http://10.0.0.1:8765", client=(host, 1))  # type: ignore[arg-type]
        answer = stranger.get(path, headers=headers_of("Ada", **{"x-forwarded-for": "10.0.0.2"}))
        assert answer.status_code == 403 and "proxy" in answer.text


def test_a_request_without_a_name_is_refused(client: TestClient) -> None:
    assert client.get("/api/overview").status_code == 401
    assert said(client, " ", "GET", "/api/overview").status_code == 401


def test_a_header_that_is_there_twice_is_refused(client: TestClient) -> None:
    twice = [*headers_of("Bob").items(), (_NAME, "Ada")]
    answer = client.get("/api/overview", headers=twice)
    assert answer.status_code == 400 and "2 times" in answer.text


@pytest.mark.parametrize("name", ["A" * 201, "A\u202eda", "A\u2028B", "A\x07", "A\u200bda"])
def test_a_name_that_is_too_long_or_cannot_be_shown_is_refused(client: TestClient, name: str) -> None:
    headers = [(key.encode(), value.encode()) for key, value in headers_of(name).items()]
    assert client.get("/api/overview", headers=headers).status_code == 400


def test_somebody_without_a_role_sees_nothing(client: TestClient) -> None:
    for groups in ("", "strangers", "owner", "Ada", "Clerks"):
        answer = said(client, "Eve", "GET", "/api/overview", **{"x-forwarded-groups": groups})
        assert answer.status_code == 403, "a header names groups, and never a role or a person"


def test_of_several_roles_the_highest_counts_and_accents_are_spelled_either_way() -> None:
    team = Team(name_header="X-User", names={"Zoe\u0308": "reader"}, groups={"staff": "reviewer"})
    raw = [(b"x-user", "Zo\u00eb".encode()), (b"x-forwarded-groups", b"others, staff")]
    found = team.person({"client": ("127.0.0.1", 1)}, Headers(raw=raw))
    assert (found.name, found.role) == ("Zo\u00eb", Role.REVIEWER)
    assert team.person({"client": ("127.0.0.1", 1)}, Headers(raw=raw[:1])).role is Role.READER


def test_a_team_with_a_secret_believes_no_other_process(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret of the proxy\n")
    (tmp_path / "team.toml").write_text('secret = "secret"\n[names]\nAda = "owner"\n')
    team = Team.read(tmp_path / "team.toml")
    told = {_NAME: "Ada", "host": "page.example", "x-cinnabar-proxy": "a secret of the proxy"}
    assert team.person({"client": ("127.0.0.1", 1)}, Headers(told)).role is Role.OWNER
    for value in ("another secret!!!", ""):
        with pytest.raises(HTTPException):
            team.person({"client": ("127.0.0.1", 1)}, Headers({**told, "x-cinnabar-proxy": value}))
    for wrong in ('secret = "nowhere"', '[groups]\n"" = "owner"', 'secret = "team.toml2"'):
        (tmp_path / "team.toml").write_text(wrong)
        (tmp_path / "team.toml2").write_text("short")
        with pytest.raises(UsageError, match="--team"):
            Team.read(tmp_path / "team.toml")


def test_readers_see_reviewers_correct_and_owners_do_the_rest(client: TestClient) -> None:
    at = row_of(client)
    guest = {"x-forwarded-groups": "guests"}
    assert said(client, "Gil", "GET", "/api/overview", **guest).json()["role"] == "reader"
    assert said(client, "Gil", "GET", "/api/state", at, **guest).status_code == 200
    assert note(client, "Gil", at, "no", **guest).status_code == 403
    assert note(client, "Bob", at, "yes").status_code == 200
    for path in ("/api/audit", "/api/steps"):
        assert said(client, "Gil", "GET", path, at, **guest).status_code == 403
    refused = said(client, "Bob", "POST", "/api/improve", {"action": "stop"})
    assert refused.status_code == 403 and "owner" in refused.text
    assert said(client, "Ada", "POST", "/api/improve", {"action": "stop"}).status_code == 200


def test_a_role_in_the_body_or_the_address_changes_nothing(client: TestClient) -> None:
    at = row_of(client)
    guest = {"x-forwarded-groups": "guests", "x-role": "owner", "role": "owner", "x-forwarded_user": "Ada"}
    for path in ("/api/correct?role=owner", "/api/correct/", "//api/correct", "/api/%63orrect", "/page/../api/correct"):
        answer = said(client, "Gil", "POST", path, {**at, "changes": [], "role": "owner", "who": "Ada"}, **guest)
        assert answer.status_code in (307, 403, 404, 405), path


def test_every_route_that_changes_something_has_its_role() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cinnabar.extraction.review.review.Listing", lambda _: None)
        app = review_app(Review.__new__(Review), Improving(Path()))
    posts = {one.path for one in app.routes if isinstance(one, APIRoute) and one.methods != {"GET"}}
    assert posts == set(_LEAST)
    assert least_role("POST", "/api/unheard") is Role.OWNER and least_role("DELETE", "/api/list") is Role.OWNER


@pytest.mark.parametrize(
    "more",
    [
        {"origin": "https://evil.example"},
        {"origin": f"http://{PUBLIC}"},
        {"origin": f"https://{PUBLIC}.evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"x-forwarded-proto": "http"},
        {"x-forwarded-host": "evil.example"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_change_from_another_site_is_refused(client: TestClient, more: dict[str, str]) -> None:
    assert note(client, "Ada", row_of(client), "never", **more).status_code == 403
    form = {**headers_of("Ada"), "content-type": "text/plain"}
    assert client.post("/api/correct", content="{}", headers=form).status_code == 403


def test_the_page_behind_tls_may_change_something_and_no_cookie_is_set(client: TestClient) -> None:
    answer = note(client, "Ada", row_of(client), "done", **{"x-forwarded-host": f"{PUBLIC}:443"})
    assert answer.status_code == 200 and "set-cookie" not in answer.headers
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_correction_carries_the_name_of_who_made_it_whatever_is_in_it(client: TestClient) -> None:
    at = row_of(client)
    name = "<img src=x onerror=alert(1)>' OR 1=1"
    state = note(client, name, at, "mine", **{"x-forwarded-groups": "clerks"}).json()
    assert state["corrections"][-1]["who"] == name
    assert state["first"]["/note"] == ["null", 0.99]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[names]\nAda = 'king'", "names.Ada: Input should be 'reader', 'reviewer' or 'owner'"),
        ("[people]\n", "people"),
        ("[names", "TOML"),
        ("names=1", "names"),
        ("name_header = 'X User'", "name_header"),
        ("proxies = ['all']", "proxies"),
    ],
)
def test_a_file_of_a_team_that_is_wrong_is_refused_in_words(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "team.toml").write_text(content)
    with pytest.raises(UsageError, match="--team") as refused:
        Team.read(tmp_path / "team.toml")
    assert message in str(refused.value)


def test_what_is_no_address_is_no_proxy(tmp_path: Path) -> None:
    team = team_of(tmp_path)
    assert team.is_proxy("10.0.0.2") and not team.is_proxy("::1") and not team.is_proxy("unix:")
