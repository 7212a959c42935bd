"""A language model reads a few rows of a table, each as a card: a field's column is where it finds the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cinnabar.engine.fill.writing import minimal
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.tables.column_signs import Floats, ListFields, cards_of, column_at, spread
from cinnabar.engine.request import Failed, Filler, Leaf, Request, text_passage
from cinnabar.engine.tables.heads import Span
from cinnabar.engine.tables.table import PrintedTable
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.form.form import Form, ObjectNode, Property, Slot

#: The rows of a table that are read.
READ_ROWS = 3
#: The most layouts of tables in a document of which rows are read.
READ_LAYOUTS = 6
#: What keeps columns of which the model holds hardly any from all of the share.
READ_SURELY = 0.1
#: The spans of a value, with its probability.
Value = tuple[tuple[Span, ...], float]


def read_rows(asked: ListFields, beside: Callable[[], Filler], table: PrintedTable, memory: Memory) -> Floats:
    """Returns the mean share of each field's value that a language model reads in each column, and in none: [F, C + 1].

    The model, which `beside` loads, reads a few rows, once for tables with the same heads; a choice has no share. With
    all signs together 1.5B matched 420 of 472 columns of tuning layouts, 319 without it. All rows in one prompt, as
    items of a list, did worse, and lines of the document much worse.
    """
    shares = np.zeros((len(asked.slots), len(table.heads) + 1))
    heads = [table.head(column, memory.passage.text) for column in range(len(table.heads))]
    key: tuple[str | int, ...] = (asked.form.fingerprint, asked.array, *heads)
    known = memory.columns_read
    all_chosen = all(slot.options for slot in asked.slots)
    if all_chosen or key in known or len(known) == READ_LAYOUTS:
        return known.get(key, shares)
    cards = [cards_of(table, [row], memory.passage.text) for row in spread(table.rows, READ_ROWS)]
    read = ask(beside(), form_of_row(asked.form, asked.slots), [text for text, _ in cards])
    for (card, (row,)), answers in zip(cards, read, strict=False):
        words = [card[slice(*cell[0])] if cell else "" for cell in row.cells]
        for slot, one in answers.items():
            shares[slot, -1] += one.none / len(cards)
            spans, share = one.value or ((), 0.0)
            columns = {column_at(row, start) for start, _ in spans}
            if len(columns) == 1 and (column := columns.pop()) >= 0:
                # Which of several cells with the same words was meant, nobody knows.
                same = [at for at, own in enumerate(words) if own == words[column]]
                shares[slot, same] += share / len(cards) / len(same)
    # How shares lie to each other tells more than how high they are.
    shares[:, :-1] /= shares[:, :-1].sum(1, keepdims=True) + READ_SURELY
    return known.setdefault(key, shares)


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """A language model's answer about a field: the share of no value, and its value, if any, with its share."""

    none: float
    value: Value | None


def ask(filler: Filler, form: Form, texts: Sequence[str]) -> list[dict[int, FieldAnswer]]:
    """Returns what a language model reads in each text, by field, but for choices; empty if it fails at one."""
    asked = [Request(str(at), form, text_passage(text)) for at, text in enumerate(texts)]
    answers: list[dict[int, FieldAnswer]] = []
    for result in filler.fill(asked):
        if isinstance(result, Failed):
            return []
        leaves = (leaf for leaf in result.leaves.values() if not form.slots[leaf.slot].options)
        answers.append({leaf.slot: _field_answer(leaf) for leaf in leaves})
    return answers


def _field_answer(leaf: Leaf) -> FieldAnswer:
    if leaf.text in (None, "null"):
        return FieldAnswer(leaf.confidence, None)
    return FieldAnswer(leaf.absence, (leaf.spans, leaf.confidence) if leaf.spans and leaf.origin != "minimal" else None)


def form_of_row(form: Form, slots: Sequence[Slot]) -> Form:
    """Returns the form of a record that is one item of a list: its fields, those of a list around it too."""
    outer, _, _ = slots[0].path.partition("/*/")
    paths = (slot.path.removeprefix(f"{outer}/*").replace("/*", "") for slot in slots)
    own = tuple(replace(slot, index=at, path=path) for at, (slot, path) in enumerate(zip(slots, paths, strict=True)))
    root = ObjectNode(0, "", tuple(Property(slot.path.strip("/"), slot, True) for slot in own))
    title = f"row of {outer.rpartition('/')[2]}"
    flat = replace(form, root=root, slots=own, arrays=(), objects=(root,), choices=())
    return replace(flat, title=title, judge=None, instance=json_text(minimal(root)))
