"""The settings of the server (where it listens, who may ask, how much of anything it takes), and its log.

The log has no word of a document: an exception is told by its type and place alone.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from cinnabar.engine.remote.serving import is_this_machine
from cinnabar.errors import UsageError
from cinnabar.wording import harmless

#: The names under which a client on the same machine reaches the server.
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
#: A whole `Host`: an address in brackets or a name, and a port.
_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s:\[\]@/]+))(?::[0-9]{0,5})?")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a server. Raises UsageError if one is out of range, or if a network could ask without a key.

    hosts: names in the `Host` of a request beside those of this machine. key: what clients show as bearer, None if
    nobody needs one. max_clients: requests that are worked on or wait. timeout: seconds for a request. max_body: bytes
    of a request. max_bodies: bytes of all requests at a time. grace: seconds for what is in flight at the end.
    compile_seconds: for a schema.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    hosts: tuple[str, ...] = ()
    key: str | None = None
    max_clients: int = 256
    timeout: float = 600.0
    max_body: int = 64 << 20
    max_bodies: int = 1 << 30
    grace: float = 60.0
    compile_seconds: float = 20.0

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port: expected 0 to 65535, got {self.port}")
        if self.max_clients < 1:
            raise UsageError(f"--max-clients: expected at least 1, got {self.max_clients}")
        if not self.timeout > 0:
            raise UsageError(f"--timeout: expected more than 0, got {self.timeout:g}")
        if self.max_body < 1:
            raise UsageError(f"--max-body: expected at least 1, got {self.max_body}")
        if self.key is None and not is_this_machine(self.host):
            raise UsageError(
                f"--host {self.host}: other machines could ask; expected --api-key-file FILE with it, or a --host of"
                " this machine, such as 127.0.0.1"
            )

    def allows(self, host: str) -> bool:
        """Returns whether a `Host` names this server: a page of the web that a browser shows names another one."""
        found = _HOST.fullmatch(host)
        name = "" if found is None else found["address"] or found["name"]
        return name.lower().rstrip(".") in {*LOCAL_NAMES, self.host.lower(), *(one.lower() for one in self.hosts)}

    def allows_origin(self, origin: str) -> bool:
        """Returns whether an `Origin` is a page that this server's own names show."""
        scheme, _, host = origin.partition("://")
        return scheme.lower() in ("http", "https") and self.allows(host)


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
