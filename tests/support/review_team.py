"""A team's review without a server: requests as its reverse proxy would send them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.apps.review.server import Team, TeamAccess
from cinnabar.extraction.review.review import Review

PUBLIC = "review.example"
TEAM = """
proxies = ["10.0.0.2/32"]
[names]
Ada = "owner"
Bob = "reviewer"
[groups]
guests = "reader"
clerks = "reviewer"
"""
PROXY = ("10.0.0.2", 40000)


def headers_of(name: str, groups: str = "", **more: str) -> dict[str, str]:
    """The headers that the proxy adds for a person."""
    return {
        "x-forwarded-user": name,
        "x-forwarded-groups": groups,
        "x-forwarded-proto": "https",
        "x-forwarded-host": PUBLIC,
        "origin": f"https://{PUBLIC}",
        **more,
    }


def team_of(root: Path) -> Team:
    """A team of Ada, who owns, Bob, who reviews, and the groups of TEAM."""
    path = root / "team.toml"
    path.write_text(TEAM, encoding="utf-8")
    return Team.read(path)


@contextmanager
def team_review(out: Path, root: Path) -> Iterator[tuple[Review, TestClient]]:
    """A team's review of this folder, and a client that is its proxy."""
    with Review(out, "nobody", team=True) as review:
        app = TeamAccess(review_app(review, Improving(out)), team_of(root))
        yield review, TestClient(app, "http://10.0.0.1:8765", client=PROXY, follow_redirects=False)


def said(client: TestClient, name: str, method: str, path: str, body: Any = None, **more: str) -> Any:
    """The answer to a person's request."""
    headers = headers_of(name, **more)
    if method == "GET":
        return client.get(path, params=body, headers=headers)
    return client.post(path, json=body, headers=headers)
