"""Serves the review page on this machine."""

from __future__ import annotations

import getpass
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from cinnabar.apps.review.access import HOST, Access
from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.apps.review.team import Team, TeamAccess
from cinnabar.apps.server.connections import Connection
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.people.reviewing.review import Review
from cinnabar.schemas.errors import UsageError


@contextmanager
def open_review(out: Path, port: int, who: str, team: Team | None = None) -> Iterator[tuple[ASGIApp, str]]:
    """Yields the guarded application over an output folder, and the address that opens it.

    That of a `team` is for its proxy. Raises UsageError if the folder holds no results.
    """
    key = secrets.token_urlsafe(32)
    improving = Improving(out)
    with Review(out, who, parser_settings(), team is not None) as review:
        app = review_app(review, improving)
        hosts = (f"{HOST}:{port}", f"localhost:{port}")
        guarded = Access(app, key, hosts) if team is None else TeamAccess(app, team)
        try:
            yield guarded, f"http://{HOST}:{port}/#{key}" if team is None else f"http://{team.host}:{port}/"
        finally:
            improving.stop()


def serve_review(
    out: Path, port: int, who: str | None, show_address: Callable[[str], None], team: Team | None = None
) -> None:
    """Serves the page until SIGINT or SIGTERM; `show_address` gets its address once it answers.

    A `port` of 0 takes a free one. Raises UsageError if the port cannot be had, or the folder holds no results.
    """
    with _listen(port, HOST if team is None else team.host) as listener:
        number = listener.getsockname()[1]
        with open_review(out, number, who or _user(), team) as (app, address):
            server = _ReviewServer(
                uvicorn.Config(
                    app,
                    log_level="error",
                    access_log=False,
                    server_header=False,
                    http=Connection,
                    ws="none",
                    timeout_graceful_shutdown=3,
                    # Else uvicorn would take the address of a client from a header that anybody can send.
                    proxy_headers=False,
                ),
                lambda: show_address(address),
            )
            # After the shutdown uvicorn raises again the signal that asked for it.
            with suppress(KeyboardInterrupt):
                server.run([listener])


class _ReviewServer(uvicorn.Server):
    """A server that tells when it has started."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to answer."""
        await super().startup(sockets)
        self._on_start()


@contextmanager
def _listen(port: int, host: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise UsageError(f"--port {port} of {host}: cannot be used ({error.strerror}); name another") from error
        yield listener


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
