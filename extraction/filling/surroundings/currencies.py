"""Currencies: the code or name that a document states counts before a sign that several currencies share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from cinnabar.engine.readings.codes import CURRENCY_CODES, CURRENCY_SIGNS, currencies_of, names_of
from cinnabar.extraction.filling.surroundings.beside import CORRECTED, DOUBTED, Beside, Effect, Kind, Span
from cinnabar.extraction.filling.surroundings.flags import OTHER_UNIT, STATED

#: The fewest letters of a currency's name that tells it alone ("yen" and "real" are words too).
CURRENCY_NAME = 4

_SIGN = re.compile(r"[^\w\s.,'()+\-−–/:*]+|\b(?:kr|Rs|R)\b")

# A code right behind a label, the letters before a sign, codes beside a number.
_CODE_BEHIND = re.compile(r"(?: code)?\s*[:=|\t ]\s*([A-Z]{3})(?=\s*(?:$|[,;.)|\t]|  ))", re.MULTILINE)
_LETTERS = re.compile(r"(?<!\w)[A-Z]{1,3}$")
_IS_CURRENCY = re.compile(r"\b(?:currenc|währung|devise|monnaie|valuta|moneda|divisa|munteenheid)", re.IGNORECASE)
_CODE_BEFORE, _CODE_BEHIND_NUMBER = re.compile(r"(?<![^\W_])[A-Z]{3}\s?$"), re.compile(r"\s?[A-Z]{3}(?![^\W_])")
_CURRENCY_SIGN = re.compile(f"[{CURRENCY_SIGNS}]")
_IN_CURRENCY = re.compile(r"\b(?:in|en)\s+([^\W\d_]+(?: [^\W\d_]+){0,2})")
# A code that ends the amount whose sign was read.
_CODE_BESIDE = re.compile(r"[\d.,'’ ]*\(?([A-Z]{3})(?=\s*(?:$|[,;.)|\t]|  ))")


def _currency(one: Beside) -> Effect | None:
    """A shared sign is the one of its currencies that the document states; of several it is in doubt."""
    if (one.value not in CURRENCY_CODES and one.value is not None) or str(one.value) in one.printed:
        return None
    labelled = dict(_codes_behind_label(one)) if one.value or _IS_CURRENCY.search(one.words) else {}
    if len(labelled) == 1 and one.value not in labelled:
        ((told, at),) = labelled.items()
        allowed = one.slot.accepts(json.dumps(told).encode())
        return Effect(STATED, json.dumps(told) if allowed else None, (at,), CORRECTED if allowed else DOUBTED)
    if one.value is None or not one.spans:
        return None
    beside = _CODE_BESIDE.match(one.after)
    own = _code_of(beside[1]) if beside is not None else None
    if beside is not None and own not in (None, one.value):
        end = one.spans[-1][1]
        return Effect(STATED, json.dumps(own), ((end + beside.start(1), end + beside.end(1)),), CORRECTED)
    sign = _SIGN.search(one.printed)
    letters = _LETTERS.search(one.before + (one.printed[: sign.start()] if sign is not None else ""))
    if sign is not None and letters is not None and (own := _code_of(letters[0] + sign[0])) not in (None, one.value):
        return Effect(STATED, json.dumps(own), one.spans, CORRECTED)
    shared = currencies_of(sign[0]) if sign is not None else ()
    if one.value not in shared or len(shared) < 2:
        return None
    found = {code: _pattern(code, sign[0]).search(one.document.text) for code in shared}  # type: ignore[index]
    stated = {code: place.span() for code, place in found.items() if place is not None}
    # "dollars" within "Canadian dollars" states nothing of its own.
    longer = {
        at for at in stated.values() if not any(at != b and b[0] <= at[0] and at[1] <= b[1] for b in stated.values())
    }
    stated = {code: at for code, at in stated.items() if at in longer}
    if not stated or one.value in stated:
        return None
    if len(stated) > 1:
        return Effect(STATED, most=DOUBTED)
    ((code, place),) = stated.items()
    return Effect(STATED, json.dumps(code), (place,), CORRECTED)


def _codes_behind_label(one: Beside) -> Iterator[tuple[str, Span]]:
    """Yields the codes right behind the field's label, or below it in a table."""
    text = one.document.text
    for start, end in one.labels():
        behind = _CODE_BEHIND.match(text, end)
        cell = behind.span(1) if behind is not None else one.below(start, end)
        if cell is not None and text[slice(*cell)] in CURRENCY_CODES:
            yield text[slice(*cell)], cell


def _code_of(text: str) -> str | None:
    """Returns the one currency of a code or of letters with a sign, None for others."""
    found = (text,) if text in CURRENCY_CODES else currencies_of(text)
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=256)
def _pattern(code: str, sign: str) -> re.Pattern[str]:
    names = [name for name in names_of(code) if name != sign and len(name) >= CURRENCY_NAME]
    worded = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    # German declines the first word: "in kanadischen Dollar".
    worded = re.sub(r"(?<=sch)e[rnms]?(?=\\ )", "e[rnms]?", worded)
    return re.compile(rf"(?<!\w)(?:{code}|(?i:{worded or code}))(?!\w)")


def _amount(one: Beside) -> Effect | None:
    """An amount that is printed with another currency than its field's words name is in doubt."""
    if one.slot.kind not in ("number", "integer") or not one.spans:
        return None
    near = (_CODE_BEFORE.search(one.before), _CODE_BEHIND_NUMBER.match(one.after))
    told = {code[0].strip() for code in near if code is not None and code[0].strip() in CURRENCY_CODES}
    signs = _CURRENCY_SIGN.findall(f"{one.before[-2:]}{one.printed}{one.after[:2]}")
    told = told or {code for sign in signs for code in currencies_of(sign)}
    words = [match[1].split() for match in _IN_CURRENCY.finditer(f"{one.asked.label} {one.slot.description}")]
    asked = {_code_of(" ".join(name[:count])) for name in words for count in (3, 2, 1)} - {None}
    return Effect(OTHER_UNIT, most=DOUBTED) if told and asked and not asked & told else None


CURRENCIES: tuple[Kind, ...] = (_currency,)
AMOUNTS: tuple[Kind, ...] = (_amount,)
