"""Reads what stands beside each value of a record, whoever read the value: one table of kinds, each with its effect.

A value whose surroundings speak against it is corrected, left out, or doubted, and has the flag of the kind that found
it: it never keeps a confidence of .9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.records.facts import put_value
from cinnabar.extraction.filling.records.indirect_evidence import row_region, words_behind
from cinnabar.extraction.filling.surroundings import (
    answers,
    currencies,
    dates,
    empties,
    ends,
    numbers,
    speakers,
    units,
)
from cinnabar.extraction.filling.surroundings.beside import Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.thresholds import AGREED
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.fitting import accept
from cinnabar.schemas.form.form import Form

#: The kinds in the order in which they are asked; the first that finds something decides.
KINDS: tuple[Kind, ...] = (
    *empties.EMPTIES,
    *answers.ANSWERS,
    *currencies.CURRENCIES,
    *numbers.NUMBERS,
    *units.UNITS,
    *dates.DATES,
    *ends.ENDS,
    *speakers.SPEAKERS,
)
#: Values that nobody read from the document.
_GIVEN = frozenset(("known", "fact", "default", "minimal"))


def read_surroundings(form: Form, filled: Filled, document: Document, locale: Locale) -> Filled:
    """Returns a record in which each value is what its surroundings allow, and knows their flags."""
    found = dict(_findings(form, filled, document, locale))
    if not found:
        return filled
    leaves, record = dict(filled.leaves), parse(filled.record)
    for pointer, one in found.items():
        leaf = leaves[pointer]
        text = one.value
        if text is not None and text != leaf.text:
            changed = parse(filled.record) if record is None else record
            before = parse(leaf.text) if leaf.text is not None else None
            put_value(changed, pointer, parse(text))
            if accept(form, changed) is None:
                put_value(changed, pointer, *([] if leaf.text is None else [before]))
                text = None
        leaves[pointer] = _leaf(leaf, one, text)
    fitting = accept(form, record)
    return replace(filled, leaves=leaves, record=filled.record if fitting is None else fitting)


def _findings(form: Form, filled: Filled, document: Document, locale: Locale) -> Iterator[tuple[str, Effect]]:
    for pointer, leaf in filled.leaves.items():
        if leaf.origin in _GIVEN or not 0 <= leaf.slot < len(form.slots):
            continue
        region = row_region(pointer, filled.rows, len(document.text))
        spans = words_behind(form, leaf, document.text, region)
        beside = Beside(form, pointer, leaf, document, locale, spans, region, filled.leaves)
        finding = next(filter(None, (kind(beside) for kind in KINDS)), None)
        if finding is not None and (finding.most < AGREED or finding.value != leaf.text):
            yield pointer, finding


def _leaf(leaf: Leaf, found: Effect, text: str | None) -> Leaf:
    """Returns the leaf with what was found; `text` is the value that the schema takes in its place, None to keep it."""
    flags = tuple(dict.fromkeys((*leaf.flags, found.flag)))
    if text is None or text == leaf.text:
        return replace(leaf, confidence=min(leaf.confidence, found.most), flags=flags)
    if text == "null":
        return replace(
            leaf, text=text, confidence=found.most, spans=(), origin="absent", absence=found.most, flags=flags
        )
    return replace(
        leaf,
        text=text,
        confidence=found.most,
        posterior=found.most,
        absence=0.0,
        spans=found.spans or leaf.spans,
        origin="copied" if leaf.origin == "absent" else leaf.origin,
        missing=False,
        flags=flags,
    )
