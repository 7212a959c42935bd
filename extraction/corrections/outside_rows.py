"""Keeps the records of a folder in step with its packets: parts that are no documents any more leave the views.

Whoever changes where documents begin, and each run that splits, calls this. What a crash, a run beside a person, or a
removed file of boundaries left behind is put right by the next call.

What people said that printed words mean: corrected values of fields with a lookup (`x-cinnabar-lookup`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from cinnabar.extraction.corrections.changes import Action, Change
from cinnabar.extraction.corrections.corrector import Corrector, corrections
from cinnabar.extraction.documents.packets.part import named_part
from cinnabar.extraction.filling.records.lookups import plain_words
from cinnabar.extraction.store.names import sql_literal
from cinnabar.extraction.store.packets import Packet
from cinnabar.extraction.store.reading import connect, query
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.keywords import Learned
from cinnabar.schemas.pointers import lies_within_template

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
    return named is not None and any(document in named[1].digests(packet) for packet in packets)


# What says that a value is right there, or that there is none.
_SAID = (Action.VALUE, Action.ACCEPT, Action.ABSENT)


def learned_rows(out: Path, forms: Mapping[str, Form]) -> Learned:
    """Returns the values in force that people gave, by table and column returned, with the plain words of their place.

    `forms` are by the names of schemas. The words are those that the person marked, else those that the model had read
    there: these count if two documents agree, since the model may have read at another place. Words to which people
    gave different values are left out.
    """
    found = defaultdict[tuple[str, str], dict[str, list[tuple[Any, str, bool]]]](lambda: defaultdict(list))
    lookups = {
        name: own
        for name, form in forms.items()
        if (own := {slot.path: slot.lookup for slot in form.slots if slot.lookup})
    }
    said = [one for one in corrections(out) if one.action in _SAID and one.undone is None] if lookups else []
    for name, by_path in lookups.items():
        corrected = [
            (lookup, one)
            for one in said
            if one.schema_name == name
            for path, lookup in by_path.items()
            if lies_within_template(one.pointer, path)
        ]
        read = _words_read(out, name, {one.document for _, one in corrected})
        for lookup, one in corrected:
            words = one.evidence.text if one.evidence is not None else read.get((one.document, one.pointer), "")
            value, plain = json.loads(one.after or "null"), " ".join(plain_words(words))
            if plain:
                found[lookup.table, lookup.returns][plain].append((value, one.document, one.evidence is not None))
    return {
        table: {words: value for words, given in known.items() if (value := _agreed_value(given)) is not None}
        for table, known in found.items()
    }


def _agreed_value(said: Sequence[tuple[Any, str, bool]]) -> str | None:
    """Returns the one value that people gave, if a mark or two documents tell that its words are those."""
    values, documents = {value for value, *_ in said}, {document for _, document, _ in said}
    told = len(documents) > 1 or any(marked for *_, marked in said)
    value = next(iter(values))
    return value if len(values) == 1 and told and isinstance(value, str) else None


def _words_read(out: Path, schema: str, documents: set[str]) -> dict[tuple[str, str], str]:
    """Returns the words behind the values that a lookup found, by document and pointer."""
    if not documents:
        return {}
    named = ", ".join(map(sql_literal, sorted(documents)))
    rows = query(
        out,
        "SELECT document, pointer, arg_max(evidence_text, run_id) FROM history WHERE origin = 'looked_up'"
        f" AND evidence_text IS NOT NULL AND schema_name = {sql_literal(schema)} AND document IN ({named})"
        " GROUP BY ALL",
    ).rows
    return {(document, pointer): words for document, pointer, words in rows}
