"""Labelled documents that stand in the prompts of language models, so that a model learns without training.

A document is shown the four that it is most like. Likeness is that of letter trigrams: labels and layout repeat in
documents of one kind, in every script, and the same text has the same likeness in every batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.form.form import ArrayNode, Form, Node, ObjectNode
from cinnabar.schemas.form.record_language import one_line

#: The most examples of a prompt.
SHOWN = 4
#: Divisor of a model's window: the share that examples may take; and the most tokens that they take of a large window.
SHARE, EXAMPLE_TOKENS = 4, 4096
#: Tokens of the marks around an example's document and record.
MARKS = 24
#: Characters of a text that are compared.
_COMPARED = 6000


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled document: its text, and the canonical text of its record."""

    text: str
    record: str


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples of a run by the fingerprint of their form; `fingerprint` names documents and records."""

    fingerprint: str
    by_form: Mapping[str, Sequence[Example]]


def join_examples(given: Sequence[Examples]) -> Examples:
    """Returns the examples of several sources as those of one."""
    if len(given) == 1:
        return given[0]
    by_form: dict[str, list[Example]] = {}
    for one in given:
        for form, own in one.by_form.items():
            by_form.setdefault(form, []).extend(own)
    return Examples(" ".join(one.fingerprint for one in given), by_form)


def shown_with(model: str, examples: str | None) -> str:
    """Returns the fingerprint of a model that is shown the examples of this fingerprint."""
    return model if examples is None else f"{model} nearest examples {examples}"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An example, its tokens in a prompt, its text as it is compared, and the trigrams of that."""

    example: Example
    tokens: int
    plain: str
    trigrams: frozenset[str]

    def likeness(self, trigrams: frozenset[str]) -> float:
        """Returns the share of the trigrams of both texts that they have in common."""
        return len(self.trigrams & trigrams) / max(1, len(self.trigrams | trigrams))


class FewShot:
    """The examples of an engine: those of each form, and the choice among them.

    window: the model's window in tokens. Raises UsageError if no example of a form fits.
    """

    def __init__(self, examples: Examples | None, window: int, count_tokens: Callable[[str], int]) -> None:
        self._window, self._count = window, count_tokens
        self.room = 0 if examples is None else min(window // SHARE, EXAMPLE_TOKENS)
        forms = {} if examples is None else examples.by_form
        self._candidates = {form: self._candidates_of(own) for form, own in forms.items() if own}

    def nearest(self, form: Form, text: str) -> tuple[Example, ...]:
        """Returns the examples that a text of this form is most like, of those that fit and do not hold it.

        They stand in an order of their own, so documents with the same ones share the beginning of their prompts.
        """
        own = _plain(text)
        others = [one for one in self._candidates.get(form.fingerprint, ()) if not (own and own in one.plain)]
        trigrams, fitting, room = _trigrams(own), set[int](), self.room
        for at in sorted(range(len(others)), key=lambda at: -others[at].likeness(trigrams)):
            if len(fitting) < SHOWN and others[at].tokens <= room:
                fitting.add(at)
                room -= others[at].tokens
        return tuple(others[at].example for at in sorted(fitting))

    def most(self, form: Form) -> int:
        """Returns the most tokens that the examples of a prompt for this form take."""
        tokens = sorted(one.tokens for one in self._candidates.get(form.fingerprint, ()))
        return min(self.room, sum(tokens[-SHOWN:]))

    def _candidates_of(self, own: Sequence[Example]) -> list[_Candidate]:
        tokens = [self._count(one.text) + self._count(one_line(one.record)) + MARKS for one in own]
        if min(tokens) > self.room:
            raise UsageError(
                f"--examples: the shortest of {len(own)} examples takes {min(tokens)} tokens, expected at most"
                f" {self.room} of the model's {self._window}; label shorter documents, or use a model with a larger"
                " window"
            )
        texts = (_plain(one.text) for one in own)
        pairs = zip(own, tokens, texts, strict=True)
        return [_Candidate(one, many, text, _trigrams(text)) for one, many, text in pairs if many <= self.room]


@lru_cache(maxsize=4096)
def record_line(example: Example, whole: Form, part: Form) -> str:
    """Returns the line of an example's record, with the places of `part`, what is left to fill of the form."""
    return one_line(example.record) if part is whole else value_line(parse(example.record), whole, part)


def value_line(value: Any, whole: Form, part: Form) -> str:
    """Returns the line of a record, parsed, with the places of `part`, what is left to fill of the form."""
    return one_line(json_text(value if part is whole else _part_of(whole.root, part.root, value)))


def _part_of(whole: Node, part: Node, value: Any) -> Any:
    if isinstance(whole, ObjectNode) and isinstance(part, ObjectNode) and isinstance(value, dict):
        declared = {place.name: place.node for place in whole.properties}
        asked = {place.name: place.node for place in part.properties}
        return {
            name: _part_of(declared[name], asked[name], member) if name in asked else member
            for name, member in value.items()
            if name in asked or (name not in declared and part.rest)
        }
    if isinstance(whole, ArrayNode) and isinstance(part, ArrayNode) and isinstance(value, list):
        return [_part_of_item(whole, part, at, item) for at, item in enumerate(value)]
    return value


def _part_of_item(whole: ArrayNode, part: ArrayNode, at: int, item: Any) -> Any:
    # A list with frozen items has a place for each of them, and an example has as many items as it has.
    asked = part.prefix[min(at, len(part.prefix) - 1)] if part.prefix else part.item
    own = whole.prefix[at] if at < len(whole.prefix) else whole.item
    return item if own is None or asked is None else _part_of(own, asked, item)


def _plain(text: str) -> str:
    """Returns a text in lower case with single blanks between its words: what two copies of a document share."""
    return " ".join(text.casefold().split())


def _trigrams(text: str) -> frozenset[str]:
    """Returns the trigrams of the text's beginning; all digits are the same."""
    letters = re.sub(r"\d", "0", text[:_COMPARED])
    return frozenset(letters[at : at + 3] for at in range(len(letters)))
