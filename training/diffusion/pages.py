"""Generated pages of labelled values, each with its schema and its record.

A page has lines such as `Harbour fee: 412.5`; the schema asks for some of them, by names or by descriptions in other
forms than the labels. Values stand in the record as they stand on the page. Some fields are not on the page, and
some pages have two answers of equal right, which must not be mixed. Words, layouts, forms of labels and combinations
of fields that training never sees are drawn with `held_back`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cinnabar.engine.diffusion.prompt import Message, messages
from cinnabar.schemas.compiling.compile import compile_schema

Record = dict[str, Any]

#: What stands between a label and its value, and between two lines; the last of each are held back.
_BETWEEN = (": ", ":  ", " = ", ": ", " .... ", " - ", ":\n", "\n", " | ", " ..... ", " : ", " = ", ": ")
_BETWEEN_HELD_BACK = (" -> ", " ......... ", ":\n\n", " == ")
_LINES = ("\n", "\n", "\n", "\n\n", "; ", "   ", " |\n", ", ")
_LINES_HELD_BACK = ("\n---\n", " / ", "\n\n\n")
_BULLETS = ("", "", "", "", "- ", "* ", "| ")
_BULLETS_HELD_BACK = ("+ ", "> ")
_MARKS = ":=-.~|>*#/_;<"
#: Words around a label that say nothing.
_AROUND = ("our {}", "{} no", "the {}", "{} code", "{} as agreed", "your {}", "{} here", "new {}")
_AROUND_HELD_BACK = ("their {}", "{} for now", "main {}", "{} in all")


@dataclass(frozen=True, slots=True)
class Page:
    """A document with its schema and the record that it holds."""

    schema: Record
    text: str
    record: Record


@dataclass(frozen=True, slots=True)
class _Field:
    """A field: the words of its name, its kind, and a draw of its values."""

    words: tuple[str, ...]
    kind: str

    @property
    def name(self) -> str:
        return "_".join(self.words)


class Pages:
    """Draws pages; `held_back` draws what training never sees: words, layouts and forms of labels.

    most: the most fields of a page. With `two_answers` (0 to 1), the share of pages that give two answers of equal
    right.
    """

    def __init__(self, held_back: bool = False, most: int = 12, two_answers: float = 0.1) -> None:
        self._words = Words(held_back)
        self._held_back, self._most, self._two_answers = held_back, most, two_answers
        self._between = _BETWEEN_HELD_BACK if held_back else _BETWEEN
        self._lines = _LINES_HELD_BACK if held_back else _LINES
        self._bullets = _BULLETS_HELD_BACK if held_back else _BULLETS
        self._around = _AROUND_HELD_BACK if held_back else _AROUND

    def draw(self, rng: random.Random) -> Page:
        """Returns a page."""
        return self.two_answers(rng) if rng.random() < self._two_answers else self.labelled(rng)

    def labelled(self, rng: random.Random, asked: int | None = None) -> Page:
        """Returns a page of labelled lines; `asked` is the number of fields of its schema."""
        asked = asked or min(rng.randint(1, self._most), rng.randint(1, self._most))
        others = rng.randint(0, max(1, asked // 3))
        fields = self._fields(rng, asked + others)
        nullable = {at for at in range(asked) if rng.random() < 0.2}
        absent = {at for at in nullable if rng.random() < 0.4}
        values = [_VALUES[field.kind](rng, self._words) for field in fields]
        between, line, bullet = self._layout(rng)
        case = rng.choice((str.capitalize, str.capitalize, str.title, str.lower))
        written = [at for at in range(len(fields)) if at not in absent]
        rng.shuffle(written)
        lines = [
            bullet + case(self._label(rng, fields[at])) + between + str(values[at]) for at in written
        ]
        opening = [" ".join(self._words.draw(rng) for _ in range(rng.randint(1, 3))).capitalize() + "."]
        text = line.join([*(opening if rng.random() < 0.4 else []), *lines]) + "\n"
        properties = {f.name: _schema(f, at in nullable) for at, f in enumerate(fields[:asked])}
        record = {f.name: None if at in absent else values[at] for at, f in enumerate(fields[:asked])}
        return Page(_object(properties), text, record)

    def _layout(self, rng: random.Random) -> tuple[str, str, str]:
        """Returns what stands between label and value, between lines, and before a label.

        With twelve fixed separators a model learnt these by heart: held-back ones read .59, seen ones .74. So half of
        the training layouts have marks at random.
        """
        kinds = (self._between, self._lines, self._bullets)
        between, line, bullet = (rng.choice(kind) for kind in kinds)
        if not self._held_back:
            held_back = (_BETWEEN_HELD_BACK, _LINES_HELD_BACK, _BULLETS_HELD_BACK)
            if rng.random() < 0.5:
                between = _apart(rng, (" ", "  ", " "), (" ", " ", "\n"), held_back[0])
            if rng.random() < 0.3:
                line = _apart(rng, (" ", "\n", ""), (" ", "\n"), held_back[1])
            if rng.random() < 0.3:
                bullet = _apart(rng, ("",), (" ",), held_back[2])
        return between, line, bullet

    def two_answers(self, rng: random.Random) -> Page:
        """Returns a page with two codes of equal right, of which one is the answer."""
        field = self._fields(rng, 1, "code")[0]
        size = rng.randint(5, 7)
        one, other = (_letters(rng, size) for _ in range(2))
        lines = [f"{' '.join(field.words).capitalize()}: {one} or {other}"]
        for extra in self._fields(rng, rng.randint(0, 2)):
            line = f"{' '.join(extra.words)}: {_VALUES[extra.kind](rng, self._words)}"
            lines.insert(rng.randint(0, len(lines)), line)
        schema = _object({field.name: {"type": "string"}})
        return Page(schema, "\n".join(lines) + "\n", {field.name: rng.choice((one, other))})

    def _fields(self, rng: random.Random, count: int, kind: str = "") -> list[_Field]:
        found: dict[str, _Field] = {}
        shared = [self._words.draw(rng, 1, 2) for _ in range(3)]
        while len(found) < count:
            words = [self._words.draw(rng, 1, 2)]
            if rng.random() < 0.5:
                words.append(rng.choice(shared) if rng.random() < 0.5 else self._words.draw(rng, 1, 2))
            field = _Field(tuple(words), kind or rng.choice(_KINDS))
            found.setdefault(field.name, field)
        return list(found.values())

    def _label(self, rng: random.Random, field: _Field) -> str:
        label = " ".join(field.words)
        if rng.random() < 0.2:
            label = rng.choice(self._around).format(label)
        return label


def _schema(field: _Field, nullable: bool) -> Record:
    kind = "number" if field.kind in ("amount", "count") else "string"
    schema: Record = {"type": [kind, "null"] if nullable else kind}
    return schema | {"format": "date"} if field.kind == "date" else schema


def page_messages(page: Page) -> list[Message]:
    """Returns the engine's messages that ask for a page's record (engine/diffusion/prompt.py)."""
    return messages(compile_schema(page.schema).form, {}, page.text)


def _object(properties: Record) -> Record:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _apart(
    rng: random.Random, before: Sequence[str], behind: Sequence[str], held_back: Sequence[str]
) -> str:
    """Returns one or more marks with white space on both sides, none of those that are held back."""
    while True:
        mark = rng.choice(_MARKS)
        marks = mark * rng.choice((1, 1, 1, 2, 3, rng.randint(4, 12)))
        marks += rng.choice(("", "", "", rng.choice(_MARKS)))
        found = rng.choice(before) + marks + rng.choice(behind)
        if found not in held_back:
            return found


def _letters(rng: random.Random, size: int) -> str:
    return "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") for _ in range(size))


def _code(rng: random.Random, _: Words) -> str:
    parts = [_letters(rng, rng.randint(2, 4)) for _ in range(rng.randint(1, 2))]
    return rng.choice("-/").join(parts)


def _name(rng: random.Random, words: Words) -> str:
    return " ".join(words.draw(rng).capitalize() for _ in range(rng.randint(1, 3)))


def _date(rng: random.Random, _: Words) -> str:
    return f"{rng.randint(1970, 2035)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _count(rng: random.Random, _: Words) -> int:
    return rng.randint(0, 10 ** rng.randint(1, 5))


def _amount(rng: random.Random, _: Words) -> float:
    cents = rng.randint(1, 10 ** rng.randint(3, 6))
    return (cents - cents % 10 + rng.randint(1, 9)) / 100


_VALUES: dict[str, Callable[[random.Random, Words], Any]] = {
    "name": _name,
    "code": _code,
    "date": _date,
    "count": _count,
    "amount": _amount,
}
_KINDS: Sequence[str] = ("name", "name", "name", "code", "code", "count", "amount", "date")


# Invented words, some of which are held back from training.

_ONSETS = (*"bcdfghjklmnprstvwz", "br", "ch", "cl", "dr", "fl", "gr", "kr", "pl", "pr", "sh", "st", "tr")
_NUCLEI = (*"aeiou", "ai", "ea", "ou")
_CODAS = ("", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "st")
#: One word in so many is held back.
_HELD_BACK = 8


def held_back(word: str) -> bool:
    """Returns whether a word is kept out of the training pages."""
    return hashlib.sha256(word.encode()).digest()[0] % _HELD_BACK == 0


@dataclass(frozen=True, slots=True)
class Words:
    """Draws words: those held back only, or none of these."""

    held_back: bool = False

    def draw(self, rng: random.Random, least: int = 1, most: int = 3) -> str:
        """Returns a word in lower case, of `least` to `most` syllables."""
        while True:
            count = rng.randint(least, most)
            word = "".join(rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(count))
            if held_back(word) == self.held_back:
                return word
