"""Names with a code: currencies (ISO 4217), countries (ISO 3166-1), languages (ISO 639), states of the US (USPS).

CLDR has these names in all of its languages; `codes.tsv` takes precedence over it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path

from cinnabar.engine.readings.cldr import exact_key, loose_key, name_table, rows_of

#: In running text a shorter name is more often another word.
SHORTEST_NAME = 4
#: The longest name in CLDR has 103 characters.
LONGEST_NAME = 120
# Rows of a kind, a code and names. Currencies have names that documents print and CLDR lacks or gives to several
# ("dollar", "rs", "stg"), and signs of several with the likeliest first. Countries have both codes, and names in
# English, German and French: a code is read as the first one, and all take precedence over other meanings of a word;
# CLDR has official and old names ("UK", "PRC", "Burma") in no language or in few. Former names stand in older
# documents. States have clipped forms.
_ROWS = [line.split("\t") for line in Path(__file__).with_name("codes.tsv").read_text("utf-8").splitlines()]
# Countries and how long their account numbers (IBAN) are, from the registry of ISO 13616.
_ACCOUNTS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
#: The characters of an account number, by its country.
ACCOUNT_LENGTHS = {row[:2]: int(row[2:]) for row in _ACCOUNTS.split()}
# Groups of an account number on one line, and the characters in which its next line is looked for.
_GROUPS, _NEAR = re.compile(r"[A-Z0-9]+(?:[ \u00a0.-]{1,3}[A-Z0-9]+)*"), 300


def account_at(text: str, start: int = 0) -> tuple[int, str] | None:
    """Returns the end and the characters of the IBAN at this character, by its length and its check digits.

    It may go on in the next line, also in a column of it.
    """
    length = ACCOUNT_LENGTHS.get(text[start : start + 2], 0)
    head = _GROUPS.match(text, start, start + _NEAR) if length else None
    if head is None:
        return None
    begun = re.sub(r"[^A-Z0-9]", "", head[0])
    if len(begun) >= length:
        ends = [head]
    else:
        line = text.find("\n", head.end(), start + _NEAR) + 1
        ends = list(islice(_GROUPS.finditer(text, line, line + _NEAR), 4)) if line else []
        ends = [one for one in ends if "\n" not in text[line : one.start()]]
    for one in ends:
        taken = "" if one is head else begun
        places = [at for at in range(*one.span()) if text[at].isalnum()][: length - len(taken)]
        taken, end = taken + "".join(text[at] for at in places), places[-1] + 1
        digits = "".join(str(int(sign, 36)) for sign in taken[4:] + taken[:4])
        if len(taken) == length and int(digits) % 97 == 1 and not text[end : end + 1].isalnum():
            return end, taken
    return None


def _rows(kind: str) -> list[list[str]]:
    return [row[1:] for row in _ROWS if row[0] == kind]


def _tables() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Returns (name in lower case -> its codes and full names, value -> its names)."""
    values: dict[str, dict[str, None]] = {}
    names: dict[str, dict[str, None]] = {}

    def link(name: str, *targets: str) -> None:
        for target in targets:
            if target != name:
                values.setdefault(name.lower(), {})[target] = None
                names.setdefault(target, {})[name] = None

    for code, *words in _rows("currency"):
        for word in words:
            link(word, code)
    for two, three, *words in _rows("country"):
        for word in words:
            link(word, two, three)
        link(two, three, words[0])
        link(three, two, words[0])
    for two, three, *words in _rows("former"):
        for word in words:
            link(word, two, three)
    for code, name, *short in _rows("state"):
        link(name, code)
        for word in short:
            link(word, code, name)
            link(word.rstrip("."), code, name)
        link(code, name)
    return {k: tuple(v) for k, v in values.items()}, {k: tuple(v) for k, v in names.items()}


