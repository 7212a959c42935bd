"""The writing conventions of countries and the pools of words of all families; both are data in `families/_common`."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

FAMILIES_FOLDER = Path(__file__).parent / "families"


@dataclass(frozen=True, slots=True)
class Locale:
    """A country's conventions of writing: `numbers` is the pair (thousands mark, decimal mark)."""

    name: str
    language: str
    country: str
    country_code: str
    currency: str
    symbol: str
    symbol_first: bool
    numbers: tuple[str, str]
    dates: tuple[str, ...]


@dataclass(slots=True)
class Value:
    """One drawn value. `kind` is the JSON type with its format; `raw` is the input of the printers."""

    kind: str
    raw: Any
    pattern: str = ""

    @property
    def truth(self) -> Any:
        """Returns the value in the record; texts are settled later, by their printing."""
        if self.kind == "date":
            return self.raw.isoformat()
        if self.kind in ("time", "date-time"):
            return self.raw.isoformat(timespec="minutes")
        if self.kind == "number":
            return float(self.raw)
        if self.kind == "integer":
            return int(self.raw)
        return self.raw


class Scope(Protocol):
    """A generator's access to the other values of its document."""

    rng: random.Random
    locale: Locale

    def value(self, path: str) -> Value:
        """Returns the value at this path, drawn at the first call; `.name` is a field of the same row."""
        ...

    def column(self, path: str) -> list[Value]:
        """Returns all values of `array[].name`."""
        ...

    def pool(self, name: str) -> tuple[str, ...]:
        """Returns the texts of a pool of the family, else of the common pool in this language."""
        ...

    def chosen(self, key: str, options: tuple[str, ...]) -> str:
        """Returns one of the options, the same throughout the document."""
        ...


@lru_cache(maxsize=1)
def common() -> dict[str, Any]:
    """Returns the pools that all families share, by language."""
    return tomllib.loads((FAMILIES_FOLDER / "_common" / "pools.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def locales() -> dict[str, Locale]:
    """Returns all locales of the common data, by name."""
    out = {}
    for name, d in common()["locales"].items():
        out[name] = Locale(
            name, name[:2], d["country"], name[3:], d["currency"], d["symbol"], d["first"],
            (d["numbers"][0], d["numbers"][1]), tuple(d["dates"].split("|")),
        )  # fmt: skip
    return out


@lru_cache(maxsize=8192)
def split(text: str) -> tuple[str, ...]:
    """Returns the alternatives of a text, split at bars outside of braces and angle brackets."""
    if "{" not in text and "<<" not in text:
        return tuple(text.split("|"))
    out, depth, start, i = [], 0, 0, 0
    while i < len(text):
        c = text[i]
        if c == "{" or text.startswith(("<<", "[["), i):
            depth += 1
            i += c != "{"
        elif c == "}" or text.startswith((">>", "]]"), i):
            depth -= 1
            i += c != "}"
        elif c == "|" and depth == 0:
            out.append(text[start:i])
            start = i + 1
        i += 1
    return (*out, text[start:])
