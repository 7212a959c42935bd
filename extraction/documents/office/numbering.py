"""The numbers and bullets of a Word document's lists, which its paragraphs only refer to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from cinnabar.extraction.documents.office.package import local, value_at, value_of

_LEVELS, _MAX_LISTS, _MAX_STYLES = 9, 10_000, 20
_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of a list: its first number, the form of its numbers, and the text around them."""

    start: int = 1
    form: str = "decimal"
    text: str = ""


@dataclass(slots=True)
class _List:
    """A list in use: its levels and the last number of each; `begun` holds the instances that set numbers anew."""

    levels: list[_Level]
    counts: list[int | None] = field(default_factory=lambda: [None] * _LEVELS)
    begun: set[str] = field(default_factory=set)


class Numbering:
    """Counts the numbered paragraphs of a document in their order."""

    def __init__(self, numbering: Any, styles: Any) -> None:
        lists: dict[str, _List] = {}
        #: The list of each instance, and the first numbers that the instance sets, by level.
        self._instances: dict[str, tuple[_List, dict[int, int]]] = {}
        for one in () if numbering is None else numbering:
            if local(one) == "abstractNum" and len(lists) < _MAX_LISTS:
                lists[value_of(one, "abstractNumId") or ""] = _List(_levels(one))
            elif local(one) == "num" and len(self._instances) < _MAX_LISTS:
                known = lists.get(value_at(one, "abstractNumId"))
                if known is not None:
                    self._instances[value_of(one, "numId") or ""] = known, _overrides(one)
        self._styles: dict[str, tuple[str, str, str]] = {}
        for one in () if styles is None or not self._instances else styles:
            if local(one) == "style":
                self._styles[value_of(one, "styleId") or ""] = (*_reference(one), value_at(one, "basedOn"))

    def label(self, paragraph: Any) -> str:
        """Returns the number or bullet of the next paragraph with a blank behind it, "" if it has none."""
        if not self._instances:
            return ""
        number, level = _reference(paragraph)
        name = value_at(paragraph, "pPr", "pStyle")
        for _ in range(_MAX_STYLES):
            if (number and level) or name not in self._styles:
                break
            inherited, its_level, name = self._styles[name]
            number, level = number or inherited, level or its_level
        if number not in self._instances:
            return ""
        at = int(level) if level.isdecimal() and int(level) < _LEVELS else 0
        return self._count(number, at)

    def _count(self, number: str, at: int) -> str:
        known, overrides = self._instances[number]
        if number not in known.begun:
            known.begun.add(number)
            for level in overrides:
                known.counts[level] = None
        for level in range(at + 1):
            before = known.counts[level]
            if before is None:
                known.counts[level] = overrides.get(level, known.levels[level].start)
            elif level == at:
                known.counts[level] = before + 1
        # A number begins the levels below it anew.
        known.counts[at + 1 :] = [None] * (_LEVELS - at - 1)
        own = known.levels[at]
        if own.form == "bullet":
            return "• "
        if own.form == "none":
            return ""
        shown = _PLACE.sub(lambda place: _spell(known, int(place[1]) - 1), own.text)
        return f"{shown} " if shown.strip() else ""


def _spell(known: _List, level: int) -> str:
    number, form = known.counts[level], known.levels[level].form
    if number is None:
        return ""
    if form in ("lowerLetter", "upperLetter") and 0 < number <= 26 * 20:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters if form == "lowerLetter" else letters.upper()
    if form in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        roman, left = "", number
        for worth, letters in _ROMAN:
            roman += letters * (left // worth)
            left %= worth
        return roman if form == "lowerRoman" else roman.upper()
    return f"{number:02}" if form == "decimalZero" else str(number)


def _levels(abstract: Any) -> list[_Level]:
    levels = [_Level()] * _LEVELS
    for one in abstract:
        at = value_of(one, "ilvl") or ""
        if local(one) == "lvl" and at.isdecimal() and int(at) < _LEVELS:
            start, form, text = (value_at(one, name) for name in ("start", "numFmt", "lvlText"))
            levels[int(at)] = _Level(_number(start, 1), form or "decimal", text[:100])
    return levels


def _overrides(instance: Any) -> dict[int, int]:
    starts: dict[int, int] = {}
    for one in instance:
        at = value_of(one, "ilvl") or ""
        start = value_at(one, "startOverride")
        if local(one) == "lvlOverride" and at.isdecimal() and int(at) < _LEVELS and start:
            starts[int(at)] = _number(start, 1)
    return starts


def _reference(element: Any) -> tuple[str, str]:
    """Returns the instance and level that a paragraph or a style refers to, "" for each that it does not tell."""
    return value_at(element, "pPr", "numPr", "numId"), value_at(element, "pPr", "numPr", "ilvl")


def _number(shown: str, default: int) -> int:
    return int(shown) if shown.isdecimal() and len(shown) < 8 else default
