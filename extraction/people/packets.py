"""What people say of packets: where their documents begin. The records of parts that are none leave the tables."""

from __future__ import annotations

from pathlib import Path

from cinnabar.extraction.corrections import Action, Change, Corrector, corrections
from cinnabar.extraction.people.forgetting import named
from cinnabar.extraction.store.packets import Packet, Said, packets_of, store_packet, stored_packet
from cinnabar.extraction.store.reading import connect
from cinnabar.schemas.errors import UsageError

_READ = """
SELECT DISTINCT document, schema_name FROM outcomes
WHERE list_contains(?, document) AND outcome IN ('written', 'quarantined')
"""


def packet_around(out: Path, document: str) -> Packet:
    """Returns the packet that this path (of it or of a part) or the start of this digest names.

    Raises UsageError if there is none, or if there are several.
    """
    names = named(out, document)
    found = packets_of(out, names.paths, names.digests)
    packet = stored_packet(out, found[0]) if len(found) == 1 else None
    if packet is None:
        raise UsageError(f"{document}: expected one packet that `extract --split` has read, got {len(found)}")
    return packet


def amend(out: Path, packet: Packet, said: Said, who: str) -> Packet:
    """Stores what a person says of a packet, and returns it.

    Records of parts that are no more are marked as of another kind; those of parts that come again come back. The next
    run with `split` reads the others. Raises UsageError for an impossible page, and the errors of corrections.
    """
    after = packet.after(said, who)
    gone, come = {*packet.digests()} - {*after.digests()}, {*after.digests()} - {*packet.digests()}
    with connect(out, views=("outcomes",)) as connection:
        read = connection.execute(_READ, [sorted(gone)]).fetchall()
    corrector = Corrector(out)
    # A crash in between leaves the boundaries as they were, so that the same call ends the work.
    for digest, schema in read:
        corrector.correct(digest, schema, [Change(Action.OTHER_KIND, "")], who)
    for one in corrections(out):
        if one.document in come and one.action is Action.OTHER_KIND:
            corrector.undo(one.document, one.schema_name, [one.identity], who)
    store_packet(out, after)
    return after
