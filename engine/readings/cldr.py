"""Reads the files of `engine/readings/names/`: names in all languages of CLDR, made by scripts/cldr_names.py."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

NAMES_FOLDER = Path(__file__).parent / "names"


def contents_of(name: str) -> bytes:
    """Returns the unpacked bytes of a file of names."""
    data = (NAMES_FOLDER / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def rows_of(name: str) -> Iterator[tuple[str, ...]]:
    """Yields the columns of each row of a file, in order."""
    for line in contents_of(name).decode().splitlines():
        yield tuple(line.split("\t"))


class NameTable:
    """The meanings of each key of a file, found by binary search in its sorted rows.

    Rows stay bytes: a dictionary of the three large files takes 220 ms and 31 MB, this table 24 ms and 4 MB, and a
    look-up costs 5 µs.
    """

    def __init__(self, name: str) -> None:
        self._rows = contents_of(name)

    def meanings(self, key: str) -> tuple[str, ...]:
        """Returns the meanings of a key, the likelier first; empty for an unknown key."""
        rows, wanted = self._rows, key.encode("utf-8", "replace") + b"\t"
        low, high = 0, len(rows)
        while low < high:
            start = rows.rfind(b"\n", 0, (low + high) // 2) + 1
            end = rows.index(b"\n", start)
            if rows.startswith(wanted, start):
                return tuple(rows[start + len(wanted) : end].decode().rstrip("|").split("|"))
            if rows[start:end] < wanted:
                low = end + 1
            else:
                high = start
        return ()

    def keys_of(self, meaning: str) -> tuple[str, ...]:
        """Returns the keys, with their accents, that have exactly these meanings ("DE|DEU")."""
        wanted = b"\t" + meaning.encode() + b"\n"
        keys: list[str] = []
        at = self._rows.find(wanted)
        while at >= 0:
            keys.append(self._rows[self._rows.rfind(b"\n", 0, at) + 1 : at].decode())
            at = self._rows.find(wanted, at + 1)
        return tuple(keys)


@lru_cache(maxsize=8)
def name_table(name: str) -> NameTable:
    """Returns the table of a file; each file is read once."""
    return NameTable(name)
