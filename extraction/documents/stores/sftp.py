"""A folder on an SFTP server, read by paramiko: the server's key must be a known one.

fsspec's own SFTP file system accepts any key, and shares one channel among threads, which paramiko does not allow.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from cinnabar.extraction.documents.stores.address import StoreAddress
from cinnabar.extraction.documents.stores.backend import Denied, Fault, Refused, StoredObject, check_size
from cinnabar.extraction.documents.stores.folders import Folder, walked

if TYPE_CHECKING:
    import paramiko

_T = TypeVar("_T")
#: The environment variables with the password, the file of a private key, and a file of known hosts.
PASSWORD, KEY_FILE, KNOWN_HOSTS = "CINNABAR_SFTP_PASSWORD", "CINNABAR_SFTP_KEY_FILE", "CINNABAR_SFTP_KNOWN_HOSTS"
# Seconds that the server may take for an answer.
_TIMEOUT = 30.0
# A file that changed so many seconds before it was read may change again within the same second of its clock.
_SETTLED = 300.0


class SftpBackend:
    """The files of a user on a server; one connection with a channel for each thread."""

    # An OpenSSH server allows 10 channels.
    threads = 6
    in_order = False

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._lock, self._own = threading.Lock(), threading.local()
        self._client: paramiko.SSHClient | None = None

    def objects(self, key: str, after: str | None) -> Iterator[StoredObject]:  # noqa: ARG002 (folders have no order)
        """Yields the file with this key, or all in the folder there."""
        status = self._asked(lambda sftp: sftp.stat(f"/{key}"))
        if not stat.S_ISDIR(status.st_mode or 0):
            yield _stored(key, status)
            return
        top = self._asked(lambda sftp: sftp.normalize(f"/{key}"))
        yield from walked(lambda folder: self._entries(folder, top), Folder(key), str(self._address))

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of a file now, and their version if nobody wrote to it meanwhile or just before."""

        def read(sftp: paramiko.SFTPClient) -> tuple[bytes, Any, Any]:
            with sftp.open(f"/{one.key}", "rb") as file:
                before = file.stat()
                check_size(before.st_size)
                file.prefetch(before.st_size)
                data = file.read()
                return data, before, file.stat()

        data, before, after = self._asked(read)
        still = _version(before) == _version(after) and len(data) == before.st_size
        return data, _version(after) if still and after.st_mtime < time.time() - _SETTLED else ""

    def close(self) -> None:
        """Ends the connection."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _entries(self, folder: Folder, top: str) -> list[StoredObject | Folder]:
        def listed(sftp: paramiko.SFTPClient) -> list[StoredObject | Folder]:
            found: list[StoredObject | Folder] = []
            for entry in sftp.listdir_attr(f"/{folder.key}"):
                key, mode = f"{folder.key}/{entry.filename}".lstrip("/"), entry.st_mode or 0
                if stat.S_ISDIR(mode):
                    found.append(Folder(key))
                elif stat.S_ISREG(mode):
                    found.append(_stored(key, entry))
                # A link counts if it leads to a file within the folder.
                elif stat.S_ISLNK(mode) and sftp.normalize(f"/{key}").startswith(f"{top.rstrip('/')}/"):
                    try:
                        status = sftp.stat(f"/{key}")
                    except FileNotFoundError:
                        continue
                    if stat.S_ISREG(status.st_mode or 0):
                        found.append(_stored(key, status))
            return found

        return self._asked(listed)

    def _asked(self, call: Callable[[paramiko.SFTPClient], _T]) -> _T:
        # Extra: stores.
        from paramiko import SSHException

        try:
            return call(self._channel())
        except FileNotFoundError:
            raise
        except PermissionError:
            raise Denied("access is denied; the user needs to read files and folders there") from None
        except (OSError, EOFError, SSHException) as error:
            self._own.channel = None
            raise Fault(getattr(error, "strerror", None) or type(error).__name__) from None

    def _channel(self) -> paramiko.SFTPClient:
        """Returns this thread's channel; the first call, and one after a fault, opens it."""
        with self._lock:
            transport = None if self._client is None else self._client.get_transport()
            if self._client is None or transport is None or not transport.is_active():
                self._client = self._connected()
            own = getattr(self._own, "channel", None)
            if own is not None and own[0] is self._client:
                return own[1]
            sftp = self._client.open_sftp()
            sftp.get_channel().settimeout(_TIMEOUT)
            self._own.channel = self._client, sftp
            return sftp

    def _connected(self) -> paramiko.SSHClient:
        # Extra: stores.
        import paramiko

        user, _, host = self._address.place.rpartition("@")
        name, _, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "22")
        client = paramiko.SSHClient()
        client.load_system_host_keys()
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        try:
            if known := os.environ.get(KNOWN_HOSTS):
                client.load_system_host_keys(known)
            client.connect(
                name.strip("[]"), int(port), unquote(user), os.environ.get(PASSWORD), timeout=_TIMEOUT,
                key_filename=os.environ.get(KEY_FILE), banner_timeout=_TIMEOUT, auth_timeout=_TIMEOUT,
            )  # fmt: skip
        except (OSError, EOFError, paramiko.SSHException) as error:
            client.close()
            raise _refusal(error, name, port) from None
        return client


def _refusal(error: Exception, name: str, port: str) -> Exception:
    """Returns our error for a connection that failed."""
    # Extra: stores.
    import paramiko

    if isinstance(error, paramiko.BadHostKeyException):
        return Refused("the server's key is not the known one: somebody may listen; ask its owner")
    if isinstance(error, (paramiko.AuthenticationException, paramiko.PasswordRequiredException)):
        how = f"an agent, a key in ~/.ssh or {KEY_FILE}, or a password in {PASSWORD}"
        return Refused(f"the server did not let the user in; expected {how}")
    if "known_hosts" in str(error):
        line = f"ssh-keyscan -p {port} {name} >> ~/.ssh/known_hosts"
        return Refused(f"the server's key is not known; check it, and add it ({line}) or name a file by {KNOWN_HOSTS}")
    if isinstance(error, (socket.gaierror, FileNotFoundError, PermissionError)):
        return Refused(f"no connection to {name}:{port} ({error.strerror}); are host, {KEY_FILE}, {KNOWN_HOSTS} right?")
    return Fault(getattr(error, "strerror", None) or type(error).__name__)


def _stored(key: str, status: paramiko.SFTPAttributes) -> StoredObject:
    return StoredObject(key, status.st_size or 0, _version(status), float(status.st_mtime or 0))


def _version(status: paramiko.SFTPAttributes) -> str:
    return f"{status.st_mtime} {status.st_size}"
