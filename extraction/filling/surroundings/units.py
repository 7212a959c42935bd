"""Units and bases: what is printed with a number against what the field asks for.

A number is converted where the factor is exact (SI; the international pound and yard), and doubted where it is not.
"""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from functools import lru_cache
from pathlib import Path

from cinnabar.engine.readings.numerals import digits_to_decimals, number_in_words
from cinnabar.extraction.filling.surroundings.beside import CORRECTED, DOUBTED, Beside, Effect, Kind, label_texts
from cinnabar.extraction.filling.surroundings.flags import IN_RANGE, OTHER_BASE, OTHER_UNIT
from cinnabar.extraction.filling.surroundings.words import whole_words
from cinnabar.schemas.automata.numbers import canonical_number

# Rows of a dimension, a factor and names, the first ones exact in case; of counts; and of times that a rate is for.
_ROWS = [line.split("\t") for line in Path(__file__).with_name("units.tsv").read_text("utf-8").splitlines()]
_TABLE = {
    name: (dimension, Decimal(factor))
    for dimension, factor, *names in _ROWS
    if dimension not in ("count", "rate")
    for name in names
}
_NAMES = "|".join(map(re.escape, sorted(_TABLE, key=len, reverse=True)))
# A unit right behind a number, and one that a label or a description names: "in days", "(kg)", "weight_kg".
_BEHIND = re.compile(rf"\s?(?P<unit>{_NAMES})(?![\w²³/^])", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?:\b(?:in|en|im|measured in)\s+|[(\[]\s*(?:in\s+)?)(?P<unit>{_NAMES})(?![\w²³/^-])", re.IGNORECASE
)
# A unit in a cell or a member of its own: "850 | g", "value: 850, unit: g".
_APART = re.compile(
    rf"(?:[ \t|]+|[\s,;]*(?:unit|uom|einheit|maßeinheit|unité|unità|unidad|eenheid)\w*\s*[:=]\s*)(?P<unit>{_NAMES})"
    r"(?=\s*(?:$|\n|\||;|,)| {2,})",
    re.IGNORECASE,
)
_LAST_OF_NAME = re.compile(rf"[\s_](?P<unit>{_NAMES})$", re.IGNORECASE)
_FRACTION_ASKED = re.compile(
    r"between 0 and 1|zwischen 0 und 1|entre 0 et 1|as a (?:decimal )?fraction|\bshare of 1\b", re.I
)
_DIGITS = re.compile(r"\d[\d.,'’ \u00a0\u202f\u2009]*(?<=\d)|\d")
# Bases: "per 100 pieces", "je 1.000", "% Stück" is not one.
_COUNTS = {name: int(count) for kind, count, *names in _ROWS if kind == "count" for name in names}
_PER = re.compile(
    r"[^\n]{0,16}?(?:\b(?:per|je|pro|pour|par|por|al|les|an?(?=\s[^\W\d])|PE|preiseinheit)\b:?|/)\s*"
    rf"(?P<count>1[\d.,' ]*0(?=\s|$|\)|[^\W\d]|[.,;])|(?:{'|'.join(_COUNTS)})(?!\w))",
    re.IGNORECASE,
)
_PER_LABEL = re.compile(rf"{_PER.pattern}[^\d\n,;]*[:=][^\d\n]{{0,6}}$", re.IGNORECASE)
# A count that was read in place of its price: "per 100: 48.00".
_PER_BEFORE = re.compile(r"(?:\bper|\bje|\bpro|\bpour|\bpar|\bpor|/)\s*$", re.IGNORECASE)
_PRICE = re.compile(r"[^\W\d_ ]{0,8}\s?[^\W\d_]{0,8}\s*[:=]\s*(?:[A-Z]{3}|[^\w\s])?\s?(\d[\d.,'’]*\d|\d)")
_EACH, _MONEY = whole_words("each"), whole_words("money")
_CENTS = re.compile(r"\s?(?:ct|cts|cent|cents|¢|centimes|céntimos|centesimi|pence)(?!\w)", re.IGNORECASE)
_ASKS_CENTS = re.compile(r"\b(?:cents?|ct|pence|centimes|minor units?)\b", re.IGNORECASE)
# Words of what is told for a time: "per month", "monthly".
_RATES = {
    time: re.compile(
        rf"(?:\b(?:per|an?|each|pro|je|im|par|al|por)\s+|all'|l'|/\s?)(?:{nouns})\b|\b(?:{words})\b", re.IGNORECASE
    )
    for time, nouns, words in (row[1:] for row in _ROWS if row[0] == "rate")
}
# Statements that all amounts are in thousands or millions.
_IN = r"in (?:[A-Z]{3} |[$€£] ?)?"
_SCALES = {
    1000: rf"{_IN}(?:thousands?|tausend|tsd\.?)|in duizend(?:en)?|en milliers|in migliaia|en miles"
    r"|\bT(?:EUR|€|USD|CHF)\b|[$€£]\s?'?000s?\b|'000",
    1_000_000: rf"{_IN}(?:millions?|millionen|mio\.?|mln\.?)|en millions|in mil(?:ioni|joen(?:en)?)|en millones"
    r"|\b(?:EUR|USD|CHF|[$€£])\s?m(?:io|n|illion)?\b|^\s?(?:mln|miljoen)\b",
}
_SCALED = tuple((factor, re.compile(words, re.IGNORECASE)) for factor, words in _SCALES.items())


def _unit(one: Beside) -> Effect | None:
    """A number in another unit than the field's is converted if the factor is exact, and doubted if it is none."""
    number = _bare(one)
    if number is None:
        return None
    wanted = field_unit(one.asked.label, one.slot.description, one.slot.path)
    if wanted is None:
        return None
    printed = _printed_unit(one, wanted[0])
    if printed is None and wanted == _TABLE["%"] and 0 < abs(number) < 1:
        return Effect(OTHER_UNIT, most=DOUBTED)
    printed = _TABLE["%"] if printed is None and wanted[0] == "fraction" and number > 1 else printed
    if printed is None or printed == wanted:
        return None
    (own_kind, own), (kind, factor) = printed, wanted
    digits = _DIGITS.findall(one.printed)
    if len(digits) == 1 and number > 0:  # the unit of the field made another reading likely, as of "2,500 g"
        number = max(number, *map(Decimal, digits_to_decimals(digits[0], one.locale))) if own < factor else number
    if {own_kind, kind} == {"share", "fraction"}:
        own_kind = kind
    if own_kind != kind:
        return Effect(OTHER_UNIT, most=DOUBTED)
    return _convert(one, number, own, factor, OTHER_UNIT)


def _base(one: Beside) -> Effect | None:
    """A price for a hundred is divided where one piece is asked for; cents are those of a field that asks for none."""
    number = _bare(one)
    if number is None:
        return None
    behind = _behind(one)
    if (count := _count(one.printed)) and _PER_BEFORE.search(one.before) and (price := _PRICE.match(behind)):
        read = digits_to_decimals(price[1], one.locale)
        if read and _EACH.search(one.words):
            return _convert(one, Decimal(read[0]), Decimal(1), Decimal(count), OTHER_BASE)
        return Effect(OTHER_BASE, most=DOUBTED)
    per = _PER.match(behind) or _PER_LABEL.search(one.before)
    priced = _is_money(one.words) or _EACH.search(one.words)  # "85/100" is a score
    if per is not None and priced and (count := _count(per["count"])) and _count_asked(one.words) != count:
        if _EACH.search(one.words):
            return _convert(one, number, Decimal(1), Decimal(count), OTHER_BASE)
        return Effect(OTHER_BASE, most=DOUBTED)
    if _CENTS.match(behind) and not _ASKS_CENTS.search(one.words) and _is_money(one.words):
        return _convert(one, number, Decimal(1), Decimal(100), OTHER_BASE)
    return None


def _scale(one: Beside) -> Effect | None:
    """An amount that is printed in thousands or millions is multiplied, unless the field asks for it so."""
    number = _bare(one)
    if number is None or not _is_money(one.words):
        return None
    text, start = one.document.text, one.spans[0][0]
    for factor, words in _SCALED:
        if words.search(one.words):
            return None
        if words.search(one.before) or words.search(one.after):
            return _convert(one, number, Decimal(factor), Decimal(1), OTHER_BASE)
        if words.search(text, max(0, start - 2000), start):
            return Effect(OTHER_BASE, most=DOUBTED)
    return None


def _rate(one: Beside) -> Effect | None:
    """What is told for another time than the field's, as per month for per year, is converted or in doubt."""
    number, asked = _bare(one), _rates(one.words)
    if number is None or len(asked) != 1:
        return None
    behind = re.match(r"[^\d\n(,;.]*", _behind(one))
    told = _rates(behind[0] if behind else "") or _rates(re.split(r"[\d\t.;,|]", one.before)[-1])
    if not told or asked & told:
        return None
    if told | asked == {"month", "year"}:
        own, wanted = (12, 1) if "year" in asked else (1, 12)
        return _convert(one, number, Decimal(own), Decimal(wanted), OTHER_BASE)
    return Effect(OTHER_BASE, most=DOUBTED)


def _rates(words: str) -> frozenset[str]:
    return frozenset(time for time, pattern in _RATES.items() if pattern.search(words))


def _bare(one: Beside) -> Decimal | None:
    """Returns the number of a leaf that is just what its digits say; None for others, converted ones among them."""
    if one.slot.kind not in ("number", "integer") or not one.spans or isinstance(one.value, bool | str | None):
        return None
    digits = [match[0] for match in _DIGITS.finditer(one.printed)]
    value = Decimal(one.leaf.text or "0")
    if {OTHER_UNIT, OTHER_BASE} & {*one.leaf.flags}:
        return None
    if IN_RANGE in one.leaf.flags:
        digits = [text for text in digits if abs(value) in map(Decimal, digits_to_decimals(text, one.locale))]
    if not digits:
        return value if number_in_words(one.printed) == value else None
    if len(digits) != 1 or abs(value) not in map(Decimal, digits_to_decimals(digits[0], one.locale)):
        return None
    return value


def _behind(one: Beside) -> str:
    """Returns what stands behind the digits of a value, on its line."""
    ends = [match.end() for match in _DIGITS.finditer(one.printed)] or [len(one.printed)]
    return one.printed[ends[-1] :] + one.after


def _printed_unit(one: Beside, wanted: str) -> tuple[str, Decimal] | None:
    """Returns the unit beside a number or over its column; one in a cell of its own is of the wanted dimension."""
    behind = _BEHIND.match(_behind(one))
    if behind is not None:
        return _unit_of(behind["unit"])
    if (apart := _APART.match(one.document.text, one.spans[-1][1])) and _unit_of(apart["unit"])[0] == wanted:
        return _unit_of(apart["unit"])
    named = [*_NAMED.finditer(one.before[-60:])]
    if not named and (head := one.head()):
        named = [*_NAMED.finditer(head), *_LAST_OF_NAME.finditer(head)]
    return _unit_of(named[-1]["unit"]) if named else None


@lru_cache(maxsize=1024)
def field_unit(label: str, description: str, path: str) -> tuple[str, Decimal] | None:
    """Returns the dimension and the factor of the one unit that a field's words name; None for none or several.

    A share between 0 and 1 has the dimension "fraction".
    """
    if _FRACTION_ASKED.search(description):
        return "fraction", Decimal(100)
    found = {_unit_of(match["unit"]) for match in _LAST_OF_NAME.finditer(path.rsplit("/", 1)[-1])}
    # The name stands in brackets behind its title: a width of the name "w" is in no watts.
    for texts in ((*label_texts(label, path), description), (label,)):
        found |= {_unit_of(match["unit"]) for text in texts for match in _NAMED.finditer(text)}
        if found:
            break
    return found.pop() if len(found) == 1 else None


def _unit_of(name: str) -> tuple[str, Decimal]:
    return _TABLE.get(name) or _TABLE[name.lower()]


def _convert(one: Beside, number: Decimal, own: Decimal, wanted: Decimal, flag: str) -> Effect:
    with localcontext() as context:
        context.prec = 40
        value = number * own / wanted
        exact = value * wanted == number * own and len(value.normalize().as_tuple().digits) <= 15
    text = canonical_number(format(value.normalize(), "f")) if exact else ""
    if exact and one.slot.accepts(text.encode()):
        return Effect(flag, text, most=CORRECTED)
    return Effect(flag, most=DOUBTED)


def _count(digits: str) -> int:
    plain = re.sub(r"\D", "", str(_COUNTS.get(digits.lower(), digits)))
    return int(plain) if re.fullmatch("10+|12", plain) and digits != "12" else 0


def _count_asked(words: str) -> int:
    asked = _PER.search(words)
    return _count(asked["count"]) if asked is not None else 0


def _is_money(words: str) -> bool:
    return _MONEY.search(words) is not None


UNITS: tuple[Kind, ...] = (_unit, _base, _rate, _scale)
