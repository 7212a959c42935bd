"""The pages on which documents of packets begin, by the splitter and by people: a file for each packet.

The files lie in `packets/` of the output folder, by the digests of the packets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, StringConstraints

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.packets.part import PageRange, named_part
from cinnabar.extraction.store.files import failures, make_folder, waited_lock, write_bytes
from cinnabar.extraction.store.path_safety import is_own

#: The folder within an output folder.
PACKETS = "packets"
# The name of a schema, which becomes a part of a path.
_Kind = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class PacketStatement(BaseModel):
    """What a person says of a packet: documents that begin on the pages `split` and none on the pages `join`, degrees
    by which pages are turned clockwise, and the schemas (`kinds`) of the documents that begin on pages, "" for none.

    A sheet that was left out belongs to a document once it is named in `split` or `join`.
    """

    split: list[int] = []
    join: list[int] = []
    turns: dict[int, int] = {}
    kinds: dict[int, _Kind] = {}


class Packet(BaseModel):
    """The boundaries of a packet with this digest and so many pages, which the splitter of this `version` found.

    `likely` has the probability that a document begins on a page, 0 if it is left out, and 0 or 1 where a person
    (`who`) said so; `sheets` are pages that only separate documents. `turns` and `kinds` as in `PacketStatement`.
    """

    digest: str
    pages: int
    version: str
    likely: dict[int, float] = {}
    sheets: tuple[int, ...] = ()
    who: str = ""
    turns: dict[int, int] = {}
    kinds: dict[int, str] = {}

    def parts(self) -> list[tuple[PageRange, float]]:
        """Returns the parts, which have every page but the sheets, with the probability that each is one document."""
        start = next(page for page in range(1, self.pages + 1) if page not in self.sheets)
        begins = sorted(page for page, p in self.likely.items() if p > 0.5 and page > start)
        parts = []
        for first, following in pairwise([start, *begins, self.pages + 1]):
            own = [page for page in range(first, following) if page not in self.sheets]
            inner = prod(1 - self.likely.get(page, 0.0) for page in own[1:])
            turns = tuple((page, self.turns[page]) for page in own if self.turns.get(page))
            part = PageRange(own[0], own[-1], turns, self.kinds.get(own[0], ""))
            parts.append((part, self.likely.get(first, 1.0) * self.likely.get(following, 1.0) * inner))
        return parts

    def digests(self) -> list[str]:
        """Returns the digests of its documents; a file that is a single one has its own."""
        parts = [part for part, _ in self.parts()]
        whole = parts == [PageRange(1, self.pages)]
        return [self.digest] if whole else [part.digest(self.digest) for part in parts]

    def after(self, said: PacketStatement, who: str) -> Packet:
        """Returns the packet as a person says. Raises UsageError for pages or degrees with which that cannot be."""
        own, left_out = [part.first for part, _ in self.parts()], {*self.sheets}
        every = {*range(1, self.pages + 1)}
        inner = {page for page in every - left_out if page >= own[0]}.union(said.split, said.join)
        for name, asked, allowed in (
            ("split", said.split, every.difference(own)),
            ("join", said.join, {*own[1:], *(page for page in left_out if page > own[0])}),
            ("turn", said.turns, inner),
            ("degrees", said.turns.values(), {0, 90, 180, 270}),
            ("kind", said.kinds, {*own, *said.split}.difference(said.join)),
        ):
            for number in {*asked} - allowed:
                told = ", ".join(map(str, sorted(allowed))) or "none"
                raise UsageError(f"{name}: expected one of {told}, got {number}")
        # A sheet before the first document may become one, and a document begins after it as before.
        likely = {own[0]: 1.0} if any(page < own[0] for page in said.split) else {}
        likely |= {**self.likely, **dict.fromkeys(said.join, 0.0), **dict.fromkeys(said.split, 1.0)}
        sheets = tuple(page for page in self.sheets if page not in (*said.split, *said.join))
        new: dict[str, Any] = {"who": who, "likely": likely, "sheets": sheets}
        return self.model_copy(update=new | {"turns": self.turns | said.turns, "kinds": self.kinds | said.kinds})

    @property
    def state(self) -> str:
        """Returns a name of these boundaries and of all that was said of them."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def as_json(self) -> dict[str, Any]:
        """Returns what is shown of the packet and its parts."""
        parts = [{**asdict(part), "probability": round(sure, 4)} for part, sure in self.parts()]
        own = {"packet": self.digest, "pages": self.pages, "sheets": [*self.sheets], "who": self.who}
        return own | {"parts": parts, "state": self.state}


def stored_packet(out: Path, digest: str) -> Packet | None:
    """Returns the stored boundaries of a packet, None if there are none. Raises RunError if they are damaged."""
    path = out / PACKETS / f"{digest}.json"
    if not is_own("digest", digest) or path.is_symlink() or not path.is_file():
        return None
    try:
        return Packet.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: the boundaries of a packet are damaged ({error}); remove the file") from error


def store_packet(out: Path, packet: Packet) -> None:
    """Stores the boundaries of a packet; they are durable when this returns."""
    with failures(f"{out / PACKETS}: the boundaries of a packet could not be stored"):
        make_folder(out / PACKETS)
        write_bytes(out / PACKETS / f"{packet.digest}.json", packet.model_dump_json().encode())


@contextmanager
def changing_packets(out: Path) -> Iterator[None]:
    """Holds the lock of the boundaries. Raises InUse if another process holds it for long."""
    with failures(f"{out / PACKETS}: the boundaries of a packet could not be changed"):
        make_folder(out / PACKETS)
        lock = waited_lock(out / PACKETS)
    try:
        yield
    finally:
        lock.release()


def packets_of(out: Path, paths: Collection[str], digests: Collection[str]) -> list[str]:
    """Returns the digests of the packets that documents with these paths and digests are, or are parts of."""
    ranges = [part[1] for part in map(named_part, paths) if part is not None]
    stored = [path.stem for path in sorted((out / PACKETS).glob("*.json")) if is_own("digest", path.stem)]
    parts = {one: {part.digest(one) for part in ranges} for one in stored}
    return [one for one in stored if one in digests or not parts[one].isdisjoint(digests)]
