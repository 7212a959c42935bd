"""The review page answers only a browser on this machine that opened the printed address.

The address ends in a key behind `#`, which browsers send to no server. The page keeps it for its tab, and sends it in a
header. A cookie would go to every port of this machine, so that another server here could read it and use it. Every
request is checked: its Host header, because a hostile site may point its own name at this machine; the key, of all that
tells of documents; and for changes its origin. The files of the page itself hold nothing, and need no key.

Behind a reverse proxy, which signs people in, the proxy sends the key, and the name of who asks in a header. It must
set both anew on each request: a header that is there twice, one of them the browser's, is refused. As the proxy's
session is in a cookie, which browsers send along with the requests of other sites, a change must name our own origin,
made of the address that the proxy tells.
"""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
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
#: The key of the person's name in the scope of a request.
PERSON = "cinnabar.person"
# The most characters of a name.
_LONGEST = 200
_PORTS = {"http": ":80", "https": ":443"}


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
        # The files of the page hold nothing of a document.
        page = scope["path"] == "/" or scope["path"].startswith("/page/")
        if not known and not (scope["method"] in READS and page):
            return PlainTextResponse("Open the address that `cinnabar review` printed.\n", 403)
        origin = headers.get("origin", f"http://{headers['host']}").partition("://")[2].lower()
        if scope["method"] not in READS and origin not in self._hosts:
            return PlainTextResponse("Changes come from the review page alone.\n", 403)
        return None


class ProxyAccess(Guard):
    """Lets a request through to the `app` if a proxy that knows the key sends it, with the person that it names.

    name_header: the header that has the person's name.
    """

    def __init__(self, app: ASGIApp, key: str, name_header: str) -> None:
        super().__init__(app)
        self._key, self._name_header = key, name_header

    def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the answer to a request that does not come from the proxy, or from a page that it serves."""
        try:
            if not hmac.compare_digest(_single(headers, KEY).encode(), self._key.encode()):
                raise HTTPException(403, f"Open the address of the proxy, which tells its key in {KEY}.")
            scope[PERSON] = self._name(headers)
            if scope["method"] not in READS and _single(headers, "origin").lower() != _own_origin(headers):
                text = "Changes come from the review page alone. Does the proxy tell X-Forwarded-Proto and -Host?"
                raise HTTPException(403, text)
        except HTTPException as refused:
            return PlainTextResponse(f"{refused.detail}\n", refused.status_code)
        return None

    def _name(self, headers: Headers) -> str:
        name = unicodedata.normalize("NFC", _single(headers, self._name_header)).strip()
        if not name:
            raise HTTPException(401, f"The proxy told no name: {self._name_header} is missing or empty.")
        if len(name) > _LONGEST or any(unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp") for one in name):
            raise HTTPException(400, f"The name is longer than {_LONGEST} characters, or has one that cannot be shown.")
        return name


def _own_origin(headers: Headers) -> str:
    scheme = (_single(headers, "x-forwarded-proto") or "http").lower()
    host = (_single(headers, "x-forwarded-host") or _single(headers, "host")).lower()
    return f"{scheme}://{host.removesuffix(_PORTS.get(scheme, ':'))}"


def _single(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    if len(values) > 1:
        raise HTTPException(400, f"The header {name} is there {len(values)} times; the proxy must replace it.")
    # Proxies send UTF-8, which `Headers` reads as Latin-1.
    return values[0].encode("latin-1").decode("utf-8", "replace") if values else ""


def _refuse_malformed(method: str, headers: Headers) -> Response | None:
    """Returns the answer to a change that another site may have sent, and to a request that is too long."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    near = headers.get("sec-fetch-site", "same-origin") == "same-origin"
    # No form of another site can send JSON.
    if method not in READS and not (near and kind == "application/json"):
        return PlainTextResponse("Changes come from the review page alone.\n", 403)
    length = headers.get("content-length", "0")
    fits = length.isdecimal() and len(length) < 10 and int(length) <= _MOST_BYTES
    if not fits or "transfer-encoding" in headers:
        return PlainTextResponse("The request is too long.\n", 413)
    return None
