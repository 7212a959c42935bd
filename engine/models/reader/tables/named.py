"""Open properties in lines of their own: a name and its value, line below line, as in a list of prices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import groupby

from cinnabar.engine.models.reader.memory.passage import BoundRow, Memory
from cinnabar.engine.models.reader.tables.sums import number_of
from cinnabar.engine.tables.heads import Span, form_of
from cinnabar.schemas.form.form import ArrayNode, Slot

#: A name, and behind a sign, dots, a tab or a wide gap its value.
_PAIR = re.compile(r"[ \t]*(?:[-–—•*·] )?(\S.*?)(?:\s*[:=→]\s*|\s*(?:\t|[ .]{2,})\s*| [–—-] )(\S.*?)\s*$")
#: How surely the name and the value of such a line are those of its property.
_SURE = 0.95


def named_rows(array: ArrayNode, begun: Mapping[int, float], memory: Memory) -> dict[int, BoundRow]:
    """Returns the lines of open properties by their first characters.

    begun: the first characters of those that the network knows, with their probability. The lines right above and below
    whose values have the same form are as likely; a last one that is the sum of the others is none.
    """
    text, item, key = memory.passage.text, array.item, array.key
    found: dict[int, BoundRow] = {}
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
            cells = {key.index: ((name,), _SURE), item.index: ((value,), _SURE)}
            found[start] = BoundRow(cells, {}, {}, (name, value), False, chance)
    return found
