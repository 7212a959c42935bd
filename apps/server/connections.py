"""Connections of clients that may be slow, silent or many, as the server and the review page take them."""

from __future__ import annotations

import asyncio
import time

import h11
import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

from cinnabar.apps.server.errors import ApiError

#: Seconds that a client may take to send the head of a request, and that a new connection may be idle.
_HEAD = 20.0
#: Seconds for the body, also of a request that was refused before its body came.
_BODY = 90.0
#: Seconds that a client may take to read what waits to be sent to it, 64 kB or so.
_READ = 60.0
#: Connections beyond which one that waits for no answer is closed for each new one, so that the others are served.
_MOST = 512


class Connection(H11Protocol):
    """A connection that is closed if its client is too slow with a request, or reads no answer.

    Without that a client could hold connections and requests for ever. What is no HTTP is refused in the API's form.
    """

    _late: asyncio.TimerHandle | None = None
    _waits_for: type[h11.IDLE] | type[h11.SEND_BODY] | None = None
    _unread: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock of the first head."""
        super().connection_made(transport)
        self._since = time.monotonic()
        self._watch()
        if len(self.connections) > _MOST:
            idle = (one for one in self.connections if isinstance(one, Connection) and one._is_idle)
            min(idle, key=lambda one: one._since).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Takes bytes in; the clock of a head begins with its first byte."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clocks."""
        self._stop()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Waits for the client to read, but not for ever."""
        super().pause_writing()
        self._unread = self.loop.call_later(_READ, self.transport.abort)

    def resume_writing(self) -> None:
        """Goes on."""
        if self._unread is not None:
            self._unread.cancel()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no request in HTTP, unless an answer has begun."""
        if self.conn.our_state is h11.IDLE or self.conn.our_state is h11.SEND_RESPONSE:
            body = orjson.dumps(ApiError(400, "invalid_http", f"expected a request in HTTP/1.1: {msg}").body)
            head = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
            for event in (h11.Response(status_code=400, headers=head), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            if self.cycle is not None:
                # The application may be at work on the same request; nobody hears of its answer.
                self.cycle.disconnected = True
                self.cycle.message_event.set()
        self.transport.close()

    @property
    def _is_idle(self) -> bool:
        """Whether nobody waits for an answer: no request has come, or an answered one still owes its body."""
        owing = self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE
        return owing or self.conn.their_state is h11.IDLE

    def _watch(self) -> None:
        state = self.conn.their_state
        if state is self._waits_for:
            return
        self._stop()
        if state is h11.IDLE:
            self._late = self.loop.call_later(_HEAD, self.timeout_keep_alive_handler)
        elif state is h11.SEND_BODY:
            self._late = self.loop.call_later(_BODY, self.transport.abort)
        else:
            return
        self._waits_for = state

    def _stop(self) -> None:
        self._waits_for = None
        if self._late is not None:
            self._late.cancel()
            self._late = None
