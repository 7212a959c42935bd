"""Models without weights: one gives random scores, and one is sure of a given record."""

# ruff: noqa: ARG002 - a model need not use all arguments of the engine.

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from cinnabar.engine.model import Candidate, Canvas, Row, Scores, SlotInstance
from cinnabar.engine.request import Passage, Request
from cinnabar.errors import NotAccepted
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.form.fitting import branch_of, fit, group_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot, enclosing_arrays
from cinnabar.schemas.form.record_walk import RecordLeaf, RecordRow, walk_record

#: Rows of one form; arrays within arrays would otherwise have more rows than any form holds.
MOST_ROWS = 200


def request(
    form: Form, name: str = "0", known: Mapping[str, str | None] | None = None, text: str = ""
) -> Request:
    """A request over this passage, or over one of 40 characters."""
    empty = np.zeros(0, np.int32)
    passage = Passage(
        f"digest {name}", text or name.ljust(40, "."), 7, empty, empty, np.zeros((0, 4), np.float32)
    )
    return Request(name, form, passage, known or {})


def random_text(automaton: Automaton, draw: random.Random, longest: int = 24) -> bytes:
    """A text of the language: a random walk that heads for an end after this many bytes."""
    text, state = bytearray(), 0
    while True:
        if automaton.accepting[state] and (len(text) >= longest or draw.random() < 0.3):
            return bytes(text)
        moves = _moves(automaton, state)
        if not len(moves):
            return bytes(text)
        ahead = automaton.transitions[state, moves]
        if len(text) >= longest:
            moves = moves[automaton.distance[ahead] == automaton.distance[ahead].min()]
        move = int(draw.choice(list(moves)))
        text.append(draw.choice(_bytes(automaton, move)))
        state = int(automaton.transitions[state, move])


@lru_cache(maxsize=100_000)
def _moves(automaton: Automaton, state: int) -> Any:
    return np.flatnonzero(automaton.transitions[state] >= 0)


@lru_cache(maxsize=100_000)
def _bytes(automaton: Automaton, kind: int) -> list[int]:
    return [int(byte) for byte in np.flatnonzero(automaton.byte_class == kind)]


class RandomModel:
    """A model of random scores, which depend on the seed, the passage and the request's part of the canvas.

    `scales` are the spreads of its logits. `points` is the share of slots for which it offers candidates.
    """

    def __init__(
        self,
        seed: int = 0,
        scales: Sequence[float] = (0.3, 3.0, 30.0, 1e4),
        points: float = 0.85,
        most_rows: int = 3,
    ) -> None:
        self.seed, self.scales, self.points = seed, scales, points
        self.most_rows = most_rows
        self.fingerprint = f"random {seed}"
        self.calibration = None
        self.context_tokens = 1000
        self.device = torch.device("cpu")

    def count_tokens(self, text: str) -> int:
        return len(text) // 4 + 1

    def windows(self, _: Passage) -> list[tuple[int, int]]:
        return []

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        return [passage.digest for passage in passages]

    def _draw(self, *what: object) -> random.Random:
        return random.Random(hashlib.sha256(repr((self.seed, *what)).encode()).digest())

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        return [
            self._rows(form, self._draw("rows", memory)) for form, memory in zip(forms, memories, strict=True)
        ]

    def _rows(self, form: Form, draw: random.Random) -> list[Row]:
        rows: list[Row] = []
        for array, around in enclosing_arrays(form).items():
            parents = [-1] if around < 0 else [at for at, row in enumerate(rows) if row.array == around]
            for parent in parents:
                for _ in range(draw.randint(0, self.most_rows) if len(rows) < MOST_ROWS else 0):
                    rows.append(Row(array, parent, draw.randrange(40), draw.random()))
        return rows

    def prepare(self, form: Any) -> None:
        pass

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        size = len(canvas.instances)
        candidates: list[list[Candidate]] = []
        absent, refused = torch.zeros(size), torch.full((size,), float("-inf"))
        spread: list[float] = []
        draw, request, first, own_number = random.Random(0), -1, 0, list[int]()
        for at, instance in enumerate(canvas.instances):
            if instance.request != request:
                request, first = instance.request, at
                draw = self._draw(memories[request], *self._own(canvas, request))
            own_number.append(at - first)
            scale = draw.choice(list(self.scales))
            spread.append(scale)
            texts = self.candidates(instance.slot, draw)
            candidates.append([Candidate(text, ((1, 4),)) for text in texts])
            absent[at] = draw.gauss(0, scale) if draw.random() < 0.9 else float("-inf")
            if draw.random() < 0.2:
                refused[at] = draw.gauss(0, scale)
        most = max((len(texts) for texts in candidates), default=0)
        logits = torch.full((size, most), float("-inf"))
        for at, listed in enumerate(candidates):
            for k, candidate in enumerate(listed):
                own_draw = self._draw(candidate.text, own_number[at], spread[at])
                logits[at, k] = own_draw.gauss(0, spread[at])
        return Scores(candidates, logits, absent, refused)

    def candidates(self, slot: Slot, draw: random.Random) -> list[bytes]:
        if slot.options:
            return [option.encode() for option in slot.options]
        if not slot.automaton.states or draw.random() >= self.points:
            return []
        texts = {random_text(slot.automaton, draw) for _ in range(draw.randint(1, 4))}
        return sorted(texts - {b"null"} if slot.nullable else texts)

    def _own(self, canvas: Canvas, request: int) -> list[object]:
        """The request's own part of the canvas, without its neighbours."""
        return [
            (canvas.values[at], canvas.left_out[at])
            for at, instance in enumerate(canvas.instances)
            if instance.request == request
        ]


