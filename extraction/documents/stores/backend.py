"""What a store does for a run: it lists objects and gives their bytes; its faults are tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cinnabar.extraction.documents.content.inputs import MAX_FILE
from cinnabar.schemas.errors import DocumentError, RunError, UsageError

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


def patiently(call: Callable[[], _T], where: str) -> _T:
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
