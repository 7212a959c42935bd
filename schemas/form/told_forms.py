"""The form in which a description asks for a text: "as DD/MM/YYYY", "24-hour HH:MM", "ISO 4217 code", "digits only".

A description also tells how documents print a value, or gives examples. So only what asks counts, and two forms that
are not joined by "or" say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

ToldKind = Literal["moment", "currency", "country", "language", "letters", "digits", "upper", "lower"]
#: What a run of letters in the form of a moment stands for; the rest of a form stands for itself.
Role = Literal["year", "month", "day", "hour", "minute", "second", "half", ""]


@dataclass(frozen=True, slots=True)
class ToldForm:
    """A form that a description asks for.

    `name` is shown, `pattern` (Python) has its whole texts. `parts` of a moment are its runs of letters, each with what
    it stands for, and what stands between them; () asks for ISO 8601. `length` is that of a code or of letters. Of an
    `open` form the description says that some values are told otherwise.
    """

    name: str
    kind: ToldKind
    pattern: str
    parts: tuple[tuple[Role, str], ...] = ()
    length: int = 0
    open: bool = False

    def fits(self, text: str) -> bool:
        """Returns whether the text has this form."""
        return re.fullmatch(self.pattern, text) is not None


#: The names of months that `MMM` and `MMMM` stand for: a form in English letters is asked for in English.
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_TOKEN = "YYYY|JJJJ|AAAA|YY|JJ|AA|MMMM|MMM|MM?|DD?|TT|GG|HH?|SS"
_TOKENS = rf"(?:{_TOKEN}|{_TOKEN.lower()})"
_HALF = r"(?: ?(?:AM/PM|am/pm|a\.m\./p\.m\.|AM or PM))"
_MOMENT = re.compile(
    rf"(?<![\w%/.-]){_TOKENS}(?:(?:[-/.:T]|'T'|, ?|\. | ){_TOKENS})+{_HALF}?(?![\w/-])"
    r"|(?<![\w/-])(?:YYYYMMDD|DDMMYYYY|MMDDYYYY|YYMMDD|DDMMYY|YYYYMM|HHMMSS|HHMM|YYYY|JJJJ|AAAA)(?![\w/-])"
)
_HALF_RUN = re.compile(_HALF.replace(" ?", "", 1))
_RUN = re.compile(rf"AM/PM|am/pm|a\.m\./p\.m\.|AM or PM|{_TOKEN}|{_TOKEN.lower()}|'T'|.")
_DIRECTIVE = re.compile(r"%[-#]?([YymdHMSbBIp])")
_DIRECTIVES = {"Y": "YYYY", "y": "YY", "m": "MM", "d": "DD", "H": "HH", "M": "MM", "S": "SS", "b": "MMM", "B": "MMMM",
               "I": "HH", "p": "AM/PM"}  # fmt: skip
_DATES = ({"year", "month", "day"}, {"year", "month"}, {"day", "month"}, {"year"})
_TIMES: tuple[set[str], ...] = ({"hour", "minute"}, {"hour", "minute", "second"})
_ISO = re.compile(r"\bISO[- ]?8601\b|\bRFC[- ]?3339\b|\bISO (?:date|format)\b", re.IGNORECASE)
_ISO_PATTERN = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?|\d{4}-\d\d"
_TELLS_TIME = re.compile(r"\b(?:date-?)?time|\bhour|\bmoment|\bclock|\bwhen\b", re.IGNORECASE)
_DAY_HOURS = re.compile(r"\b24[- ](?:hours?|h)\b(?! (?:after|before|of|from|notice|a day))", re.IGNORECASE)
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "1": 1, "2": 2, "3": 3, "4": 4}
_COUNT = r"(?P<count>one|two|three|four|[1-4])[- ]"
_BEGINS = r"(?:^|(?<=[.;:,(] )|(?<=[(])|(?<=\bas )|(?<=\bas a )|(?<=\bas an )|(?<=\bas the )|(?<=\bits )|(?<=\bin ))"
_ENDS = r"(?= ?(?:$|[.,;:)]|letters|words|only))"
_CODES: tuple[tuple[ToldKind, re.Pattern[str]], ...] = (
    ("currency", re.compile(r"\bISO[- ]?4217\b|\b(?:ISO|(?:three|3)-letter) currency code\b", re.IGNORECASE)),
    ("country", re.compile(
        rf"\bISO[- ]?3166(?:-1)?\b(?!-[23])(?:[ -]alpha[- ]?(?P<length>[23]))?"
        rf"|\b(?:ISO |{_COUNT}letter )+country code\b",
        re.IGNORECASE)),
    ("language", re.compile(
        rf"\bISO[- ]?639(?:-(?P<length>[123]))?\b|\b(?:ISO |{_COUNT}letter )+language code\b", re.IGNORECASE)),
)  # fmt: skip
_STANDARD = re.compile(r"\bISO[- ]?(\d+)")
_LETTERS = re.compile(
    rf"{_BEGINS}{_COUNT}(?:letter (?:[a-z]+ )?(?:code|state|country|abbreviation|symbol)s?"
    r"|(?:capital |upper-?case )?letters)\b",
    re.IGNORECASE,
)
_WORDS: tuple[tuple[ToldKind, str, str, re.Pattern[str]], ...] = (
    ("digits", "digits only", r"\d+", re.compile(
        r"\b(?:digits only|only (?:the )?digits|nur ziffern|uniquement (?:des|les) chiffres|chiffres uniquement"
        r"|s[oó]lo d[ií]gitos|solo cifre|alleen cijfers)\b", re.IGNORECASE)),
    ("upper", "in upper case", r"[^a-zß-öø-ÿ]*", re.compile(
        rf"{_BEGINS}(?:all )?(?:upper-?case|upper case|capital letters|(?:all )?capitals|gro(?:ß|ss)buchstaben"
        rf"|majuscules|may[uú]sculas|maiuscol[oe]|hoofdletters)\b{_ENDS}", re.IGNORECASE)),
    ("lower", "in lower case", r"[^A-ZÀ-ÖØ-Þ]*", re.compile(
        rf"{_BEGINS}(?:all )?(?:lower-?case|lower case|small letters|kleinbuchstaben|minuscules|min[uú]sculas"
        rf"|minuscol[oe]|kleine letters)\b{_ENDS}", re.IGNORECASE)),
)  # fmt: skip
# What a form before or behind these words is: one that is not wanted, one that documents have, or an example.
_NOT_ASKED = re.compile(
    r"(?:\b(?:not|never|no|instead of|rather than|nicht|print(?:s|ed)|appears?|appearing|found|usually|often|may be"
    r"|(?:documents?|letters?|invoices?|pages?) (?:have|has|use|uses|print|write|writes|show|shows|say|says)|source"
    r"|originally|such as|like|whether|convert(?:ed)?)(?:\s+[\w'’]+){0,3}\s+"
    r"|\b(?:from|by|see|e\.g\.,?|for example,?|examples?:?)\s+(?:the |its |an? )?)$",
    re.IGNORECASE,
)
_OF_DOCUMENT = re.compile(
    r"^\W{0,2}\s*(?:in|on|of) (?:the|its|most|some) (?:document|source|original|letter|page|invoice|text|mail)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:otherwise|or else|either|where possible|if possible|preferably|if known|as printed|in the words of|sonst)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\W*(?:or|oder|ou|o|of)\W*(?:just |only )?", re.IGNORECASE)


@lru_cache(maxsize=4096)
def told_form(description: str) -> ToldForm | None:
    """Returns the form that a description asks for; None if it asks for none, for several, or says what documents do.

    Time is linear in the description.
    """
    text = " ".join(_DIRECTIVE.sub(lambda one: _DIRECTIVES[one[1]], description).split())
    found = [*_moments(text)] or [*_codes(text)]
    forms = {form.pattern: form for form, _ in found}
    if not forms:
        return next(_words(text), None)
    first, *others = forms.values()
    if others and not _are_joined(text, [place for _, place in found]):
        return None
    is_open = bool(others) or _OPEN.search(text) is not None
    return replace(first, open=is_open)


def _asks(text: str, start: int, end: int) -> bool:
    """Returns whether the form at [start, end) is asked for."""
    clause = max(text.rfind(mark, 0, start) for mark in (". ", "; ", "\n")) + 1
    before = text[max(clause, start - 60) : start]
    return _NOT_ASKED.search(before) is None and _OF_DOCUMENT.match(text[end : end + 40]) is None


def _are_joined(text: str, places: list[tuple[int, int]]) -> bool:
    """Returns whether the forms at these places stand side by side with an "or" between them."""
    between = [text[one[1] : other[0]] for one, other in pairwise(places)]
    return all(_JOINED.fullmatch(part) for part in between)


def _moments(text: str) -> list[tuple[ToldForm, tuple[int, int]]]:
    found = []
    for match in _MOMENT.finditer(text):
        form = _moment(match[0])
        if form is None and len(match[0]) > len("DD/MM/YYYY HH:MM"):
            return []  # several forms in a row
        if form is not None and _asks(text, *match.span()):
            found.append((form, match.span()))
    if not found:
        for iso in _ISO.finditer(text):
            if _asks(text, *iso.span()) and not re.search(r"\bduration|\bweek", text, re.IGNORECASE):
                form = _moment("YYYY-MM-DD") if _TELLS_TIME.search(text) is None else None
                found.append((form or ToldForm("ISO 8601", "moment", _ISO_PATTERN), iso.span()))
    of_time = not found and re.search(r"\btime|\bclock|\bhour|format", text, re.IGNORECASE)
    if of_time and (clock := _moment("HH:MM")) is not None:
        clock = replace(clock, name="24-hour HH:MM")
        found += [(clock, hours.span()) for hours in _DAY_HOURS.finditer(text) if _asks(text, *hours.span())]
    return found


def _moment(form: str) -> ToldForm | None:
    """Returns the form of dates and times that these runs of letters are; None if they are no such form."""
    parts: list[tuple[Role, str]] = []
    runs = _RUN.findall(form)
    french = any(run.upper() in ("AA", "AAAA") for run in runs)
    for run in runs:
        roles = [role for role, _ in parts]
        letter = run[0].upper() if len(run) > 1 or run.upper() in ("M", "D", "H") else ""
        role: Role = ""
        if _HALF_RUN.fullmatch(run):
            role = "half"
        elif letter == "M":
            role = "minute" if "hour" in roles and "minute" not in roles else "month"
        elif letter == "J":
            role = "day" if french else "year"
        elif letter:
            role = _ROLES.get(letter, "")
        parts.append((role, "T" if run == "'T'" else run))
    if not _is_moment(parts):
        return None
    pattern = "".join(_part_pattern(parts, role, run) for role, run in parts)
    return ToldForm(form, "moment", pattern, tuple(parts))


_ROLES: dict[str, Role] = {
    "Y": "year", "A": "year", "D": "day", "T": "day", "G": "day", "H": "hour", "S": "second",
}  # fmt: skip


def _is_moment(parts: list[tuple[Role, str]]) -> bool:
    roles = [role for role, _ in parts if role]
    runs = {role: run for role, run in parts if role}
    date = {role for role in roles if role in ("year", "month", "day")}
    time = {role for role in roles if role in ("hour", "minute", "second")}
    if len(roles) != len(set(roles)) or (not date and not time):
        return False
    if (date and date not in _DATES) or (time and time not in _TIMES) or (date and time and len(date) < 3):
        return False
    foreign = any(run[0].upper() in "JATG" for role, run in parts if role in ("year", "day"))
    if len(runs.get("month", "")) > 2 and foreign:
        return False
    # One letter alone tells little: "m/d", "h:mm" has two of the minute.
    return max(map(len, runs.values())) > 1 and len(runs.get("minute", "mm")) == len(runs.get("second", "ss")) == 2


def _part_pattern(parts: Sequence[tuple[Role, str]], role: Role, run: str) -> str:
    two = len(run) > 1
    if role == "month" and len(run) > 2:
        return f"(?:{'|'.join(name if len(run) == 4 else name[:3] for name in MONTHS)})"
    if role == "half":
        return "(?:am|pm)" if run.islower() and "." not in run else r"(?:a\.m\.|p\.m\.)" if "." in run else "(?:AM|PM)"
    if role == "hour" and any(other == "half" for other, _ in parts):
        return "(?:0[1-9]|1[0-2])" if two else "(?:[1-9]|1[0-2])"
    patterns: dict[str, str] = {
        "year": rf"\d{{{len(run)}}}",
        "month": "(?:0[1-9]|1[0-2])" if two else "(?:[1-9]|1[0-2])",
        "day": r"(?:0[1-9]|[12]\d|3[01])" if two else r"(?:[1-9]|[12]\d|3[01])",
        "hour": r"(?:[01]\d|2[0-3])" if two else r"(?:1?\d|2[0-3])",
        "minute": r"[0-5]\d",
        "second": r"[0-5]\d",
        "": re.escape(run),
    }
    return patterns[role]


def _codes(text: str) -> list[tuple[ToldForm, tuple[int, int]]]:
    found = list[tuple[ToldForm, tuple[int, int]]]()
    if len({*_STANDARD.findall(text)}) > 1:
        return found  # a text of several parts
    for kind, pattern in _CODES:
        for match in pattern.finditer(text):
            if not _asks(text, *match.span()):
                continue
            said = match.groupdict()
            length = _NUMBERS.get(str(said.get("count") or "").lower(), 0) or 3 * (kind == "currency") or 2
            if said.get("length"):
                length = int(said["length"]) if kind == "country" else 2 if said["length"] == "1" else 3
            letters = "[a-z]" if kind == "language" else "[A-Z]"
            name = f"{kind} code of {length} letters"
            found.append((ToldForm(name, kind, f"{letters}{{{length}}}", length=length), match.span()))
    letters_said = None if found else _LETTERS.search(text)
    if letters_said is not None and _asks(text, *letters_said.span()):
        length = _NUMBERS[letters_said["count"].lower()]
        form = ToldForm(f"{length} letters", "letters", f"[A-Z]{{{length}}}", length=length)
        found.append((form, letters_said.span()))
    return found


def _words(text: str) -> Iterator[ToldForm]:
    for kind, name, pattern, words in _WORDS:
        match = words.search(text)
        if match is not None and _asks(text, *match.span()):
            yield ToldForm(name, kind, pattern, open=_OPEN.search(text) is not None)
