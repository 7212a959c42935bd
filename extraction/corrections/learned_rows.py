"""What people said that printed words mean: corrected values of fields with a lookup (`x-cinnabar-lookup`)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from cinnabar.extraction.corrections.changes import Action
from cinnabar.extraction.corrections.corrector import corrections
from cinnabar.extraction.reading.records.lookups import plain_words
from cinnabar.extraction.store.names import literal
from cinnabar.extraction.store.reading import query
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.lookups import Learned


def learned_rows(out: Path, forms: Mapping[str, Form]) -> Learned:
    """Returns the values in force that people gave, by table and column returned, with the plain words of their place.

    `forms` are by the names of schemas. The words are those that the person marked, else those that the model had read
    there. Words that people gave different values are left out.
    """
    found = defaultdict[tuple[str, str], dict[str, set[str]]](lambda: defaultdict(set))
    for name, form in forms.items():
        lookups = {slot.path: slot.lookup for slot in form.slots if slot.lookup}
        own = [
            (lookup, one)
            for one in (corrections(out) if lookups else ())
            if one.schema_name == name and one.action is Action.VALUE and one.undone is None
            for path, lookup in lookups.items()
            if _matches(path, one.pointer)
        ]
        read = _words_read(out, name, {one.document for _, one in own})
        for lookup, one in own:
            words = one.evidence.text if one.evidence is not None else read.get((one.document, one.pointer), "")
            value, plain = json.loads(one.after or "null"), " ".join(plain_words(words))
            if isinstance(value, str) and plain:
                found[lookup.table, lookup.returns][plain].add(value)
    return {
        table: {words: next(iter(values)) for words, values in known.items() if len(values) == 1}
        for table, known in found.items()
    }


def _matches(path: str, pointer: str) -> bool:
    """Returns whether a pointer is one of a template, whose indices are `*`."""
    steps, own = path.split("/"), pointer.split("/")
    return len(steps) == len(own) and all(a == b or (a == "*" and b.isdigit()) for a, b in zip(steps, own, strict=True))


def _words_read(out: Path, schema: str, documents: set[str]) -> dict[tuple[str, str], str]:
    """Returns the words behind the values that a lookup found, by document and pointer."""
    if not documents:
        return {}
    named = ", ".join(map(literal, sorted(documents)))
    rows = query(
        out,
        "SELECT document, pointer, arg_max(evidence_text, run_id) FROM history WHERE origin = 'looked_up'"
        f" AND evidence_text IS NOT NULL AND schema_name = {literal(schema)} AND document IN ({named}) GROUP BY ALL",
    ).rows
    return {(document, pointer): words for document, pointer, words in rows}
