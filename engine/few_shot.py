"""Labelled documents that stand in the prompts of language models, so that a model learns without training.

A document is shown the four that it is most like. Likeness is that of letter trigrams: labels and layout repeat in
documents of one kind, in every script, and the same text has the same likeness in every batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cinnabar.errors import UsageError
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.form.form import ArrayNode, Form, Node, ObjectNode
from cinnabar.schemas.form.record_language import one_line

_Doubles = npt.NDArray[np.float64]

#: The most examples of a prompt.
SHOWN = 4
#: Divisor of a model's window: the share that examples may take; and the most tokens that they take of a large window.
SHARE, EXAMPLE_TOKENS = 4, 4096
#: Tokens of the marks around an example's document and record.
MARKS = 24
#: Characters of a text that are compared, and the places of its vector, a power of two.
_COMPARED, _PLACES = 6000, 1 << 13
#: Likeness is compared in multiples of 1 / _GRAIN, so that the order of a sum decides nothing.
_GRAIN = 1 << 20


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


class HasFingerprint(Protocol):
    """Anything with a fingerprint, which stands for its content."""

    @property
    def fingerprint(self) -> str: ...


def shown_with(model: str, examples: HasFingerprint | None) -> str:
    """Returns the fingerprint of a model that is shown these examples."""
    return model if examples is None else f"{model} nearest examples {examples.fingerprint}"


class _ExampleChoice:
    """Chooses among the examples of one form."""

    def __init__(self, examples: Sequence[Example], tokens: Sequence[int], room: int) -> None:
        """tokens: of each example in a prompt; room: for all of one prompt."""
        kept = [at for at, many in enumerate(tokens) if many <= room]
        self._examples = [examples[at] for at in kept]
        self._tokens, self._room = [tokens[at] for at in kept], room
        self._plain = [_plain(example.text) for example in self._examples]
        counts = np.stack([_trigrams(text) for text in self._plain])
        # The fewer texts have a trigram, the more it tells.
        self._rarity: _Doubles = np.log((1 + len(counts)) / (1 + (counts > 0).sum(0))) + 1
        self._vectors = _unit_vectors(counts, self._rarity)

    def nearest(self, text: str) -> tuple[Example, ...]:
        """Returns the examples that this text is most like and that do not hold it, in an order of their own.

        So documents with the same ones share the beginning of their prompts.
        """
        own = _plain(text)
        alike = np.round(self._vectors @ _unit_vectors(_trigrams(own), self._rarity) * _GRAIN)
        ranked = [at for at in np.argsort(-alike, kind="stable").tolist() if not (own and own in self._plain[at])]
        return self._fitting(ranked)

    def longest(self) -> tuple[Example, ...]:
        """Returns the examples that take the most tokens and fit together."""
        return self._fitting(sorted(range(len(self._tokens)), key=lambda at: -self._tokens[at]))

    def most(self) -> int:
        """Returns the most tokens that the examples of one prompt take."""
        return min(self._room, sum(sorted(self._tokens)[-SHOWN:]))

    def _fitting(self, ranked: Sequence[int]) -> tuple[Example, ...]:
        """Returns the first of these examples that fit together; one that is too long is passed over."""
        fitting, room = list[int](), self._room
        for at in ranked:
            if len(fitting) < SHOWN and self._tokens[at] <= room:
                fitting.append(at)
                room -= self._tokens[at]
        return tuple(self._examples[at] for at in sorted(fitting))


class FewShot:
    """The examples of an engine: those of each form, and the choice among them.

    window: the model's window in tokens. Raises UsageError if no example of a form fits.
    """

    def __init__(self, examples: Examples | None, window: int, count_tokens: Callable[[str], int]) -> None:
        self._window, self._count = window, count_tokens
        self.room = 0 if examples is None else min(window // SHARE, EXAMPLE_TOKENS)
        forms = {} if examples is None else examples.by_form
        self._choices = {form: self._choice(own) for form, own in forms.items() if own}

    def nearest(self, form: Form, text: str) -> tuple[Example, ...]:
        """Returns the examples for a document of this form and text."""
        choice = self._choices.get(form.fingerprint)
        return () if choice is None else choice.nearest(text)

    def longest(self, form: Form) -> tuple[Example, ...]:
        """Returns the examples of a form that take the most tokens of a prompt."""
        choice = self._choices.get(form.fingerprint)
        return () if choice is None else choice.longest()

    def most(self, form: Form) -> int:
        """Returns the most tokens that the examples of a prompt for this form take."""
        choice = self._choices.get(form.fingerprint)
        return 0 if choice is None else choice.most()

    def _choice(self, own: Sequence[Example]) -> _ExampleChoice:
        tokens = [self._count(one.text) + self._count(one_line(one.record)) + MARKS for one in own]
        if min(tokens) > self.room:
            raise UsageError(
                f"--examples: the shortest of {len(own)} examples takes {min(tokens)} tokens, expected at most"
                f" {self.room} of the model's {self._window}; label shorter documents, or use a model with a larger"
                " window"
            )
        return _ExampleChoice(own, tokens, self.room)


@lru_cache(maxsize=4096)
def record_line(example: Example, whole: Form, part: Form) -> str:
    """Returns the line of an example's record, with the places of `part`, what is left to fill of the form."""
    if part is whole:
        return one_line(example.record)
    return one_line(json_text(_part_of(whole.root, part.root, parse(example.record))))


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


def _trigrams(text: str) -> _Doubles:
    """Returns how often each trigram of the text's beginning occurs, [_PLACES]; all digits are the same."""
    letters = re.sub(r"\d", "0", text[:_COMPARED])
    codes = np.array([0, *map(ord, letters), 0, 0], np.int64)
    mixed = (codes[:-2] * 0x9E3779B1 + codes[1:-1] * 0x85EBCA77 + codes[2:] * 0xC2B2AE3D) & 0xFFFFFFFF
    counts: _Doubles = np.bincount((mixed ^ mixed >> 15) % _PLACES, minlength=_PLACES).astype(np.float64)
    return counts


def _unit_vectors(counts: _Doubles, rarity: _Doubles) -> _Doubles:
    """Returns vectors of length 1 of these counts, [..., _PLACES]; their products are likenesses from 0 to 1."""
    found = np.log1p(counts) * rarity
    lengths: _Doubles = np.sqrt((found**2).sum(-1, keepdims=True))
    vectors: _Doubles = found / np.maximum(lengths, 1e-9)
    return vectors
