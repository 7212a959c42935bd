#!/usr/bin/env python3
"""Writes engine/readings/names/: the names of Unicode CLDR that documents are read with, taken from Babel.

    .venv/bin/python scripts/cldr_names.py [FOLDER]

The files are made ahead because Babel takes 7 s and 400 MB to go through its 1,082 locales; the files take 30 ms and
4 MB. Each holds one row for each key, sorted by bytes: the key (NFKC, case folded), a tab, and its meanings.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import babel
from babel.core import get_cldr_version, get_global
from babel.localedata import locale_identifiers

from cinnabar.engine.readings.cldr import exact_key, loose_key

FOLDER = Path(__file__).resolve().parents[1] / "engine" / "readings" / "names"

#: For each key the number of locales that have each meaning.
Uses = dict[str, Counter[str]]

# It exceeds the number of locales, so such a meaning comes before every other.
FIRST = 10_000
# Codes of three letters that CLDR keeps beside a country's present one: Burma, Zaire, the GDR, ...
RETIRED = {"BUR", "ZAR", "DDR", "FXX", "TMP", "YMD"}
# Codes that ISO 3166-1 reserves or leaves to users and that are no countries; XK, of Kosovo, is in use.
NO_COUNTRIES = {"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"}
# Codes that are no money: metals (their names are ordinary words), units between banks, tests, and none at all.
_NO_CURRENCIES = "XAG XAU XPD XPT XBA XBB XBC XBD XFO XFU XRE XSU XTS XUA XXX"
NO_CURRENCIES = frozenset(_NO_CURRENCIES.split())
# ISO 639-2 of the languages for which CLDR lists several codes of three letters (macrolanguages and their
# parts). Some have two: "deu", of the language's own name, and "ger", of the English one.
_TWO_AND_THREE = """
ak=aka ar=ara ay=aym az=aze bo=bod/tib cr=cre cs=ces/cze cy=cym/wel de=deu/ger el=ell/gre et=est eu=eus/baq
fa=fas/per ff=ful fr=fra/fre gn=grn he=heb hy=hye/arm id=ind ik=ipk is=isl/ice iu=iku ka=kat/geo kg=kon ku=kur
kv=kom lv=lav mg=mlg mi=mri/mao mk=mkd/mac mn=mon ms=msa/may my=mya/bur nb=nob nl=nld/dut no=nor oj=oji om=orm
or=ori ps=pus qu=que ro=ron/rum sa=san sc=srd sk=slk/slo sq=sqi/alb sw=swa uz=uzb yi=yid za=zha zh=zho/chi
"""
ISO_639_2 = {part[:2]: part[3:].split("/") for part in _TWO_AND_THREE.split()}
# Articles and prepositions before a month; the grammar of dates reads them by itself.
MONTH_PREFIX = re.compile(r"^(?:de |di |d['’ʼ])(?=\w{3})")
# Words of the grammar of dates: a month or weekday of such a name would take the word from the grammar.
_GRAMMAR = """of de di del den le the in year day st nd rd th er ère first second third fourth fifth sixth
seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth
nineteenth twentieth thirtieth twenty thirty"""
GRAMMAR = frozenset(_GRAMMAR.split())


def locales() -> Iterator[babel.Locale]:
    for name in sorted(locale_identifiers()):
        # Locales invented for testing software, and Babel's modifiers, add no names.
        if "@" not in name:
            yield babel.Locale.parse(name)


def letters(name: str) -> int:
    return sum(c.isalpha() for c in name)


def cased(name: str) -> bool:
    return any(c.lower() != c.upper() for c in name)


def is_long_enough(name: str) -> bool:
    """Whether a name has three letters, or two in a script without case, in which a letter says more."""
    return letters(name) >= (3 if cased(name) else 2)


def clean(name: str) -> str:
    """The name with single blanks, folded to a key."""
    return exact_key(" ".join(name.split()))


def is_whole(locale: babel.Locale) -> bool:
    """Whether CLDR names a hundred currencies in this language, which shows that its data are complete.

    Months of the other languages were cut to three letters that are ordinary words ("was", "can", "way").
    """
    return len(locale._data["currency_names"]) >= 100


def month_rows(known_locales: list[babel.Locale]) -> Iterator[str]:
    """For each key its months (the one of more languages first) and the decimal mark of most of its locales."""
    uses: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    marks: Uses = defaultdict(Counter)
    for locale in known_locales:
        for context in locale._data["months"].values():
            for width, names in context.items():
                if width == "narrow" or (width == "abbreviated" and not is_whole(locale)):
                    continue
                for month, name in names.items():
                    key = MONTH_PREFIX.sub("", clean(name).rstrip("."))
                    # A month with a digit is a word and a number, which the grammar reads.
                    if any(map(str.isdigit, key)) or key in GRAMMAR:
                        continue
                    if not is_long_enough(key) or (width == "abbreviated" and letters(key) < 3):
                        continue
                    uses[key][month].add(locale.language)
                    marks[key][decimal_mark(locale)] += 1
    for key, months in uses.items():
        ordered = sorted(months, key=lambda month: (-len(months[month]), month))
        # A tie goes to the comma: languages without numbers in CLDR have the point by default.
        mark = "," if marks[key][","] >= marks[key]["."] else "."
        yield f"{key}\t{'|'.join(map(str, ordered))}\t{mark}"


def decimal_mark(locale: babel.Locale) -> str:
    return "," if locale.number_symbols.get("latn", {}).get("decimal") == "," else "."


def weekday_rows(known_locales: list[babel.Locale]) -> Iterator[str]:
    """Whole names only: a date is found without its weekday, and a short form may be any word before the date."""
    keys = set()
    for locale in known_locales:
        for context in locale._data["days"].values():
            keys |= {clean(name) for name in context.get("wide", {}).values()}
    return (k for k in keys if letters(k) >= 4 and k not in GRAMMAR and not any(map(str.isdigit, k)))


def countries(known_locales: list[babel.Locale]) -> tuple[Uses, dict[str, str]]:
    """The names of the countries, and the meaning of each: its two codes; a code means its English name too."""
    long = {
        two[0]: three
        for three, two in get_global("territory_aliases").items()
        if len(three) == 3 and three.isalpha() and len(two) == 1 and three not in RETIRED
    }
    english = babel.Locale("en").territories
    long = {two: three for two, three in long.items() if two in english and two not in NO_COUNTRIES}
    uses = named(known_locales, "territories", lambda code: code in long)
    meanings = {two: f"{two}|{three}" for two, three in long.items()}
    for two, three in long.items():
        for code in (two, three):
            # The code comes before a name elsewhere: "nga" is Nigeria's code, and Russia in Vietnamese.
            uses[code.lower()][f"{two}|{three}|{english[two]}"] = FIRST
    return uses, meanings


def languages(known_locales: list[babel.Locale]) -> tuple[Uses, dict[str, str]]:
    long: dict[str, list[str]] = defaultdict(list)
    for three, code in get_global("language_aliases").items():
        if len(three) == 3 and len(code) == 2:
            long[code].append(three)
    english = babel.Locale("en").languages
    known = {code for code in english if "_" not in code and len(code) in (2, 3)} - {"mul", "und", "zxx", "mis"}
    uses = named(known_locales, "languages", lambda code: code in known)
    codes = {code: [code, *ISO_639_2.get(code, sorted(long[code])[:1])] for code in known}
    meanings = {code: "|".join(forms) for code, forms in codes.items()}
    for code, forms in codes.items():
        # A code of three letters for a language without one of two ("car", "sad") is more often a word.
        for key in forms if len(code) == 2 else ():
            uses[key][f"{meanings[code]}|{english[code]}"] = FIRST
    return uses, meanings


def named(known_locales: list[babel.Locale], table: str, wanted: Callable[[str], bool]) -> Uses:
    uses: Uses = defaultdict(Counter)
    for locale in known_locales:
        for code, name in locale._data[table].items():
            key = clean(name)
            # A name equal to the code adds nothing.
            if wanted(code) and is_long_enough(key) and key != code.lower():
                uses[key][code] += 1
    return uses


def currency_codes() -> set[str]:
    return set(babel.Locale("en").currencies) - NO_CURRENCIES


def currencies(known_locales: list[babel.Locale]) -> tuple[Uses, Uses]:
    """The names of currencies in the singular and in the plural, and their signs."""
    uses: Uses = defaultdict(Counter)
    signs: Uses = defaultdict(Counter)
    codes = currency_codes()
    for locale in known_locales:
        names = [*locale._data["currency_names"].items()]
        for code, forms in locale._data["currency_names_plural"].items():
            names += [(code, form) for form in forms.values()]
        for code, name in names:
            key = clean(name)
            # "(1948-1973)" tells currencies of one name apart in a list; no bill prints it.
            if code in codes and not re.search(r"[\d(]", key) and is_long_enough(key) and key != code.lower():
                uses[key][code] += 1
        for code, sign in locale._data["currency_symbols"].items():
            sign = " ".join("".join(c for c in sign if unicodedata.category(c) != "Cf").split())
            # A single letter ("L", "R", "K") is more often something else, and a code is no sign.
            if code in codes and sign and sign not in codes and "¤" not in sign:
                if letters(sign) == len(sign) == 1 and cased(sign):
                    continue
                signs[sign][code] += 1
    return uses, signs


def rows(uses: Uses, meanings: dict[str, str]) -> Iterator[str]:
    """A row for each key, the meaning of most locales first. Keys without accents are added; a bar ends their rows."""
    loose: Uses = defaultdict(Counter)
    for key, codes in uses.items():
        if loose_key(key) not in uses:
            loose[loose_key(key)].update(codes)
        yield f"{key}\t{joined(codes, meanings)}"
    for key, codes in loose.items():
        yield f"{key}\t{joined(codes, meanings)}|"


def joined(codes: Counter[str], meanings: dict[str, str]) -> str:
    ordered = sorted(codes, key=lambda code: (-codes[code], code))
    return "|".join(dict.fromkeys("|".join(meanings.get(code, code) for code in ordered).split("|")))


def files() -> dict[str, bytes]:
    """The contents of each file, uncompressed, by its name."""
    known_locales = list(locales())
    names, signs = currencies(known_locales)
    made = {
        "months.tsv": month_rows(known_locales),
        "weekdays.tsv": weekday_rows(known_locales),
        "countries.tsv.gz": rows(*countries(known_locales)),
        "languages.tsv.gz": rows(*languages(known_locales)),
        "currencies.tsv.gz": rows(names, {}),
        "currency_codes.tsv": currency_codes(),
        "signs.tsv": (f"{sign}\t{joined(codes, {})}" for sign, codes in signs.items()),
    }
    return {name: table(lines) for name, lines in made.items()} | {"VERSION": version().encode()}


def table(lines: Iterable[str]) -> bytes:
    return b"".join(sorted(line.encode() + b"\n" for line in lines))


def version() -> str:
    return f"Unicode CLDR {get_cldr_version()}, by Babel {babel.__version__}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the names of Unicode CLDR.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files().items():
        # The header has no time, so the same names give the same file.
        packed = gzip.compress(data, 9, mtime=0) if name.endswith(".gz") else data
        (folder / name).write_bytes(packed)
        print(f"{name}: {len(packed):,} bytes", file=sys.stderr)
    # Everyone who passes the data on must pass on their licence.
    licence = Path(babel.__file__).parent / "locale-data" / "LICENSE.unicode"
    shutil.copyfile(licence, folder / "LICENSE.unicode")


if __name__ == "__main__":
    main()
