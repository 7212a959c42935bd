"""Stores with folders, SFTP servers and SharePoint: they are listed folder by folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cinnabar.extraction.documents.stores.backend import StoredObject, patiently


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder in a store."""

    key: str
    id: str = ""


def walked(entries: Callable[[Folder], list[StoredObject | Folder]], top: Folder, where: str) -> Iterator[StoredObject]:
    """Yields all objects below a folder that are not hidden; a fault repeats one folder, not all of them.

    A folder that goes while it is listed counts as empty. Raises the errors of `entries` and RunError.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            found = patiently(lambda here=folder: entries(here), where)  # type: ignore[misc]
        except FileNotFoundError:
            if folder is top:
                raise
            continue
        for one in found:
            if one.key.rpartition("/")[2].startswith("."):
                continue
            if isinstance(one, Folder):
                waiting.append(one)
            else:
                yield one
