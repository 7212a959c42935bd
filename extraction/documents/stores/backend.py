"""What a store does for a run: it lists objects and gives their bytes; its faults are tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cinnabar.extraction.documents.ingest.sandbox import MAX_FILE
from cinnabar.schemas.errors import DocumentError, RunError, UsageError

# Seconds before each further try, about: half of it to one and a half times as much.
_WAITS = (0.2, 0.8, 3.2, 12.8)
_T = TypeVar("_T")


class Fault(Exception):
    """The store did not answer, or said that it cannot just now."""


class Denied(Exception):
    """The store knows the user, who lacks a permission; the message names it."""


class Refused(Exception):
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


class Backend(Protocol):
    """A store. Threads may share it. Its methods raise Fault, Denied, Refused, and FileNotFoundError of what is gone.

    `fetch` raises DocumentError of an object that has become too large.

    `threads` is how many objects may be fetched at a time. `in_order` is true of a store that lists by key, as UTF-8
    sorts.
    """

    threads: int
    in_order: bool

    def objects(self, key: str, after: str | None) -> Iterator[StoredObject]:
        """Yields the object with this key and all below it ("" for all), page by page.

        With `after` those that sort behind this key are enough.
        """
        ...

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of an object now, and their version, "" if it is unknown."""
        ...

    def close(self) -> None:
        """Ends all connections."""
        ...


def patiently(call: Callable[[], _T], where: str) -> _T:
    """Returns the result of a call that is tried again after faults. Raises RunError if they do not end."""
    for wait in _WAITS:
        try:
            return call()
        except Fault:
            time.sleep(wait * random.uniform(0.5, 1.5))
    try:
        return call()
    except Fault as fault:
        raise given_up(where, fault) from None


def listed(backend: Backend, where: str, key: str) -> Iterator[StoredObject]:
    """Yields the objects at and below a key, each once; a listing that breaks off goes on behind its last key.

    A store that does not list by key is listed from the beginning again. Raises RunError if faults do not end,
    UsageError if the store refuses.
    """
    seen: set[str] = set()
    last, in_order, faults = None, backend.in_order, 0
    while True:
        try:
            for one in backend.objects(key, last if in_order else None):
                faults = 0
                if one.key not in seen:
                    # A server that breaks its promise is listed from the beginning, too.
                    in_order = in_order and (last is None or last.encode() < one.key.encode())
                    seen.add(one.key)
                    last = one.key
                    yield one
            return
        except Fault as fault:
            if faults == len(_WAITS):
                raise given_up(where, fault) from None
            time.sleep(_WAITS[faults] * random.uniform(0.5, 1.5))
            faults += 1
        except FileNotFoundError:
            raise UsageError(f"{where}: no such file or folder") from None
        except (Denied, Refused) as error:
            raise UsageError(f"{where}: {error}") from None


def check_size(size: int) -> None:
    """Raises DocumentError if an object of so many bytes is too large to be read."""
    if size > MAX_FILE:
        raise DocumentError("too_large", f"{size} bytes, at most {MAX_FILE} are read")


def given_up(where: str, fault: Fault) -> RunError:
    """Returns the error of a store whose faults do not end."""
    return RunError(f"{where}: the store does not answer ({fault}); run the same command again")
