"""Finds the rows of reference tables that documents mean (`x-cinnabar-lookup`).

Words are compared without case, accents and signs. Each word counts by how rare it is in the table, and words that
differ in a letter or two are alike: the measure of Cohen, Ravikumar and Fienberg (2003), "A comparison of string
distance metrics for name-matching tasks". Figures must agree. Where several rows or none are meant there is no value,
and a flag.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256

import duckdb

from cinnabar.engine.request import Filled, Leaf
from cinnabar.errors import NotAccepted, UsageError
from cinnabar.extraction.filling.records.facts import put_value
from cinnabar.extraction.filling.records.thresholds import (
    KEY_DIFFERENCE,
    LOOKUP_MARGIN,
    RARE_WORD_POWER,
    UNKNOWN_WORD,
    WORD_DIFFERENCE,
)
from cinnabar.extraction.store.names import quote_name, sql_literal
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.form.fitting import fit
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.keywords import Lookup

#: The flags of a value of which no row, or several, are meant.
NO_ROW, SEVERAL_ROWS = "no_row", "several_rows"
#: In place of a key: people gave these words this value.
CORRECTED = "as corrected before"
#: The most rows of a table, the tables that are kept, and the rows that are compared word by word.
_MOST, _KEPT, _COMPARED = 1_000_000, 8, 400
_SIGNS = re.compile(r"[^\w]+|_")


@dataclass(frozen=True, slots=True)
class MeantRow:
    """A row that may be meant: its key, the value that it returns, and how alike the key is to what is printed."""

    key: str
    value: str
    alike: float


def plain_words(text: str) -> list[str]:
    """Returns the words of a text without case, accents and signs."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return _SIGNS.sub(" ", "".join(one for one in letters if not unicodedata.combining(one))).split()


@dataclass(frozen=True, slots=True)
class Matched:
    """What a printed text matched, in words, and the flag of a text that means no row or several."""

    place: str
    flag: str = ""


class ReferenceTable:
    """The keys of a table with the values that they return."""

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        self._rows = rows
        self._words = [plain_words(key) for key, _ in rows]
        self._whole: dict[str, list[int]] = defaultdict(list)
        self._with: dict[str, list[int]] = defaultdict(list)
        for at, words in enumerate(self._words):
            self._whole["".join(words)].append(at)
            for word in {*words}:
                self._with[word].append(at)
        #: All values that a row returns.
        self.values = frozenset(value for _, value in rows)
        self._database = duckdb.connect()
        self._fill("words", [*self._with])
        self._fill("whole", [*self._whole])

    def _fill(self, table: str, texts: Sequence[str]) -> None:
        self._database.execute(f"CREATE TABLE {table} AS SELECT unnest(?::VARCHAR[]) AS text", [texts])

    def meant(self, printed: str) -> list[MeantRow]:
        """Returns the rows most like what is printed, the likest first; rows with the same value count once."""
        words = plain_words(printed)
        if not words:
            return []
        found = self._whole.get("".join(words))
        if found:
            return self._distinct([MeantRow(*self._rows[at], 1.0) for at in found])
        near = {word: [word] if word in self._with else self._near("words", word, WORD_DIFFERENCE) for word in words}
        rarest = sorted({one for some in near.values() for one in some}, key=lambda one: len(self._with[one]))
        rows = dict.fromkeys(at for word in rarest for at in self._with[word][:_COMPARED])
        wholes = self._near("whole", "".join(words), KEY_DIFFERENCE)
        rows = dict.fromkeys(at for whole in wholes for at in self._whole[whole]) | rows
        own = [MeantRow(*self._rows[at], self._alike(words, at)) for at in [*rows][:_COMPARED]]
        return self._distinct(sorted(own, key=lambda row: -row.alike))

    def _near(self, table: str, text: str, share: float) -> list[str]:
        """Returns the texts of a table that differ from one in few letters; figures differ in none."""
        most = int(share * len(text))
        if not most or any(map(str.isdigit, text)):
            return []
        sql = (
            f"SELECT text FROM {table} WHERE abs(length(text) - ?) <= ? AND damerau_levenshtein(text, ?) <= ?"
            " ORDER BY damerau_levenshtein(text, ?), text LIMIT 20"
        )
        return [one for (one,) in self._database.cursor().execute(sql, [len(text), most, text, most, text]).fetchall()]

    def _alike(self, words: Sequence[str], at: int) -> float:
        """Returns how alike some words are to those of a row's key, from 0 to 1."""
        left, own, common = Counter(self._words[at]), Counter(words), 0.0
        figures = [{word for word in some if any(map(str.isdigit, word))} for some in (left, own)]
        if all(figures) and figures[0] != figures[1]:
            return 0.0
        for word in words:
            best = max(left, key=lambda one: _share(word, one), default="")
            share = _share(word, best) if best else 0.0
            if share >= 1 - WORD_DIFFERENCE and left[best] > 0:
                common += share * min(self._weight(word), self._weight(best)) if word != best else self._weight(word)
                left[best] -= 1
        # A document prints more than a table has: "und", a place.
        printed = sum(self._weight(word) * (1.0 if word in self._with else UNKNOWN_WORD) for word in words)
        every = printed + sum(map(self._weight, self._words[at]))
        joined = _share("".join(words), "".join(self._words[at])) if not any(figures) else 0.0
        return max(2 * common / every, joined if joined >= 1 - KEY_DIFFERENCE else 0.0)

    def _weight(self, word: str) -> float:
        """Returns how much a word tells: the rarer it is, the more; one that is misread as much as a rare one."""
        return float(math.log(1 + len(self._rows) / (1 + len(self._with.get(word, ())))) ** RARE_WORD_POWER)

    def _distinct(self, rows: Sequence[MeantRow]) -> list[MeantRow]:
        first: dict[str, MeantRow] = {}
        for row in rows:
            first.setdefault(row.value, row)
        return [*first.values()]


