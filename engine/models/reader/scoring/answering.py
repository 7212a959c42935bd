"""The answer to a slot from its window scores: candidates with their probabilities, absence, sign and default.

Descriptions may say that signs do not count, and may name the value for "none". With "Fees, always positive; 0 when
there are none" a printed -4.90 is 4.9, and a document without fees has the value 0. The words of the description decide
about signs (`readings/unsigned.py`). Where they say nothing the network decides, which keeps the sign unless corrected
documents taught it otherwise. The network decides about defaults, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F

from cinnabar.engine.model import Candidate, Canvas
from cinnabar.engine.models.reader.inputs.header_questions import asks_for_headers
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.network.network import BOOLEANS, Network
from cinnabar.engine.models.reader.scoring.spans import (
    Answers,
    Merged,
    Pointed,
    WindowScores,
    add_candidate,
    candidates_of,
    spans_in_window,
)
from cinnabar.engine.readings.unsigned import asks_unsigned
from cinnabar.schemas.form.form import Slot

#: How much less likely (a natural logarithm) a value from a header is for a field that asks for none.
HEADER_WEIGHT = 3.0
#: The most windows whose spans are read, those that most likely hold the value.
READ_WINDOWS = 4
#: Added to the network's log odds that a printed minus is not part of the value. Without it descriptions of all kinds
#: had probabilities of .4 to .86 on the shipped weights, and half of the negative numbers lost their sign.
SIGN_KEPT = -4.0
#: The log odds where the description says it.
SIGN_STATED = 6.0


def answer(k: int, d: WindowScores, memory: Memory, canvas: Canvas, out: Answers) -> None:
    """Writes one answer from all windows' scores: a window counts the more, the surer it is of holding the value."""
    slot = canvas.instances[k].slot
    present = [-logit for logit in d.absent]
    whole = _log_sum(present)
    weight = [logit - whole for logit in present]
    best = present.index(max(present))
    out.absent[k], here = _log_sigmoid(-present[best]), _log_sigmoid(present[best])
    if slot.options:
        mixed = [
            _log_sum([log + w for log, w in zip(logs, weight, strict=True)]) for logs in zip(*d.options, strict=True)
        ]
        texts = BOOLEANS if kind_of(slot) == KINDS.index("boolean") else slot.options
        if d.passages:
            out.classes.add(k)
        evidence: list[tuple[tuple[int, int], ...]] = [(passage,) for passage in d.passages] or [()] * len(texts)
        out.candidates[k] = [
            Candidate(text.encode(), spans, "chosen") for text, spans in zip(texts, evidence, strict=True)
        ]
        out.logits[k] = [log + here for log in mixed]
        return
    typed = kind_of(slot) in TYPED
    pointed = []
    for w in sorted(range(len(present)), key=lambda at: -present[at])[:READ_WINDOWS]:
        window = memory.windows[d.windows[w]]
        starts, ends = d.places[w]
        logs = [[x + weight[w] for x in row] for row in d.pointed[w]]
        pointed += spans_in_window(starts, ends, logs, memory.columns, window)
    if memory.passage.headers and not asks_for_headers(slot):
        pointed = [
            replace(p, log_probability=p.log_probability - HEADER_WEIGHT * _in_headers(p, memory)) for p in pointed
        ]
    if slot.format == "date-time" and (alone := [p for p in pointed if not memory.reader.mentions_at(slot, p.start)]):
        # What points at a date without a time says that there is no date-time.
        out.absent[k] = _log_sum([out.absent[k], *(p.log_probability + here for p in alone)])
    candidates, logs_of = candidates_of(slot, typed, pointed, memory.reader)
    out.candidates[k] = candidates
    out.logits[k] = [x + here for x in logs_of]
    kept = math.exp(min(0.0, d.mass[best]))
    # Without any candidate all of the probability that there is a value is refused.
    out.refused[k] = math.log(max(1.0 - kept, 1e-9)) if candidates else here


