"""A store lists objects for a run and gives their bytes; its faults are tried again.

The addresses of servers in the environment: on a wrong one obstore panics, and others wait for an answer.

The address of documents in a store, without any credential: `s3://bucket/prefix`, `sftp://user@host/path`.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from cinnabar.errors import DocumentError, RunError, UsageError
from cinnabar.extraction.documents.content.limits import MAX_FILE

# Seconds before each further try, about: half of it to one and a half times as much.
_WAITS = (0.2, 0.8, 3.2, 12.8)
_T = TypeVar("_T")


class Fault(Exception):
    """The store did not answer, or said that it cannot just now."""


class Denied(Exception):
    """The store knows the user, who lacks a permission; the message names it."""


class StoreRefused(Exception):
    """The store will give the same answer again: no such bucket, no credentials, credentials that have expired."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as it was listed: its size in bytes, and the time of its last change in seconds since 1970.

    Other bytes under the same key have another `version`; "" if the store does not tell.
    """

    key: str
    size: int
    version: str
    modified: float | None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, or a prefix; without an `id` it is one that the user named, and may be an object."""

    key: str
    id: str = ""


class Backend(Protocol):
    """A store. Threads may share it. Its methods raise Fault, Denied, StoreRefused; FileNotFoundError of what is gone.

    `threads` is how many objects may be fetched at a time; `in_order` is true of a store that lists by key, as UTF-8
    sorts.
    """

    threads: int
    in_order: bool

    def entries(self, folder: Folder, after: str) -> Iterable[StoredObject | Folder]:
        """Yields the object with this key, and what is below it; with `after` less is enough: what sorts behind it."""
        ...

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of an object now, and their version, "" if it is unknown; too many are a DocumentError."""
        ...

    def close(self) -> None:
        """Ends all connections."""
        ...


def with_retries(call: Callable[[], _T], where: str) -> _T:
    """Returns the result of a call that is tried again after faults. Raises RunError if they do not end."""
    waits = iter(_WAITS)
    while True:
        try:
            return call()
        except Fault as fault:
            _pause(waits, where, fault)


def list_objects(backend: Backend, where: str, key: str) -> list[StoredObject]:
    """Returns the objects at and below a key by their keys, each once, without hidden ones.

    After a fault a listing goes on behind its last key, or begins its folder again. Raises RunError if faults do not
    end, UsageError if the store refuses.
    """
    found: dict[str, StoredObject] = {}
    waiting, waits = [Folder(key)], iter(_WAITS)
    after, in_order = "", backend.in_order
    while waiting:
        folder, more = waiting[-1], []
        try:
            for one in backend.entries(folder, after if in_order else ""):
                waits = iter(_WAITS)
                # A server that breaks its promise is listed from the beginning, too.
                in_order = in_order and after.encode() < one.key.encode()
                after = one.key
                if one.key == key or "/." not in f"/{one.key[len(key) :].lstrip('/')}":
                    more += [one] if isinstance(one, Folder) else []
                    found |= {one.key: one} if isinstance(one, StoredObject) else {}
            waiting[-1:] = more
        except Fault as fault:
            _pause(waits, where, fault)
        except FileNotFoundError:
            if len(waiting) == 1 and not folder.id:
                raise UsageError(f"{where}: no such file or folder") from None
            waiting.pop()  # A folder that went while its store was listed.
        except (Denied, StoreRefused) as error:
            raise UsageError(f"{where}: {error}") from None
    return [found[name] for name in sorted(found)]


def check_size(size: int) -> None:
    """Raises DocumentError if an object of so many bytes is too large to be read."""
    if size > MAX_FILE:
        raise DocumentError("too_large", f"{size} bytes, at most {MAX_FILE} are read")


def _pause(waits: Iterator[float], where: str, fault: Fault) -> None:
    """Waits before the next try. Raises RunError if there is none."""
    if (wait := next(waits, None)) is None:
        raise RunError(f"{where}: the store does not answer ({fault}); run the same command again") from None
    time.sleep(wait * random.uniform(0.5, 1.5))


#: Azure's login for `endpoint`; its variable may leave the scheme out.
LOGIN = ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com", "https://")


def endpoint(name: str, default: str = "", scheme: str = "") -> str:
    """Returns the address in this variable, behind `scheme` if it has none; an empty variable counts as not set.

    Raises UsageError, which does not show the text, if it is no address.
    """
    text = os.environ.get(name) or default
    text = text if "://" in text else scheme + text
    with suppress(ValueError):  # brackets or a port that are wrong
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if known and all("!" <= one <= "~" for one in text):
            return text.rstrip("/")
    raise UsageError(f"{name}: expected an address as https://HOST, in ASCII without a blank, got another text")


_BUCKET = r"[A-Za-z0-9][A-Za-z0-9._-]*"
# By scheme: the form of an address for its error, and of the part that names the store.
_FORMS = {
    "s3": ("s3://BUCKET/PREFIX", _BUCKET),
    "gs": ("gs://BUCKET/PREFIX", _BUCKET),
    "az": ("az://CONTAINER/PREFIX", _BUCKET),
    "sftp": ("sftp://USER@HOST[:PORT]/PATH", r"[^\s:@/]+@(?:\[[0-9A-Fa-f:.]+\]|[^\s:@\[\]/]+)(?::\d{1,5})?"),
    "sharepoint": ("sharepoint://SITE/DRIVE/PATH", r"[^:@/\x00-\x1f\x7f]+/[^/\x00-\x1f\x7f]+"),
    "onedrive": ("onedrive://USER/PATH", r"[^:/\s]+"),
}
_ADDRESS = re.compile(rf"({'|'.join(_FORMS)})://(.*)", re.IGNORECASE | re.DOTALL)
_SIGNED = re.compile(r"[?&](?:sig|signature|[a-z-]*-signature|awsaccesskeyid)=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A store (`place`: its bucket, container, user and host, site and drive, or user), and a key or folder in it."""

    scheme: str
    place: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root

    @property
    def root(self) -> str:
        """Returns the address of the whole store."""
        return f"{self.scheme}://{self.place}"


