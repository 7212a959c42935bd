"""The rows of sheets as lines with the addresses of their cells, and numbers as a person reads them.

A number has a point and no grouping, because the file tells no locale; a date is written as in ISO 8601.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from operator import eq, ge, gt, le, lt, ne
from unicodedata import category

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import (
    MAX_ADDRESSES,
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_NUMBER_FORMAT,
    MAX_SHEET_COLUMNS,
)
from cinnabar.extraction.documents.content.marked_text import MarkedText, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.plain.rows import CELL_ERROR, UNCOMPUTED, marked_row, widths

# Rows that are aligned with each other.
_BLOCK = 500


class CellCount:
    """The number of cells that were read from all sheets of a workbook."""

    def __init__(self, reading: ParseContext) -> None:
        self.reading = reading
        self.cells = 0

    def add(self, cells: int) -> bool:
        """Counts cells with content; returns False, and flags the document `truncated`, beyond the bound."""
        self.cells += cells
        if self.cells > MAX_CELLS or self.reading.builder.full:
            self.reading.builder.flags.add("truncated")
            return False
        return True


class SheetText:
    """Appends the rows of one sheet, which begin at any column and come in their order."""

    def __init__(self, text: MarkedText, count: CellCount) -> None:
        self.text, self._count = text, count
        self._rows: list[tuple[int, list[str]]] = []
        self._last = -1
        self._columns: list[int] = []

    def row(self, number: int, cells: Sequence[tuple[int, str]]) -> bool:
        """Appends a row of cells, each with its column from 1; returns False if the sheet takes no more."""
        held: list[str] = []
        filled = 0
        for column, content in cells:
            if not content.isalnum():
                content = " ".join(clean(content[:MAX_CELL_CHARACTERS]).split())
                if content[:1] in ("#", "E") and (content == UNCOMPUTED or CELL_ERROR.fullmatch(content)):
                    flag = "formula_without_value" if content == UNCOMPUTED else "error_cells"
                    self._count.reading.builder.flags.add(flag)
            if content and 0 < column <= MAX_SHEET_COLUMNS:
                held += [""] * (column - len(held))
                held[column - 1] = content
                filled += content != UNCOMPUTED
        # Formulas alone, such as those that wait below a table, are no row.
        if not filled:
            return True
        self._rows.append((number, held))
        if len(self._rows) >= _BLOCK:
            self.flush()
        return self._count.add(filled)

    def page_lines(self, lines: Iterable[str], kind: str) -> None:
        """Appends the lines of page headers or footers ("header", "footer"), apart from the rows."""
        self.flush()
        self.text.blank()
        for line in lines:
            self.text.line(line, f"page {kind}")

    def flush(self) -> None:
        """Writes the rows that were collected as a table whose columns are aligned; empty columns are left out."""
        # Columns that are empty in the whole block are no columns.
        used = sorted({at for _, cells in self._rows for at, cell in enumerate(cells) if cell})
        packed = [[cells[at] if at < len(cells) else "" for at in used] for _, cells in self._rows]
        columns = self._columns = widths(packed, self._columns)
        for (number, _), cells in zip(self._rows, packed, strict=True):
            if number > self._last + 1:
                self.text.blank()
            self._last = number
            line, begins = marked_row(cells, columns)
            if self._count.cells <= MAX_ADDRESSES:
                marks = [
                    (begin, f"{column_name(at + 1)}{number}")
                    for at, begin, cell in zip(used, begins, cells, strict=True)
                    if cell
                ]
                self.text.line(line, marks=marks)
            else:
                self.text.line(line, f"row {number}")
        self._rows.clear()


@contextmanager
def sheet_rows(count: CellCount, name: str, hidden: bool) -> Iterator[SheetText]:
    """Gives the rows of a sheet, a part of its own."""
    with part_text(count.reading, "hidden" if hidden else "sheet", name) as text:
        rows = SheetText(text, count)
        yield rows
        rows.flush()


def column_name(number: int) -> str:
    """Returns the letters of a column, counted from 1."""
    name = ""
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(65 + digit) + name
    return name


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
    r"\"([^\"]*)\"?|\\(.)|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[(h+|m+|s+)\]|\[([<>]=?|=|<>)(-?\d+\.?\d*)\]|\[[^\]]*\]|[_*]."
    r"|(General)|(E[+-][0#?]*)|(AM/PM|A/P)|([ymdhsegb]+)|([0#?]+(?:,+[0#?]+)*(?:\.[0#?]*)?,*|\.[0#?]+,*)|([@/])|(.)",
    re.IGNORECASE | re.DOTALL,
)
_TESTS = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "<>": ne}
_EPOCH = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}
_PLACES = 30


@dataclass(frozen=True, slots=True)
class Section:
    """The format of some numbers.

    places: digits after the point, at least and at most, None for as many as there are. slots: those for digits before
    the point, in groups, each with the text before it. after: text behind the number. minus: a sign or brackets tell of
    a negative number. scale: the number is multiplied by this power of ten. date, time: the number is a moment of which
    these parts are shown. elapsed: it is a length of time. test: of the numbers of the section. text: it is for texts.
    """

    places: tuple[int, int] | None = None
    slots: tuple[tuple[str, str], ...] = (("", "#"),)
    after: str = ""
    minus: bool = False
    scale: int = 0
    date: bool = False
    time: bool = False
    elapsed: bool = False
    test: tuple[str, float] | None = None
    text: bool = False

    @property
    def words(self) -> str:
        """Returns the letters and digits that are written beside the number."""
        return "".join(filter(str.isalnum, f"{self.slots[0][0]}{self.after}"))

    def write(self, number: float, from_1904: bool = False, signed: bool = True) -> str:
        """Returns the number as text, with a minus before a negative one if it is `signed`."""
        if self.elapsed or self.date or self.time:
            text = self._moment(number, from_1904)
            if text:
                return text
        digits = _digits(number * 10.0**self.scale if self.scale else number, self.places)
        sign, digits = ("-" * signed, digits[1:]) if digits.startswith("-") else ("", digits)
        whole, point, part = digits.partition(".")
        whole, filled = whole.zfill(sum(group.count("0") for _, group in self.slots)), ""
        for literal, group in self.slots[:0:-1]:
            cut = max(len(whole) - len(group), 0)
            whole, filled = whole[:cut], f"{literal}{whole[cut:]}{filled}"
        shown = f"{whole}{filled}{point}{part}" if self.slots[0][1] else ""
        return f"{sign}{self.slots[0][0]}{shown}{self.after}".strip()

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
            return f"{at.date()} {clock}" if self.time or seconds % 86400 else f"{at.date()}"
        return clock


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How numbers and texts are written: the sections for numbers, and the one for texts."""

    sections: tuple[Section, ...] = (Section(),)
    texts: Section | None = None

    def write(self, number: float, from_1904: bool = False) -> str:
        """Returns the number as text, empty if it is not shown; days count from 1900, or from 1904."""
        first = self.sections[0]
        fitting = (one for one in self.sections if one.test is None or _TESTS[one.test[0]](number, one.test[1]))
        section = next(fitting, first)
        told = section.words
        if not told and section.slots[0][1].strip("?") == "":
            # A sign without a word, such as a dash for zero, would hide the number from who reads words.
            if not (section.slots[0][0] or section.after or section.minus):
                return ""
            section = first
        # A word may tell of negative numbers ("50 CR").
        other = self.sections[-1 if section is first else 0].words
        signed = section.minus or section.test not in _BELOW or told == other
        return section.write(number, from_1904, signed)

    def write_text(self, text: str) -> str:
        """Returns a text as it is shown, empty if it is not."""
        return text if self.texts is None else f"{self.texts.slots[0][0]}{text * self.texts.text}{self.texts.after}"


