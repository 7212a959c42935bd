"""Splits packets among the inputs of a run into their documents, as people said, or as the pages look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cinnabar.errors import CinnabarError
from cinnabar.extraction.corrections.packet_corrections import settle_packets
from cinnabar.extraction.corrections.waiting_commits import commit_waiting
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Content, content_of
from cinnabar.extraction.documents.content.parse_context import FILE_PAGES
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input, Location, examine
from cinnabar.extraction.documents.packets.part import PacketPart, PageRange
from cinnabar.extraction.filling.packets.boundaries import VERSION, PageFeatures, boundaries, page_features
from cinnabar.extraction.store.packets import Packet, changing_packets, store_packet, stored_packet
from cinnabar.extraction.store.store import Store

#: Pages that a parser reads at a time: its time and memory are bounded for any length of a packet.
WINDOW = 40

_Item = Path | Content | Input


def split_packets(
    named: Mapping[str, _Item], roots: Sequence[Location], out: Path, pool: ParserPool, packets: set[str]
) -> Iterator[tuple[str, _Item]]:
    """Yields the inputs of these names, and of a PDF of several documents these, each with its own name.

    The boundaries are kept in the output folder; the digests of these files join `packets`. `roots` as for `examine`.
    Raises RunError if the boundaries of a packet cannot be read or stored.
    """
    for name, item in named.items():
        content = item.content if isinstance(item, Input) else item
        # The pages of a packet are split no further.
        if content_of(content).first_page or content_of(content).name.suffix.lower() != ".pdf":
            yield name, item
            continue
        examined = replace(examine(item, roots), path=name)
        parts = [] if examined.problem else _parts(examined, out, pool)
        packets.add(examined.digest)
        yield from ((part.path, Input(part.path, part, part.digest)) for part in parts)
        if not parts:
            yield name, examined


def settle_split(store: Store, digests: Collection[str], note: Callable[[str], object]) -> None:
    """Has a run that ends leave in the views what its packets are, and nothing else of them.

    A person may have changed where documents begin meanwhile, or an earlier run may have read a packet as a whole. What
    fails is told and left to the next run.
    """
    out = store.out
    try:
        with changing_packets(out):
            packets = [packet for one in sorted(digests) if (packet := stored_packet(out, one)) is not None]
            if packets:
                settle_packets(out, packets, "a run with --split", commit=lambda _: commit_waiting(store))
    except CinnabarError as error:
        note(f"the views may hold more of some packets than their documents, until the next run with --split: {error}")


def _parts(item: Input, out: Path, pool: ParserPool) -> list[PacketPart]:
    """Returns the documents of a packet; none if the file is a single document or cannot be split."""
    packet = stored_packet(out, item.digest)
    if packet is None:
        packet = _found(item, pool)
        if packet is None:
            return []
        store_packet(out, packet)
    if packet.digests() == [packet.digest]:
        return []
    return [PacketPart(item.content, item.path, item.digest, one, int(100 * sure)) for one, sure in packet.parts()]


def _found(item: Input, pool: ParserPool) -> Packet | None:
    """Returns the boundaries by the looks of the pages; None if the file cannot be split."""
    signs, first, count = list[PageFeatures](), 1, WINDOW
    while first <= count:
        pages = PageRange(first, min(first + WINDOW - 1, count))
        found = pool.submit(PacketPart(item.content, item.path, item.digest, pages)).result()
        if isinstance(found, Document):
            # Files within a PDF, such as the data of an invoice, belong to the whole of it.
            if "embedded_files" in found.metadata:
                return None
            count = int(found.metadata[FILE_PAGES])
            signs += page_features(found)
        elif first == 1 or found.code != "empty":  # blank pages
            return None
        first += WINDOW
    likely, sheets = boundaries(signs)
    return Packet(digest=item.digest, pages=count, version=VERSION, likely=likely, sheets=sheets)
