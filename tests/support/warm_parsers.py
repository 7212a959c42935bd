"""Parser processes that outlive their pool: a run of a test takes one that an earlier run left idle.

A process takes 140 ms of processor time to start, and hundreds of tests parse a few lines of text. One with
the same command, settings and environment is the same process to its pool. The tests of ingest start their own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from cinnabar.engine.child_environment import child_environment
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import sandbox

_Fresh = sandbox._Parser
_FATAL = sandbox._FATAL
_lock = threading.Lock()
_idle: dict[Any, list[WarmParser]] = {}


class WarmParser(_Fresh):
    """A parser that waits for another pool when its own ends it, unless it is at work or came to harm."""

    def __init__(self, command: list[str], settings: ParserSettings, time_limit: float, kind: Any) -> None:
        super().__init__(command, settings, time_limit)
        self.kind, self.trusted = kind, True

    def ask(self, path: PurePath, data: bytes | None, own: Mapping[str, Any]) -> Document | DocumentError:
        self.trusted = False
        # Its working folder is that of the test that started it.
        found = super().ask(Path.cwd() / path if data is None else path, data, own)
        self.trusted = not (isinstance(found, DocumentError) and found.code in _FATAL)
        return replace(found, path=str(path)) if isinstance(found, Document) else found

    def interrupt(self) -> None:
        if not self.trusted:
            super().interrupt()

    def stop(self) -> None:
        if not self.trusted or self._process.poll() is not None:
            super().stop()
            return
        with _lock:
            _idle.setdefault(self.kind, []).append(self)


def started(command: list[str], settings: ParserSettings, time_limit: float) -> WarmParser:
    """A parser that an earlier test left, or a new one."""
    # Passwords are not in the text of the settings.
    kind = (*command, repr(settings), settings.passwords, *sorted(child_environment().items()))
    with _lock:
        left = _idle.get(kind, [])
        found = left.pop() if left else None
    if found is None:
        return WarmParser(command, settings, time_limit, kind)
    found.served = 0
    return found


def end_all() -> None:
    """Ends the processes that wait."""
    for found in [one for left in _idle.values() for one in left]:
        found.trusted = False
        found.stop()
    _idle.clear()
