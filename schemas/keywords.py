"""The keyword `x-cinnabar-decimals`: numbers with at most so many decimal places.

`multipleOf: 0.0001` says the same in the words of the standard. But a validator that computes in binary floats, as most
do, finds 80.91 to be no multiple of 0.0001, so such schemas make other programs refuse valid records.

`x-cinnabar-pages`, and `--pages` of a run: the pages that are read of documents that have pages.

`x-cinnabar-lookup`: a field whose value is found in a reference table by what a document prints.

    "vendor": {"type": ["string", "null"],
               "x-cinnabar-lookup": {"table": "vendors.csv", "key": "name", "returns": "vendor_id", "least": 0.9}}

When a schema is loaded each table is named by its whole path and digest, so that another table makes another schema.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from cinnabar.errors import SchemaError
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

DECIMALS = "x-cinnabar-decimals"
#: A decimal column has 38 digits, and one of them stands before the point.
MOST = 37
# Keywords whose values are data, and keywords that map any name to a schema.
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
_NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})


def step_of(places: Any) -> Decimal | None:
    """The number of which all numbers with this many decimal places are multiples; None if `places` is no such count.

    A float that is whole counts, as everywhere in JSON Schema.
    """
    if isinstance(places, bool) or not isinstance(places, (int, float, Decimal)) or places != places // 1:
        return None
    return Decimal(1).scaleb(-int(places)) if 0 <= places <= MOST else None


def inexact_multiples(schema: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yields the pointer of each `multipleOf` that binary floats cannot hold, and a warning with advice."""
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from inexact_multiples(part, f"{at}/{index}")
    elif isinstance(schema, dict):
        step = schema.get("multipleOf")
        if not isinstance(step, bool) and isinstance(step, (int, float, Decimal)) and not _is_exact(step):
            yield f"{at}/multipleOf", _warning_of(Decimal(str(step)))
        for key, part in schema.items():
            if key in _NAMED and isinstance(part, dict):
                for name, below in part.items():
                    yield from inexact_multiples(below, f"{at}/{escape(key)}/{escape(name)}")
            elif key not in _DATA:
                yield from inexact_multiples(part, f"{at}/{escape(key)}")


def _is_exact(step: int | float | Decimal) -> bool:
    if isinstance(step, int):
        return True
    # A float is compared with the decimal that was written, which is the shortest one that reads back as it.
    return Decimal(float(step)) == Decimal(str(step))


def _warning_of(step: Decimal) -> str:
    sign, digits, exponent = step.normalize().as_tuple()
    places = -exponent if isinstance(exponent, int) else 0
    warning = f"multipleOf {step} is exact here, but validators with binary floats refuse numbers that meet it"
    power = not sign and digits == (1,) and 0 < places <= MOST
    return f'{warning}; write "{DECIMALS}": {places} instead' if power else warning


PAGES = "x-cinnabar-pages"
#: Pages and ranges of pages from 1, with commas between; `last` is the last one.
PAGES_PATTERN = r"^([1-9]\d{0,5}(-([1-9]\d{0,5}|last))?|last)(,([1-9]\d{0,5}(-([1-9]\d{0,5}|last))?|last))*$"


@dataclass(frozen=True, slots=True)
class PageRanges:
    """Pages by their numbers, such as `1-3,last`."""

    text: str

    def of(self, count: int) -> frozenset[int]:
        """Returns the chosen pages of a document with so many pages."""
        chosen = set[int]()
        for one in self.text.split(","):
            first, *more = one.split("-")
            low, high = (count if part == "last" else int(part) for part in (first, *(more or [first])))
            # 3-1 is 1-3, but no document of four pages has 5-last.
            if high < low and "last" not in more:
                low, high = high, low
            chosen.update(range(low, min(high, count) + 1))
        return frozenset(page for page in chosen if page <= count)


def page_ranges_of(named: object, pointer: str) -> PageRanges:
    """Returns the pages that the schema at this pointer names. Raises UnsupportedSchema for other words."""
    if not isinstance(named, str) or not re.fullmatch(PAGES_PATTERN, named):
        raise refused(Refusal.PAGES, f"{pointer}/{PAGES}", got=named)
    if pointer:
        raise refused(Refusal.PAGES_OF_FIELD, f"{pointer}/{PAGES}")
    return PageRanges(named)


