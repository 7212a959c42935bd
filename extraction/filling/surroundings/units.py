"""Units and bases: what is printed with a number against what the field asks for.

A number is converted where the factor is exact (SI; the international pound and yard), and doubted where it is not.
"""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from functools import lru_cache

from cinnabar.engine.readings.numerals import digits_to_decimals, number_in_words
from cinnabar.extraction.filling.surroundings.beside import Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.flags import OTHER_BASE, OTHER_UNIT
from cinnabar.extraction.filling.surroundings.thresholds import CORRECTED, DOUBTED
from cinnabar.schemas.automata.numbers import canonical_number

# dimension|factor|names, the first ones exact in case.
_UNITS = """
mass|1000|kg|kilogram|kilograms|kilo|kilos|kilogramm|kilogramme|kilogrammes|chilogrammi|kilogramos
mass|1|g|gram|grams|gramm|gramme|grammes|grammi|gramos|gr
mass|0.001|mg|milligram|milligrams|milligramm|milligrammes
mass|1000000|t|tonne|tonnes|metric tons|metric ton|tonnen
mass|453.59237|lb|lbs|pound|pounds
mass|28.349523125|oz|ounce|ounces
length|1|m|metre|metres|meter|meters|mètre|mètres|metri|metros
length|1000|km|kilometre|kilometres|kilometer|kilometers|kilomètres|chilometri|kilómetros
length|0.01|cm|centimetre|centimetres|centimeter|centimeters|zentimeter|centimètres|centimetri|centímetros
length|0.001|mm|millimetre|millimetres|millimeter|millimeters|millimètres|millimetri|milímetros
length|0.0254|inch|inches|zoll|pouces
length|0.3048|ft|foot|feet
length|0.9144|yd|yard|yards
length|1609.344|mi|mile|miles
area|1|m²|m2|sqm|square metres|square meters|quadratmeter|mètres carrés|metros cuadrados|metri quadrati|qm
area|10000|ha|hectare|hectares|hektar|hectáreas|ettari
area|1000000|km²|km2|square kilometres|square kilometers|quadratkilometer
area|0.0001|cm²|cm2|square centimetres|square centimeters
volume|1|l|litre|litres|liter|liters|litri|litros
volume|0.001|ml|millilitre|millilitres|milliliter|milliliters
volume|0.01|cl|centilitre|centilitres|centiliter|zentiliter
volume|0.1|dl|decilitre|decilitres|deciliter|deziliter
volume|100|hl|hectolitre|hectolitres|hectoliter|hektoliter
volume|1000|m³|m3|cubic metres|cubic meters|kubikmeter|mètres cubes|metros cúbicos|metri cubi
time|1|s|sec|second|seconds|sekunde|sekunden|secondes|secondi|segundos
time|0.001|ms|millisecond|milliseconds|millisekunden
time|60|min|mins|minute|minutes|minuten|minuti|minutos
time|3600|h|hr|hrs|hour|hours|stunde|stunden|std|heure|heures|ore|horas
time|86400|d|day|days|tag|tage|tagen|jour|jours|giorni|días
time|604800|week|weeks|woche|wochen|semaine|semaines|settimane|semanas
months|1|month|months|monat|monate|monaten|mois|mesi|meses
months|12|year|years|yr|yrs|jahr|jahre|jahren|an|ans|année|années|anni|años
energy|1|wh|watt-hours
energy|1000|kwh|kilowatt-hours|kilowatt hours|kilowattstunden
energy|1000000|mwh|megawatt-hours|megawatt hours|megawattstunden
power|1|w|watt|watts
power|1000|kw|kilowatt|kilowatts
power|1000000|mw|megawatt|megawatts
data|1|mb|megabyte|megabytes
data|1000|gb|gigabyte|gigabytes
data|1000000|tb|terabyte|terabytes
share|1|%|percent|per cent|prozent|pour cent|pourcent|per cento|por ciento
share|0.1|‰|per mille|promille|per mil
"""
_TABLE = {
    name: (dimension, Decimal(factor))
    for dimension, factor, *names in (row.split("|") for row in _UNITS.strip().splitlines())
    for name in names
}
_NAMES = "|".join(map(re.escape, sorted(_TABLE, key=len, reverse=True)))
# A unit right behind a number, and one that a label or a description names: "in days", "(kg)", "weight_kg".
_BEHIND = re.compile(rf"\s?(?P<unit>{_NAMES})(?![\w²³/^])", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?:\b(?:in|en|im|measured in)\s+|[(\[]\s*(?:in\s+)?)(?P<unit>{_NAMES})(?![\w²³/^-])", re.IGNORECASE
)
_LAST_OF_NAME = re.compile(rf"[\s_](?P<unit>{_NAMES})$", re.IGNORECASE)
_FRACTION_ASKED = re.compile(
    r"between 0 and 1|zwischen 0 und 1|entre 0 et 1|as a (?:decimal )?fraction|\bshare of 1\b", re.I
)
_DIGITS = re.compile(r"\d[\d.,'’ \u00a0\u202f\u2009]*(?<=\d)|\d")
# Bases: "per 100 pieces", "je 1.000", "% Stück" is not one.
_PER = re.compile(
    r"[^\n]{0,16}?(?:\bper|\bje|\bpro|\bpour|\bpar|\bal|/)\s*(?P<count>1[\d.,' ]*0)(?=\s|$|\)|[^\W\d]|[.,;])",
    re.IGNORECASE,
)
# A count that was read in place of its price: "per 100: 48.00".
_PER_BEFORE = re.compile(r"(?:\bper|\bje|\bpro|\bpour|\bpar|\bpor|/)\s*$", re.IGNORECASE)
_PRICE = re.compile(r"[^\W\d_ ]{0,8}\s?[^\W\d_]{0,8}\s*[:=]\s*(?:[A-Z]{3}|[^\w\s])?\s?(\d[\d.,'’]*\d|\d)")
_EACH = re.compile(
    r"\b(?:per (?:piece|unit|item|article|one)|unit price|each|pro stück|je stück|stückpreis|einzelpreis|l'unité"
    r"|unitaire|per pezzo|unitario|por unidad)\b",
    re.IGNORECASE,
)
_CENTS = re.compile(r"\s?(?:ct|cts|cent|cents|¢|centimes|céntimos|centesimi|pence)(?!\w)", re.IGNORECASE)
_ASKS_CENTS = re.compile(r"\b(?:cents?|ct|pence|centimes|minor units?)\b", re.IGNORECASE)
# Statements that all amounts are in thousands or millions.
_THOUSANDS = r"in thousands?|in tausend|en milliers|in migliaia|en miles|\bT(?:EUR|€|USD|CHF)\b|[$€£]\s?'?000s?\b|'000"
_MILLIONS = (
    r"in millions?|in mio\.?|in millionen|en millions|in milioni|en millones"
    r"|\b(?:EUR|USD|CHF|[$€£])\s?m(?:io|n|illion)?\b"
)
_SCALED = ((1000, re.compile(_THOUSANDS, re.IGNORECASE)), (1_000_000, re.compile(_MILLIONS, re.IGNORECASE)))


def _unit(one: Beside) -> Effect | None:
    """A number in another unit than the field's is converted if the factor is exact, and doubted if it is none."""
    number = _bare(one)
    if number is None:
        return None
    wanted = field_unit(one.asked.label, one.slot.description, one.slot.path)
    if wanted is None:
        return None
    printed = _printed_unit(one)
    if printed is None or printed == wanted:
        return None
    (own_kind, own), (kind, factor) = printed, wanted
    if {own_kind, kind} == {"share", "fraction"}:
        own_kind = kind
    if own_kind != kind:
        return Effect(OTHER_UNIT, most=DOUBTED)
    return _converted(one, number, own, factor, OTHER_UNIT)


def _base(one: Beside) -> Effect | None:
    """A price for a hundred is divided where one piece is asked for; cents are those of a field that asks for none."""
    number = _bare(one)
    if number is None:
        return None
    behind = _behind(one)
    if (count := _count(one.printed)) and _PER_BEFORE.search(one.before) and (price := _PRICE.match(behind)):
        read = digits_to_decimals(price[1], one.locale)
        if read and _EACH.search(one.words):
            return _converted(one, Decimal(read[0]), Decimal(1), Decimal(count), OTHER_BASE)
        return Effect(OTHER_BASE, most=DOUBTED)
    per = _PER.match(behind)
    if per is not None and (count := _count(per["count"])) and _count_asked(one.words) != count:
        if _EACH.search(one.words):
            return _converted(one, number, Decimal(1), Decimal(count), OTHER_BASE)
        return Effect(OTHER_BASE, most=DOUBTED)
    if _CENTS.match(behind) and not _ASKS_CENTS.search(one.words) and _is_money(one.words):
        return _converted(one, number, Decimal(1), Decimal(100), OTHER_BASE)
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
            return _converted(one, number, Decimal(factor), Decimal(1), OTHER_BASE)
        if words.search(text, max(0, start - 2000), start):
            return Effect(OTHER_BASE, most=DOUBTED)
    return None


def _bare(one: Beside) -> Decimal | None:
    """Returns the number of a leaf that is just what its digits say; None for others, converted ones among them."""
    if one.slot.kind not in ("number", "integer") or not one.spans or isinstance(one.value, bool | str | None):
        return None
    digits = [match[0] for match in _DIGITS.finditer(one.printed)]
    value = Decimal(one.leaf.text or "0")
    if not digits:
        return value if number_in_words(one.printed) == value else None
    if len(digits) != 1 or abs(value) not in map(Decimal, digits_to_decimals(digits[0], one.locale)):
        return None
    return value


def _behind(one: Beside) -> str:
    """Returns what stands behind the digits of a value, on its line."""
    ends = [match.end() for match in _DIGITS.finditer(one.printed)] or [len(one.printed)]
    return one.printed[ends[-1] :] + one.after


def _printed_unit(one: Beside) -> tuple[str, Decimal] | None:
    behind = _BEHIND.match(_behind(one))
    if behind is not None:
        return _unit_of(behind["unit"])
    named = [*_NAMED.finditer(one.before[-60:])]
    return _unit_of(named[-1]["unit"]) if named else None


@lru_cache(maxsize=1024)
def field_unit(label: str, description: str, path: str) -> tuple[str, Decimal] | None:
    """Returns the dimension and the factor of the one unit that a field's words name; None for none or several.

    A share between 0 and 1 has the dimension "fraction".
    """
    if _FRACTION_ASKED.search(description):
        return "fraction", Decimal(100)
    texts = (label, description)
    found = {_unit_of(match["unit"]) for text in texts for match in _NAMED.finditer(text)}
    found |= {_unit_of(match["unit"]) for match in _LAST_OF_NAME.finditer(path.rsplit("/", 1)[-1])}
    return found.pop() if len(found) == 1 else None


def _unit_of(name: str) -> tuple[str, Decimal]:
    return _TABLE.get(name) or _TABLE[name.lower()]


def _converted(one: Beside, number: Decimal, own: Decimal, wanted: Decimal, flag: str) -> Effect:
    with localcontext() as context:
        context.prec = 40
        value = number * own / wanted
        exact = value * wanted == number * own and len(value.normalize().as_tuple().digits) <= 15
    text = canonical_number(format(value.normalize(), "f")) if exact else ""
    if exact and one.slot.accepts(text.encode()):
        return Effect(flag, text, most=CORRECTED)
    return Effect(flag, most=DOUBTED)


def _count(digits: str) -> int:
    plain = re.sub(r"\D", "", digits)
    return int(plain) if plain and set(plain[1:]) == {"0"} and plain[0] == "1" else 0


def _count_asked(words: str) -> int:
    asked = _PER.search(words)
    return _count(asked["count"]) if asked is not None else 0


_MONEY = re.compile(
    r"\b(?:price|amount|total|sum|cost|fee|revenue|profit|sales|turnover|income|balance|preis|betrag|summe|kosten|umsatz"
    r"|gewinn|prix|montant|coût|chiffre d'affaires|importo|prezzo|precio|importe|euros?|dollars?|eur|usd)\b",
    re.IGNORECASE,
)


def _is_money(words: str) -> bool:
    return _MONEY.search(words) is not None


UNITS: tuple[Kind, ...] = (_unit, _base, _scale)
