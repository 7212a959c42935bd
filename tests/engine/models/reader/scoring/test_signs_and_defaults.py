"""Signs and defaults: the readings share the probability, none of it is lost, and the evidence stays."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import torch
from tests.support.tiny_network import form_of, wordpieces

from cinnabar.engine.model import Candidate, Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.questions import form_questions, question_tensors
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.scoring.answering import settle_absences, settle_signs
from cinnabar.engine.models.reader.scoring.spans import Answers, WindowScores

SPAN = ((3, 8),)
isclose = partial(math.isclose, rel_tol=1e-6)
SURE = 0.75


def network(share: float = SURE) -> Network:
    """A network that drops signs with this probability, and gives the first named value as the default with it."""

    def defaults(slots: torch.Tensor, _: torch.Tensor, is_named: torch.Tensor) -> torch.Tensor:
        shares = torch.zeros(len(slots), 1 + is_named.shape[1])
        shares[:, 0], shares[:, 1] = 1 - share, share
        return shares.log()

    # The network's odds are lowered, so that it keeps signs unless it is sure.
    odds = math.log(share / (1 - share)) + 4.0
    return cast(
        Network, SimpleNamespace(unsigned=lambda x: torch.full((len(x), 1), odds), defaults=defaults)
    )


def settled(field: dict[str, Any], **found: float) -> tuple[dict[str, Candidate], dict[str, float], float]:
    """The probabilities of the texts after sharing, by text, the rest being absence; and that of absence."""
    form = form_of(field=field)
    slot = form.slots[0]
    canvas = Canvas([SlotInstance(0, slot, -1)], [None], [False])
    out = Answers(1)
    out.candidates[0] = [Candidate(text.encode(), SPAN) for text in found]
    out.logits[0] = [math.log(p) for p in found.values()]
    out.absent[0] = math.log(1 - sum(found.values()))
    states = torch.stack([torch.zeros(3), torch.ones(3)])[None]
    scores = {0: WindowScores(absent=[2.0, -1.0], states=[(states, 0, 0), (states, 0, 1)])}
    settle_signs(network(), [0], scores, canvas, out)
    asked = form_questions(form)
    read: Any = SimpleNamespace(named=torch.zeros(1, 4, 3), is_named=torch.ones(1, 4, dtype=torch.bool))
    tensors = question_tensors(asked.slots, wordpieces())
    known = FormMemory(form.fingerprint, [*asked.slots], tensors, read, [0], [], [[]])
    settle_absences(network(), [0], scores, known, canvas, out)
    texts = [c.text.decode() for c in out.candidates[0]]
    assert len(texts) == len(set(texts))
    shares = {text: math.exp(log) for text, log in zip(texts, out.logits[0], strict=True)}
    assert isclose(sum(shares.values()) + math.exp(out.absent[0]), 1.0)
    return dict(zip(texts, out.candidates[0], strict=True)), shares, math.exp(out.absent[0])


def test_a_negative_number_shares_with_its_positive_reading() -> None:
    candidates, shares, _ = settled({"type": "number"}, **{"-4.9": 0.8})
    assert isclose(shares["4.9"], 0.6) and isclose(shares["-4.9"], 0.2)
    assert candidates["4.9"].spans == candidates["-4.9"].spans == SPAN


def test_a_description_decides_about_the_sign() -> None:
    _, shares, _ = settled({"type": "number", "description": "Fees, without sign"}, **{"-4.9": 0.8})
    assert shares["4.9"] > 0.79 and shares["-4.9"] < 0.01


def test_two_ways_to_one_number_add_up() -> None:
    _, shares, _ = settled({"type": "number"}, **{"-7": 0.4, "7": 0.5})
    assert isclose(shares["7"], 0.8) and isclose(shares["-7"], 0.1)


def test_positive_numbers_texts_and_slots_that_need_a_sign_stay() -> None:
    assert isclose(settled({"type": "number"}, **{"5": 0.9})[1]["5"], 0.9)
    assert isclose(settled({"type": "string"}, **{'"-5"': 0.9})[1]['"-5"'], 0.9)
    assert isclose(settled({"type": "number", "maximum": 0}, **{"-5": 0.9})[1]["-5"], 0.9)


def test_absence_shares_with_its_named_default() -> None:
    candidates, shares, none = settled({"type": "number", "description": "0 when none"}, **{"12": 0.2})
    assert isclose(shares["0"], 0.8 * SURE) and isclose(none, 0.8 * (1 - SURE))
    assert candidates["0"] == Candidate(b"0", (), "default") and candidates["12"].origin == "copied"


def test_a_printed_default_is_copied_where_that_is_likelier() -> None:
    field = {"type": "number", "description": "0 when none"}
    printed, shares, _ = settled(field, **{"0": 0.9})
    assert isclose(shares["0"], 0.9 + 0.1 * SURE) and printed["0"].spans == SPAN
    unprinted, shares, _ = settled(field, **{"0": 0.1})
    assert isclose(shares["0"], 0.1 + 0.9 * SURE) and unprinted["0"].origin == "default"


def test_without_a_named_value_absence_stays_absence() -> None:
    _, shares, none = settled({"type": "number", "description": "Sum of the fees"}, **{"12": 0.2})
    assert shares.keys() == {"12"} and isclose(none, 0.8)
