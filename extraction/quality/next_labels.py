"""Chooses the stored documents of a folder whose corrections would teach most."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from cinnabar.extraction.corrections.units import HUMAN
from cinnabar.extraction.quality.labelling_order import Candidate, labelling_order
from cinnabar.extraction.storage.reading import connect
from cinnabar.extraction.storage.stored_records import name_in

#: So many documents are compared: the less sure half of them, and as many drawn from the others. A comparison of each
#: pair of 600 takes half a second.
COMPARED = 600

# The words that values were read from stand for the document, whose text is not stored: of two documents of one layout
# they have the same labels beside them, and the same fields are empty.
_DOCUMENTS = (
    "SELECT document, any_value(r.path) AS path, min(r.confidence) AS sure FROM records AS r"
    " WHERE schema_name = ? AND latest GROUP BY document"
    " ORDER BY sure, hash(document)"
)
_FIELDS = (
    "SELECT document, field, origin, coalesce(value, ''), coalesce(evidence_text, ''), coalesce(place, '')"
    " FROM fields WHERE schema_name = ? AND document IN (SELECT unnest(?::VARCHAR[]))"
    " ORDER BY document, pointer"
)


def next_to_label(out: Path, schema_name: str, count: int) -> list[str]:
    """Returns the digests of at most `count` documents that nobody corrected, those that teach most first.

    Raises UsageError if the folder has no records of the schema.
    """
    schema_name = name_in(out, schema_name)
    with connect(out) as connection:
        documents = [row[0] for row in connection.execute(_DOCUMENTS, [schema_name]).fetchall()]
        if len(documents) > COMPARED:
            half = COMPARED // 2
            documents = documents[:half] + sorted(documents[half:])[:: max(1, (len(documents) - half) // half)][:half]
        rows = connection.execute(_FIELDS, [schema_name, documents]).fetchall()
    words: dict[str, list[str]] = defaultdict(list)
    seen = set[str]()
    for document, field, origin, value, text, place in rows:
        if origin == HUMAN:
            seen.add(document)
            continue
        words[document].append(f"{field} {place} {text or value}")
    made = {one: Candidate("\n".join(words[one])) for one in documents}
    left = [one for one in documents if one not in seen]
    order = labelling_order([made[one] for one in left], count, [made[one] for one in documents if one in seen])
    return [left[at] for at in order]
