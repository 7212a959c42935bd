"""Items in blocks of labels and values, with the same labels again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from cinnabar.engine.tables.heads import Cells, Span
from cinnabar.engine.tables.lines import PART, line_end

#: The fewest blocks, and labels of a block; the share of the blocks that have a label, for it to be one of theirs; the
#: share of a label's places that are in blocks of their own.
BLOCKS_FEWEST, BLOCK_LABELS, BLOCK_USUAL, BLOCK_ONCE = 3, 3, 0.2, 0.8
#: The most characters of a label, of a value, and before a label on its line.
BLOCK_LABEL_LENGTH, BLOCK_VALUE_LENGTH, BLOCK_DEEPEST = 40, 300, 100

#: A label that begins a part of a line.
_LEAD = re.compile(rf"(?P<label>[^\W\d][^:\n]{{0,{BLOCK_LABEL_LENGTH}}}?) ?:(?!\S)\s?")

# The words of a label, and the spans of its value.
_Labelled = tuple[tuple[Span, ...], tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The first place of each label, and the blocks: the first character of each, and its values by label."""

    labels: Cells
    starts: tuple[int, ...]
    values: tuple[Cells, ...]


def blocks_of(text: str) -> Blocks | None:
    """Returns the blocks of a text; None if it has too few that are alike.

    A label without a value names the deeper ones below it where their own names occur again within a block. Time is in
    proportion to the text.
    """
    found = [((label,), value) for label, value in _labelled_values(text)]
    return _blocks(text, found) or _blocks(text, list(_below_groups(text, found)))


def _below_groups(text: str, found: Iterable[_Labelled]) -> Iterator[_Labelled]:
    """Yields the labels with a value, each behind the nearest label without one that it stands deeper below."""
    above: list[tuple[int, Span]] = []
    for labels, value in found:
        start = labels[0][0]
        depth = start - text.rfind("\n", max(0, start - BLOCK_DEEPEST), start)
        while above and above[-1][0] >= depth:
            above.pop()
        if value:
            yield (*(label for _, label in above[-1:]), *labels), value
        else:
            above.append((depth, labels[0]))


def _blocks(text: str, found: Sequence[_Labelled]) -> Blocks | None:
    names = [" ".join(text[slice(*label)] for label in labels) for labels, _ in found]
    times = Counter(names)
    first = next((name for name in names if times[name] >= BLOCKS_FEWEST), None)
    if first is None:
        return None
    begins = [at for at, name in enumerate(names) if name == first]
    spans = [range(one, two) for one, two in pairwise([*begins, len(found)])]
    # Behind the last block may stand something else.
    spans[-1] = spans[-1][: max(map(len, spans[:-1]))]
    values = [{names[at]: found[at][1] for at in reversed(own)} for own in spans]
    having = Counter(name for own in values for name in own)
    heads = [name for name in dict.fromkeys(names[begins[0] :]) if having[name] >= BLOCK_USUAL * len(values)]
    alone = all(having[name] >= BLOCK_ONCE * times[name] for name in heads)
    if len(heads) < BLOCK_LABELS or not alone or median(map(len, values)) < BLOCK_LABELS:
        return None
    place = dict(reversed([(name, labels) for name, (labels, _) in zip(names, found, strict=True)]))
    cells = tuple(tuple(own.get(name, ()) for name in heads) for own in values)
    return Blocks(tuple(place[name] for name in heads), tuple(found[at][0][0][0] for at in begins), cells)


def _labelled_values(text: str) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """Yields each label with the spans of its value, which may go on in the lines right below."""
    label: Span | None = None
    value: list[Span] = []
    at = 0
    while at < len(text):
        end = line_end(text, at)
        parts = [match.span() for match in PART.finditer(text, at, end)]
        if label is not None and (not parts or sum(b - a for a, b in value) > BLOCK_VALUE_LENGTH):
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
