"""What people say of packets: where their documents begin. The records of parts that are none leave the tables."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.people.forgetting import named
from cinnabar.extraction.store.packets import Packet, packets_of, store_packet, stored_packet
from cinnabar.extraction.store.reading import connect
from cinnabar.schemas.errors import UsageError


def packet_around(out: Path, document: str) -> Packet:
    """Returns the packet that this path (of it or of a part) or the start of this digest names.

    Raises UsageError if there is none, or if there are several.
    """
    found = [*packets_of(out, named(out, document).digests)]
    packet = stored_packet(out, found[0]) if len(found) == 1 else None
    if packet is None:
        raise UsageError(f"{document}: expected one packet that `extract --split` has read, got {len(found)}")
    return packet


def amend(out: Path, packet: Packet, split: Collection[int], join: Collection[int], who: str) -> Packet:
    """Stores that documents of a packet begin on the pages `split` and none on the pages `join`.

    Records of parts that are no more are marked as of another kind; those of parts that come again come back. The next
    run with `split` reads the others. Raises UsageError for an impossible page, and the errors of corrections.
    """
    after = packet.said(split, join, who)
    corrector, withdrawn = Corrector(out), {**packet.withdrawn}
    # A crash in between leaves the boundaries as they were, so that the same call ends the work.
    for digest in {*packet.digests()} - {*after.digests()}:
        withdrawn[digest] = [[schema, _withdraw(corrector, digest, schema, who)] for schema in _schemas(out, digest)]
    for digest in {*after.digests()} & {*withdrawn}:
        for schema, identity in withdrawn.pop(digest):
            corrector.undo(digest, schema, [identity], who)
    after = replace(after, withdrawn=withdrawn)
    store_packet(out, after)
    return after


def _withdraw(corrector: Corrector, digest: str, schema: str, who: str) -> str:
    """Returns the correction by which a document is not of a schema."""
    reviewed = corrector.correct(digest, schema, [Change(Action.OTHER_KIND, "")], who)
    return [one.identity for one in reviewed.corrections if one.action == Action.OTHER_KIND and not one.undone][-1]


def _schemas(out: Path, digest: str) -> list[str]:
    """Returns the schemas under which a document has a record or is in quarantine."""
    sql = (
        "SELECT DISTINCT schema_name FROM outcomes WHERE document = ? AND outcome IN ('written', 'quarantined')"
        " ORDER BY 1"
    )
    with connect(out, views=("outcomes",)) as connection:
        return [name for (name,) in connection.execute(sql, [digest]).fetchall()]
