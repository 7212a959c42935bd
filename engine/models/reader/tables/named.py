"""Open properties in lines of their own: a name and its value, line below line, as in a list of prices."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from cinnabar.engine.models.reader.memory.passage import BoundRow, Memory
from cinnabar.engine.tables.heads import form_of
from cinnabar.schemas.form.form import ArrayNode, Slot

#: A name, and behind a sign, dots, a tab or a wide gap its value.
_PAIR = re.compile(r"\s*(?:[-–—•*·] )?(\S.*?)(?:\s*[:=→]\s*|\s*(?:\t|[ .]{2,})\s*| [–—-] )(\S.*?)\s*$")
#: How surely the name and the value of such a line are those of its property.
_SURE = 0.95


def named_rows(array: ArrayNode, begun: Mapping[int, float], memory: Memory) -> dict[int, tuple[float, BoundRow]]:
    """Returns the lines of open properties by their first characters, each with the probability that it is one.

    begun: the first characters of those that the network knows, with theirs. The lines right above and below that have
    the same form are as likely; a last one that is the sum of the others is none.
    """
    text, item, key = memory.passage.text, array.item, array.key
    if key is None or not isinstance(item, Slot) or item.options or not begun:
        return {}
    lines = [match.span() for match in re.finditer(r"^.*$", text, re.MULTILINE)]
    found: dict[int, tuple[float, BoundRow]] = {}
    run: dict[int, tuple[str, BoundRow, str]] = {}

    def close() -> None:
        chance = max((begun[start] for start in run if start in begun), default=0.0)
        numbers = [_number(value) for _, _, value in run.values()]
        if len(numbers) > 2 and math.isclose(sum(numbers[:-1]), numbers[-1], abs_tol=0.006):
            run.popitem()
        found.update((start, (chance, row)) for start, (_, row, _) in run.items() if chance)
        run.clear()

    for begin, end in lines:
        pair = _PAIR.match(text[begin:end])
        name, value = (tuple(begin + at for at in pair.span(group)) for group in (1, 2)) if pair else ((0, 0), (0, 0))
        read = memory.reader.read(item, value, alone=True) if pair and any(map(str.isalpha, pair[1])) else None
        form = re.sub(r"a(?: a)+", "a", form_of(text[value[0] : value[1]]))
        if run and (read is None or form != next(reversed(run.values()))[0]):
            close()
        if read is not None:
            cells = {key.index: ((name,), _SURE), item.index: ((value,), _SURE)}
            run[name[0]] = form, BoundRow(cells, {}, {}, (name, value), False, _SURE), read.decode()
    close()
    return found


def _number(text: str) -> float:
    """Returns the number of a JSON text, NaN for any other."""
    value = json.loads(text)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