_VALUES, _NAMES = _tables()
_OWN_CURRENCIES = frozenset(row[0] for row in _rows("currency"))
_SIGNS = {sign: tuple(codes.split("|")) for sign, codes in rows_of("signs.tsv")}
CURRENCY_CODES = _OWN_CURRENCIES | {code for (code,) in rows_of("currency_codes.tsv")}
#: The signs of one character that Unicode classes as currency symbols.
CURRENCY_SIGNS = "€$£¥₹₩₽₴₺₪₫฿₱₦₡₢₣₤₥₧₨₭₮₯₰₲₳₵₸₼₾₿৳៛؋֏﷼"
_TABLES = ("countries.tsv.gz", "languages.tsv.gz")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"[A-Z]{2,3}|[a-z]{2,3}")
_STATE_CODES = frozenset(row[0] for row in _rows("state"))


def codes_of(name: str) -> tuple[str, ...]:
    """Returns the codes and the full names of a name or a code, in any case.

    Our own table comes first, then currencies, countries and languages of CLDR.
    """
    return _codes_of(name) if len(name) <= LONGEST_NAME else ()


@lru_cache(maxsize=8192)
def _codes_of(name: str) -> tuple[str, ...]:
    found = [*currencies_of(name), *(meaning for table in _TABLES for meaning in _meanings(table, name))]
    return tuple(dict.fromkeys((*_VALUES.get(name.lower(), ()), *(code for code in found if code != name))))


@lru_cache(maxsize=8192)
def currencies_of(name: str) -> tuple[str, ...]:
    """Returns the codes of the currencies of a name or a sign, the likelier first.

    Case counts for signs: "KM" is the mark of Bosnia, and "km" is not.
    """
    own = (code for code in _VALUES.get(name.lower(), ()) if code in _OWN_CURRENCIES)
    return tuple(dict.fromkeys((*own, *_SIGNS.get(name, ()), *_meanings("currencies.tsv.gz", name))))


def _meanings(table: str, name: str) -> tuple[str, ...]:
    if _DIGIT.search(name):
        # No name has a digit, but most spans do.
        return ()
    key = exact_key(" ".join(name.split()))
    meanings = name_table(table).meanings(key)
    bare = loose_key(key)
    return meanings or (name_table(table).meanings(bare) if bare != key else ())


@lru_cache(maxsize=8192)
def code_kinds(code: str) -> frozenset[str]:
    """Returns the kinds of names that have this code, empty for other texts: "currency", "state", and countries and
    languages by the letters of their codes ("country 2", "language 3").
    """
    if not _CODE.fullmatch(code):
        return frozenset()
    kinds = {"currency"} if code in CURRENCY_CODES else set()
    if code in _STATE_CODES:
        kinds.add("state")
    for table, kind in zip(_TABLES, ("country", "language"), strict=True):
        if code in _codes_in(table, code):
            kinds.add(f"{kind} {len(code)}")
    return frozenset(kinds)


def _codes_in(table: str, code: str) -> list[str]:
    """Returns the codes, in their own case, in a code's row of a table."""
    # The row begins with its codes; the name after them has both capitals and small letters.
    return list(takewhile(lambda word: word.isupper() or word.islower(), name_table(table).meanings(code.lower())))


@lru_cache(maxsize=1024)
def names_of(value: str) -> tuple[str, ...]:
    """Returns the names that `codes_of` reads as this code or full name, for a search in running text.

    CLDR adds its unambiguous names of four letters and more, and its unambiguous signs of one character.
    """
    names = dict.fromkeys(_NAMES.get(value, ()))
    if not _CODE.fullmatch(value):
        return tuple(names)
    names |= dict.fromkeys(s for s, codes in _SIGNS.items() if codes == (value,) and s in CURRENCY_SIGNS)
    keys = list(name_table("currencies.tsv.gz").keys_of(value))
    for table in _TABLES:
        codes = _codes_in(table, value)
        if value in codes:
            keys += name_table(table).keys_of("|".join(codes))
    known = {name.lower() for name in names}
    names |= dict.fromkeys(key for key in keys if sum(map(str.isalpha, key)) >= SHORTEST_NAME and key not in known)
    return tuple(names)
