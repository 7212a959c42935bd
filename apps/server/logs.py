"""The log of the server, without a word of a document: an exception is told by its type and place alone."""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Sequence

from cinnabar.schemas.wording import harmless

#: Loggers that tell each request of others, or each part of a form.
_LOUD = ("httpx", "asyncio", "prefect", "multipart", "python_multipart")


def start_log() -> None:
    """Sends what the server logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(WithoutTexts("%(asctime)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.WARNING)
    # Else Python prints such exceptions with their messages.
    threading.excepthook = _log_thread
    sys.unraisablehook = _log_unraisable


class WithoutTexts(logging.Formatter):
    """Writes one line a record. Messages of exceptions and representations of objects may hold texts of clients.

    CINNABAR_DEBUG=1 shows all of them.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of a record."""
        if os.environ.get("CINNABAR_DEBUG"):
            return "\n".join(map(harmless, super().format(record).split("\n")))
        plain = logging.makeLogRecord(record.__dict__ | {"exc_info": None, "exc_text": None, "stack_info": None})
        if isinstance(record.msg, BaseException):
            plain.msg, plain.args = "%s", (_type_and_place(record.msg),)
            return harmless(super().format(plain))
        if isinstance(record.args, tuple):
            plain.args = tuple(_type_and_place(one) if isinstance(one, BaseException) else one for one in record.args)
        # Behind the first line asyncio shows tasks with their exceptions.
        line = super().format(plain).split("\n", 1)[0]
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        return harmless(line if error is None else f"{line}: {_type_and_place(error)}")


def _log_thread(raised: threading.ExceptHookArgs) -> None:
    name = "unknown" if raised.thread is None else raised.thread.name
    if raised.exc_value is not None and not isinstance(raised.exc_value, SystemExit):
        logging.getLogger(__name__).error("the thread %s ended: %s", name, raised.exc_value)


def _log_unraisable(raised: sys.UnraisableHookArgs) -> None:
    logging.getLogger(__name__).error("an exception nobody can take: %s", raised.exc_value)


def _type_and_place(error: BaseException) -> str:
    return f"{type(error).__name__} at {place_of(error)}"


def place_of(error: BaseException) -> str:
    """Returns the file and line of our own that an exception came through last."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "site-packages" not in frame.filename] or frames
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "unknown"