_SCALES = {(-3, "K"): [" thousand"], (-3, "k"): [" thousand"], (-6, "M"): [" million"], (-6, "m"): [" million"],
           (-6, "MM"): [" million"], (-9, "B"): [" billion"], (-9, "bn"): [" billion"]}  # fmt: skip
_BELOW = ("<", 0.0), ("<=", 0.0)
GENERAL = NumberFormat()


def number_format(number: int, codes: dict[int, str]) -> NumberFormat:
    """Returns the format of this number; `codes` are those that the file defines."""
    code = codes.get(number, _BUILT_IN.get(number))
    return GENERAL if code is None else read_format(code)


@lru_cache(maxsize=4096)
def read_format(code: str) -> NumberFormat:
    """Returns the format that a code describes in up to four sections: above zero, below zero, zero, and text."""
    code = code[:MAX_NUMBER_FORMAT].strip() or "General"
    ends = [match.start() for match in _TOKEN.finditer(code) if match[0] == ";"]
    sections = [_section(code[a + 1 : b]) for a, b in pairwise([-1, *ends, len(code)])][:4]
    numbers = [one for one in sections[:3] if not one.text]
    texts = next((one for one in sections if one.text), sections[3] if len(sections) > 3 else None)
    tests: list[tuple[str, float] | None] = [(">", 0.0), ("<", 0.0), None]
    if len(numbers) < 3:
        tests = [(">=", 0.0), None if any(one.test for one in numbers) else ("<", 0.0)]
    tested = (replace(one, test=one.test or test) for one, test in zip(numbers, tests, strict=False))
    return NumberFormat(tuple(tested) or GENERAL.sections, texts)


