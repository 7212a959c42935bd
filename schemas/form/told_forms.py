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
_TOKEN = "YYYY|JJJJ|AAAA|YY|JJ|AA|MMMM|MMM|MM?|DD?|TT?|GG?|HH?|SS|J"
_TOKENS = rf"(?:{_TOKEN}|{_TOKEN.lower()})"
_HALF = r"(?: ?(?:AM/PM|am/pm|a\.m\./p\.m\.|AM or PM))"
_MOMENT = re.compile(
    rf"(?<![\w%/.)\]-]){_TOKENS}(?:(?:[-/.:T]|'T'|, ?|\. | ){_TOKENS})+{_HALF}?(?![\w/\[\]-])"
    r"|(?<![\w/-])(?:YYYYMMDD|DDMMYYYY|MMDDYYYY|YYMMDD|DDMMYY|YYYYMM|HHMMSS|HHMM|YYYY|JJJJ|AAAA)(?![\w/-])"
)
_HALF_RUN = re.compile(_HALF.replace(" ?", "", 1))
_RUN = re.compile(rf"AM/PM|am/pm|a\.m\./p\.m\.|AM or PM|{_TOKEN}|{_TOKEN.lower()}|'T'|.")
_DIRECTIVE = re.compile(r"%[-#]?([YymdHMSbBIp])")
_DIRECTIVES = {"Y": "YYYY", "y": "YY", "m": "MM", "d": "DD", "H": "HH", "M": "MM", "S": "SS", "b": "MMM", "B": "MMMM",
               "I": "HH", "p": "AM/PM"}  # fmt: skip
