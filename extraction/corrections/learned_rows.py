"""What people said that printed words mean: corrected values of fields with a lookup (`x-cinnabar-lookup`)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cinnabar.extraction.corrections.changes import Action
from cinnabar.extraction.corrections.corrector import corrections
from cinnabar.extraction.reading.records.lookups import plain_words
from cinnabar.extraction.store.names import literal
from cinnabar.extraction.store.reading import query
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.lookups import Learned
from cinnabar.schemas.pointers import lies_within_template

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
    named = ", ".join(map(literal, sorted(documents)))
    rows = query(
        out,
        "SELECT document, pointer, arg_max(evidence_text, run_id) FROM history WHERE origin = 'looked_up'"
        f" AND evidence_text IS NOT NULL AND schema_name = {literal(schema)} AND document IN ({named}) GROUP BY ALL",
    ).rows
    return {(document, pointer): words for document, pointer, words in rows}
