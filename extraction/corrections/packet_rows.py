"""Keeps the records of a folder in step with its packets: parts that are no documents any more leave the views.

Whoever changes where documents begin, and each run that splits, calls this. What a crash, a run beside a person, or a
removed file of boundaries left behind is put right by the next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cinnabar.extraction.corrections.changes import Action, Change
from cinnabar.extraction.corrections.corrector import Corrector, corrections
from cinnabar.extraction.documents.packets.part import named_part
from cinnabar.extraction.store.packets import Packet
from cinnabar.extraction.store.reading import connect

_READ = """
SELECT DISTINCT document, schema_name, path FROM outcomes
WHERE outcome IN ('written', 'quarantined') AND (list_contains(?, document) OR contains(path, '#pages='))
"""


def settle_packets(out: Path, packets: Sequence[Packet], who: str, behind: bool = False) -> None:
    """Takes what is no document of these packets out of the views, and brings back what is one again.

    That is the whole file of a packet that is split, parts whose pages are others now, and parts of it as a whole. The
    caller holds the lock of the packets. `behind` as for `Corrector`. Raises the errors of corrections.
    """
    files = {packet.digest for packet in packets}
    current = {digest for packet in packets for digest in packet.digests()}
    said = {
        (one.document, one.schema_name): one.identity for one in corrections(out) if one.action is Action.NO_PART
    }
    with connect(out, views=("outcomes",)) as connection:
        rows = connection.execute(_READ, [sorted(files)]).fetchall()
    corrector = Corrector(out, behind)
    for (document, schema), path in {(document, schema): path for document, schema, path in rows}.items():
        identity = said.get((document, schema))
        if document in current:
            if identity is not None:
                corrector.undo(document, schema, [identity], who, of_packet=True)
        elif identity is None and (document in files or _is_part(document, path, files)):
            corrector.correct(document, schema, [Change(Action.NO_PART, "")], who)


def _is_part(document: str, path: str, packets: set[str]) -> bool:
    """Returns whether a document is the pages of one of these packets that its path names."""
    named = named_part(path)
    return named is not None and any(named[1].digest(packet) == document for packet in packets)
