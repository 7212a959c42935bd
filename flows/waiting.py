"""Runs of several deployments that meet in one folder of results: each waits until it is free."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from cinnabar.extraction.storage.files import is_locked
from cinnabar.schemas.errors import InUse

T = TypeVar("T")

#: Seconds between two looks at a folder that another run is writing to.
LOOK = 2.0


def begun_alone(begin: Callable[[], T], wait: float, say: Callable[[str], object]) -> T:
    """What `begin` gives once no other run is writing to its folder, for which it waits so many seconds.

    It begins anew after the wait, so that it sees what the other run has done. `say` is told once that it
    waits, and for which process. Raises InUse where the wait was too short.
    """
    deadline, waiting = time.monotonic() + wait, False
    while True:
        try:
            return begin()
        except InUse as error:
            if time.monotonic() >= deadline:
                raise
            folder = error.folder
            if not waiting:
                say(f"{error.what}; waiting for it to end, {wait:g} s at most")
                waiting = True
        # Not by beginning again and again: that would list a whole mailbox each time.
        while is_locked(folder) and time.monotonic() < deadline:
            time.sleep(LOOK)