# "DD Mon YYYY", "Month D, YYYY".
_MONTH_WORD = re.compile(
    r"(?:(?<=\bD[ -])|(?<=\bDD[ -]))(?:Mon(?:th)?|Mmm)(?=[ -]YY)|\b(?:Mon(?:th)?|Mmm)(?= DD?,? YY)"
)
_DATES = ({"year", "month", "day"}, {"year", "month"}, {"day", "month"}, {"year"})
_TIMES: tuple[set[str], ...] = ({"hour", "minute"}, {"hour", "minute", "second"})
_ISO = re.compile(r"\bISO[- ]?8601\b|\bRFC[- ]?3339\b|\bISO (?:date|format)\b", re.IGNORECASE)
_ISO_PATTERN = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?|\d{4}-\d\d"
_TELLS_TIME = re.compile(r"\b(?:date-?)?time|\bhour|\bmoment|\bclock|\bwhen\b|\dT\d\d:\d", re.IGNORECASE)
_TELLS_DAY = re.compile(
    r"\b(?:days?|dates?|birthday|dag|data|d[ií]a|fecha|giorno|jour)\b|(?:datum|tag)\b", re.IGNORECASE
)
_TELLS_YEAR = re.compile(r"\b(?:year|a[nñ]o|ano|anno|ann[ée]e?)\b", re.IGNORECASE)
#: What has hours and minutes and is no time of a day.
_TELLS_LENGTH = re.compile(
    r"\b(?:duration|interval|time ?span|time-?out|delay|elapsed|how long|length of|time (?:limit|to live))|dauer\b"
    r"|\b(?:dur[ée]e|duraci[óo]n|durata|duur)\b",
    re.IGNORECASE,
)
_CLOCK = r"(?:clock|time|format|notation|style|system|uhr|zeit|schreibweise|notatie|klok)"
_DAY_HOURS = re.compile(
    rf"\b24[- ]?(?:h|hours?|stunden|uurs?)[- ]?{_CLOCK}\b|\bformato? (?:de )?24[- ]?(?:h|heures|horas|ore)\b"
    r"|(?<=[,(])(?: ?in)? ?24[- ]?(?:h|hours?)(?=[.,;)]|$)",
    re.IGNORECASE,
)
_TELLS_CLOCK = re.compile(
    r"\btimes?\b|clock|24-hour|format|notati|uhr|zeit|schreibweise|\bheures?\b|\bhoras?\b|\bor[ae]\b|tijd",
    re.IGNORECASE,
)
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "1": 1, "2": 2, "3": 3, "4": 4, "zwei": 2, "deux": 2, "dos": 2, "due": 2,
    "twee": 2, "drei": 3, "trois": 3, "tres": 3, "tre": 3, "drie": 3,
}  # fmt: skip
_COUNT = rf"(?P<count>{'|'.join(_NUMBERS)})[- ]"
_BEGINS = (
    r"(?:^|(?<=[.;:,(] )|(?<=[(])|(?<=\bas )|(?<=\bas a )|(?<=\bas an )|(?<=\bas the )|(?<=\bits )|(?<=\b[ie]n )"
    r"|(?<=à )|(?<=\bd[ei] )|(?<=\bvan )|(?<=\baus ))"
    r"(?:(?:(?:it |the value |values )?(?:must|should) be|always) (?:written )?(?:in )?(?:an? )?)?"
)
_ENDS = r"(?= ?(?:$|[.,;:)]|letters|words|only))"
_CODES: tuple[tuple[ToldKind, re.Pattern[str]], ...] = (
    ("currency", re.compile(r"\bISO[- ]?4217\b|\b(?:ISO|(?:three|3)-letter) currency code\b", re.IGNORECASE)),
    ("country", re.compile(
        rf"\bISO[- ]?3166(?:-1)?\b(?!-[23])(?:[ -]alpha[- ]?[23])?"
        rf"|\b(?:ISO |alpha-[23] |{_COUNT}letter )+country code\b",
        re.IGNORECASE)),
    ("language", re.compile(
        rf"\bISO[- ]?639(?:-[123])?\b|\b(?:ISO |{_COUNT}letter )+language code\b", re.IGNORECASE)),
)  # fmt: skip
# "ISO code" alone is that of the one thing that is named.
_ISO_CODE = re.compile(r"\bISO[- ](?:alpha[- ]?[23][- ]?)?code\b", re.IGNORECASE)
_NAMES: dict[ToldKind, re.Pattern[str]] = {
    "currency": re.compile(r"currency|währung|devise|moneda|valuta", re.IGNORECASE),
    "country": re.compile(r"country|nationality|\bland\b|länder|\bpays\b|país|paese", re.IGNORECASE),
    "language": re.compile(r"language|sprache|langue|idioma|lingua|\btaal", re.IGNORECASE),
}
_LENGTH = re.compile(
    rf"\b{_COUNT}(?:letter|buchstaben|lettres|letras|lettere)|\balpha[- ]?(?P<alpha>[23])\b"
    r"|\bISO[- ]?639-(?P<part>[123])\b",
    re.IGNORECASE,
)
_STANDARD = re.compile(r"\bISO[- ]?(\d+)")
_LETTERS = re.compile(
    rf"{_BEGINS}{_COUNT}(?:letter (?:[a-z]+ )?(?:code|state|country|abbreviation|symbol)s?"
    r"|(?:capital |upper-?case )?letters|buchstaben|lettres|letras|lettere)\b",
    re.IGNORECASE,
)
_WORDS: tuple[tuple[ToldKind, str, str, re.Pattern[str]], ...] = (
    ("digits", "digits only", r"\d+", re.compile(
        r"\b(?:digits only|(?:only|just) (?:the )?digits|nur ziffern|uniquement (?:des|les) chiffres"
        r"|chiffres uniquement|s[oó]lo d[ií]gitos|solo cifre|alleen cijfers)\b", re.IGNORECASE)),
    ("upper", "in upper case", r"[^a-zß-öø-ÿ]*", re.compile(
        rf"{_BEGINS}(?:all |block |tout |tod[oa] |tutt[oe] )?(?:upper-?cased?|upper case|capital letters|capitals|caps"
        rf"|(?:gro(?:ß|ss)|block)buchstaben|versalien|majuscules|may[uú]sculas|maiuscol[oe]|hoofdletters)\b{_ENDS}",
        re.IGNORECASE)),
    ("lower", "in lower case", r"[^A-ZÀ-ÖØ-Þ]*", re.compile(
        rf"{_BEGINS}(?:all )?(?:lower-?cased?|lower case|small letters|kleinbuchstaben|minuscules|min[uú]sculas"
        rf"|minuscol[oe]|kleine letters)\b{_ENDS}", re.IGNORECASE)),
)  # fmt: skip
# What a form before or behind these words is: one that is not wanted, one that documents have, or an example.
_NOT_ASKED = re.compile(
    r"(?:\b(?:not|never|no|instead of|rather than|nicht|print(?:s|ed)|appears?|appearing|found|may be"
    r"|usually|often|typically|normally|generally|parses?|accepts|where"
    r"|(?:documents?|letters?|invoices?|pages?) (?:have|has|use|uses|print|write|writes|show|shows|say|says)|source"
    r"|originally|such as|like|whether|convert(?:ed)?)(?:\s+[\w'’]+){0,3}\s+"
    r"|\b(?:from|by|see|for example,?|examples?:?|ha(?:s|ve)(?= an?\b)|default(?: value)?:)\s+(?:the |its |an? )?"
    r"|\bin (?:which|that|this) case\b.*|\{[^}]*)$",
    re.IGNORECASE,
)
_OF_DOCUMENT = re.compile(
    r"\W{0,2}\s*(?:in|on|of) (?:the|its|most|some) (?:document|source|original|letter|page|invoice|text|mail)"
    r"|[^.;]*\bfollowed by\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\b(?:e\. ?g\.|eg\b\.?|z\. ?B\.|p\. ?(?:ex|ej)\.|ad es\.|bijv\.)[,:]?", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s)]+")
