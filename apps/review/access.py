"""The review page answers only a browser on this machine that opened the printed address.

The address ends in a key behind `#`, which browsers send to no server. The page keeps it for its tab, and sends it in a
header. A cookie would go to every port of this machine, so that another server here could read it and use it. Every
request is checked: its Host header, because a hostile site may point its own name at this machine; the key, of all that
tells of documents; and for changes its origin. The files of the page itself hold nothing, and need no key.

Who asks, and what they may do: readers see, reviewers correct and audit, owners also train.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing but our own files: no script in the page's text, no other machine, no frame around the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " font-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "x-frame-options": "DENY",
}
_MOST_BYTES = 4 << 20
#: The address that only this machine reaches.
HOST = "127.0.0.1"
#: Methods that change nothing.
READS = frozenset({"GET", "HEAD"})
#: The header that has the key.
KEY = "x-cinnabar-key"


class Guard:
    """Lets a request through to the `app` if there is no `refusal`, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in given)]
            await send(message)

        headers = Headers(scope=scope)
        refused = self.refusal(scope, headers) or _refuse_malformed(scope["method"], headers)
        await (refused or self._app)(scope, receive, send_with_headers)

    def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the answer to a request that the app must not see; None if it may."""
        raise NotImplementedError


class Access(Guard):
    """Lets a request through to the `app` if it has the key.

    hosts: the values of the Host header that are ours, such as 127.0.0.1:8765.
    """

    def __init__(self, app: ASGIApp, key: str, hosts: Collection[str]) -> None:
        super().__init__(app)
        self._key, self._hosts = key, frozenset(hosts)

    def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the answer to a request that does not come from the page that this server printed."""
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This address is not that of the review page.\n", 421)
        known = hmac.compare_digest(headers.get(KEY, "").encode(), self._key.encode())
        if not known and not (scope["method"] in READS and is_page(scope["path"])):
            return PlainTextResponse("Open the address that `cinnabar review` printed.\n", 403)
        origin = headers.get("origin", f"http://{headers['host']}").partition("://")[2].lower()
        if scope["method"] not in READS and origin not in self._hosts:
            return PlainTextResponse("Changes come from the review page alone.\n", 403)
        return None


def _refuse_malformed(method: str, headers: Headers) -> Response | None:
    """Returns the answer to a change that another site may have sent, and to a request that is too long."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    near = headers.get("sec-fetch-site", "same-origin") == "same-origin"
    # No form of another site can send JSON.
    if method not in READS and not (near and kind == "application/json"):
        return PlainTextResponse("Changes come from the review page alone.\n", 403)
    if not _fits_bound(headers.get("content-length", "0")) or "transfer-encoding" in headers:
        return PlainTextResponse("The request is too long.\n", 413)
    return None


def is_page(path: str) -> bool:
    """Returns whether this path is a file of the page, which holds nothing of a document."""
    return path == "/" or path.startswith("/page/")


def _fits_bound(length: str) -> bool:
    return length.isdecimal() and len(length) < 10 and int(length) <= _MOST_BYTES


class Role(IntEnum):
    """What a person may do; each role may do what those before it may."""

    READER = 1
    REVIEWER = 2
    OWNER = 3


#: The key of the person in the scope of a request.
PERSON = "cinnabar.person"
# A request that changes something and is not named is for owners alone.
_LEAST = {
    "/api/readings": Role.READER,
    "/api/ask": Role.REVIEWER,
    "/api/correct": Role.REVIEWER,
    "/api/undo": Role.REVIEWER,
    "/api/packet": Role.REVIEWER,
    "/api/claim": Role.REVIEWER,
    "/api/audit": Role.REVIEWER,
    "/api/improve": Role.OWNER,
}
# Reading is for all, but for what fills a document again, and what a second reader must not know beforehand.
_LEAST_READING = {"/api/steps": Role.REVIEWER, "/api/audit": Role.REVIEWER, "/api/audit/document": Role.REVIEWER}


@dataclass(frozen=True, slots=True)
class Person:
    """A person with their name and role; `alone` if nobody else uses this review."""

    name: str
    role: Role
    alone: bool = False


def least_role(method: str, path: str) -> Role:
    """Returns the least role that may make this request."""
    if method in ("GET", "HEAD"):
        return _LEAST_READING.get(path, Role.READER)
    return _LEAST.get(path, Role.OWNER)


def person_of(scope: Scope, alone: str) -> Person:
    """Returns the person of a request; without a team it is the one of this name, who may do everything."""
    found = scope.get(PERSON)
    return found if isinstance(found, Person) else Person(alone, Role.OWNER, alone=True)
