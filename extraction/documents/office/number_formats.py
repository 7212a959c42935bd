"""Numbers of spreadsheets as a person reads them: percents, currencies, dates and times.

A number has a point and no grouping, because the file tells no locale; a date is written as in ISO 8601.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

# The formats that files name by number alone (ECMA-376, 18.8.30), as far as they change what is read.
_BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 37: "#,##0", 38: "#,##0",
    39: "#,##0.00", 40: "#,##0.00", 41: "#,##0", 42: "#,##0", 43: "#,##0.00", 44: "#,##0.00", 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss.0",
}  # fmt: skip
# Dates and times of East Asian programs.
_BUILT_IN |= dict.fromkeys((*range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd")
_BUILT_IN |= dict.fromkeys(range(32, 36), "h:mm:ss")
_TOKEN = re.compile(
    r"\"([^\"]*)\"?|\\(.)|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[(h+|m+|s+)\]|\[[^\]]*\]|[_*].|(General)|([E][+-])|(AM/PM|A/P)|([ymdhsegb]+)"
    r"|([0#?]+(?:,[0#?]+)*(?:\.[0#?]*)?|\.[0#?]+)|(%)|([@,/])|(.)",
    re.IGNORECASE | re.DOTALL,
)
_MAX_FORMAT = 255
_EPOCH = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}
_PLACES = 30


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How numbers are written.

    places: digits after the point, None for as many as there are. date, time: the number is a moment of which these
    parts are shown. elapsed: it is a length of time. before, after: signs around the number, such as a currency.
    """

    places: int | None = None
    percent: bool = False
    date: bool = False
    time: bool = False
    elapsed: bool = False
    before: str = ""
    after: str = ""

    def write(self, number: float, from_1904: bool = False) -> str:
        """Returns the number as text; days count from 1900, or from 1904."""
        if self.elapsed or self.date or self.time:
            text = self._moment(number, from_1904)
            if text:
                return text
        if self.percent:
            return f"{_digits(number * 100, self.places)}%"
        digits = _digits(number, self.places)
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        return f"{sign}{self.before}{digits}{self.after}"

    def _moment(self, number: float, from_1904: bool) -> str:
        # Office programs know no moment outside of these.
        if not -1 < number < 2_958_466:
            return ""
        seconds = round(number * 86400)
        if self.elapsed:
            sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
            return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if number < 0:
            return ""
        # In the count from 1900 the day before March 1 never was.
        early = 86400 if number < 60 and not from_1904 and number >= 1 else 0
        at = _EPOCH[from_1904] + timedelta(seconds=seconds + early)
        clock = at.strftime("%H:%M:%S" if at.second else "%H:%M")
        if self.date and (number >= 1 or not self.time):
            day = f"{at.year:04}-{at.month:02}-{at.day:02}"
            return f"{day} {clock}" if self.time or seconds % 86400 else day
        return clock


GENERAL = NumberFormat()


def number_format(number: int, codes: dict[int, str]) -> NumberFormat:
    """Returns the format of this number; `codes` are those that the file defines."""
    code = codes.get(number, _BUILT_IN.get(number))
    return GENERAL if code is None else read_format(code)


@lru_cache(maxsize=4096)
def read_format(code: str) -> NumberFormat:
    """Returns the format that a code describes, in the section for positive numbers."""
    places: int | None = None
    percent = date = time = elapsed = general = scientific = counted = False
    before: list[str] = []
    after: list[str] = []
    for match in _TOKEN.finditer(code[:_MAX_FORMAT]):
        quoted, escaped, currency, long, any_form, power, half, letters, digits, part, sign, other = match.groups()
        if other == ";":
            break
        literal = next((one for one in (quoted, escaped, currency) if one is not None), other)
        if long:
            elapsed = True
        elif half:
            time = True
        elif letters:
            kinds = letters.lower()
            date = date or bool(set(kinds) & set("ydeg"))
            time = time or bool(set(kinds) & set("hs"))
            # Minutes stand beside hours or seconds, months do not.
            if kinds.strip("m") == "" and not time:
                date = date or len(kinds) > 2 or not set("hs") & set(code.lower())
        elif digits and places is None:
            places = len(digits.partition(".")[2])
            # Only parts of seconds begin with the point; beside other digits a letter is no date.
            counted = counted or not digits.startswith(".")
        elif part:
            percent = True
        elif power:
            scientific = True
        elif any_form or sign == "/":
            general = True
        elif literal and literal not in "()-+":
            (after if places is not None or general else before).append(literal)
    if (date or time or elapsed) and not counted:
        return NumberFormat(date=date, time=time, elapsed=elapsed)
    if general or scientific or places is None:
        places = None
    return NumberFormat(places, percent, before=_around("".join(before)), after=_around("".join(after), True))


def _around(text: str, behind: bool = False) -> str:
    text = " ".join(text.split())
    if len(text) > 1 and text.isalpha():
        return f" {text}" if behind else f"{text} "
    return f" {text}" if behind and text else text


def _digits(number: float, places: int | None) -> str:
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    if places is None:
        # Fifteen digits are those that office programs keep.
        if number == int(number) and abs(number) < 1e15:
            return str(int(number))
        text = f"{number:.15g}"
        if "e" in text and 1e-9 < abs(number) < 1e21:
            text = f"{float(text):.20f}".rstrip("0").rstrip(".")
        return text
    text = f"{float(f'{number:.15g}'):.{min(places, _PLACES)}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text