@lru_cache(1 << 16)
def _share(one: str, two: str) -> float:
    """Returns the share of the letters in which two words agree, in their order."""
    if one == two:
        return 1.0
    before = list(range(len(two) + 1))
    for at, letter in enumerate(one, 1):
        row = [at]
        for to, other in enumerate(two, 1):
            row.append(min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != other)))
        before = row
    return 1 - before[-1] / max(len(one), len(two))


@lru_cache(_KEPT)
def reference_table(lookup: Lookup) -> ReferenceTable:
    """Returns the table of a lookup. Raises UsageError if it cannot be read, or is another one than the schema's."""
    path, view = lookup.place
    try:
        if lookup.digest and sha256(path.read_bytes()).hexdigest() != lookup.digest:
            raise UsageError(f"{path}: the table has changed since the schema was loaded; run the command again")
        with duckdb.connect() as database:
            is_text = path.suffix.lower() in (".csv", ".tsv")
            source, given = "read_csv(?, all_varchar = true)" if is_text else "read_parquet(?)", [str(path)]
            if view:
                database.execute(f"ATTACH {sql_literal(str(path))} AS reference (READ_ONLY)")
                source, given = f"reference.{quote_name(view)}", []
            returns = f"{quote_name(lookup.returns)}::VARCHAR"
            rows = [
                row
                for key in lookup.keys
                for row in database.execute(
                    f"SELECT {quote_name(key)}::VARCHAR, {returns} FROM {source} WHERE {quote_name(key)} IS NOT NULL"
                    f" AND {returns} IS NOT NULL LIMIT {_MOST + 1}",
                    given,
                ).fetchall()
            ]
    except (OSError, duckdb.Error) as problem:
        said = " ".join(str(problem).split("\n")[0].split())
        columns = ", ".join((*lookup.keys, lookup.returns))
        raise UsageError(f"{lookup.table}: expected a table with the columns {columns}: {said}") from None
    if len(rows) > _MOST:
        raise UsageError(f"{lookup.table}: expected at most {_MOST:,} rows")
    return ReferenceTable(rows)


def with_lookups(form: Form, filled: Filled) -> tuple[Filled, Mapping[str, Matched]]:
    """Returns a filled form with the values of the rows that its texts mean, and by pointer what they matched.

    A text of which no row is meant, or several, leaves no value: its words stay the evidence, with a flag.
    """
    asked = {
        at: leaf for at, leaf in filled.leaves.items()
        if 0 <= leaf.slot < len(form.slots) and form.slots[leaf.slot].lookup is not None
        if leaf.text not in (None, "null", '""') and leaf.origin not in ("looked_up", "known", "minimal")
    }  # fmt: skip
    if not asked:
        return filled, {}
    record, leaves, notes = parse(filled.record), {**filled.leaves}, dict[str, Matched]()
    for at, leaf in asked.items():
        slot = form.slots[leaf.slot]
        assert slot.lookup is not None
        leaves[at], notes[at] = _looked_up(slot, slot.lookup, leaf)
        text = leaves[at].text
        put_value(record, at, *([] if text is None else [parse(text)]))
    try:
        return replace(filled, record=fit(form, record).text, leaves=leaves), notes
    except NotAccepted:
        # A place that may be left out in some record may not in this one.
        for at, leaf in [(at, leaves[at]) for at in asked if leaves[at].text is None]:
            minimal = form.slots[leaf.slot].minimal
            leaves[at] = replace(leaf, text=minimal, origin="minimal", missing=True)
            put_value(record, at, parse(minimal))
        return replace(filled, record=fit(form, record).text, leaves=leaves), notes


def _looked_up(slot: Slot, lookup: Lookup, leaf: Leaf) -> tuple[Leaf, Matched]:
    """Returns the leaf of the row that a text means, and what it matched; without one row, none and its flag."""
    table, printed = reference_table(lookup), str(parse(leaf.text or "null"))
    learned = lookup.learned.get(" ".join(plain_words(printed)))
    found = table.meant(printed)
    # What the table has in these very words is no question.
    if learned in table.values and not (found and found[0].alike == 1.0):
        found = [MeantRow(CORRECTED, learned, 1.0)]
    rows = [row for row in found if row.alike >= lookup.least - LOOKUP_MARGIN]
    name = lookup.place[0].name
    if rows and rows[0].alike >= lookup.least and not (len(rows) > 1 and rows[1].alike > rows[0].alike - LOOKUP_MARGIN):
        sure = round(leaf.confidence * rows[0].alike, 4)
        known = replace(leaf, text=json_text(rows[0].value), confidence=sure, origin="looked_up")
        return known, Matched(f"{name}: {rows[0].key} ({rows[0].alike:.2f})")
    flag = SEVERAL_ROWS if rows else NO_ROW
    about = ", ".join(f"{row.key} ({row.alike:.2f})" for row in rows[:3])
    empty = "null" if slot.nullable else None if not leaf.demanded else slot.minimal
    missing = not slot.nullable and leaf.demanded
    lacking = replace(leaf, text=empty, confidence=0.0, origin="minimal" if missing else "looked_up", missing=missing)
    return lacking, Matched(f"{name}: {flag}{f' {about}' if about else ''}", flag)
