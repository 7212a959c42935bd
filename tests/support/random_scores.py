"""Records that the denoising loop writes under random scores, or under scores that are sure of a text."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

import numpy as np
import torch
from tests.support.scripted_decoder import Script, favour, scripted
from tests.support.tiny_models import END, KINDS, TOKENIZER, VOCABULARY

from cinnabar.engine.language.decoded import Decoded, Undecoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.language.settings import SETTINGS
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.schemas import CompiledSchema
from cinnabar.schemas.form.record_language import one_line

#: The spreads of the scores: from a model without an idea to one that is as sure as numbers allow.
SCALES = (0.3, 3.0, 30.0, 1e4)
#: Tokens of an answer beyond its smallest record.
ROOM = 60
#: The kinds of models whose passes score several tokens each, and one that scores one.
DRAWN = ("block", "revising", "uniform noise", "token-causal", "causal")


def task_of(compiled: CompiledSchema, prompt: str, budget: int | None = None) -> Task:
    """The task of writing a record of the schema. Raises TooLarge if its form has too many states."""
    graph = cached_graph(compiled.form, TOKENIZER)
    room = int(graph.distance[0]) + ROOM if budget is None else budget
    minimal = one_line(compiled.form.instance).encode()
    return Task(TOKENIZER.encode(prompt), graph, room, lambda text: compiled.accepts(text.decode()), minimal)


def random_script(seed: int) -> Script:
    """Scores that depend on the position and on all that is visible, in some positions without any order, in others
    with one token far above the rest."""

    def script(position: int, seen: dict[int, int]) -> torch.Tensor:
        digest = hashlib.sha256(repr((seed, position, sorted(seen.items()))).encode()).digest()
        draw = random.Random(digest)
        noise = np.random.default_rng(draw.getrandbits(64)).standard_normal(VOCABULARY.size)
        scores = torch.from_numpy(noise).float() * draw.choice(SCALES)
        # Half of the records would otherwise use up their room.
        scores[END] += draw.choice((0.0, 3.0, 1e4))
        return scores

    return script


def sure_script(text: bytes, prompt: int) -> Script:
    """Scores that are sure of this text behind a prompt of some tokens."""
    answer = [*TOKENIZER.encode(text.decode()), END]

    def script(position: int, _: dict[int, int]) -> torch.Tensor:
        at = position - prompt
        return favour(answer[at] if 0 <= at < len(answer) else END)

    return script


def decoder_of(kind: str, script: Script) -> Decoder:
    """A decoder of this kind that says what the script says."""
    return scripted(KINDS[kind], script)


def records_at_random(
    compiled: Sequence[CompiledSchema], seed: int, effort: str
) -> list[tuple[Decoded | Undecoded, list[str]]]:
    """The results of one batch under random scores, each with all states that the observer saw, its record at the end.

    The observer sees a state before the first step, too.
    """
    shown: list[list[bytes]] = []
    tasks = [task_of(c, f"Document {'x' * at}") for at, c in enumerate(compiled)]
    kind = DRAWN[seed % len(DRAWN)]
    denoiser = Denoiser(decoder_of(kind, random_script(seed)), TOKENIZER, SETTINGS[effort])
    found = denoiser.decode(tasks, lambda _, now: shown.append([*now]))
    ends = [[result.text] if isinstance(result, Decoded) else [] for result in found]
    return [
        (result, [text.decode() for text in (*(now[at] for now in shown), *ends[at])])
        for at, result in enumerate(found)
    ]
