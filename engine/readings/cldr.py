"""Reads names in all languages of CLDR from `engine/readings/names/` (scripts/cldr_names.py), and marks those of months
and weekdays in a text.

Names are compared without case, then also without accents. One search finds those of months and weekdays and overwrites
each with the letter of its class, as often as the name is long. So the pattern of dates has one letter in place of
thousands of names, and places in the marked text equal places in the text.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

#: A longer run of letters is not looked up: no word of a name is that long.
LONGEST_WORD = 40
NAMES_FOLDER = Path(__file__).parent / "names"


def contents_of(name: str) -> bytes:
    """Returns the unpacked bytes of a file of names."""
    data = (NAMES_FOLDER / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def rows_of(name: str) -> Iterator[tuple[str, ...]]:
    """Yields the columns of each row of a file, in order."""
    for line in contents_of(name).decode().splitlines():
        yield tuple(line.split("\t"))


class NameTable:
    """The meanings of each key of a file, found by binary search in its sorted rows.

    Rows stay bytes: a dictionary of the three large files takes 220 ms and 31 MB, this table 24 ms and 4 MB, and a
    look-up costs 5 µs.
    """

    def __init__(self, name: str) -> None:
        self._rows = contents_of(name)

    def meanings(self, key: str) -> tuple[str, ...]:
        """Returns the meanings of a key, the likelier first; empty for an unknown key."""
        rows, wanted = self._rows, key.encode("utf-8", "replace") + b"\t"
        low, high = 0, len(rows)
        while low < high:
            start = rows.rfind(b"\n", 0, (low + high) // 2) + 1
            end = rows.index(b"\n", start)
            if rows.startswith(wanted, start):
                return tuple(rows[start + len(wanted) : end].decode().rstrip("|").split("|"))
            if rows[start:end] < wanted:
                low = end + 1
            else:
                high = start
        return ()

    def keys_of(self, meaning: str) -> tuple[str, ...]:
        """Returns the keys, with their accents, that have exactly these meanings ("DE|DEU")."""
        wanted = b"\t" + meaning.encode() + b"\n"
        keys: list[str] = []
        at = self._rows.find(wanted)
        while at >= 0:
            keys.append(self._rows[self._rows.rfind(b"\n", 0, at) + 1 : at].decode())
            at = self._rows.find(wanted, at + 1)
        return tuple(keys)


@lru_cache(maxsize=8)
def name_table(name: str) -> NameTable:
    """Returns the table of a file; each file is read once."""
    return NameTable(name)


# Letters with a stroke or dot that Unicode does not split off, and their plain spelling.
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "đ": "d", "ð": "d", "ø": "o", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"})


def exact_key(name: str) -> str:
    """Returns the name in compatibility form (NFKC) without case and invisible marks; "ß" becomes "ss"."""
    if name.isascii():
        return name.lower()
    name = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def loose_key(key: str) -> str:
    """Returns a key of `exact_key` without the accents of Latin, Greek and Cyrillic letters; other scripts keep theirs.

    In the scripts of India vowels are marks, so only the combining diacritics U+0300 to U+036F are removed.
    """
    if key.isascii():
        return key
    apart = unicodedata.normalize("NFD", key)
    bare = "".join(c for c in apart if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare).translate(_PLAIN)


# Names that mean a month beside any day, even without a year, in documents of these languages. CLDR has most of them;
# it lacks forms without umlauts or accents, Austrian forms and clipped forms.
_COMMON = """
1 january jan januar jänner jaenner jän janvier janv enero ene gennaio gen janeiro januari
2 february feb februar febr feber février fevrier févr fevr fév fev febrero febbraio fevereiro februari
3 march mar märz maerz mrz mär mars marzo março marco maart mrt
4 april apr avril avr abril abr aprile
5 may mai mayo maggio mag maio mei
6 june jun juni juin junio giugno giu junho
7 july jul juli juillet juil julio luglio lug julho
8 august aug août aout agosto ago augustus
9 september sep sept septembre septiembre setiembre settembre setembro set
10 october oct oktober okt octobre octubre ottobre ott outubro out
11 november nov novembre noviembre novembro
12 december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro
"""
_ENGLISH = """january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec"""

_ENGLISH_MONTHS = frozenset(_ENGLISH.split())

# In addition to CLDR's full names: clipped forms of the languages above, "Sonnabend", and forms without accents.
_COMMON_WEEKDAYS = """monday tuesday wednesday thursday friday saturday sunday
mon tue tues wed thu thur thurs fri sat sun
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
lundi mardi mercredi jeudi vendredi samedi dimanche lun mer jeu ven sam dim
lunes martes miércoles miercoles jueves viernes sábado sabado domingo
lunedì martedì mercoledì giovedì venerdì
segunda-feira terça-feira quarta-feira quinta-feira sexta-feira segunda terça quarta quinta sexta
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"""

#: Letters of Ogham, a script that no living language uses: a month of `_COMMON`, another month, a weekday.
COMMON, OTHER, WEEKDAY = "\u1681", "\u1682", "\u1683"
#: A month, and a weekday, of a marked text.
MONTH_PATTERN = f"[{COMMON}{OTHER}]+"
WEEKDAY_PATTERN = f"(?:{WEEKDAY}+|di)"


@dataclass(frozen=True, slots=True)
class Month:
    """The months of a name, the likelier first, and whether its languages write a decimal comma."""

    numbers: tuple[int, ...]
    decimal_comma: bool = True


@dataclass(frozen=True, slots=True)
class _Names:
    months: dict[str, Month]
    class_of: dict[str, str]
    """The class of each name of one word, by its key."""
    phrases: dict[str, re.Pattern[str]]
    """The rest of each name of several words, by the key of its first word."""


# Patterns for the characters between the words of a name: documents vary line breaks and apostrophes.
_BETWEEN = {" ": r"\s+", "'": "['’ʼ]", "’": "['’ʼ]", "ʼ": "['’ʼ]"}
# In many scripts vowels are marks, and Python does not count them among the letters of a word.
_MARKED_SCRIPTS = ((0x300, 0x1E00), (0xA66F, 0xAC00), (0x10A00, 0x11A00), (0x1E100, 0x1E960))
_MARKS = "".join(
    c for first, last in _MARKED_SCRIPTS for c in map(chr, range(first, last)) if unicodedata.category(c)[0] == "M"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_LETTERS_AND_MARKS = re.compile(rf"[^\W\d_](?:[^\W\d_]+|[{_MARKS}])*")
_MARK = re.compile(f"[{_MARKS}]")
# An ordinal ending without a blank before its month: "3rdMarch".
_GLUED = re.compile(r"(\d(?:st|nd|rd|th|er|ère))([^\W\d_]{3,40})", re.IGNORECASE)
# Also a word in dates ("7 di marzo"); the pattern of dates spells it out.
_GRAMMAR_WEEKDAY = "di"
_CLASSES = re.compile(f"[{COMMON}{OTHER}{WEEKDAY}]")


@lru_cache(maxsize=1)
def _names() -> _Names:
    months: dict[str, Month] = {}
    for number, *names in map(str.split, _COMMON.strip().splitlines()):
        months |= {name: Month((int(number),)) for name in names}
    common = set(months)
    loose: dict[str, Month] = {}
    for name, numbers, mark in rows_of("months.tsv"):
        known = months[name].numbers if name in common else ()
        numbers_of_name = tuple(dict.fromkeys((*known, *map(int, numbers.split("|")))))
        months[name] = Month(numbers_of_name, mark == "," or name in common)
        if (bare := loose_key(name)) != name:
            before = loose[bare].numbers if bare in loose else ()
            loose[bare] = Month(tuple(dict.fromkeys((*before, *numbers_of_name))), mark == ",")
    months = loose | months
    weekdays = {name for (name,) in rows_of("weekdays.tsv")}
    # If names clash, those of the tables above win, and a month wins over a weekday.
    class_of = dict.fromkeys([*map(loose_key, weekdays), *weekdays], WEEKDAY)
    class_of |= dict.fromkeys(months, OTHER) | dict.fromkeys(_COMMON_WEEKDAYS.split(), WEEKDAY)
    class_of |= dict.fromkeys(common, COMMON)
    del class_of[_GRAMMAR_WEEKDAY]
    # The first word of a longer name leads to a pattern of its other words.
    rests: dict[str, list[str]] = {}
    for name in sorted(class_of, key=lambda name: (-len(name), name)):
        first = _LETTERS_AND_MARKS.match(name)
        if first is not None and first.end() < len(name):
            rests.setdefault(first[0], []).append(name[first.end() :])
    phrases = {
        first: re.compile(
            "|".join("".join(_BETWEEN.get(c, re.escape(c)) for c in rest) for rest in rest_of_names), re.IGNORECASE
        )
        for first, rest_of_names in rests.items()
    }
    return _Names(months, class_of, phrases)


def months_of(name: str) -> Month | None:
    """Returns the months of a name in any case, with or without its accents; None if it is no month name."""
    key = exact_key(" ".join(name.split())).replace("'", "’")
    found = _names().months
    return found.get(key) or found.get(key.replace("’", "'")) or found.get(loose_key(key))


def is_english_month(name: str) -> bool:
    """Returns whether a month name, in any case, is also English."""
    return name.lower().rstrip(".") in _ENGLISH_MONTHS


@lru_cache(maxsize=32768)
def _letter_of(word: str) -> str:
    """Returns the letter of a word's class, a bar if it may begin a longer name, or an empty text."""
    if len(word) > LONGEST_WORD:
        return ""
    names = _names()
    key = exact_key(word)
    if key in names.phrases or loose_key(key) in names.phrases:
        return "|"
    return names.class_of.get(key) or names.class_of.get(loose_key(key)) or ""


