"""Where the documents of packets begin: what the splitter found and what people said, a file for each packet.

The files lie in `packets/` of the output folder, by the digests of the packets.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

from cinnabar.extraction.documents.packets.part import PageRange, named_part
from cinnabar.extraction.store.files import failures, make_folder, write_bytes
from cinnabar.extraction.store.own_names import is_own
from cinnabar.schemas.errors import RunError, UsageError

#: The folder within an output folder.
PACKETS = "packets"


@dataclass(frozen=True)
class Packet:
    """The boundaries of a packet with this digest and so many pages, which the splitter of this `version` found.

    `likely` has the probability that a document begins on a page, 0 if it is left out; `sheets` are pages that only
    separate documents. A person (`who`) said: `begins`, the pages on which documents begin, None if nobody did; degrees
    by which pages are turned clockwise; `kinds`, the schemas of the documents that begin on pages, "" for none.
    """

    digest: str
    pages: int
    version: str
    likely: Mapping[int, float] = field(default_factory=dict)
    sheets: Collection[int] = ()
    begins: Collection[int] | None = None
    who: str = ""
    turns: Mapping[int, int] = field(default_factory=dict)
    kinds: Mapping[int, str] = field(default_factory=dict)

    def parts(self) -> list[tuple[PageRange, float]]:
        """Returns the parts with the probability that each is one whole document.

        They have every page but the separator sheets.
        """
        found = [page for page, p in self.likely.items() if p > 0.5] if self.begins is None else self.begins
        start = next((page for page in range(1, self.pages + 1) if page not in self.sheets), 1)
        parts = []
        for first, following in pairwise(sorted({start, *found, self.pages + 1})):
            own = [page for page in range(first, following) if page not in self.sheets]
            edges = (self.likely.get(page, 1.0) for page in (first, following) if page != start)
            sure = prod(edges) * prod(1 - self.likely.get(page, 0.0) for page in own[1:])
            turns = tuple((page, self.turns[page]) for page in own if self.turns.get(page))
            part = PageRange(own[0], own[-1], turns, self.kinds.get(own[0], ""))
            parts.append((part, sure if self.begins is None else 1.0))
        return parts

    def digests(self) -> list[str]:
        """Returns the digests of its documents; a file that is a single one has its own."""
        parts = [part for part, _ in self.parts()]
        return [self.digest] if parts == [PageRange(1, self.pages)] else [part.digest(self.digest) for part in parts]

    def said(
        self,
        who: str,
        split: Collection[int] = (),
        join: Collection[int] = (),
        turns: Mapping[int, int] | None = None,
        kinds: Mapping[int, str] | None = None,
    ) -> Packet:
        """Returns the packet with documents that begin on the pages `split` and none on the pages `join`, turned pages
        and schemas. Raises UsageError for a page or an angle with which that cannot be.
        """
        own = [part.first for part, _ in self.parts()]
        begins = {*own}.union(split).difference(join)
        inner = {*range(own[0], self.pages + 1)}.difference(self.sheets)
        turns, kinds = turns or {}, kinds or {}
        for name, asked, allowed in (
            ("split", split, inner.difference(own)),
            ("join", join, {*own[1:]}),
            ("turn", turns, inner),
            ("turn by degrees", turns.values(), {0, 90, 180, 270}),
            ("kind", kinds, begins),
        ):
            for number in {*asked} - allowed:
                told = ", ".join(map(str, sorted(allowed))) or "none"
                raise UsageError(f"{name}: expected one of {told}, got {number}")
        return replace(
            self, begins=sorted(begins), who=who, turns={**self.turns, **turns}, kinds={**self.kinds, **kinds}
        )

    def as_json(self) -> dict[str, Any]:
        """Returns what is shown of the packet and its parts."""
        parts = [{**asdict(part), "probability": round(sure, 4)} for part, sure in self.parts()]
        return {"packet": self.digest, "pages": self.pages, "sheets": [*self.sheets], "who": self.who, "parts": parts}


def stored_packet(out: Path, digest: str) -> Packet | None:
    """Returns the stored boundaries of a packet, None if there are none. Raises RunError if they are damaged."""
    path = out / PACKETS / f"{digest}.json"
    if not is_own("digest", digest) or path.is_symlink() or not path.is_file():
        return None
    try:
        held = json.loads(path.read_bytes())
        by_page = {name: {int(page): one for page, one in held[name].items()} for name in ("likely", "turns", "kinds")}
        return Packet(**held | by_page)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{path}: the boundaries of a packet are damaged ({error}); remove the file") from error


def store_packet(out: Path, packet: Packet) -> None:
    """Stores the boundaries of a packet; they are durable when this returns."""
    folder = out / PACKETS
    with failures(f"{folder}: the boundaries of a packet could not be stored"):
        make_folder(folder)
        write_bytes(folder / f"{packet.digest}.json", json.dumps(asdict(packet)).encode())


def packets_of(out: Path, paths: Collection[str], digests: Collection[str]) -> list[str]:
    """Returns the digests of the packets that documents with these paths and digests are, or are parts of."""
    ranges = [part[1] for part in map(named_part, paths) if part is not None]
    stored = [path.stem for path in sorted((out / PACKETS).glob("*.json")) if is_own("digest", path.stem)]
    return [one for one in stored if one in digests or any(part.digest(one) in digests for part in ranges)]
