"""The names of CLDR: they are read in every language, and ordinary words are left alone."""

from __future__ import annotations

import gzip
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cases import each

from cinnabar.engine.readings.cldr import NAMES_FOLDER, exact_key, loose_key, mark_names, months_of, name_table
from cinnabar.engine.readings.codes import CURRENCY_CODES, code_kinds, codes_of, currencies_of, names_of
from cinnabar.engine.readings.dates import dates_in
from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.readings.readings import readings
from cinnabar.engine.readings.scan import scan

babel = pytest.importorskip("babel")
UNKNOWN = Locale()
GENERATOR = Path(__file__).resolve().parents[3] / "scripts" / "cldr_names.py"


def values(span: str, kind: str, locale: Locale = UNKNOWN) -> list[str | bool]:
    return [r.value for r in readings(span, locale) if r.kind == kind]


def locales() -> Iterator[babel.Locale]:
    from babel.localedata import locale_identifiers

    yield from (babel.Locale.parse(name) for name in sorted(locale_identifiers()) if "@" not in name)


def of_this_cldr() -> None:
    if (NAMES_FOLDER / "VERSION").read_text().split()[-1] != babel.__version__:
        pytest.skip("the names were made with another release of Babel")


def in_a_script_of_europe(name: str) -> bool:
    scripts = {unicodedata.name(c, "").split()[0] for c in name if c.isalpha()}
    return scripts <= {"LATIN", "CYRILLIC", "GREEK", "MODIFIER"}


@pytest.mark.slow
def test_the_generator_reproduces_the_stored_files(tmp_path: Path) -> None:
    of_this_cldr()
    # In a process of its own: Babel keeps what it resolved for one locale in data that other locales inherit.
    subprocess.run([sys.executable, str(GENERATOR), str(tmp_path)], check=True)
    written = [*tmp_path.iterdir()]
    assert {"months.tsv", "countries.tsv.gz", "VERSION"} <= {made.name for made in written}
    for made in written:
        opened = gzip.decompress if made.suffix == ".gz" else bytes
        assert opened((NAMES_FOLDER / made.name).read_bytes()) == opened(made.read_bytes()), made.name


def test_the_files_stay_small_and_carry_their_licence() -> None:
    assert sum(path.stat().st_size for path in NAMES_FOLDER.iterdir()) < 1_500_000
    assert "UNICODE" in (NAMES_FOLDER / "LICENSE.unicode").read_text(encoding="utf-8").upper()


@pytest.mark.slow
def test_every_month_of_every_language_is_read_by_its_whole_name() -> None:
    of_this_cldr()
    wrong = set()
    for locale in locales():
        for names in locale._data["months"].values():
            for month, name in names.get("wide", {}).items():
                # A number beside a word is no name, and fewer than three letters are too few.
                letters = sum(map(str.isalpha, name.removeprefix("de ").removeprefix("di ")))
                if any(map(str.isdigit, name)) or letters < 3 or not in_a_script_of_europe(name):
                    continue
                for form in (name, name.upper(), loose_key(exact_key(name))):
                    if f"2026-{month:02d}-14" not in values(f"14 {form} 2026", "date"):
                        wrong.add((str(locale), form))
    assert not wrong


@pytest.mark.slow
def test_every_territory_has_its_codes_by_its_name_in_every_language() -> None:
    of_this_cldr()
    table = name_table("countries.tsv.gz")
    # The codes that CLDR lists for countries, without groups of countries and outlying islands.
    wanted = {code for code in babel.Locale("en").territories if code in table.meanings(code.lower())[:1]}
    assert len(wanted) == 250
    wrong = set()
    for locale in locales():
        for code, name in locale._data["territories"].items():
            if code in wanted and sum(map(str.isalpha, name)) > 2 and code not in codes_of(name):
                wrong.add((str(locale), code, name))
    assert not wrong


