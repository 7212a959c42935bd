"""The record of a document: a filled form with the evidence of each value, its flags, and notes on its lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cinnabar.engine.evidence.words_behind import row_region, words_behind
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.content.document import Document, Evidence
from cinnabar.extraction.filling.evidence.ambiguity import ambiguities
from cinnabar.extraction.filling.evidence.evidence import chance_of_reading, evidence_of, page_of
from cinnabar.extraction.filling.evidence.list_notes import notes_of
from cinnabar.extraction.filling.overlay.facts import NO_FACTS, REFUSED, Facts
from cinnabar.extraction.filling.packets.boundaries import SEVERAL, is_several
from cinnabar.extraction.filling.passages import locale_of
from cinnabar.extraction.filling.surroundings.notes import INSTRUCTIONS, STRUCK, notes_in
from cinnabar.extraction.filling.table_columns import TableColumns
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.schemas.form.form import Form

# A changed one changes values: raise the part `merging` (engine/version.py).
#: The fewest rows of a record whose values name the columns of tables that they stand in.
COLUMN_ROWS = 4
#: The most confidence of an amount that means two numbers: the likelier reading is right in about half of them.
AMBIGUOUS_CONFIDENCE = 0.5
#: The flag of a record that the first model alone read, since the stronger one gave no answer.
ALONE = "reader_alone"


def record_of(document: Document, filled: Filled, form: Form, facts: Facts = NO_FACTS) -> Record:
    """Returns a filled form as the record of its document, with the evidence of each value.

    A fact field whose fact was refused gets the flag `refused_fact`; of a list only the record has it.
    """
    leaves = []
    locale = locale_of(document)
    columns = TableColumns(document) if len(filled.rows) >= COLUMN_ROWS else None
    for pointer, leaf in filled.leaves.items():
        region = row_region(pointer, filled.rows, len(document.text))
        evidence = evidence_of(document, words_behind(form, leaf, document.text, region))
        if columns is not None and evidence is not None and (column := columns.at(evidence.spans[0].start)):
            evidence = replace(evidence, place=" › ".join(filter(None, (evidence.place, column))))
        read = chance_of_reading(document, evidence)
        ambiguous = ambiguities(form, leaf, evidence, locale)
        flags = _flags(leaf, evidence) | {
            "ocr": read < 1.0,
            REFUSED: pointer in facts.refusals,
        }
        leaves.append(
            LeafRow(
                pointer=pointer,
                value=leaf.text,
                confidence=min(round(leaf.confidence * read, 4), AMBIGUOUS_CONFIDENCE if ambiguous else 1.0),
                origin=leaf.origin,
                missing=leaf.missing,
                evidence=evidence,
                page=page_of(document, evidence),
                flags=(*_flags_that_hold(flags), *ambiguous, *leaf.flags),
            )
        )
    rows = {pointer: chance for pointer, (_, chance) in filled.rows.items()}
    own = {REFUSED: bool(facts.refusals), SEVERAL: is_several(document)}
    own[ALONE], own["struck_text"] = filled.alone, STRUCK.search(document.text) is not None
    own[INSTRUCTIONS] = any(notes_in(document.text))
    told = {*document.flags, *(flag for leaf in leaves for flag in leaf.flags), *_flags_that_hold(own)}
    lengths = {at: note for at, note in notes_of(document, filled, form).items() if not facts.holds(at)}
    return Record.of(filled.record, leaves, told, rows, dict(filled.lists), lengths)


def _flags_that_hold(flags: Mapping[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, holds in flags.items() if holds)


def _flags(leaf: Leaf, evidence: Evidence | None) -> dict[str, bool]:
    """Returns whether a value is guessed, generated, the schema's default, or without evidence."""
    has_value = leaf.origin not in ("absent", "default", "known", "fact") and leaf.text not in (None, "null", "false")
    return {
        "default": leaf.origin == "default",
        "generated": leaf.origin == "generated",
        "guessed": leaf.missing,
        "no_evidence": has_value and evidence is None,
    }
