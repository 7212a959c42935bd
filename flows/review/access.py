"""Who may ask the review page: only a browser on this machine that opened the printed address.

A token of the address becomes a cookie that no script reads. Every request is checked: its Host header, because a
hostile site may point its own name at this machine; its cookie; and for changes its origin.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing but our own files: no script in the page's text, no other machine, no frame around the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none';"
    " object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
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
_READS = frozenset({"GET", "HEAD"})


class Access:
    """Lets a request through to the `app` if it has the token, and sets the headers of every answer.

    hosts: the values of the Host header that are ours, such as 127.0.0.1:8765.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str], cookie: str) -> None:
        self._app, self._token, self._hosts, self._cookie = app, token, frozenset(hosts), cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in given)]
            await send(message)

        refused = self._refused(scope)
        await (refused or self._app)(scope, receive, sending)

    def _refused(self, scope: Scope) -> Response | None:
        """Returns the answer to a request that the app must not see; None if it may."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This address is not that of the review page.\n", 421)
        said = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and scope["method"] == "GET" and said:
            return self._opened(said[0])
        if not self._known(headers.get("cookie", "")):
            return PlainTextResponse("Open the address that `cinnabar review` printed.\n", 403)
        if scope["method"] not in _READS and not self._own(headers):
            return PlainTextResponse("Changes come from the review page alone.\n", 403)
        if not _bounded(headers.get("content-length", "0")) or "transfer-encoding" in headers:
            return PlainTextResponse("The request is too long.\n", 413)
        return None

    def _opened(self, token: str) -> Response:
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            told = "This token is wrong or old. Open the address that `cinnabar review` printed.\n"
            return PlainTextResponse(told, 403)
        answer = RedirectResponse("/", 303, {"cache-control": "no-store"})
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return answer

    def _known(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self._token.encode())

    def _own(self, headers: dict[str, str]) -> bool:
        """Returns whether a change comes from the page itself: its origin is this host, and its body is JSON."""
        origin = headers.get("origin")
        near = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        json = headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
        return json and near and (origin is None or origin.partition("://")[2].lower() in self._hosts)


def _bounded(length: str) -> bool:
    return length.isdecimal() and len(length) < 10 and int(length) <= _MOST_BYTES
