"""Values whose words leave a doubt: they mean two values, or print a minus that the value lacks."""

from __future__ import annotations

import re
from dataclasses import replace

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import around, json_readings
from cinnabar.engine.readings.unsigned import asks_unsigned
from cinnabar.engine.request import Leaf
from cinnabar.extraction.documents.content.document import Evidence
from cinnabar.extraction.store.records import AMBIGUOUS_DATE
from cinnabar.schemas.form.form import Form

#: The flag of such an amount.
AMBIGUOUS_NUMBER = "ambiguous_number"
#: The most confidence of such a value: the likelier reading is right in about half of them.
MOST = 0.5
# Words that may mean two values: "03/04", "1.234".
_MAYBE = re.compile(r"\d\s?[./\s-]\s?\d{1,2}(?!\d)|\d[.,]\d{3}(?!\d)")


def ambiguities(form: Form, leaf: Leaf, evidence: Evidence | None, locale: Locale) -> tuple[str, ...]:
    """Returns the flags of a leaf whose words mean other values in another locale that is possible."""
    if evidence is None or not 0 <= leaf.slot < len(form.slots) or not _MAYBE.search(evidence.text):
        return ()
    slot, value = form.slots[leaf.slot], (leaf.text or "").encode()
    if slot.day_first is not None:
        locale = replace(locale, day_first=slot.day_first)

    flags = []
    for convention, flag in (("day_first", AMBIGUOUS_DATE), ("decimal_comma", AMBIGUOUS_NUMBER)):
        if getattr(locale, convention) is None:
            known = (replace(locale, **{convention: way}) for way in (True, False))
            read = [next(filter(slot.accepts, json_readings(evidence.text, one)), None) for one in known]
            flags += [flag] if value in read and read[0] != read[1] else []
    return tuple(flags)


#: The flag of such a value. A schema with `minimum: 0` allows no other, and the model may misread one.
SIGN_DROPPED = "sign_dropped"
#: The characters on each side of a number that may make it negative, and those of them that do.
_BESIDE, _MARKS = 8, frozenset("-−–()DR")


def drops_sign(form: Form, leaf: Leaf, evidence: Evidence | None, text: str, locale: Locale) -> bool:
    """Returns whether a leaf is a positive number that the document prints as a negative one.

    A description that asks for numbers without their sign is obeyed, and that drops none.
    """
    if evidence is None or not 0 <= leaf.slot < len(form.slots) or leaf.origin in ("known", "fact"):
        return False
    slot, value = form.slots[leaf.slot], leaf.text or ""
    if slot.kind not in ("number", "integer") or not value[:1].isdigit() or asks_unsigned(slot.description):
        return False
    start, end = evidence.spans[0].start, evidence.spans[-1].end
    if not _MARKS & {*text[max(0, start - _BESIDE) : end + _BESIDE]}:
        return False
    read = json_readings(evidence.text, locale, *around(text, start, end))
    first = next((reading for reading in read if reading[:1].isdigit() or reading[:1] == b"-"), b"")
    return first == b"-" + value.encode()
