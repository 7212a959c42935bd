"""Bounds the requests and tokens that are sent to a server in any minute."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque

#: Seconds of the window in which the limits count.
WINDOW = 60.0


class Pace:
    """Delays requests. One event loop at a time uses it."""

    def __init__(self, requests: int | None, tokens: int | None) -> None:
        self._requests, self._tokens = requests, tokens
        self._sent: deque[tuple[float, int]] = deque()

    async def turn(self, tokens: int) -> None:
        """Waits until a request of so many tokens may be sent, and counts it.

        A request above the limit of a whole minute goes alone.
        """
        while (wait := self._wait(tokens)) > 0:
            await asyncio.sleep(wait * random.uniform(1.0, 1.1))  # not all of them at once
        self._sent.append((time.monotonic(), tokens))

    def _wait(self, tokens: int) -> float:
        now = time.monotonic()
        while self._sent and self._sent[0][0] <= now - WINDOW:
            self._sent.popleft()
        until = now
        if self._requests is not None and len(self._sent) >= self._requests:
            until = max(until, self._sent[len(self._sent) - self._requests][0] + WINDOW)
        if self._tokens is not None:
            room = self._tokens - tokens
            used = sum(count for _, count in self._sent)
            for at, count in self._sent:
                if used <= max(room, 0):
                    break
                used -= count
                until = max(until, at + WINDOW)
        return until - now
