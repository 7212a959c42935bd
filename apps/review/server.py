"""Serves the review page on this machine, to its browsers or to a reverse proxy."""

from __future__ import annotations

import getpass
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from cinnabar.apps.review.access import HOST, Access, ProxyAccess
from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.apps.server.connections import Connection
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.review.review import Review

# The environment variable with the key of a proxy, and its fewest characters.
_PROXY_KEY, _SHORTEST = "CINNABAR_REVIEW_KEY", 16


@contextmanager
def open_review(out: Path, port: int, who: str, name_header: str | None = None) -> Iterator[tuple[ASGIApp, str]]:
    """Yields the guarded application over an output folder, and the address that opens it.

    With a `name_header` that address is for a proxy. Raises UsageError if the folder holds no results, or the proxy's
    key is missing.
    """
    key = secrets.token_urlsafe(32) if name_header is None else _proxy_key(name_header)
    improving = Improving(out)
    with Review(out, who, parser_settings(), behind=name_header is not None) as review:
        app = review_app(review, improving)
        try:
            if name_header is None:
                hosts = (f"{HOST}:{port}", f"localhost:{port}")
                yield Access(app, key, hosts), f"http://{HOST}:{port}/#{key}"
            else:
                yield ProxyAccess(app, key, name_header), f"http://{HOST}:{port}/"
        finally:
            improving.stop()


def _proxy_key(name_header: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", name_header):
        raise UsageError(f"--name-header: expected the name of a header such as X-Forwarded-User, got {name_header!r}")
    key = os.environ.get(_PROXY_KEY, "")
    if len(key) < _SHORTEST:
        raise UsageError(
            f"--name-header: expected {_PROXY_KEY} in the environment with {_SHORTEST} characters or more, which the"
            " proxy sends as X-Cinnabar-Key (docs/review.md)"
        )
    return key


def serve_review(
    out: Path, port: int, who: str | None, show_address: Callable[[str], None], name_header: str | None = None
) -> None:
    """Serves the page until SIGINT or SIGTERM; `show_address` gets its address.

    A `port` of 0 takes a free one. Raises UsageError if the port cannot be had, or as `open_review`.
    """
    with _listen(port) as listener:
        number = listener.getsockname()[1]
        with open_review(out, number, who or _user(), name_header) as (app, address):
            # It listens already: who comes before the first answer waits for it.
            show_address(address)
            config = uvicorn.Config(
                app,
                log_level="error",
                access_log=False,
                server_header=False,
                http=Connection,
                ws="none",
                timeout_graceful_shutdown=3,
                # Else uvicorn would take the address of a client from a header that anybody can send.
                proxy_headers=False,
            )
            # After the shutdown uvicorn raises again the signal that asked for it.
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run([listener])


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(f"--port {port}: cannot be used ({error.strerror}); name another") from error


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
