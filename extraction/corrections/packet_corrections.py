"""Keeps the records of a folder in step with its packets: parts that are no documents any more leave the views.

Whoever changes where documents begin, and each run that splits, calls this. What a crash, a run beside a person, or a
removed file of boundaries left behind is put right by the next call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from cinnabar.extraction.corrections.changes import Action, Change
from cinnabar.extraction.corrections.corrector import Corrector, corrections
from cinnabar.extraction.documents.packets.part import named_part
from cinnabar.extraction.store.packets import Packet
from cinnabar.extraction.store.reading import connect

_READ = """
SELECT document, schema_name, any_value(path), bool_or(outcome <> 'skipped') FROM outcomes
WHERE list_contains(?, document) OR contains(path, '#pages=') GROUP BY 1, 2
"""
# Each correction that waits is read by the next one.
_AT_ONCE = 50


def settle_packets(
    out: Path,
    packets: Sequence[Packet],
    who: str,
    gone: Collection[str] = (),
    commit: Callable[[Corrector], object] = Corrector.commit,
) -> None:
    """Takes what is no document of these packets out of the views, and brings back what is one again.

    That is `gone`, parts whose pages are others now, and the whole file of a packet once all of its parts have been
    read, some of them under the file's schema. The caller holds the lock of the packets. `commit` commits what
    waits. Raises the errors of corrections.
    """
    owner = {packet.digest: packet.digests() for packet in packets}
    current = {digest for parts in owner.values() for digest in parts}
    said = {(one.document, one.schema_name): one.identity for one in corrections(out) if one.action is Action.NO_PART}
    with connect(out, views=("outcomes",)) as connection:
        rows = connection.execute(_READ, [sorted(owner)]).fetchall()
    schemas = defaultdict[str, set[str]](set)
    for document, schema, _, _ in rows:
        schemas[document].add(schema)
    corrector, changed = Corrector(out, behind=True), 0
    for document, schema, path, has_outcome in rows:
        identity = said.get((document, schema))
        if document in current and identity is not None:
            corrector.undo(document, schema, [identity], who, of_packet=True)
        elif document not in current and identity is None and has_outcome and (
            document in gone
            or (document in owner and _is_replaced([schemas[one] for one in owner[document]], schema))
            or _is_part(document, path, owner)
        ):  # fmt: skip
            corrector.correct(document, schema, [Change(Action.NO_PART, "")], who)
        else:
            continue
        changed += 1
        if changed % _AT_ONCE == 0:
            commit(corrector)
    commit(corrector)


def _is_replaced(parts: Sequence[set[str]], schema: str) -> bool:
    """Returns whether the schemas that the parts of a file were read under stand for the file under this one."""
    return all(parts) and any(schema in one for one in parts)


def _is_part(document: str, path: str, packets: Collection[str]) -> bool:
    """Returns whether a document is the pages of one of these packets that its path names."""
    named = named_part(path)
    return named is not None and any(document == named[1].digest(packet) for packet in packets)
