"""Rows of several tables: those that tell more of the same things, and those in groups that are items themselves.

Open properties may be rows without a table: a name and its value, line below line, as in a list of prices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from cinnabar.engine.models.reader.memory.passage import MatchedRow, Memory
from cinnabar.engine.models.reader.tables.sums import number_of
from cinnabar.engine.tables.heads import Span, form_of, words_of
from cinnabar.schemas.form.form import ArrayNode, Slot

#: The share of the values of a key that are distinct in both tables, and of those of the second that the first has; the
#: share of other values that are the same where both tables have one.
JOINED_DISTINCT, JOINED_KNOWN, JOINED_SAME = 0.95, 0.7, 0.6
#: How surely the name and the value in a line such as `Size: 40 cm` are those of its property.
JOINED_LINE_SURE = 0.95


def join_tables(
    first: Mapping[int, MatchedRow],
    second: Mapping[int, MatchedRow],
    slots: Sequence[Slot],
    text: str,
    renamed: Collection[int] = (),
) -> dict[int, MatchedRow]:
    """Returns the rows of two tables of a list by their first characters.

    renamed: the fields whose columns have other heads in the second table.

    Where both have a field whose values tell rows apart, the second has mostly values of the first, and says what the
    first does not and hardly anything else than it does, a row of the second adds its fields to that of the first with
    its value. Two tables that number their rows alike say other things. Where a field's column has another head in the
    second and other values for the same things, it is a table beside the list: its rows of these things are no items.
    """
    keys = [slot.index for slot in slots if _is_key(slot.index, first, second, text)]
    key = next((index for index in keys if _adds(index, first, second, text)), None)
    if key is None:
        beside = next((index for index in keys if _denies(index, renamed, first, second, text)), None)
        if beside is None:
            return {**first, **second}
        names = {_value(row, beside, text) for row in first.values()}
        return {**first, **{start: row for start, row in second.items() if _value(row, beside, text) not in names}}
    rows = dict(first)
    start_of = {_value(row, key, text): start for start, row in first.items()}
    for start, row in second.items():
        own = start_of.get(_value(row, key, text))
        if own is None:
            rows[start] = row
            continue
        known = rows[own]
        added = {index: cell for index, cell in row.cells.items() if cell[0] and not known.cells.get(index, ((), 0))[0]}
        codes = {**known.codes, **{index: row.codes[index] for index in added if index in row.codes}}
        matches = {**known.matches, **{index: row.matches[index] for index in added if index in row.matches}}
        rows[own] = replace(known, cells={**known.cells, **added}, codes=codes, matches=matches)
    return rows


def _is_key(index: int, first: Mapping[int, MatchedRow], second: Mapping[int, MatchedRow], text: str) -> bool:
    """Returns whether a field's values tell the rows of both tables apart, and the second has mostly known ones."""
    values = [[_value(row, index, text) for row in rows.values()] for rows in (first, second)]
    if not all(own and all(own) and len(set(own)) >= JOINED_DISTINCT * len(own) for own in values):
        return False
    known = set(values[0])
    return sum(value in known for value in values[1]) >= JOINED_KNOWN * len(values[1])


def _adds(key: int, first: Mapping[int, MatchedRow], second: Mapping[int, MatchedRow], text: str) -> bool:
    """Returns whether rows with the same key agree where both have a value, and the second ones have further values."""
    known = {_value(row, key, text): row for row in first.values()}
    added = same = other = 0
    for row in second.values():
        own = known.get(_value(row, key, text))
        for index in row.cells if own is not None else ():
            value, before = _value(row, index, text), _value(own, index, text) if own is not None else ""
            if index != key and value:
                added += not before
                same += value == before
                other += before not in ("", value)
    return added > 0 and same >= JOINED_SAME * (same + other)


def _denies(
    key: int, renamed: Collection[int], first: Mapping[int, MatchedRow], second: Mapping[int, MatchedRow], text: str
) -> bool:
    """Returns whether rows with the same name say other things in a field whose column has another head."""
    known = {_value(row, key, text): row for row in first.values()}
    if key in renamed or not all(any(map(str.isalpha, name)) for name in known):
        return False
    pairs = [(row, known[name]) for row in second.values() if (name := _value(row, key, text)) in known]
    return any(
        sum(_value(row, index, text) != _value(own, index, text) for row, own in pairs) > JOINED_SAME * len(pairs)
        for index in renamed
    )


def _value(row: MatchedRow, index: int, text: str) -> str:
    cell, _ = row.cells.get(index, ((), 0.0))
    return words_of(cell, text)


def group_rows(rows: Mapping[int, MatchedRow], outer: Sequence[Slot], text: str) -> dict[int, MatchedRow]:
    """Returns for the rows of an inner list the items around them: one where the values of these fields change.

    Empty if no row has a value of them. An item is no surer than the columns that tell it.
    """
    groups: dict[int, MatchedRow] = {}
    last: tuple[str, ...] | None = None
    for start, row in sorted(rows.items()):
        own = tuple(_value(row, slot.index, text) for slot in outer)
        if own != last and any(own):
            matches = [row.matches.get(slot.index, 1.0) for slot in outer if slot.index in row.cells]
            groups[start], last = replace(row, chance=min(row.chance, *matches)), own
    return groups


#: A name, and behind a sign, dots, a tab or a wide gap its value.
_PAIR = re.compile(r"[ \t]*(?:[-–—•*·] )?(\S.*?)(?:\s*[:=→]\s*|\s*(?:\t|[ .]{2,})\s*| [–—-] )(\S.*?)\s*$")


def named_rows(array: ArrayNode, begun: Mapping[int, float], memory: Memory) -> dict[int, MatchedRow]:
    """Returns the lines of open properties by their first characters.

    begun: the first characters of those that the network knows, with their probability. The lines right above and below
    whose values have the same form are as likely; a last one that is the sum of the others is none.
    """
    text, item, key = memory.passage.text, array.item, array.key
    found: dict[int, MatchedRow] = {}
    if key is None or not isinstance(item, Slot) or item.options or not begun:
        return found

    def pair(line: re.Match[str]) -> tuple[str, Span, Span]:
        match = _PAIR.match(line[0])
        if match is None or not any(map(str.isalpha, match[1])):
            return "", (0, 0), (0, 0)
        name, value = ((line.start() + match.start(at), line.start() + match.end(at)) for at in (1, 2))
        form = re.sub("a(?: a)+", "a", form_of(match[2]))
        return form if memory.reader.read(item, value, alone=True) is not None else "", name, value

    for form, lines in groupby(map(pair, re.finditer("^.*$", text, re.MULTILINE)), key=lambda one: one[0]):
        run = {name[0]: (name, value) for _, name, value in lines}
        chance = max((begun[start] for start in run if start in begun), default=0.0) if form else 0.0
        numbers = [number_of((value,), memory.reader) for _, value in run.values()]
        if len(run) > 2 and math.isclose(sum(numbers[:-1]), numbers[-1], abs_tol=0.006):
            run.popitem()
        for start, (name, value) in run.items() if chance else ():
            cells = {key.index: ((name,), JOINED_LINE_SURE), item.index: ((value,), JOINED_LINE_SURE)}
            found[start] = MatchedRow(cells, {}, {}, (name, value), False, chance)
    return found
