"""Who works on which document: a courtesy for people who share one review, kept in memory.

A claim ends by itself if its page stops to renew it, so that a closed laptop holds nobody up. What two people do to one
document all the same is decided by `corrections/conflicts.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Seconds that a claim holds without being renewed.
LASTING = 300.0
# The most claims at a time; of more the oldest go.
_MOST = 2000

#: A document under one schema: its digest and the schema's name.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Claim:
    who: str
    tab: str
    until: float


class Claims:
    """The claims of one review. Threads may share it. A tab, named by its page, has one document at a time."""

    def __init__(self, lasting: float = LASTING, clock: Callable[[], float] = time.monotonic) -> None:
        self._lasting, self._clock = lasting, clock
        self._lock = threading.Lock()
        self._claims: dict[Place, _Claim] = {}

    def take(self, place: Place, who: str, tab: str) -> str | None:
        """Claims or renews a document for a tab of this person; returns who has it if that is somebody else."""
        with self._lock:
            self._end()
            self._drop(who, tab)
            held = self._claims.get(place)
            if held is not None and held.who != who:
                return held.who
            self._claims[place] = _Claim(who, tab, self._clock() + self._lasting)
            while len(self._claims) > _MOST:
                del self._claims[next(iter(self._claims))]
            return None

    def leave(self, who: str, tab: str) -> None:
        """Releases what a tab of this person has."""
        with self._lock:
            self._drop(who, tab)

    def free(self, place: Place) -> None:
        """Releases a document, whoever has it."""
        with self._lock:
            self._claims.pop(place, None)

    def of_others(self, who: str) -> dict[Place, str]:
        """Returns the documents that others than this person have, with their names."""
        with self._lock:
            self._end()
            return {place: one.who for place, one in self._claims.items() if one.who != who}

    def as_json(self, who: str) -> list[dict[str, Any]]:
        """Returns the claims of others for the page."""
        return [{"document": place[0], "schema": place[1], "who": name} for place, name in self.of_others(who).items()]

    def _drop(self, who: str, tab: str) -> None:
        for place in [at for at, one in self._claims.items() if (one.who, one.tab) == (who, tab)]:
            del self._claims[place]

    def _end(self) -> None:
        now = self._clock()
        for place in [at for at, one in self._claims.items() if one.until < now]:
            del self._claims[place]
