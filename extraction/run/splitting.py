"""Splits packets among the inputs of a run into their documents, as people said, or as the pages look.

Splits the inputs of a run into those that are settled before parsing and those left to read.

What is done, `Store.done_keys` says: a record of this schema, read by the parts of the code that would read it now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from cinnabar.errors import CinnabarError, DocumentError
from cinnabar.extraction.corrections.packet_corrections import settle_packets
from cinnabar.extraction.corrections.waiting_commits import commit_waiting
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.formats import SUFFIXES, format_named
from cinnabar.extraction.documents.content.inputs import Content, content_of
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input, Location, examine, is_system_file
from cinnabar.extraction.documents.packets.part import PacketPart, PageRange
from cinnabar.extraction.documents.pdf.reader import FILE_PAGES
from cinnabar.extraction.filling.packets.boundaries import VERSION, PageFeatures, boundaries, page_features
from cinnabar.extraction.plan.outcomes import OTHER_KIND, SYSTEM_FILE
from cinnabar.extraction.store.packets import Packet, changing_packets, store_packet, stored_packet
from cinnabar.extraction.store.records import Outcome
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
    return [
        PacketPart(item.content, item.path, item.digest, one, int(100 * sure), old=packet.old)
        for one, sure in packet.parts()
    ]


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
    return Packet(digest=item.digest, pages=count, version=VERSION, likely=likely, sheets=sheets, old=False)


class _Finished(Protocol):
    """The things that earlier runs have done."""

    def done(self, digest: str, path: str | None = None) -> bool: ...
    def is_refused(self, digest: str) -> bool: ...
    def known_problem(self, path: str, problem: DocumentError) -> bool: ...


def split_inputs(inputs: Iterable[Input], finished: _Finished) -> tuple[list[Outcome], list[Input]]:
    """Returns the outcomes of inputs that need no reading, and the inputs left to read.

    The former are files of the system, unreadable, done, duplicates, or of another kind as a person said.

    A duplicate has the same bytes as an earlier path. With another suffix it may be readable where that one is not: it
    is left `instead_of` it. An unreadable input whose problem is in quarantine is done.
    """
    # By digest: the path of the first one, of the one that is to be read, and of one that settles all of these bytes.
    first, reading, whole = dict[str, str](), dict[str, str](), dict[str, str]()
    tried: set[tuple[str, str]] = set()
    settled: list[Outcome] = []
    left: list[Input] = []
    # The parser depends on the file name: of files with the same bytes, one with a known suffix comes first.
    for item in sorted(inputs, key=_is_nameless):
        digest, kind = item.digest, (item.digest, format_named(item.path))
        if is_system_file(item.path):
            settled.append(Outcome(item.path, "skipped", SYSTEM_FILE, digest=digest))
        elif item.problem is not None:
            problem = item.problem
            if finished.known_problem(item.path, problem):
                settled.append(Outcome(item.path, "skipped", "done"))
                continue
            settled.append(Outcome(item.path, "quarantined", problem.code, problem_message(problem)))
        elif kind in tried or digest in whole:
            other = whole.get(digest, first[digest])
            settled.append(Outcome(item.path, "skipped", "duplicate", digest=digest, duplicate_of=other))
        else:
            first.setdefault(digest, item.path)
            tried.add(kind)
            if finished.is_refused(digest) or finished.done(digest):
                whole[digest] = item.path
                code = OTHER_KIND if finished.is_refused(digest) else "done"
                settled.append(Outcome(item.path, "skipped", code, digest=digest))
            elif finished.done(digest, item.path):
                settled.append(Outcome(item.path, "skipped", "done", digest=digest))
            else:
                left.append(replace(item, instead_of=reading[digest]) if digest in reading else item)
                reading.setdefault(digest, item.path)
    return settled, left


def _is_nameless(item: Input) -> bool:
    return content_of(item.content).name.suffix.lower() not in SUFFIXES
