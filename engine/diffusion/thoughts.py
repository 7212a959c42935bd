"""The thoughts before a record: a bounded free text, decoded before the record as a phase of its own.

The thoughts are an answer under a graph of their own: the mark THOUGHTS, any text without an empty line, and the mark
RECORD behind an empty line. Then the record is decoded as it is without thoughts, only that its prompt is longer. So
nothing that holds for records depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from cinnabar.engine.diffusion.decoded import Decoded, Undecoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.forced_spelling import Spelling, spelled_graph
from cinnabar.engine.diffusion.prompt import RECORD, THOUGHTS
from cinnabar.engine.diffusion.record_graph import RecordGraph, graph_of
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.diffusion.settings import SETTINGS, Settings
from cinnabar.engine.diffusion.text_languages import LEADS
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.scheduler import ALONE
from cinnabar.schemas.automata.automaton import Automaton, from_dfa
from cinnabar.schemas.automata.concatenation import concat
from cinnabar.schemas.automata.literals import literal

#: Divisor of a model's window: the most of it that thoughts may take.
SHARE = 16
#: Thoughts are no record: a token is committed as at medium, and no block is masked again.
_SETTINGS = replace(SETTINGS["medium"], rounds=0)


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What a model thought before a record: its text without the marks, and the passes that it took."""

    text: str
    passes: int


class Thinker:
    """Decodes the thoughts of a batch; `most` is their bound in tokens, 0 if the effort or the model has none."""

    def __init__(self, decoder: Denoiser, settings: Settings) -> None:
        self.most = bound(decoder.decoder.traits, settings)
        self._tokenizer = decoder.tokenizer
        self._denoiser = Denoiser(decoder.decoder, decoder.tokenizer, _SETTINGS, beside=decoder) if self.most else None

    def think(
        self, tasks: Sequence[Task], rooms: Sequence[int], room: int | None = None
    ) -> list[tuple[Task, Thoughts | None] | Undecoded]:
        """Returns the tasks with their thoughts behind their prompts, or a failure that may be due to other tasks.

        rooms: the tokens that each may take; room: those of all tasks that are decoded together. A task with too little
        room for any, or whose thoughts cannot be decoded otherwise, stays as it is.
        """
        if self._denoiser is None:
            return [(task, None) for task in tasks]
        graph = thoughts_graph(self._tokenizer)
        least = int(graph.distance[0])
        asked = {
            at: thoughts_task(task, self._tokenizer, min(own, self.most))
            for at, (task, own) in enumerate(zip(tasks, rooms, strict=True))
            if 0 <= least <= min(own, self.most)
        }
        numbers = [*asked]
        stream = self._denoiser.stream([*asked.values()], room=room)
        decoded = {numbers[index]: outcome for index, outcome in stream}
        return [with_thoughts(task, decoded.get(at)) for at, task in enumerate(tasks)]


def bound(traits: Traits, settings: Settings) -> int:
    """Returns the most tokens of a model's thoughts."""
    return min(settings.thoughts, traits.window // SHARE) if traits.thinks else 0


def thoughts_task(task: Task, tokenizer: Spelling, room: int) -> Task:
    """Returns the task of the thoughts before a record, in so many tokens."""
    return Task(task.prompt, thoughts_graph(tokenizer), room, None, _SHORTEST, _SETTINGS)


def with_thoughts(task: Task, decoded: Decoded | Undecoded | None) -> tuple[Task, Thoughts | None] | Undecoded:
    """Returns a task with its decoded thoughts behind its prompt, or a failure that may be due to other tasks."""
    if isinstance(decoded, Undecoded) and decoded.code in ALONE:
        # Whether there are thoughts may not depend on other requests: the task is tried again alone.
        return decoded
    if not isinstance(decoded, Decoded):
        return task, None
    text = decoded.text.decode().removeprefix(THOUGHTS).removesuffix(RECORD).strip()
    return replace(task, prompt=(*task.prompt, *decoded.tokens)), Thoughts(text, decoded.passes)


@lru_cache(maxsize=4)
def thoughts_graph(tokenizer: Spelling) -> RecordGraph:
    """Returns the graph of thoughts over a tokenizer."""
    automaton = concat(literal(THOUGHTS.encode()), _without_empty_line(), literal(RECORD.encode()))
    return spelled_graph(graph_of(automaton, tokenizer.vocabulary), tokenizer)


_SHORTEST = (THOUGHTS + RECORD).encode()


def _without_empty_line() -> Automaton:
    """Returns the automaton of UTF-8 texts without control characters in which no line but the last may be empty.

    State 0 stands behind a character, state 1 behind the end of a line, state 2 + n within a character of which n + 1
    bytes are missing; state 5 + k behind the k-th of `LEADS`.
    """
    table = np.full((5 + len(LEADS), 256), -1, np.int64)
    for state in (0, 1):
        table[state, 0x20:0x7F] = 0
        for number, (first, last, *_) in enumerate(LEADS):
            table[state, first : last + 1] = 5 + number
    table[0, 0x0A] = 1
    table[2, 0x80:0xC0] = 0
    table[3, 0x80:0xC0] = 2
    for number, (_, _, low, high, missing) in enumerate(LEADS):
        table[5 + number, low : high + 1] = (0, 2, 3)[missing]
    accepting = np.zeros(len(table), np.bool_)
    accepting[0] = True
    return from_dfa(table, np.arange(256), accepting)