@lru_cache(maxsize=8)
def mark_names(text: str) -> str:
    """Returns the text with the names of months and weekdays overwritten by the letters of their classes."""
    if not text.isascii() and _CLASSES.search(text):
        # Ogham letters of the text itself must not count as marks.
        text = _CLASSES.sub("\u1684", text)
    pattern = _LETTERS if text.isascii() or not _MARK.search(text) else _LETTERS_AND_MARKS
    out: list[str] = []
    at = 0
    for match in pattern.finditer(text):
        letter = _letter_of(match[0])
        if not letter:
            continue
        start, end = match.span()
        if start < at:
            continue
        if letter == "|":
            letter, end = _longest(text, start, end)
            if not letter:
                continue
        out += (text[at:start], letter * (end - start))
        at = end
    done = "".join(out) + text[at:] if out else text
    return _GLUED.sub(_unglue, done)


def _unglue(match: re.Match[str]) -> str:
    letter = _letter_of(match[2]).strip("|")
    return match[1] + letter * len(match[2]) if letter else match[0]


def _longest(text: str, start: int, end: int) -> tuple[str, int]:
    """Returns the class and the end of the longest name that begins with the word [start, end)."""
    names = _names()
    key = exact_key(text[start:end])
    rest = names.phrases.get(key) or names.phrases[loose_key(key)]
    match = rest.match(text, end)
    if match is not None and not text[match.end() : match.end() + 1].isalpha():
        whole = exact_key(" ".join(text[start : match.end()].split()))
        for form in (whole, whole.replace("'", "’"), loose_key(whole)):
            if form in names.class_of:
                return names.class_of[form], match.end()
    return names.class_of.get(key) or names.class_of.get(loose_key(key)) or "", end