def is_store_address(text: str) -> bool:
    """Returns True if this names a place in a store rather than a path."""
    return _ADDRESS.match(text) is not None


def parse_store_address(text: str) -> StoreAddress:
    """Returns the place in a store. A key is written as it is, without percent escapes, and needs no `/` at its end.

    Raises UsageError, whose message never repeats a possible password or signature.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UsageError(f"expected an address like {', '.join(form for form, _ in _FORMS.values())}")
    scheme, rest = match[1].lower(), match[2]
    form, place = _FORMS[scheme]
    user = rest.partition("/")[0].rpartition("@")[0]
    if ":" in user or (user and scheme not in ("sftp", "onedrive")) or _SIGNED.search(rest):
        advice = "an address may not hold a password, key or signature: they come from the environment (docs/stores.md)"
        raise UsageError(f"{scheme}://…: expected {form}; {advice}")
    parts = re.fullmatch(rf"({place})(?:/+(.*))?", rest, re.DOTALL)
    key = (parts[2] or "").rstrip("/") if parts else ""
    if parts is None or (key and not {"", ".", ".."}.isdisjoint(key.split("/"))):
        # What is no address of a store may hold a password in any place.
        shown = f"{scheme}://{rest}" if parts else f"another form of {scheme}://"
        raise UsageError(f"expected {form} without empty parts, . and .. in it, got {shown}")
    port = re.search(r":(\d+)$", parts[1])
    if port and not 0 < int(port[1]) < 1 << 16:
        raise UsageError(f"expected {form} with a port from 1 to 65535, got {scheme}://{rest}")
    return StoreAddress(scheme, parts[1], key)