@pytest.mark.slow
def test_every_language_and_currency_has_its_code_by_its_name() -> None:
    of_this_cldr()
    wrong = set()
    # One locale for each language, since its regions repeat it.
    for locale in locales():
        if locale.territory or locale.script:
            continue
        for code, name in locale._data["languages"].items():
            if len(code) == 2 and len(name) > 3 and code not in codes_of(name):
                wrong.add((str(locale), code, name))
        for code, name in locale._data["currency_names"].items():
            if code not in CURRENCY_CODES or len(name) <= 3 or any(c.isdigit() or c in "(（" for c in name):
                continue
            if code not in currencies_of(name):
                wrong.add((str(locale), code, name))
    assert not wrong


@each(
    "text, day",
    [
        ("14 stycznia 2026", "2026-01-14"),
        ("14 STYCZEŃ 2026", "2026-01-14"),
        ("środa, 14 stycznia 2026", "2026-01-14"),
        ("14-sty-2026", "2026-01-14"),
        ("14 мая 2026 г.", "2026-05-14"),
        ("14 Μαΐου 2026", "2026-05-14"),
        ("14 KASIM 2026", "2026-11-14"),
        ("14 kasım 2026", "2026-11-14"),
        ("14 d’abril de 2026", "2026-04-14"),
        ("14 de març del 2026", "2026-03-14"),
        ("14. marraskuuta 2026", "2026-11-14"),
        ("2026. január 14.", "2026-01-14"),
        ("2026 m. kovo 14 d.", "2026-03-14"),
        ("14 Meán\nFómhair 2026", "2026-09-14"),
        ("14 มกราคม 2026", "2026-01-14"),
        ("14 يناير 2026", "2026-01-14"),
        ("14 जनवरी 2026", "2026-01-14"),
        ("14 tháng 3 năm 2026", "2026-03-14"),
        ("2026年3月14日", "2026-03-14"),
        ("2026년 3월 14일", "2026-03-14"),
        ("14 fevrier 2026", "2026-02-14"),
        ("Sonnabend, 14. März 2026", "2026-03-14"),
        ("7 di marzo 2026", "2026-03-07"),
        ("3rdMarch 2026", "2026-03-03"),
        ("Sat 14 Sept. 2026", "2026-09-14"),
    ],
)
def test_a_date_is_read_in_its_language(text: str, day: str) -> None:
    assert values(text, "date") == [day]
    # The same date within a sentence.
    assert [found for _, _, found in dates_in(f"x ({text}) y", UNKNOWN)] == [(day,)]


def test_a_name_of_two_months_is_read_as_both() -> None:
    assert values("14 listopada 2026", "date") == ["2026-11-14", "2026-10-14"]
    assert {"2026-11", "2026-10"} <= set(values("listopad 2026", "text"))


@pytest.mark.parametrize("name", ["may", "mar", "mai", "set", "out", "jan", "mars"])
def test_the_common_languages_come_before_all_others(name: str) -> None:
    assert len(values(f"14 {name} 2026", "date")) >= 1
    found = months_of(name)
    assert found is not None
    assert found.numbers[0] == {"may": 5, "mar": 3, "mai": 5, "set": 9, "out": 10, "jan": 1, "mars": 3}[name]


@pytest.mark.parametrize(
    "text",
    [
        "We counted 14 here and 10 can follow, 3 few remain, 5 any.",
        "The 12 dames met; 9 sat, 3 was the rest of 20 pro players.",
        "In 2020 any 3 of the 14 some 2 had, a few 14, 20 of them here 5.",
        "Room 4 Luty, 3 march past; there were 5 set aside.",
        "Am 14 hat er 3 mal 5 des 10 der 12 lug, und 8 sie 2 her.",
        "Es kamen 7 aus 9 Mais, 4 Maja und 11 mag ich nicht.",
        "Il en reste 3 mais 14 par personne, 5 des 12 dame 8.",
        "Les 9 des 10 par 3 pas 2 sur 12 juge, 6 maison 4.",
        "5 sal 7 sol 9 dan 11 tri 12 dub 3 ruj 4 mala 8 pri",
    ],
)
def test_ordinary_words_beside_numbers_are_no_dates(text: str) -> None:
    assert dates_in(text, UNKNOWN) == []
    assert [m for m in scan(text, UNKNOWN) if m.kind in ("date", "datetime")] == []


