"""Currencies: the code or name that a document states counts before a sign that several currencies share."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from cinnabar.engine.readings.codes import CURRENCY_CODES, currencies_of, names_of
from cinnabar.extraction.filling.surroundings.beside import Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.flags import STATED
from cinnabar.extraction.filling.surroundings.thresholds import CORRECTED, CURRENCY_NAME, DOUBTED

_SIGN = re.compile(r"[^\w\s.,'()+\-−–/:*]+|\b(?:kr|Rs|R)\b")

# A code that ends the amount whose sign was read.
_CODE_BESIDE = re.compile(r"[\d.,'’ ]*\(?([A-Z]{3})(?=\s*(?:$|[,;.)|\t]|  ))")


def _currency(one: Beside) -> Effect | None:
    """A shared sign is the one of its currencies that the document states; of several it is in doubt."""
    if one.value not in CURRENCY_CODES or not one.spans or one.value in one.printed:
        return None
    beside = _CODE_BESIDE.match(one.after)
    if beside is not None and beside[1] in CURRENCY_CODES and beside[1] != one.value:
        end = one.spans[-1][1]
        return Effect(STATED, json.dumps(beside[1]), ((end + beside.start(1), end + beside.end(1)),), CORRECTED)
    sign = _SIGN.search(one.printed)
    shared = currencies_of(sign[0]) if sign is not None else ()
    if one.value not in shared or len(shared) < 2:
        return None
    found = {code: _pattern(code, sign[0]).search(one.document.text) for code in shared}  # type: ignore[index]
    stated = {code: place.span() for code, place in found.items() if place is not None}
    own = stated.pop(one.value, None)
    # "dollars" within "Canadian dollars" states nothing of its own.
    if not stated or (own is not None and not any(a <= own[0] and own[1] <= b for a, b in stated.values())):
        return None
    if len(stated) > 1:
        return Effect(STATED, most=DOUBTED)
    ((code, place),) = stated.items()
    return Effect(STATED, json.dumps(code), (place,), CORRECTED)


@lru_cache(maxsize=256)
def _pattern(code: str, sign: str) -> re.Pattern[str]:
    names = [name for name in names_of(code) if name != sign and len(name) >= CURRENCY_NAME]
    worded = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{code}|(?i:{worded or code}))(?!\w)")


CURRENCIES: tuple[Kind, ...] = (_currency,)