def _in_headers(pointed: Pointed, memory: Memory) -> bool:
    return any(first <= pointed.start < last for first, last in memory.passage.headers)


def _log_sum(logs: Sequence[float]) -> float:
    """Returns the logarithm of the sum of numbers, from their logarithms."""
    most = max(logs)
    return most + math.log(sum(math.exp(log - most) for log in logs)) if math.isfinite(most) else most


def _log_sigmoid(logit: float) -> float:
    """Returns the logarithm of the probability with these log odds."""
    return -math.log1p(math.exp(-logit)) if logit >= 0 else logit - math.log1p(math.exp(logit))


_NUMBER = KINDS.index("number")


def unsigned_odds(network: Network, states: torch.Tensor) -> torch.Tensor:
    """Returns the log odds that a printed minus is not part of the value, [N] float32, from slot states [N, H]."""
    odds: torch.Tensor = network.unsigned(states)[..., 0].float() + SIGN_KEPT
    return odds


def settle_signs(
    network: Network, asked: Collection[int], scores: Mapping[int, WindowScores], canvas: Canvas, out: Answers
) -> None:
    """Divides the probability of each negative number between the number and the number without its sign."""
    signed = [
        k
        for k in sorted(asked)
        if kind_of(canvas.instances[k].slot) == _NUMBER
        and any(c.text.startswith(b"-") and c.origin == "copied" for c in out.candidates[k])
    ]
    if not signed:
        return
    stated = [asks_unsigned(canvas.instances[k].slot.description) for k in signed]
    odds = unsigned_odds(network, torch.stack([scores[k].likeliest_state() for k in signed]))
    odds = odds.masked_fill(torch.tensor(stated, device=odds.device), SIGN_STATED)
    for k, unsigned, negative in zip(
        signed, F.logsigmoid(odds).tolist(), F.logsigmoid(-odds).tolist(), strict=True
    ):
        slot = canvas.instances[k].slot
        merged = Merged()
        for candidate, log in zip(out.candidates[k], out.logits[k], strict=True):
            bare = _without_sign(candidate, slot)
            add_candidate(merged, candidate, log if bare is None else log + negative)
            if bare is not None:
                add_candidate(merged, bare, log + unsigned)
        ranked = sorted(merged.values(), key=lambda x: -x[0])
        out.logits[k] = [log for log, _ in ranked]
        out.candidates[k] = [candidate for _, candidate in ranked]


def settle_absences(
    network: Network,
    asked: Collection[int],
    scores: Mapping[int, WindowScores],
    known: FormMemory,
    canvas: Canvas,
    out: Answers,
) -> None:
    """Divides the probability of each absence between no value and the values that the description names."""
    questions = {k: known.slots[canvas.instances[k].slot.index] for k in asked}
    naming = [k for k in sorted(asked) if known.asked[questions[k]].named]
    if not naming:
        return
    at = torch.tensor([questions[k] for k in naming], device=known.read.named.device)
    states = torch.stack([scores[k].likeliest_state() for k in naming])
    shares = network.defaults(states, known.read.named[at], known.read.is_named[at]).tolist()
    for k, question, share in zip(naming, at.tolist(), shares, strict=True):
        absent = out.absent[k]
        merged = {c.text: (log, c) for c, log in zip(out.candidates[k], out.logits[k], strict=True)}
        for named, log in zip(known.asked[question].named, share[1:], strict=False):
            add_candidate(merged, Candidate(named.text.encode(), (), "default"), absent + log)
        out.absent[k] = absent + share[0]
        out.candidates[k] = [candidate for _, candidate in merged.values()]
        out.logits[k] = [log for log, _ in merged.values()]


def _without_sign(candidate: Candidate, slot: Slot) -> Candidate | None:
    """Returns a copied negative number without its sign, or None if it is none or the slot rejects the result."""
    bare = candidate.text[1:]
    if candidate.origin != "copied" or not candidate.text.startswith(b"-") or not slot.accepts(bare):
        return None
    return Candidate(bare, candidate.spans, candidate.origin)
