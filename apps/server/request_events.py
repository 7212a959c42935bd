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
from cinnabar.engine.chat.requests import ChatRequest, Done, Event, FailedRequest, State

#: Events that wait to be sent.
_EVENTS = 64


async def request_events(
    model: DocumentChat, chat_request: ChatRequest, request: Request
) -> AsyncGenerator[State | Done, None]:
    """Yields the states of a request, which a model's thread delivers, then the answer.

    Of states that are not sent yet the last few are kept, since each replaces the one before: a slow client takes no
    memory. Raises ApiError if the request fails or takes too long, or its client leaves; the model is then told to give
    it up.
    """
    loop = asyncio.get_running_loop()
    waiting, news = deque[Event](maxlen=_EVENTS), asyncio.Event()

    def take(event: Event) -> None:
        waiting.append(event)
        news.set()

    def deliver(event: Event) -> None:
        # The loop is closed if the server ends at once.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(take, event)

    gone = asyncio.ensure_future(wait_for_disconnect(request))
    cancel = model.submit(chat_request, deliver)
    try:
        while True:
            if not waiting:
                news.clear()
                told = asyncio.ensure_future(news.wait())
                try:
                    await first_of(told, gone, request.state.deadline)
                finally:
                    told.cancel()
            event = waiting.popleft()
            if isinstance(event, FailedRequest):
                raise of_failure(event)
            yield event
            if isinstance(event, Done):
                return
    finally:
        gone.cancel()
        cancel()


async def answer_of(events: AsyncGenerator[State | Done, None]) -> Done:
    """Returns the last event of a request."""
    async for event in events:
        if isinstance(event, Done):
            return event
    raise ApiError(500, "engine_error", "the model gave no answer")


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
