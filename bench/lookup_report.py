"""Measures how well printed names find their rows in a reference table of 100,000 (`x-cinnabar-lookup`).

    python -m bench.lookup_report [--rows 100000] [--names 500]

The table has firms of many forms, streets with numbers, and identifiers, drawn by seed, with near neighbours of one
another. Each name is printed with noise: misread letters, other case, accents and signs, words left out or in another
order, a place behind it. Of names that are in no row a fifth more are asked. Right: the row that was meant, or none.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from bench.reporting import table
from cinnabar.extraction.filling.records.lookups import MeantRow, ReferenceTable
from cinnabar.extraction.filling.records.thresholds import LOOKUP_MARGIN
from cinnabar.schemas.keywords import LEAST

_PARTS = ("ar", "bel", "cor", "dan", "el", "far", "gol", "hart", "il", "jun", "kel", "lor", "mar", "nor", "ost", "pal",
          "quin", "ros", "sten", "tor", "ul", "vel", "wen", "xan", "yor", "zim", "ä", "é", "ø", "ski", "mann", "son",
          "berg", "ley", "ville", "etti", "ova", "dal")  # fmt: skip
_TRADES = ("Transport", "Logistics", "Bakery", "Metall", "Bau", "Consulting", "Foods", "Printing", "Energy", "Textiles",
           "Pharma", "Software", "Elektro", "Optics", "Seeds", "Marine", "Timber", "Tools")  # fmt: skip
_FORMS = ("GmbH", "AG", "Ltd", "Ltd.", "Inc.", "S.p.A.", "SARL", "B.V.", "& Co. KG", "LLC", "Oy", "AB", "S.A.", "plc")
_STREETS = ("Street", "Road", "Lane", "straße", "weg", "Avenue", "platz")


def _word(draw: random.Random) -> str:
    return "".join(draw.choices(_PARTS, k=draw.randint(2, 3))).capitalize()


def _key(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.1:
        return f"{draw.choice(('DE', 'GB', 'FR'))}{draw.randint(10**8, 10**9 - 1)}"
    if kind < 0.25:
        return f"{_word(draw)} {draw.choice(_STREETS)} {draw.randint(1, 199)}"
    first = f"{_word(draw)} & {_word(draw)}" if draw.random() < 0.3 else _word(draw)
    trade = f" {draw.choice(_TRADES)}" if draw.random() < 0.7 else f" {_word(draw)}"
    return f"{first}{trade} {draw.choice(_FORMS)}"


def _misread(text: str, draw: random.Random) -> str:
    letters = [at for at, letter in enumerate(text) if letter.isalpha()]
    if len(letters) < 6 or any(map(str.isdigit, text)):
        return text
    at = draw.choice(letters)
    return draw.choice((text[:at] + text[at + 1 :], text[:at] + draw.choice("aeinrst") + text[at + 1 :],
                        text[:at] + text[at] + text[at:]))  # fmt: skip


def _without_form(text: str, _: random.Random) -> str:
    return next((text.removesuffix(form).rstrip() for form in _FORMS if text.endswith(f" {form}")), text)


def _turned(text: str, draw: random.Random) -> str:
    words = text.split()
    return " ".join([*words[1:], words[0]]) if len(words) > 2 and draw.random() < 0.5 else text


_NOISE: tuple[Callable[[str, random.Random], str], ...] = (
    _misread, _misread, _without_form, _turned,
    lambda text, _: text.upper(), lambda text, _: text.replace("ä", "a").replace("é", "e"),
    lambda text, _: text.replace(".", "").replace("&", "und"), lambda text, _: text.replace(" ", "  "),
)  # fmt: skip


def noisy(text: str, draw: random.Random) -> str:
    """Returns a name as a document may print it."""
    for change in draw.sample(_NOISE, draw.randint(1, 2)):
        text = change(text, draw)
    return text


def given(rows: list[MeantRow]) -> str | None:
    """Returns the value that a field gets from the rows that are like its text."""
    best = rows[0] if rows and rows[0].alike >= LEAST else None
    return None if best is None or (len(rows) > 1 and rows[1].alike > best.alike - LOOKUP_MARGIN) else best.value


def main() -> None:
    """Prints how many names found their row, and how long one took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--names", type=int, default=500)
    asked = parser.parse_args()
    draw = random.Random(7)
    keys = list(dict.fromkeys(_key(draw) for _ in range(asked.rows)))
    begun = time.perf_counter()
    reference = ReferenceTable([(key, str(at)) for at, key in enumerate(keys)])
    made = time.perf_counter() - begun
    wanted = [(noisy(keys[at], draw), str(at)) for at in draw.sample(range(len(keys)), asked.names)]
    known = set(keys)
    strange = [noisy(key, draw) for key in (_key(draw) for _ in range(asked.names // 5)) if key not in known]
    begun = time.perf_counter()
    found = [(name, at, given(reference.meant(name))) for name, at in wanted]
    took = time.perf_counter() - begun
    told = [(name, at, own) for name, at, own in found if own is not None]
    wrong = [(name, keys[int(at)], keys[int(own)]) for name, at, own in told if own != at]
    made_up = [name for name in strange if given(reference.meant(name)) is not None]
    figures = [
        ("right of those given", f"{1 - len(wrong) / max(1, len(told)):.3f}"),
        ("given", f"{len(told) / len(found):.3f}"),
        (f"of {len(strange)} in no row, given", str(len(made_up))),
        ("seconds to read the table; a name", f"{made:.1f}; {took / len(found):.3f}"),
    ]
    print(table(("500 names" if asked.names == 500 else f"{asked.names} names", f"{len(keys)} rows"), figures))
    for one in wrong[:10]:
        print("wrong:", *one, sep=" | ")
    for name, at in [(name, at) for name, at, own in found if own is None][:10]:
        print("none:", name, keys[int(at)], [(row.key, round(row.alike, 2)) for row in reference.meant(name)[:3]])


if __name__ == "__main__":
    main()
