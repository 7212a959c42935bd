"""Waits for the events of a request, and ends the request if its client leaves or its time is up."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from fastapi import Request

from cinnabar.apps.server.errors import ApiError, of_failure
from cinnabar.engine.chat.document_chat import DocumentChat
from cinnabar.engine.chat.requests import Cancel, ChatRequest, Done, Event, FailedRequest, State

#: States that wait to be sent.
_STATES = 64


class RequestEvents:
    """The events of one request, which a model's thread delivers and the server's loop waits for.

    Of states that are not sent yet the last few are kept, since each replaces the one before: a slow client takes no
    memory.
    """

    def __init__(self, model: DocumentChat, chat_request: ChatRequest, request: Request) -> None:
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()
        self._states: deque[State] = deque(maxlen=_STATES)
        self._end: Done | FailedRequest | None = None
        self._deadline: float = request.state.deadline
        self._gone = asyncio.ensure_future(wait_for_disconnect(request))
        self._cancel: Cancel = model.submit(chat_request, self._deliver)

    def _deliver(self, event: Event) -> None:
        # The loop is closed if the server ends at once.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: Event) -> None:
        if isinstance(event, State):
            self._states.append(event)
        elif self._end is None:
            self._end = event
        self._news.set()

    async def events(self) -> AsyncGenerator[State | Done, None]:
        """Yields the states, then the answer.

        Raises ApiError if the request fails or takes too long, or its client leaves; the model is then told to give it
        up.
        """
        try:
            while True:
                await self._wait()
                self._news.clear()
                while self._states:
                    yield self._states.popleft()
                if self._end is not None:
                    if isinstance(self._end, FailedRequest):
                        raise of_failure(self._end)
                    yield self._end
                    return
        finally:
            self.give_up()

    async def done(self) -> Done:
        """Returns the answer. Raises the errors of `events`."""
        async for event in self.events():
            if isinstance(event, Done):
                return event
        raise ApiError(500, "engine_error", "the model gave no answer")

    def give_up(self) -> None:
        """Tells the model that nobody waits any more; without effect after the answer."""
        self._gone.cancel()
        if self._end is None:
            self._cancel()

    async def _wait(self) -> None:
        if self._news.is_set():
            return
        news = asyncio.ensure_future(self._news.wait())
        try:
            await first_of(news, self._gone, self._deadline)
        finally:
            news.cancel()


async def first_of(work: asyncio.Future[Any], gone: asyncio.Future[None], deadline: float) -> None:
    """Waits for what a request waits for. Raises ApiError if its client leaves first, or its time is up."""
    left = max(deadline - time.monotonic(), 0.0)
    await asyncio.wait((work, gone), timeout=left, return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        return
    if gone.done():
        raise of_failure(FailedRequest("cancelled", "the client closed the connection"))
    raise of_failure(FailedRequest("timeout", "the request took longer than this server allows (--timeout)"))


async def wait_for_disconnect(request: Request) -> None:
    """Returns when the client has closed its connection; the body of the request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