LOOKUP = "x-cinnabar-lookup"
#: The likeness from which on a row is the one that is meant, unless the schema says another.
LEAST = 0.9
_MEMBERS = {"table", "key", "returns", "least", "digest", "learned"}
#: What people said that printed words mean: by table and column returned, the value by the plain words.
Learned = Mapping[tuple[str, str], Mapping[str, str]]
#: Keywords beside a lookup that would bind what the document prints, though they are meant for what the table returns.
_BINDING = ("enum", "const", "pattern", "format", "minLength", "maxLength")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A reference table, the columns that documents print (any of them), and the one whose text is the value.

    table: a path, behind `#` the view of a DuckDB file. least: the likeness, up to 1, of what is printed and a key.
    digest: SHA-256 of the file. learned: plain words and the value that people gave them, no part of the schema.
    """

    table: str
    keys: tuple[str, ...]
    returns: str
    least: float = LEAST
    digest: str = ""
    learned: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def place(self) -> tuple[Path, str]:
        """The file, and the view in it or an empty text."""
        path, _, view = self.table.partition("#")
        return Path(path), view


def lookup_of(schema: Mapping[str, Any], pointer: str) -> Lookup | None:
    """Returns the lookup of the schema at this pointer, None without one. Raises UnsupportedSchema for a wrong one."""
    if LOOKUP not in schema:
        return None
    found, at = schema[LOOKUP], f"{pointer}/{LOOKUP}"
    if not isinstance(found, dict) or not isinstance(found.get("table"), str) or not {*found} <= _MEMBERS:
        raise refused(Refusal.LOOKUP, at)
    keys = [found["key"]] if isinstance(found.get("key"), str) else found.get("key")
    if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
        raise refused(Refusal.LOOKUP_KEY, f"{at}/key")
    least, returns = found.get("least", LEAST), found.get("returns", keys[0])
    if isinstance(least, bool) or not isinstance(least, (int, float)) or not 0.5 <= least <= 1:
        raise refused(Refusal.LOOKUP_LEAST, f"{at}/least", got=least, default=LEAST)
    if not isinstance(returns, str):
        raise refused(Refusal.LOOKUP_RETURNS, f"{at}/returns")
    if (bound := [one for one in _BINDING if one in schema]) or "string" not in _types(schema):
        problem = f"{bound[0]} stands beside it" if bound else "the field is no text"
        raise refused(Refusal.LOOKUP_FIELD, at, problem=problem)
    digest, learned = str(found.get("digest", "")), found.get("learned", {})
    return Lookup(found["table"], tuple(keys), returns, float(least), digest, learned)


def with_learned(schema: Any, learned: Learned) -> Any:
    """Returns a schema whose lookups know what people said that printed words mean."""
    if not learned or not isinstance(schema, dict | list):
        return schema
    if isinstance(schema, list):
        return [with_learned(part, learned) for part in schema]
    whole = {keyword: with_learned(part, learned) for keyword, part in schema.items()}
    if isinstance(found := whole.get(LOOKUP), dict) and (lookup := lookup_of(schema, "")) is not None:
        whole[LOOKUP] = found | {"learned": {**learned.get((lookup.table, lookup.returns), {})}}
    return whole


def _types(schema: Mapping[str, Any]) -> list[Any]:
    """Returns the types of a schema, and of its alternatives."""
    own = schema.get("type", [])
    parts = [part for part in schema.get("anyOf", []) if isinstance(part, dict)]
    return [*(own if isinstance(own, list) else [own]), *(one for part in parts for one in _types(part))]


def with_tables(schema: Any, folder: Path, where: str) -> Any:
    """Returns a schema whose lookups name their tables by path and digest; one that has a digest stays.

    Raises SchemaError for a table that cannot be read.
    """
    if isinstance(schema, list):
        return [with_tables(part, folder, where) for part in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {keyword: with_tables(part, folder, where) for keyword, part in schema.items()}
    found = whole.get(LOOKUP)
    if isinstance(found, dict):
        # Only corrections tell that.
        found = whole[LOOKUP] = {name: part for name, part in found.items() if name != "learned"}
    if isinstance(found, dict) and isinstance(found.get("table"), str) and "digest" not in found:
        name, mark, view = found["table"].partition("#")
        path = (folder / name).resolve()
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as problem:
            advice = "expected a CSV, Parquet or DuckDB file, named from the folder of the schema"
            raise SchemaError(f"{where}: {LOOKUP}: {path} cannot be read ({problem.strerror}); {advice}") from None
        whole[LOOKUP] = found | {"table": f"{path}{mark}{view}", "digest": digest}
    return whole