@pytest.mark.parametrize("text", ["Here 14 May 2020", "any 3 here 14 May 2020", "was 3 few 14 May 2020 5 can"])
def test_a_word_that_is_a_month_elsewhere_takes_no_date_from_its_neighbour(text: str) -> None:
    assert [found for _, _, found in dates_in(text, UNKNOWN)] == [("2020-05-14",)]


def test_places_in_a_marked_text_are_places_in_the_text() -> None:
    text = "Vom 14. JÄNNER bis 3 Meán Fómhair 2026, İstanbul, 14 जनवरी 2026 ᚁᚁ"
    assert len(mark_names(text)) == len(text)
    kept = [(a, b) for a, b in zip(text, mark_names(text), strict=True) if not "\u1681" <= b <= "\u1684"]
    assert all(a == b for a, b in kept)
    assert "14. " + "\u1681" * 6 in mark_names(text)


def test_a_language_with_a_decimal_point_tells_no_comma() -> None:
    assert document_locale("14 stycznia 2026") == Locale(True, True, 2026)
    assert document_locale("14 Meán Fómhair 2026") == Locale(True, None, 2026)


@each(
    "name, codes",
    [
        ("Alemania", {"DE", "DEU"}),
        ("Duitsland", {"DE", "DEU"}),
        ("Mongolia", {"MN", "MNG"}),
        ("MNG", {"MN", "Mongolia"}),
        ("Nga", {"NG", "RU"}),
        ("PA", {"PA", "PAN", "Pennsylvania"}),
        ("Франция", {"FR", "FRA"}),
        ("中国", {"CN", "CHN"}),
        ("TÜRKİYE", {"TR", "TUR"}),
        ("WEISSRUSSLAND", {"BY"}),
        ("Weißrussland", {"BY"}),
        ("Burma", {"MM", "MMR"}),
        ("Swaziland", {"SZ"}),
        ("Georgia", {"GE", "GEO", "GA"}),
        ("Deutsch", {"de", "deu", "ger"}),
        ("francais", {"fr"}),
        ("złotych polskich", {"PLN"}),
        ("zlotych polskich", {"PLN"}),
        ("dólares estadounidenses", {"USD"}),
        ("₡", {"CRC"}),
        ("KM", {"BAM"}),
    ],
)
def test_a_name_in_any_language_has_its_codes(name: str, codes: set[str]) -> None:
    assert codes <= set(values(name, "code"))


@pytest.mark.parametrize("text", ["R", "L", "K", "km", "gold", "silver", "invoice", "Total", "the"])
def test_an_ordinary_word_is_no_currency(text: str) -> None:
    assert currencies_of(text) == ()


def test_names_found_in_running_text_are_long_and_have_one_meaning() -> None:
    assert {"Germany", "Deutschland", "alemania", "duitsland"} <= set(names_of("DE"))
    assert "$" in names_of("USD")
    assert "$" not in names_of("CAD")
    assert {"deutsch", "niemiecki"} <= set(names_of("de"))
    assert names_of("CRC")[0] == "₡"
    assert not [n for n in names_of("PGK") if len(n) < 4]
    assert "нигерия" in names_of("NG")
    assert names_of("ACME") == ()


def test_the_table_finds_its_first_and_last_rows_and_nothing_between() -> None:
    table = name_table("countries.tsv.gz")
    rows = gzip.decompress((NAMES_FOLDER / "countries.tsv.gz").read_bytes()).decode().splitlines()
    for row in (rows[0], rows[-1], *rows[:: len(rows) // 50]):
        key, meanings = row.split("\t")
        assert "|".join(table.meanings(key)) == meanings.rstrip("|")
    assert table.meanings("") == table.meanings("\U0010ffff") == table.meanings("germanyy") == ()


def test_codes_have_the_kinds_of_names_that_they_stand_for() -> None:
    kinds = {
        "EUR": {"currency"}, "NY": {"state"}, "CA": {"country 2", "state"}, "DEU": {"country 3"},
        "de": {"language 2"}, "per": {"language 3"}, "other": set(), "EN": set(), "eur": set(), "4": set(),
    }  # fmt: skip
    assert {code: set(code_kinds(code)) for code in kinds} == kinds