def _section(code: str) -> Section:
    date = time = elapsed = exact = counted = text = minus = False
    test: tuple[str, float] | None = None
    scale = least = most = 0
    groups: list[tuple[list[str], str]] = []
    literals: list[str] = []
    for match in _TOKEN.finditer(code):
        quoted, escaped, currency, long, sign, limit, general, power, half, letters, digits, part, char = match.groups()
        if long:
            elapsed = True
        elif sign:
            test = sign, float(limit)
        elif half:
            time = True
        elif letters:
            kinds = letters.lower()
            date = date or bool(set(kinds) & set("ydeg"))
            time = time or bool(set(kinds) & set("hs"))
            # Minutes stand beside hours or seconds, months do not.
            if kinds.strip("m") == "" and not time:
                date = date or len(kinds) > 2 or not set("hs") & set(code.lower())
        elif digits or general or part == "@":
            whole, _, decimals = (digits or "#").rstrip(",").partition(".")
            scale -= 3 * ((digits or "").count(",") - whole.count(","))
            least, most = least + decimals.count("0"), most + len(decimals)
            groups.append((literals, whole.replace(",", "") or "#"))
            literals = []
            exact, text = exact or not digits, text or part == "@"
            # Only parts of seconds begin with the point; beside other digits a letter is no date.
            counted = counted or not (digits or "").startswith(".")
        elif power or part:
            exact = True
        elif char == "-" and not groups:
            minus = True
        else:
            literals.append(next((one for one in (quoted, escaped, currency, char) if one is not None), ""))
            scale += 2 * (char == "%")
    if (date or time or elapsed) and not counted:
        return Section(date=date, time=time, elapsed=elapsed, test=test)
    groups = groups[:1] if exact else groups
    (before, whole), *others = groups or [(literals, "")]
    # "4.50M" without a currency could be a length.
    after = _SCALES.get((scale, "".join(literals).strip()), literals) if groups else []
    if "(" in before and ")" in after:
        before.remove("(")
        after.remove(")")
        minus = True
    elif "".join(after).strip() == "-":
        after, minus = [], True
    # Digits that are filled up, or divided, are a code: what stands around them belongs to it.
    fixed = bool(others) or whole.count("0") > 1
    slots = ((_around("".join(before), False, fixed), whole), *(("".join(text), slot) for text, slot in others))
    places = None if exact or not groups else (least, most)
    return Section(places, slots, _around("".join(after), True, fixed), minus, scale, test=test, text=text)


def _around(text: str, behind: bool, fixed: bool) -> str:
    """Returns the text before or behind a number, with a blank beside a word or where the format has one."""
    bare, near = " ".join(text.split()), text[:1] if behind else text[-1:]
    apart = near.isspace() and (fixed or behind or len(bare) > 1)
    if not fixed and bare:
        word = len(bare) > 1 and (bare[0].isalpha() if behind else bare.isalpha())
        apart = apart or word or (behind and category(bare[0]) == "Sc")
    return f"{' ' * apart}{bare}" if behind else f"{bare}{' ' * apart}"


def _digits(number: float, places: tuple[int, int] | None) -> str:
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    # Office programs keep fifteen digits; a file may have more of a whole number, such as those of a code.
    whole = isinstance(number, int) or (abs(number) < 2**53 and number == int(number))
    if places is None:
        if whole:
            return str(int(number))
        text = f"{number:.15g}"
        if "e" in text and 1e-9 < abs(number) < 1e21:
            text = f"{float(text):.20f}".rstrip("0").rstrip(".")
        return text
    least, most = places
    # Office programs round halves away from zero.
    text = f"{float(f'{number:.15g}') * (1 + 2**-52):z.{min(most, _PLACES)}f}"
    if whole:
        text = f"{int(number)}.{text.partition('.')[2]}"
    while most > least and text[-1] == "0":
        text, most = text[:-1], most - 1
    return text.removesuffix(".")
