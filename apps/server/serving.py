"""Starts the server and ends it: what is in flight is finished, new requests are refused meanwhile."""

from __future__ import annotations

import logging
import socket
import time
from types import FrameType

import uvicorn

from cinnabar.apps.server.connections import Connection
from cinnabar.apps.server.gate import Gate
from cinnabar.apps.server.settings import ServerSettings
from cinnabar.errors import UsageError

#: Connections that wait until the loop takes them.
_BACKLOG = 1024
#: Seconds after which a connection without a request is closed.
_KEEP_ALIVE = 75


class _ApiServer(uvicorn.Server):
    """A server whose first signal begins the end, and whose second one ends it at once."""

    def __init__(self, config: uvicorn.Config, gate: Gate, grace: float) -> None:
        super().__init__(config)
        self._gate, self._grace = gate, grace
        self._until: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Refuses new requests from now on; the next signal ends the server."""
        del sig, frame
        if self._gate.draining:
            self.should_exit = self.force_exit = True
        self._gate.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Returns whether the server is to end: nothing is in flight any more, or the time for it is up."""
        if self._gate.draining and self._until is None:
            self._until = time.monotonic() + self._grace
        if self._until is not None and (not self._gate.in_flight or time.monotonic() > self._until):
            self.should_exit = True
        return await super().on_tick(counter)


def bound(settings: ServerSettings) -> socket.socket:
    """Returns a socket that listens where the settings say. Raises UsageError if it cannot."""
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--host {settings.host} --port {settings.port}: cannot listen there ({reason}); choose another --port"
        ) from error


def address(settings: ServerSettings, listener: socket.socket) -> str:
    """Returns the base URL for clients."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}/v1"


def run_server(gate: Gate, settings: ServerSettings, listener: socket.socket) -> None:
    """Serves until SIGTERM or SIGINT."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    config = uvicorn.Config(
        gate,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        lifespan="on",
        loop="asyncio",
        http=Connection,
        ws="none",
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=5,
        backlog=_BACKLOG,
    )
    _ApiServer(config, gate, settings.grace).run(sockets=[listener])