_QUOTES = re.compile(r"['\"`*_“”‘]")
_OPEN = re.compile(
    r"\b(?:otherwise|or else|either|where possible|if possible|preferably|if known|as printed|in the words of|sonst"
    r"|one of the following|(?:standard|following) form(?:at)?s)\b",
    re.IGNORECASE,
)
# An "or" right before or behind a form tells another way, but for null.
_OR_BEFORE = re.compile(r"\b(?:or|oder|ou) (?:the |an? )?$", re.IGNORECASE)
_OR_BEHIND = re.compile(
    r"(?:\W*\([^)]*\))?(?:\W*(?:codes?|format|form|dates?|times?|only)\b)*\W*\b(?:or|oder|ou)\b"
    r"(?!\W*(?:null|none|nothing|leave|left|omit|blank|(?:an )?empty|leer|vide)\b)",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\W*(?:or|oder|ou|o|of)\W*(?:just |only )?", re.IGNORECASE)


@lru_cache(maxsize=4096)
def told_form(description: str) -> ToldForm | None:
    """Returns the form that a description asks for; None if it asks for none, for several, or says what documents do.

    Time is linear in the description.
    """
    text = _DIRECTIVE.sub(lambda one: _DIRECTIVES[one[1]], _LINK.sub("", description))
    text = _EXAMPLE.sub("for example", " ".join(text.split()))
    text = _MONTH_WORD.sub(lambda one: "M" * max(3, len(one[0]) - 1), text)
    found = [*_moments(text)] or [*_codes(text)] or [*_words(text)][:1]
    forms = {form.pattern: form for form, _ in found}
    if not forms:
        return None
    first, *others = forms.values()
    if others and (", " in first.name or not _are_joined(text, [place for _, place in found])):
        return None
    return replace(first, open=bool(others) or any(_is_open(text, *place) for _, place in found))


def _is_open(text: str, start: int, end: int) -> bool:
    """Returns whether something else may stand for the form at [start, end)."""
    beside = _OR_BEFORE.search(text[max(0, start - 12) : start]) or _OR_BEHIND.match(text[end : end + 60])
    return beside is not None or _OPEN.search(text) is not None


def _asks(text: str, start: int, end: int) -> bool:
    """Returns whether the form at [start, end) is asked for."""
    clause = max(text.rfind(mark, 0, start) for mark in (". ", "; ", "\n")) + 1
    before = _QUOTES.sub("", text[max(clause, start - 90) : start])
    return _NOT_ASKED.search(before) is None and _OF_DOCUMENT.match(text[end : end + 40]) is None


def _are_joined(text: str, places: list[tuple[int, int]]) -> bool:
    """Returns whether the forms at these places stand side by side with an "or" between them."""
    between = [text[one[1] : other[0]] for one, other in pairwise(places)]
    return all(_JOINED.fullmatch(part) for part in between)


def _moments(text: str) -> list[tuple[ToldForm, tuple[int, int]]]:
    found = []
    for match in _MOMENT.finditer(text):
        form = _moment(match[0])
        if form is None and (", " in match[0] or len(match[0]) > len("DD/MM/YYYY HH:MM")):
            return []  # several forms in a row
        if form is None or (match[0] == "AAAA" and _TELLS_YEAR.search(text) is None):
            continue
        of_length = _TELLS_LENGTH.search(text) and not {role for role, _ in form.parts} & {"year", "month", "day"}
        if not of_length and _asks(text, *match.span()):
            found.append((form, match.span()))
    if not found:
        for iso in _ISO.finditer(text):
            if _asks(text, *iso.span()) and not re.search(r"\bduration|\bweek", text, re.IGNORECASE):
                is_day = _TELLS_DAY.search(text) is not None and _TELLS_TIME.search(text) is None
                form = _moment("YYYY-MM-DD") if is_day else None
                found.append((form or ToldForm("ISO 8601", "moment", _ISO_PATTERN), iso.span()))
    of_clock = not found and _TELLS_CLOCK.search(text) is not None and _TELLS_LENGTH.search(text) is None
    if of_clock and (clock := _moment("HH:MM")) is not None:
        clock = replace(clock, name="24-hour HH:MM")
        found += [(clock, hours.span()) for hours in _DAY_HOURS.finditer(text) if _asks(text, *hours.span())]
    return found


def _moment(form: str) -> ToldForm | None:
    """Returns the form of dates and times that these runs of letters are; None if they are no such form."""
    parts: list[tuple[Role, str]] = []
    runs = _RUN.findall(form)
    longer = {run[0].upper() for run in runs if len(run) > 1 and not _HALF_RUN.fullmatch(run)}
    french = "A" in longer
    # "T.M.JJJJ", "J/M/AAAA", "G/M/AAAA": such a letter alone is the day, unless that is told already.
    alone = {"M", "D", "H", *(("J", "G") if french else ("T",) if "J" in longer else ())} - (longer - {*"MDH"})
    for run, behind in pairwise((*runs, "")):
        roles = [role for role, _ in parts]
        is_mark = run in ("T", "'T'") and behind[:1] in ("H", "h")
        letter = "" if is_mark or (len(run) == 1 and run.upper() not in alone) else run[0].upper()
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
    said = next((_said_length(one) for one in _LENGTH.finditer(text)), 0)
    cases = {form.kind for form, _ in _words(text)}
    named = [kind for kind, names in _NAMES.items() if names.search(text)]
    for kind, pattern in _CODES:
        alone = _ISO_CODE.finditer(text) if named == [kind] else ()
        for match in (*pattern.finditer(text), *alone):
            if not _asks(text, *match.span()):
                continue
            # "ISO 639" alone has codes of two and of three letters.
            length = 3 if kind == "currency" else said or 2
            many = "2,3" if kind == "language" and not said else str(length)
            is_lower = "lower" in cases or (kind == "language" and "upper" not in cases)
            letters = "[a-z]" if is_lower else "[A-Z]"
            name = f"{kind} code of {many.replace(',', ' or ')} letters"
            found.append((ToldForm(name, kind, f"{letters}{{{many}}}", length=length), match.span()))
    letters_said = None if found else _LETTERS.search(text)
    if letters_said is not None and _asks(text, *letters_said.span()):
        length = _NUMBERS[letters_said["count"].lower()]
        form = ToldForm(f"{length} letters", "letters", f"[A-Z]{{{length}}}", length=length)
        found.append((form, letters_said.span()))
    return found


def _said_length(match: re.Match[str]) -> int:
    if match["count"]:
        return _NUMBERS[match["count"].lower()]
    return int(match["alpha"]) if match["alpha"] else 2 if match["part"] == "1" else 3


def _words(text: str) -> Iterator[tuple[ToldForm, tuple[int, int]]]:
    for kind, name, pattern, words in _WORDS:
        match = words.search(text)
        if match is not None and _asks(text, *match.span()):
            yield ToldForm(name, kind, pattern), match.span()
