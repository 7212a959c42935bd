"""Values whose words mean others in another locale that is possible: a date, an amount."""

from __future__ import annotations

import re
from dataclasses import replace

from cinnabar.engine.readings.digits import ascii_digits
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import json_readings
from cinnabar.engine.request import Leaf
from cinnabar.extraction.documents.content.document import Evidence
from cinnabar.extraction.store.records import AMBIGUOUS_DATE
from cinnabar.schemas.form.form import Form

#: The flag of an amount whose point and comma may mean either.
AMBIGUOUS_NUMBER = "ambiguous_number"
# Words that may mean two values: "03/04", "1.234".
_MAYBE = re.compile(r"\d\s?[./\s-]\s?\d{1,2}(?!\d)|\d[.,]\d{3}(?!\d)")


def ambiguities(form: Form, leaf: Leaf, evidence: Evidence | None, locale: Locale) -> tuple[str, ...]:
    """Returns the flags of a leaf whose words mean other values in another locale that is possible."""
    words = "" if evidence is None else ascii_digits(evidence.text)
    if not 0 <= leaf.slot < len(form.slots) or not _MAYBE.search(words):
        return ()
    slot, value = form.slots[leaf.slot], (leaf.text or "").encode()
    if slot.day_first is not None:
        locale = replace(locale, day_first=slot.day_first)
    flags = []
    for convention, flag in (("day_first", AMBIGUOUS_DATE), ("decimal_comma", AMBIGUOUS_NUMBER)):
        if getattr(locale, convention) is None:
            known = (replace(locale, **{convention: way}) for way in (True, False))
            read = [next(filter(slot.accepts, json_readings(words, one)), None) for one in known]
            flags += [flag] if value in read and read[0] != read[1] else []
    return tuple(flags)
