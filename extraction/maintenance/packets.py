"""People say where the documents of packets begin. The records of parts that are none leave the tables."""

from __future__ import annotations

from pathlib import Path

from cinnabar.errors import Overtaken, OvertakenPlace, UsageError
from cinnabar.extraction.corrections.packet_corrections import settle_packets
from cinnabar.extraction.maintenance.forgetting import find_documents
from cinnabar.extraction.store.packets import (
    Packet,
    PacketStatement,
    changing_packets,
    packets_of,
    store_packet,
    stored_packet,
)


def packet_around(out: Path, document: str) -> Packet:
    """Returns the packet that this path (of it or of a part) or the start of this digest names.

    Raises UsageError if there is none, or if there are several.
    """
    names = find_documents(out, document)
    found = packets_of(out, names.paths, names.digests)
    packet = stored_packet(out, found[0]) if len(found) == 1 else None
    if packet is None:
        several = f": {', '.join(one[:12] for one in found)}; name one by its digest" if found else ""
        raise UsageError(f"{document}: expected one packet that `extract --split` has read, got {len(found)}{several}")
    return packet


def amend(out: Path, packet: Packet, said: PacketStatement, who: str, seen: str | None = None) -> Packet:
    """Stores what a person says of a packet, which they saw in the state `seen`, else as it is given, and returns it.

    Records of parts that are no more leave the views, and those of parts that come again come back. The next run with
    `split` reads the others. Raises UsageError for an impossible page, Overtaken if somebody changed the packet since
    it was seen, and the errors of corrections.
    """
    with changing_packets(out):
        now = stored_packet(out, packet.digest)
        if now is not None and now.state != (seen or packet.state):
            parts = ", ".join(str(part) for part, _ in now.parts())
            raise Overtaken(f"packet {now.digest[:12]}", [OvertakenPlace("", None, parts, now.who)])
        after = packet.after(said, who)
        # A crash after this leaves records to the next call, or to the next run that splits.
        store_packet(out, after)
        settle_packets(out, [after], who, {*packet.digests()}.difference(after.digests()))
    return after
