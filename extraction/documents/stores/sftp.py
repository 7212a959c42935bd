"""A folder on an SFTP server, read by paramiko: the server's key must be a known one.

fsspec's own SFTP file system accepts any key, and shares one channel among threads, which paramiko does not allow.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.stores.backend import (
    Denied,
    Fault,
    Folder,
    StoreAddress,
    StoredObject,
    StoreRefused,
    check_size,
)

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
        self._strange: set[str] = set()

    def entries(self, folder: Folder, after: str) -> list[StoredObject | Folder]:  # noqa: ARG002 (folders have no order)
        """Returns the file with this key, or the files and folders there; links are left out."""

        def list_folder(sftp: paramiko.SFTPClient) -> list[StoredObject | Folder]:
            if not folder.id and not stat.S_ISDIR((one := sftp.stat(f"/{folder.key}")).st_mode or 0):
                return [_object_of(folder.key, one)]
            found: list[StoredObject | Folder] = []
            for one in sftp.listdir_attr(f"/{folder.key}"):
                name = os.fsencode(one.filename).decode("utf-8", "backslashreplace")
                key = f"{folder.key}/{name}".lstrip("/")
                if name != one.filename:
                    self._strange.add(key)
                    found.append(StoredObject(key, one.st_size or 0, "", None))
                elif stat.S_ISDIR(one.st_mode or 0):
                    found.append(Folder(key, "folder"))
                elif stat.S_ISREG(one.st_mode or 0):
                    found.append(_object_of(key, one))
            return found

        return self._ask(list_folder)

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of a file now, and their version if nobody wrote to it meanwhile or just before.

        Raises DocumentError for one whose name, or whose folder's name, is not UTF-8.
        """
        if one.key in self._strange:
            raise DocumentError("unreadable", f"the name {one.key!r} is not in UTF-8; rename it on the server")

        def read(sftp: paramiko.SFTPClient) -> tuple[bytes, StoredObject, StoredObject]:
            with sftp.open(f"/{one.key}", "rb") as file:
                before = _object_of(one.key, file.stat())
                check_size(before.size)
                file.prefetch(before.size)
                return file.read(), before, _object_of(one.key, file.stat())

        data, before, now = self._ask(read)
        settled = before == now and len(data) == now.size and (now.modified or 0) < time.time() - _SETTLED
        return data, now.version if settled else ""

    def close(self) -> None:
        """Ends the connection."""
        if self._client is not None:
            self._client.close()

    def _ask(self, call: Callable[[paramiko.SFTPClient], _T]) -> _T:
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
            raise _fault(error) from None

    def _channel(self) -> paramiko.SFTPClient:
        """Returns this thread's channel; the first call, and one after a fault, opens it."""
        with self._lock:
            transport = self._client and self._client.get_transport()
            if self._client is None or transport is None or not transport.is_active():
                self._client = _connect(self._address)
            client, channel = getattr(self._own, "channel", None) or (None, None)
            if channel is None or client is not self._client:
                channel = _open_channel(self._client)
                channel.get_channel().settimeout(_TIMEOUT)
                self._own.channel = self._client, channel
            return channel


def _connect(address: StoreAddress) -> paramiko.SSHClient:
    # Extra: stores.
    import paramiko

    user, _, host = address.place.rpartition("@")
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
    except paramiko.BadHostKeyException:
        client.close()
        raise StoreRefused("the server's key is not the known one: somebody may listen; ask its owner") from None
    except (socket.gaierror, FileNotFoundError, PermissionError) as error:
        where = f"{name}:{port} ({error.strerror})"
        raise StoreRefused(f"no connection to {where}; are host, {KEY_FILE}, {KNOWN_HOSTS} right?") from None
    except (OSError, EOFError, paramiko.SSHException) as error:
        client.close()
        # Without any key or password paramiko raises no exception of its own.
        if isinstance(error, paramiko.AuthenticationException) or "No authentication methods" in str(error):
            how = f"an agent, a key in ~/.ssh or {KEY_FILE}, or a password in {PASSWORD}"
            raise StoreRefused(f"the server did not let the user in; expected {how}") from None
        if "known_hosts" not in str(error):
            raise _fault(error) from None
        line = f"ssh-keyscan -p {port} {name} >> ~/.ssh/known_hosts"
        what = f"the server's key is not known; check it, and add it ({line}) or name a file by {KNOWN_HOSTS}"
        raise StoreRefused(what) from None
    return client


def _open_channel(client: paramiko.SSHClient) -> paramiko.SFTPClient:
    """Returns a channel whose names may be any bytes, as `os.fsdecode` has them: paramiko fails for a whole folder."""
    # Extra: stores.
    from paramiko import Message

    channel = client.open_sftp()
    ask = channel._request

    def request(*asked: object) -> tuple[int, Message]:
        kind, answer = ask(*asked)
        answer.get_text = lambda: os.fsdecode(answer.get_string())
        return kind, answer

    channel._request = request
    return channel


def _fault(error: Exception) -> Fault:
    return Fault(getattr(error, "strerror", None) or type(error).__name__)


def _object_of(key: str, status: paramiko.SFTPAttributes) -> StoredObject:
    size, modified = status.st_size or 0, status.st_mtime or 0
    return StoredObject(key, size, f"{modified} {size}", float(modified))
