"""Reads what stands beside each value of a record, whoever read the value: one table of kinds, each with its effect.

A value whose surroundings speak against it is corrected, left out, or doubted, and has the flag of the kind that found
it: it never keeps a confidence of .9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cinnabar.engine.evidence.words_behind import row_region
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.overlay.given import Given, put
from cinnabar.extraction.filling.surroundings import (
    answers,
    columns,
    currencies,
    dates,
    descriptions,
    empties,
    ends,
    numbers,
    parties,
    units,
)
from cinnabar.extraction.filling.surroundings.beside import AGREED, Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.flags import FLAGS
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import value_at

#: The kinds in the order in which they are asked; the first that finds something decides.
KINDS: tuple[Kind, ...] = (
    *empties.EMPTIES, *columns.COLUMNS, *answers.ANSWERS, *currencies.CURRENCIES, *numbers.NUMBERS, *dates.DATES,
    *ends.ENDS, *parties.PARTIES,
)  # fmt: skip
#: Those that are asked afterwards: a sign or an end of a range leaves the number its unit.
KINDS_OF_UNITS: tuple[Kind, ...] = (*units.UNITS, *currencies.AMOUNTS)
#: Values that nobody read from the document.
_GIVEN = frozenset(("known", "fact", "default", "minimal"))


def read_surroundings(form: Form, filled: Filled, document: Document, locale: Locale) -> Filled:
    """Returns a record in which each value is what its surroundings allow, as told, and knows their flags."""
    for kinds in (KINDS, KINDS_OF_UNITS, descriptions.DESCRIBED):
        filled = _with_findings(form, filled, dict(_findings(form, filled, document, locale, kinds)))
    return filled


def _with_findings(form: Form, filled: Filled, found: Mapping[str, Effect]) -> Filled:
    """Returns the record with what was found of these values; it doubts those that its schema does not allow."""
    given = [_given(form, filled, pointer, one) for pointer, one in found.items()]
    made = put(form, filled, given)
    refused = [one.pointer for one in given if made.leaves[one.pointer] != one.leaves[one.pointer]]
    return put(form, made, [_given(form, made, at, replace(found[at], value=None)) for at in refused])


def _given(form: Form, filled: Filled, pointer: str, found: Effect) -> Given:
    leaf = filled.leaves[pointer]
    if found.value is not None and not isinstance(value_at(filled.value, pointer.rpartition("/")[0]), dict | list):
        # A value in an object that is left out has no place.
        found = replace(found, value=leaf.text)
    return Given.scalar(pointer, form.slots[leaf.slot], "beside", _leaf(leaf, found))


def _findings(
    form: Form, filled: Filled, document: Document, locale: Locale, kinds: Sequence[Kind]
) -> Iterator[tuple[str, Effect]]:
    for pointer, leaf in filled.leaves.items():
        if leaf.origin in _GIVEN or not 0 <= leaf.slot < len(form.slots):
            continue
        region = row_region(pointer, filled.rows, len(document.text))
        beside = Beside(form, pointer, leaf, document, locale, region, filled.leaves)
        finding = next(filter(None, (kind(beside) for kind in kinds)), None)
        if finding is not None and (finding.most < AGREED or finding.value != leaf.text):
            yield pointer, finding


def _leaf(leaf: Leaf, found: Effect) -> Leaf:
    """Returns the leaf with what was found."""
    text, most = found.value, min(found.most, leaf.confidence if FLAGS & {*leaf.flags} else AGREED)
    flags = tuple(dict.fromkeys((*leaf.flags, *filter(None, [found.flag]))))
    if text is None or text == leaf.text:
        spans = (text and found.spans) or leaf.spans
        return replace(leaf, confidence=min(leaf.confidence, most), spans=spans, flags=flags)
    if text == "null":
        return replace(leaf, text=text, confidence=most, spans=(), origin="absent", absence=most, flags=flags)
    return replace(
        leaf, text=text, confidence=most, posterior=most, absence=0.0, spans=found.spans or leaf.spans,
        origin="copied" if leaf.origin == "absent" else leaf.origin, missing=False, flags=flags,
    )  # fmt: skip