class SteeredModel(RandomModel):
    """A model that is sure of one record, which is the JSON in the passage's text."""

    def __init__(self, peak: float = 30.0) -> None:
        super().__init__()
        self.peak = peak

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        return [json.loads(passage.text, parse_float=Decimal) for passage in passages]

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        return [
            [Row(array, parent, at, 1.0) for at, (array, parent) in enumerate(wished(form, record).rows)]
            for form, record in zip(forms, memories, strict=True)
        ]

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        wanted = [wished(form, record).texts for form, record in zip(forms, memories, strict=True)]
        texts = [_text(instance, wanted[instance.request]) for instance in canvas.instances]
        there = torch.tensor([self.peak if text is not None else -self.peak for text in texts])
        offered = [
            text is not None and instance.slot.accepts(text)
            for text, instance in zip(texts, canvas.instances, strict=True)
        ]
        return Scores(
            candidates=[
                [Candidate(text, ((0, 2),))] if text is not None and here else []
                for text, here in zip(texts, offered, strict=True)
            ],
            candidate_logits=torch.where(torch.tensor(offered), there, float("-inf")).unsqueeze(1),
            absent_logit=-there,
            refused_logit=torch.full((len(texts),), float("-inf")),
        )


def _text(instance: SlotInstance, texts: Mapping[tuple[int, int], str]) -> bytes | None:
    """The record's text in this slot, None for null and for an absent value."""
    text = texts.get((instance.slot.index, instance.row), "null")
    return None if text == "null" else text.encode()


@dataclass(slots=True)
class Held:
    """What a form holds of a record: its rows as (array, parent), and texts by (slot, row) of what is not null."""

    rows: list[tuple[int, int]] = field(default_factory=list)
    texts: dict[tuple[int, int], str] = field(default_factory=dict)


def held(form: Form, record: Any) -> Held:
    """A record that fits the form, as the form holds it."""
    found = Held()
    for part in walk_record(form, record):
        if isinstance(part, RecordRow):
            found.rows.append((part.array.index, part.parent))
        elif isinstance(part, RecordLeaf) and part.value is not None:
            found.texts[part.slot.index, part.row] = scalar_text(part.value)
    return found


def wished(form: Form, record: Any) -> Held:
    """The record in the form; of a record that does not fit, as much as the form has room for."""
    try:
        fit(form, record)
    except NotAccepted:
        found = Held()
        _squeeze(form.root, record, -1, found)
        return found
    return held(form, record)


def _squeeze(node: Node, value: Any, row: int, found: Held) -> None:
    """Put a value in its place, allowed or not."""
    if isinstance(node, ChoiceNode):
        held = branch_of(node, value)
        at = (
            held
            if held is not None
            else max(range(len(node.branches)), key=lambda k: _near(node.branches[k], value))
        )
        found.texts[node.selector.index, row] = node.selector.options[at]
        _squeeze(node.branches[at], value, row, found)
    elif isinstance(node, ObjectNode) and isinstance(value, dict):
        for member in node.properties:
            if member.name in value:
                _squeeze(member.node, value[member.name], row, found)
        names = {member.name for member in node.properties}
        for name in value.keys() - names if node.rest else ():
            rest = group_of(node, name, value[name]) or node.rest[0]
            assert rest.key is not None and rest.item is not None
            found.rows.append((rest.index, row))
            here = len(found.rows) - 1
            found.texts[rest.key.index, here] = scalar_text(name)
            _squeeze(rest.item, value[name], here, found)
    elif isinstance(node, ArrayNode) and isinstance(value, list):
        for part, item in zip(node.prefix, value, strict=False):
            _squeeze(part, item, row, found)
        for item in value[len(node.prefix) :] if node.item is not None else ():
            assert node.item is not None
            found.rows.append((node.index, row))
            _squeeze(node.item, item, len(found.rows) - 1, found)
    elif isinstance(node, Slot) and not isinstance(value, (dict, list)):
        found.texts[node.index, row] = scalar_text(value)


def _near(node: Node, value: Any) -> int:
    """The number of a value's parts that have a place in this node."""
    if isinstance(node, ObjectNode) and isinstance(value, dict):
        return 1 + len({member.name for member in node.properties} & value.keys())
    return int(isinstance(node, ArrayNode) == isinstance(value, list) and not isinstance(value, dict))
