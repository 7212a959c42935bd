"""Splits packets among the inputs of a run into their documents, as people said, or as the pages look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Message
from cinnabar.extraction.documents.content.settings import ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool, name_of
from cinnabar.extraction.documents.inputs import Input, Location, examine
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.documents.packets.part import PacketPart
from cinnabar.extraction.documents.pdf.reader import FILE_PAGES
from cinnabar.extraction.reading.packets.boundaries import VERSION
from cinnabar.extraction.reading.packets.signs import PageSigns, page_signs
from cinnabar.extraction.store.packets import Packet, store_packet, stored_packet

#: Pages that a parser reads at a time: its time and memory are bounded for any length of a packet.
WINDOW = 40

_Item = Path | Message | Input


class Splitter:
    """Splits the PDFs of a run; the boundaries are kept in its output folder. A context manager."""

    def __init__(self, out: Path, workers: int, settings: ParserSettings) -> None:
        self._out = out
        self._pool = ParserPool(workers, settings=settings, pages=PageStore(out / PAGES))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def documents(self, named: Mapping[str, _Item], roots: Sequence[Location]) -> Iterator[tuple[str, _Item]]:
        """Yields the inputs of these names, and of a packet its documents, each with its own name.

        `roots` as for `examine`. Raises RunError if the boundaries of a packet cannot be read or stored.
        """
        for name, item in named.items():
            content = item.content if isinstance(item, Input) else item
            if isinstance(content, PacketPart) or name_of(content).suffix.lower() != ".pdf":
                yield name, item
                continue
            examined = replace(examine(item, roots), path=name)
            parts = [] if examined.problem else self._parts(examined)
            yield from ((part.path, Input(part.path, part, part.digest)) for part in parts)
            if not parts:
                yield name, examined

    def _parts(self, item: Input) -> list[PacketPart]:
        """Returns the documents of a packet, none if the file is a single document or cannot be split."""
        packet = stored_packet(self._out, item.digest)
        if packet is None or (packet.begins is None and packet.version != VERSION):
            # Corrections of former parts are taken back if the parts come again.
            before = {} if packet is None else packet.withdrawn
            packet = self._found(item)
            if packet is None:
                return []
            packet = replace(packet, withdrawn=before)
            store_packet(self._out, packet)
        ranges = packet.ranges()
        if len(ranges) < 2:
            return []
        return [
            PacketPart(item.content, item.path, item.digest, one.first, one.last, int(100 * one.probability))
            for one in ranges
        ]

    def _found(self, item: Input) -> Packet | None:
        """Returns the boundaries by the looks of the pages; None if the file cannot be split."""
        first = self._pool.submit(PacketPart(item.content, item.path, item.digest, 1, WINDOW)).result()
        # Files within a PDF, such as the data of an invoice, belong to the whole of it.
        if not isinstance(first, Document) or "embedded_files" in first.metadata:
            return None
        count = int(first.metadata[FILE_PAGES])
        windows = [
            PacketPart(item.content, item.path, item.digest, start, min(start + WINDOW - 1, count))
            for start in range(WINDOW + 1, count + 1, WINDOW)
        ]
        signs = page_signs(first)
        for _, found in self._pool.parse_many(windows):
            if isinstance(found, Document):
                signs += page_signs(found)
            elif found.code != "empty":  # blank pages
                return None
        return _packet(item.digest, count, signs)


def _packet(digest: str, count: int, signs: Sequence[PageSigns]) -> Packet:
    if len(signs) < 2:
        return Packet(digest, count, VERSION)
    # Cold start: Torch takes a second.
    from cinnabar.extraction.reading.packets.boundaries import boundaries

    return Packet(digest, count, VERSION, *boundaries(signs))
