"""Where the documents of packets begin: what the splitter found and what people said, a file for each packet.

The files lie in `packets/` of the output folder, by the digests of the packets.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from math import prod
from pathlib import Path

from cinnabar.extraction.documents.packets.part import part_digest
from cinnabar.extraction.store.files import failures, make_folder, write_bytes
from cinnabar.extraction.store.own_names import is_own
from cinnabar.schemas.errors import RunError, UsageError

#: The folder within an output folder.
PACKETS = "packets"
_LIKELY = 0.5


@dataclass(frozen=True)
class PacketRange:
    """The pages of a part from first to last, and the probability that it is one whole document."""

    first: int
    last: int
    probability: float


@dataclass(frozen=True)
class Packet:
    """The boundaries of a packet with this digest and so many pages.

    `likely` has the probability that a document begins on a page, 0 if it is left out; `sheets` are pages that only
    separate documents. `begins` are the pages on which documents begin as a person (`who`) said, None if nobody did.
    `version` is that of the splitter. `withdrawn` has the corrections that took records of former parts out of the
    tables, as schema and identity, by the digest of the part.
    """

    digest: str
    pages: int
    version: str
    likely: Mapping[int, float] = field(default_factory=dict)
    sheets: tuple[int, ...] = ()
    begins: tuple[int, ...] | None = None
    who: str = ""
    withdrawn: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)

    def ranges(self) -> list[PacketRange]:
        """Returns the parts, which have every page but the separator sheets."""
        told = self.begins is not None
        found = [page for page, p in self.likely.items() if p > _LIKELY] if self.begins is None else self.begins
        begins = sorted({next((p for p in range(1, self.pages + 1) if p not in self.sheets), 1), *found})
        parts = []
        for first, following in pairwise([*begins, self.pages + 1]):
            own = [page for page in range(first, following) if page not in self.sheets]
            inner = prod(1 - self.likely.get(page, 0.0) for page in own[1:])
            edges = self._edge(first, begins[0]) * self._edge(following, self.pages + 1)
            parts.append(PacketRange(own[0], own[-1], 1.0 if told else edges * inner))
        return parts

    def _edge(self, page: int, end: int) -> float:
        return 1.0 if page == end else self.likely.get(page, 1.0)

    def digests(self) -> list[str]:
        """Returns the digests of its documents; a file that is a single one has its own."""
        ranges = self.ranges()
        return [part_digest(self.digest, one.first, one.last) for one in ranges] if ranges[1:] else [self.digest]

    def said(self, split: Collection[int], join: Collection[int], who: str) -> Packet:
        """Returns the packet with documents that begin on the pages `split`, and none on the pages `join`.

        Raises UsageError for a page on which that cannot be.
        """
        begins = {one.first for one in self.ranges()[1:]}
        for page in split:
            if page in begins or page in self.sheets or not 1 < page <= self.pages:
                raise UsageError(f"split: expected a page from 2 to {self.pages} within a document, got {page}")
        for page in join:
            if page not in begins:
                told = ", ".join(map(str, sorted(begins))) or "none, it is one document"
                raise UsageError(f"join: expected a page on which a further document begins ({told}), got {page}")
        return replace(self, begins=tuple(sorted((begins | {*split}) - {*join})), who=who)


def stored_packet(out: Path, digest: str) -> Packet | None:
    """Returns the stored boundaries of a packet, None if there are none. Raises RunError if they are damaged."""
    path = out / PACKETS / f"{digest}.json"
    if not is_own("digest", digest) or path.is_symlink() or not path.is_file():
        return None
    try:
        held = json.loads(path.read_bytes())
        held["likely"] = {int(page): float(p) for page, p in held["likely"].items()}
        begins = held["begins"]
        return Packet(**held | {"begins": None if begins is None else tuple(begins), "sheets": tuple(held["sheets"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(f"{path}: the boundaries of a packet are damaged ({error}); remove the file") from error


def store_packet(out: Path, packet: Packet) -> None:
    """Stores the boundaries of a packet; they are durable when this returns."""
    folder = out / PACKETS
    with failures(f"{folder}: the boundaries of a packet could not be stored"):
        make_folder(folder)
        write_bytes(folder / f"{packet.digest}.json", json.dumps(asdict(packet)).encode())


def packets_of(out: Path, parts: Iterable[str]) -> Iterator[str]:
    """Yields the digests of the packets that have one of these parts, by the parts' digests."""
    wanted = {*parts}
    for digest in stored_digests(out):
        packet = stored_packet(out, digest)
        if packet is not None and not wanted.isdisjoint([*packet.digests(), *packet.withdrawn]):
            yield digest


def forget_parts(out: Path, parts: Iterable[str]) -> None:
    """Removes the boundaries of packets whose documents are all among these parts, and corrections of these parts."""
    gone = {*parts}
    for digest in [*packets_of(out, gone)]:
        packet = stored_packet(out, digest)
        if packet is None or gone.issuperset(packet.digests()):
            (out / PACKETS / f"{digest}.json").unlink(missing_ok=True)
        else:
            kept = {part: made for part, made in packet.withdrawn.items() if part not in gone}
            store_packet(out, replace(packet, withdrawn=kept))


def stored_digests(out: Path) -> list[str]:
    """Returns the digests of all packets whose boundaries are stored."""
    return sorted(path.stem for path in (out / PACKETS).glob("*.json") if is_own("digest", path.stem))
