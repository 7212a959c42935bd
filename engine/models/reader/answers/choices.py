"""Choices: the window in which each is decided, and the probabilities of its options there."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import torch
from torch import Tensor

from cinnabar.engine.models.reader.form_memory import FormMemory
from cinnabar.engine.models.reader.inputs.questions import (
    is_currency_printed,
    is_printed,
    kind_of,
    plain_words,
)
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.inputs.views import Place
from cinnabar.engine.models.reader.memory import Memory
from cinnabar.engine.models.reader.network.network import BOOLEANS, Network
from cinnabar.engine.models.reader.network.support import covering_pieces, support
from cinnabar.schemas.form.form import Form, Slot

#: The number of options that are compared with a window together.
_OPTIONS_AT_ONCE = 512


def choice_windows(
    network: Network, form: Form, questions: FormMemory, memory: Memory
) -> dict[int, int]:
    """Returns for each slot with options the window that has most of its words."""
    if form.fingerprint not in memory.choice_windows:
        chosen = [s.index for s in form.slots if s.options]
        cores = [(w.core_first, w.core_last) for w in memory.windows]
        if len(cores) == 1 or not chosen:
            return dict.fromkeys(chosen, 0)
        asked = questions.questions
        asked_at = torch.tensor([questions.slots[s] for s in chosen], device=asked.label.device)
        ids = torch.from_numpy(memory.pieces.ids).to(asked.label.device).long()
        words = network.encoder.words.weight
        places = covering_pieces(words, asked.label[asked_at], asked.note[asked_at], ids, cores).tolist()
        home = [next(i for i, (first, last) in enumerate(cores) if first <= p < last) for p in places]
        memory.choice_windows[form.fingerprint] = dict(zip(chosen, home, strict=True))
    return memory.choice_windows[form.fingerprint]


def option_support(
    network: Network, form: Form, questions: FormMemory, memory: Memory, slot: Slot, window: int,
    place: Place | None,
) -> Tensor:  # fmt: skip
    """Returns how far the window, or the slot's row in it, supports each option: [O, SIGNS].

    A boolean has one option, its yes. The support does not depend on the canvas, so later steps find it cached.
    """
    w = memory.windows[window]
    first, last = (place.anchor, place.until) if place is not None else (w.first, w.last)
    key = (form.fingerprint, slot.index, window, first, last)
    if key not in memory.supported:
        states = memory.states[window]
        seen = torch.from_numpy(memory.pieces.ids[w.first : w.last]).to(states.device).long()
        where = torch.zeros(len(seen), dtype=torch.bool, device=states.device)
        where[max(0, first - w.first) : max(0, last - w.first)] = True
        boolean = kind_of(slot) == KINDS.index("boolean")
        asked = [questions.slots[slot.index]] if boolean else questions.options[slot.index]
        read, words = states[1 : len(seen) + 1], network.encoder.words.weight
        stated = questions.read.statements
        parts = [
            support(words, seen[None], read[None], where[None], stated[torch.tensor([part])])[0]
            for part in (asked[i : i + _OPTIONS_AT_ONCE] for i in range(0, len(asked), _OPTIONS_AT_ONCE))
        ]
        memory.supported[key] = torch.cat(parts)
    return memory.supported[key]


def text_near(memory: Memory, place: Place | None) -> tuple[str, str]:
    """Returns the text in which the options of a choice may be printed, and its `plain_words`.

    That is the document, or the slot's row in it. The words of the document are found once.
    """
    if place is not None:
        text = memory.pieces.between(place.anchor, place.until, memory.passage.text)
        return text, plain_words(text)
    memory.plain = memory.plain or plain_words(memory.passage.text)
    return memory.passage.text, memory.plain


def printed_options(questions: FormMemory, slot: Slot, near: str) -> list[bool]:
    """Returns for each option of a slot whether its name stands in `near` (from `plain_words`).

    The yes and no of a boolean are never printed.
    """
    if kind_of(slot) == KINDS.index("boolean"):
        return [False] * len(BOOLEANS)
    return [is_printed(questions.asked[option], near) for option in questions.options[slot.index]]


def tells_presence(option: str, text: str, near: str) -> bool:
    """Returns True if the printed name of an option (JSON) tells that the choice has a value.

    Numbers stand everywhere. A code of up to three capitals is also a word of some language ("de", "it"): it tells
    only in capitals, or by the sign or name of its currency.
    """
    name = json.loads(option)
    if not isinstance(name, str) or not any(map(str.isalpha, name)):
        return False
    if len(name) > 3 or not name.isupper():
        return True
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)) or is_currency_printed(name, near)


def option_scores(
    network: Network, state: Tensor, questions: FormMemory, slot: Slot, printed: Sequence[bool], found: Tensor
) -> list[float]:
    """Returns the log probabilities of a slot's options.

    state: [H], the slot's; printed: from `printed_options`; found: [O, SIGNS] from `option_support`.
    """
    if kind_of(slot) == KINDS.index("boolean"):
        return network.answers(state, found[0]).log_softmax(-1).tolist()
    at = questions.options[slot.index]
    marks = torch.tensor(printed, dtype=torch.float32, device=state.device)
    scores = network.choices(state[None], questions.read.vectors[at][None], marks[None], found[None])[0]
    return scores.float().log_softmax(-1).tolist()
