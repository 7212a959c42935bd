"""The settings of the server: where it listens, who may ask, and how much of anything it takes."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from cinnabar.schemas.errors import UsageError

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
    compile_seconds: for a schema. keep_documents: whether a language model keeps what it read of a document for other
    schemas.
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
    keep_documents: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port: expected 0 to 65535, got {self.port}")
        if self.max_clients < 1:
            raise UsageError(f"--max-clients: expected at least 1, got {self.max_clients}")
        if not self.timeout > 0:
            raise UsageError(f"--timeout: expected more than 0, got {self.timeout:g}")
        if self.max_body < 1:
            raise UsageError(f"--max-body: expected at least 1, got {self.max_body}")
        if self.key is None and not self.is_local:
            raise UsageError(
                f"--host {self.host}: other machines could ask; expected --api-key-file FILE with it, or a --host of"
                " this machine, such as 127.0.0.1"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def allows(self, host: str) -> bool:
        """Returns whether a `Host` names this server: a page of the web that a browser shows names another one."""
        found = _HOST.fullmatch(host)
        name = "" if found is None else found["address"] or found["name"]
        return name.lower().rstrip(".") in {*LOCAL_NAMES, self.host.lower(), *(one.lower() for one in self.hosts)}

    def allows_origin(self, origin: str) -> bool:
        """Returns whether an `Origin` is a page that this server's own names show."""
        scheme, _, host = origin.partition("://")
        return scheme.lower() in ("http", "https") and self.allows(host)
