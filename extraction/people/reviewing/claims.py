"""Who works on which document: a courtesy for people who share one review, kept in memory.

A claim ends when its page goes on to another document or stops to renew it, so that a closed laptop holds nobody up.
What two people do to one document all the same is decided by `corrections/conflicts.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: Seconds that a claim holds without being renewed.
LASTING = 150.0
#: Documents that one person has at a time, one a tab; of more, those that were renewed longest ago are free again.
TABS = 100

#: A document under one schema: its digest and the schema's name.
Place = tuple[str, str]


class Claims:
    """The claims of one review. Threads may share it. A tab, named by its page, has one document at a time."""

    def __init__(self, lasting: float = LASTING, clock: Callable[[], float] = time.monotonic) -> None:
        self._lasting, self._clock, self._lock = lasting, clock, threading.Lock()
        # By person and tab: the document, and when its claim ends.
        self._claims: dict[tuple[str, str], tuple[Place, float]] = {}

    def take(self, place: Place, who: str, tab: str) -> str | None:
        """Claims or renews a document for a tab of this person; returns who has it if that is somebody else."""
        with self._lock:
            now = self._clock()
            self._claims = {
                holder: claim for holder, claim in self._claims.items() if claim[1] >= now and holder != (who, tab)
            }
            for (other, _), (held, _) in self._claims.items():
                if held == place and other != who:
                    return other
            own = [holder for holder in self._claims if holder[0] == who]
            for holder in own[: max(0, len(own) + 1 - TABS)]:
                del self._claims[holder]
            self._claims[who, tab] = place, now + self._lasting
            return None

    def of_others(self, who: str) -> dict[Place, str]:
        """Returns the documents that others than this person have, with their names."""
        with self._lock:
            now = self._clock()
            return {place: other for (other, _), (place, end) in self._claims.items() if other != who and end >= now}
