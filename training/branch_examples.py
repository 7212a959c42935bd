"""Training examples for branches: a prompt with the document, and behind it each field's head and printed words.

A branch is what one field adds to the prompt: `{"total": "1,234.50"}`. An answer is the words as they are printed,
`null` where the document has none, the text of a choice, or a list: of words, or of the first words of items whose
fields are branches of their own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cinnabar.engine.branches.prompt import dotted_name, field_lines, first_words, head, item_head, messages
from cinnabar.engine.training.labels import LabelledLeaf, Labels, label_by_search
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import ArrayNode, Form, Slot

#: The shares of examples whose fields have no description, or names that tell nothing.
NAMES_ALONE, DESCRIPTIONS_ALONE = 0.2, 0.1
#: The most branches of an example, the share of them that may be null, and the items of a list that are asked.
BRANCHES, NULLS, ITEMS = 14, 0.5, 2
#: The most characters of a printed value.
LONGEST_VALUE = 160


@dataclass(frozen=True, slots=True)
class Branch:
    """A head that is given and the answer that is learnt, both texts behind the prompt."""

    head: str
    answer: str


@dataclass(frozen=True, slots=True)
class BranchExample:
    """The name of its source, the messages of a chat, and the branches behind them."""

    source: str
    messages: list[dict[str, str]]
    branches: list[Branch]


def branch_example(source: str, schema: dict[str, Any], text: str, truth: Any, rng: random.Random) -> BranchExample:
    """Returns the example of a document and its true record."""
    form = compile_schema(schema).form
    nameless = rng.random() < DESCRIPTIONS_ALONE
    described = nameless or rng.random() >= NAMES_ALONE
    slots = {slot.path: slot for slot in form.slots}
    names = {path: f"field_{i}" if nameless else dotted_name(path) for i, path in enumerate(slots)}
    listing = "\n".join(field_lines(form, names, described))
    asked = messages(schema.get("title", ""), listing, text)
    return BranchExample(source, asked, _chosen(list(_branches(form, text, truth, names)), rng))


def _branches(form: Form, text: str, truth: Any, names: dict[str, str]) -> Iterator[Branch]:
    labels = label_by_search(text, form, truth)
    by_row: dict[int, list[LabelledLeaf]] = {}
    for leaf in labels.leaves:
        by_row.setdefault(leaf.row, []).append(leaf)
    for leaf in by_row.get(-1, []):
        answer = _answer(leaf, text)
        if answer is not None:
            yield Branch(head(names[leaf.slot.path]), f" {answer}}}")
    for array in form.arrays:
        yield from _list_branches(array, labels, by_row, text, names)


def _list_branches(
    array: ArrayNode, labels: Labels, by_row: dict[int, list[LabelledLeaf]], text: str, names: dict[str, str]
) -> Iterator[Branch]:
    rows = [(i, row) for i, row in enumerate(labels.rows) if row.array is array and row.parent < 0]
    if any(row.array is array and row.parent >= 0 for row in labels.rows) or "*" in array.path:
        return
    if isinstance(array.item, Slot):
        items = [_answer(leaf, text) for i, _ in rows for leaf in by_row.get(i, [])]
        if all(item is not None for item in items) and len(items) < 12:
            yield Branch(head(names[array.item.path]), f" [{', '.join(map(str, items))}]}}")
        return
    begins = [_first_words(by_row.get(i, []), text) for i, _ in rows]
    if len(rows) < 12 and all(begins):
        listed = ", ".join(json.dumps(b, ensure_ascii=False) for b in begins)
        yield Branch(head(dotted_name(array.path)), f" [{listed}]}}")
    for (i, _), begin in list(zip(rows, begins, strict=True))[:ITEMS]:
        for leaf in by_row.get(i, []) if begin else ():
            answer = _answer(leaf, text)
            if answer is not None and leaf.slot.path in names:
                yield Branch(item_head(array, begin, names[leaf.slot.path]), f" {answer}}}]}}")


def _first_words(leaves: Sequence[LabelledLeaf], text: str) -> str:
    places = [span for leaf in leaves for span in leaf.spans[:1]]
    return first_words(text, min(places)[0]) if places else ""


def _answer(leaf: LabelledLeaf, text: str) -> str | None:
    """Returns the printed words of a value in quotes, `null`, or None if it is not to be taught."""
    value = leaf.value
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return None
    if leaf.slot.options:
        return json.dumps(value if isinstance(value, str) else json.dumps(value), ensure_ascii=False)
    if leaf.spans:
        start, end = min(leaf.spans)
        words = " ".join(text[start:end].split())
    elif leaf.slot.kind == "string" and isinstance(value, str) and value and not leaf.slot.format:
        words = value
    else:
        return None
    return json.dumps(words, ensure_ascii=False) if len(words) <= LONGEST_VALUE else None


def _chosen(branches: list[Branch], rng: random.Random) -> list[Branch]:
    rng.shuffle(branches)
    values = [b for b in branches if not b.answer.startswith(" null")]
    nulls = [b for b in branches if b.answer.startswith(" null")]
    room = max(1, round(len(values) * NULLS / (1 - NULLS)))
    return (values + nulls[:room])[:BRANCHES]
