"""Items in blocks of labels and values, with the same labels again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from cinnabar.engine.tables.heads import Cells, Span
from cinnabar.engine.tables.lines import PART, line_end

#: The fewest blocks, and labels of a block; the share of the blocks that have a label, for it to be one of theirs; the
#: share of a label's places that are in blocks of their own.
_BLOCKS, _LABELS, _USUAL, _ONCE = 4, 3, 0.2, 0.8
#: The most characters of a label, and of a value.
_LABEL, _VALUE = 40, 300
#: A label that begins a part of a line.
_LEAD = re.compile(rf"(?P<label>[^\W\d][^:\n]{{0,{_LABEL}}}?) ?:(?!\S)\s?")


@dataclass(frozen=True, slots=True)
class Blocks:
    """The first place of each label, and the blocks: the first character of each, and its values by label."""

    labels: Cells
    starts: tuple[int, ...]
    values: tuple[Cells, ...]


def blocks_of(text: str) -> Blocks | None:
    """Returns the blocks of a text; None if it has too few that are alike.

    Time is in proportion to the text.
    """
    found = list(_labelled_values(text))
    names = [text[slice(*label)] for label, _ in found]
    times = Counter(names)
    first = next((name for name in names if times[name] >= _BLOCKS), None)
    if first is None:
        return None
    begins = [at for at, name in enumerate(names) if name == first]
    spans = [range(one, two) for one, two in pairwise([*begins, len(found)])]
    # Behind the last block may stand something else.
    spans[-1] = spans[-1][: max(map(len, spans[:-1]))]
    values = [{names[at]: found[at][1] for at in reversed(own)} for own in spans]
    having = Counter(name for own in values for name in own)
    heads = [name for name in dict.fromkeys(names[begins[0] :]) if having[name] >= _USUAL * len(values)]
    alone = all(having[name] >= _ONCE * times[name] for name in heads)
    if len(heads) < _LABELS or not alone or median(map(len, values)) < _LABELS:
        return None
    place = dict(reversed([(name, label) for name, (label, _) in zip(names, found, strict=True)]))
    cells = tuple(tuple(own.get(name, ()) for name in heads) for own in values)
    return Blocks(tuple((place[name],) for name in heads), tuple(found[at][0][0] for at in begins), cells)


def _labelled_values(text: str) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """Yields each label with the spans of its value, which may go on in the lines right below."""
    label: Span | None = None
    value: list[Span] = []
    at = 0
    while at < len(text):
        end = line_end(text, at)
        parts = [match.span() for match in PART.finditer(text, at, end)]
        if label is not None and (not parts or sum(b - a for a, b in value) > _VALUE):
            yield label, tuple(value)
            label = None
        for start, stop in parts:
            lead = _LEAD.match(text, start, stop)
            if lead is not None:
                if label is not None:
                    yield label, tuple(value)
                label, value, start = lead.span("label"), [], lead.end()
            if label is not None and start < stop:
                value.append((start, stop))
        at = end + 1
    if label is not None:
        yield label, tuple(value)
