"""Commits corrections behind those who make them, several at a time: nobody waits for the commit of another.

A correction is durable in its journal before its call returns. Each commit takes all that wait by then, so that twenty
people cost little more commits than one.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from cinnabar.extraction.corrections import journal
from cinnabar.extraction.corrections.waiting_commits import open_folder
from cinnabar.extraction.store.files import is_locked
from cinnabar.schemas.errors import CinnabarError

# Seconds between two looks for corrections that a run, or a killed process, left waiting; the longest rest; the rest
# in the time of the work before it.
_LOOK, _REST, _RESTS = 2.0, 5.0, 2.0


class Committer:
    """A thread that commits what waits in an output folder; `close` ends it with a last commit."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._wanted, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="commit-corrections", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Tells that a correction waits."""
        self._wanted.set()

    def close(self) -> None:
        """Ends the thread; what it cannot commit, because a run holds the folder, that run commits."""
        self._ended.set()
        self._wanted.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            self._wanted.wait(_LOOK)
            self._wanted.clear()
            last = self._ended.is_set()
            begun = time.monotonic()
            self._commit()
            if last:
                return
            # It rests, because it shares the processor with those who wait for a page.
            self._ended.wait(min(_REST, _RESTS * (time.monotonic() - begun)))

    def _commit(self) -> None:
        try:
            if journal.waiting(self._out) and not is_locked(self._out):
                open_folder(self._out).close()
        except (CinnabarError, OSError):  # a run is faster, or the disk is full: they wait on, and the next look tries
            return
