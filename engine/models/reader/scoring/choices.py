"""Choices: the window in which each is decided, and the probabilities of its options there.

Of a choice of codes and other options (EUR, USD or "other") the reader points at the codes. A code of the same kind
that is no option speaks for the other options, and the probability that no code is printed is divided as the network
judges the choice.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.mixed_choices import MixedSlot
from cinnabar.engine.models.reader.inputs.questions import (
    is_currency_printed,
    is_printed,
    kind_of,
    plain_words,
    stands,
)
from cinnabar.engine.models.reader.inputs.tensors import KINDS, Sheet
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.network.network import BOOLEANS, Network
from cinnabar.engine.models.reader.network.support import Statements, covering_pieces, support
from cinnabar.engine.models.reader.scoring.spans import UNLISTED, Answers, Merged, add_candidate
from cinnabar.schemas.form.form import Form, Slot

#: The number of options that are compared with windows together.
_OPTIONS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class OptionLook:
    """A look of a slot with options at a window of a passage, or at its row in it.

    view: the place of the window among those read together; slot_at: that of the slot among those of the view.
    """

    memory: Memory
    slot: Slot
    window: int
    place: RowExtent | None
    view: int
    slot_at: int

    def stretch(self) -> tuple[int, int]:
        """Returns the pieces [first, last) that count."""
        w = self.memory.windows[self.window]
        return (self.place.anchor, self.place.until) if self.place is not None else (w.first, w.last)

    def key(self, form: Form) -> tuple[str | int, ...]:
        """Returns the key of what the window, or the row in it, says about the slot."""
        return form.fingerprint, self.slot.index, self.window, *self.stretch()


def choice_windows(
    network: Network, form: Form, questions: FormMemory, memories: Sequence[Memory]
) -> list[dict[int, int]]:
    """Returns for each passage and each slot with options the window that has most of its words."""
    key, chosen = form.fingerprint, [s.index for s in form.slots if s.options]
    unread = [memory for memory in memories if key not in memory.choice_windows]
    for memory in unread:
        memory.choice_windows[key] = dict.fromkeys(chosen, 0)
    unread = [memory for memory in unread if len(memory.windows) > 1]
    if chosen and unread:
        asked = questions.questions
        at = torch.tensor([questions.slots[s] for s in chosen], device=asked.label.device)
        cores = [[(w.core_first, w.core_last) for w in memory.windows] for memory in unread]
        texts = [(memory.pieces.ids, own) for memory, own in zip(unread, cores, strict=True)]
        places = covering_pieces(network.encoder.words.weight, asked.label[at], asked.note[at], texts)
        for memory, own, pieces in zip(unread, cores, places, strict=True):
            home = [next(i for i, (first, last) in enumerate(own) if first <= p < last) for p in pieces.tolist()]
            memory.choice_windows[key] = dict(zip(chosen, home, strict=True))
    return [memory.choice_windows[key] for memory in memories]


def option_support(
    network: Network, form: Form, questions: FormMemory, looks: Sequence[OptionLook], page: Sheet, states: Tensor
) -> list[tuple[Tensor, Tensor]]:
    """Returns for each look how far its stretch supports each option, [O, SIGNS], and the maximum over these, [SIGNS].

    page: the windows of the views, N of them; states: [N, T, H], theirs. A boolean has one option, its yes. The support
    does not depend on the canvas, so later steps find it cached.
    """
    unread: dict[int, list[OptionLook]] = {}
    for look in looks:
        if look.key(form) not in look.memory.supported:
            unread.setdefault(look.slot.index, []).append(look)
    for slot, own in unread.items():
        boolean = kind_of(own[0].slot) == KINDS.index("boolean")
        asked = [questions.slots[slot]] if boolean else questions.options[slot]
        stated = questions.read.statements[torch.tensor(asked, device=states.device)]
        together = max(1, _OPTIONS_AT_ONCE // len(asked))
        for first in range(0, len(own), together):
            part = own[first : first + together]
            supported = _support(network, part, stated, page, states)
            every = zip(part, supported.unbind(), supported.amax(1).unbind(), strict=True)
            for look, *both in every:
                look.memory.supported[look.key(form)] = both[0], both[1]
    return [look.memory.supported[look.key(form)] for look in looks]


def _support(network: Network, looks: Sequence[OptionLook], stated: Statements, page: Sheet, states: Tensor) -> Tensor:
    """Returns how far the stretches of C looks support the same options: [C, O, SIGNS]."""
    where = np.zeros((len(looks), page.ids.shape[1] - 1), bool)
    for row, look in enumerate(looks):
        w, (first, last) = look.memory.windows[look.window], look.stretch()
        where[row, max(0, first - w.first) : max(0, min(last, w.last) - w.first)] = True
    views = [look.view for look in looks]
    ids = page.ids
    if views != list(range(len(ids))):
        at = torch.tensor(views, device=states.device)
        ids, states = ids[at], states[at]
    within, options = torch.from_numpy(where).to(states.device), len(stated.label)
    # [CLS] stands before the window's first piece.
    parts = [
        support(network.encoder.words.weight, ids[:, 1:], states[:, 1:], within, stated.part(i, i + _OPTIONS_AT_ONCE))
        for i in range(0, options, _OPTIONS_AT_ONCE)
    ]
    return torch.cat(parts, 1) if len(parts) > 1 else parts[0]


def text_near(memory: Memory, place: RowExtent | None) -> tuple[str, str]:
    """Returns the text in which the options of a choice may be printed, and its `plain_words`.

    That is the document, or the slot's row in it. The words of the document are found once.
    """
    if place is not None:
        text = memory.pieces.between(place.anchor, place.until, memory.passage.text)
        return text, plain_words(text)
    memory.plain = memory.plain or plain_words(memory.passage.text)
    return memory.passage.text, memory.plain


def printed_options(questions: FormMemory, slot: Slot, near: str) -> list[bool]:
    """Returns for each option of a slot whether its name, or another word for it, stands in `near` (`plain_words`).

    The yes and no of a boolean are never printed.
    """
    if kind_of(slot) == KINDS.index("boolean"):
        return [False] * len(BOOLEANS)
    return [
        is_printed(questions.asked[option], near) or any(stands(word, near) for word in slot.words_of(at))
        for at, option in enumerate(questions.options[slot.index])
    ]


def tells_presence(option: str, text: str, near: str, words: Sequence[str] = ()) -> bool:
    """Returns True if the printed name of an option (JSON), or one of its other words, tells that there is a value.

    Numbers stand everywhere. A code of up to three capitals is also a word of some language ("de", "it"): it tells
    only in capitals, or by the sign or name of its currency.
    """
    if any(stands(word, near) for word in words):
        return True
    name = json.loads(option)
    if not isinstance(name, str) or not any(map(str.isalpha, name)):
        return False
    if len(name) > 3 or not name.isupper():
        return True
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)) or is_currency_printed(name, near)


def option_scores(
    network: Network,
    states: Tensor,
    questions: FormMemory,
    slot: Slot,
    printed: Sequence[Sequence[bool]],
    support: Tensor,
) -> list[list[float]]:
    """Returns the log probabilities of a slot's options in C looks.

    states: [C, H], the slot's; printed: from `printed_options`; support: [C, O, SIGNS] from `option_support`.
    """
    if kind_of(slot) == KINDS.index("boolean"):
        scores = network.boolean_scores(states, support[:, 0])
    else:
        at = torch.tensor(questions.options[slot.index], device=states.device)
        marks = torch.tensor(printed, dtype=torch.float32, device=states.device)
        scores = network.choices(states, questions.read.vectors[at][None], marks, support).float()
    return scores.log_softmax(-1).tolist()


def settle_mixed(k: int, slot: MixedSlot, judged: Answers, out: Answers) -> None:
    """Joins the pointed answer of a slot with the answer of the network to the choice.

    judged: the answers to the same canvas where the slot has its options.
    """
    choice, merged = slot.choice, Merged()
    if k in judged.classes:
        out.classes.add(k)
    logs = {c.text: log for c, log in zip(judged.candidates[k], judged.logits[k], strict=True)}
    for candidate, log in zip(out.candidates[k], out.logits[k], strict=True):
        if candidate.text == UNLISTED:
            _divide(merged, log, {word.encode(): logs[word.encode()] for word in choice.words}, candidate.spans)
        else:
            add_candidate(merged, candidate, log)
    if choice.judged:
        left = {option.encode(): logs[option.encode()] for option in choice.judged}
        none = judged.absent[k] - _total((*left.values(), judged.absent[k]))
        _divide(merged, out.absent[k] + math.log(-math.expm1(min(none, -1e-9))), left, ())
        out.absent[k] += none
    ranked = sorted(merged.values(), key=lambda one: -one[0])
    out.candidates[k] = [candidate for _, candidate in ranked]
    out.logits[k] = [log for log, _ in ranked]


def _divide(found: Merged, log: float, among: dict[bytes, float], spans: tuple[tuple[int, int], ...]) -> None:
    """Divides a probability among options in proportion to their own; all are logarithms."""
    total = _total(among.values())
    for text, own in among.items():
        add_candidate(found, Candidate(text, spans, "chosen"), log + own - total)


def _total(logs: Iterable[float]) -> float:
    """Returns the logarithm of the sum of probabilities, from their logarithms."""
    own = list(logs)
    top = max(own)
    return top + math.log(sum(math.exp(log - top) for log in own))
