"""The gate of the server: who may ask, how many at a time, what is logged; every answer has the request's id."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import time
import uuid
from typing import Any

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinnabar.apps.server.errors import ApiError, internal_error
from cinnabar.apps.server.settings import ServerSettings

log = logging.getLogger("cinnabar.server")
#: Ids of requests that clients may choose themselves.
_IDENTITY = re.compile(r"[A-Za-z0-9._:-]{1,128}")
#: Paths that anybody may ask for, also while the server ends.
_HEALTH = ("/health", "/health/live", "/health/ready")


class Gate:
    """The outermost application: it lets requests in, and logs them.

    `draining`: the server ends, so that new requests are refused. `in_flight` counts the others.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app, self._settings = app, settings
        self.draining = False
        self.in_flight = 0
        self.bodies = 0
        self._key = None if settings.key is None else settings.key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        named = headers.get("x-request-id", "")
        identity = named if _IDENTITY.fullmatch(named) else f"req_{uuid.uuid4().hex}"
        scope.setdefault("state", {})["identity"] = identity
        begun, status, streaming = time.monotonic(), 0, False
        scope["state"]["deadline"] = begun + self._settings.timeout

        async def answer(message: Message) -> None:
            nonlocal status, streaming
            if message["type"] == "http.response.start":
                status = message["status"]
                own = MutableHeaders(scope=message)
                own["x-request-id"] = identity
                streaming = own.get("content-type", "").startswith("text/event-stream")
                own["x-content-type-options"] = "nosniff"
                own.setdefault("cache-control", "no-store")
            await send(message)

        counted = False
        try:
            self._check(scope["path"], headers)
            if scope["path"] not in _HEALTH:
                self._admit()
                counted = True
                self.in_flight += 1
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:
            if not self.draining:
                raise
            # The server ends at once, and nobody waits for this task.
            cut = _shutting_down()
            if not status:
                await cut.response()(scope, receive, answer)
            elif streaming:
                await send({"type": "http.response.body", "body": b"data: " + orjson.dumps(cut.body) + b"\n\n"})
        except ApiError as error:
            await error.response()(scope, receive, answer)
        except Exception:
            log.exception("%s failed", identity)
            if not status:
                await internal_error(identity).response()(scope, receive, answer)
        finally:
            if counted:
                self.in_flight -= 1
            self.bodies -= scope["state"].get("body", 0)
            self._log(scope, status, time.monotonic() - begun, identity)

    def _check(self, path: str, headers: Headers) -> None:
        """Raises ApiError if the request has two lengths, names another host, comes from its page, or lacks the key."""
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy before the server may go by the other one, and take the rest for the next request.
            message = "expected Content-Length or Transfer-Encoding, got both"
            raise ApiError(400, "invalid_http", message, headers={"connection": "close"})
        host = headers.get("host", "")
        if not self._settings.allows(host):
            message = f"the Host {host[:100]!r} is none of this server's names; --allowed-host adds one"
            raise ApiError(421, "unknown_host", message)
        origin = headers.get("origin")
        if origin is not None and not self._settings.allows_origin(origin):
            raise ApiError(403, "foreign_origin", "requests of web pages of other hosts are refused")
        if self._key is None or path in _HEALTH:
            return
        kind, _, shown = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), self._key):
            message = "expected the server's key as `Authorization: Bearer KEY`"
            raise ApiError(401, "invalid_api_key", message, headers={"www-authenticate": "Bearer"})

    def _admit(self) -> None:
        """Raises ApiError if the server ends, or if as many requests as it takes are in flight."""
        if self.draining:
            raise _shutting_down()
        if self.in_flight >= self._settings.max_clients:
            message = f"{self.in_flight} requests are in flight, as many as the server takes; ask again later"
            raise ApiError(429, "overloaded", message, headers={"retry-after": "1"})

    def reserve(self, state: dict[str, Any], size: int) -> None:
        """Takes room for so many more bytes of a request's body; the end of the request frees it.

        Raises ApiError if the request is too large, or if the bodies of all requests together are.
        """
        held = state.get("body", 0)
        if held + size > self._settings.max_body:
            most = self._settings.max_body
            message = f"expected a request of at most {most} bytes; --max-body of the server sets this"
            raise ApiError(413, "request_too_large", message)
        self.hold(state, size)

    def hold(self, state: dict[str, Any], size: int) -> None:
        """Takes room for so many bytes that a parsed body takes beside itself. Raises ApiError if there is none."""
        if self.bodies + size > max(self._settings.max_bodies, self._settings.max_body):
            message = "the requests in flight take all the memory that is set aside for them; ask again later"
            raise ApiError(429, "overloaded", message, headers={"retry-after": "1"})
        self.bodies += size
        state["body"] = state.get("body", 0) + size

    def _log(self, scope: Scope, status: int, seconds: float, identity: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS") else "other"
        log.info("%s %s %s %d %.3f s", identity, method, route, status or 499, seconds)


def _shutting_down() -> ApiError:
    return ApiError(503, "shutting_down", "the server is shutting down", headers={"retry-after": "5"})
