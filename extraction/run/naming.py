"""Names the inputs of a run: each has one of its own, even if its path is spelled like that of another."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain, count
from pathlib import Path

from cinnabar.extraction.documents.content.inputs import Message
from cinnabar.extraction.documents.inputs import Input, path_of
from cinnabar.extraction.store.tables import printable


def named_apart(
    items: Iterable[Path | Message | Input], spelled: Callable[[str], str]
) -> dict[str, Path | Message | Input]:
    """Returns the inputs by the paths that their outcomes carry; a second one of a path has a number behind it.

    Two spellings of one path are one input. An input of an earlier run keeps its path.
    """
    named: dict[str, Path | Message | Input] = {}
    # As they are stored: paths of other letters may be equal there.
    taken: set[str] = set()
    alike: dict[str, list[Path | Message | Input]] = defaultdict(list)
    for item in items:
        path = item.path if isinstance(item, Input) else spelled(path_of(item))
        others = alike[printable(path)]
        if others and _place(item) in map(_place, others):
            continue
        others.append(item)
        names = chain([path], (f"{path}#same={number}" for number in count(2)))
        name = next(one for one in names if printable(one) not in taken)
        taken.add(printable(name))
        named[name] = item
    return named


def _place(item: Path | Message | Input) -> tuple[object, ...]:
    """Returns what tells an input from all others of its spelled path: its kind, and where it lies."""
    at = f"{item.path} {item.digest}" if isinstance(item, Input) else os.path.realpath(path_of(item))
    return type(item), at, getattr(item, "inner", "")
