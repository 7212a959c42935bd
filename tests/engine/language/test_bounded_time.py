"""Answers in bounded time: what is there when the seconds are over, and nothing begun that cannot end within them."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.engine.language.test_denoiser import INVOICE, decoded, form_of, task
from tests.support.tiny_models import CAUSAL, KINDS, TOKENIZER, decoder

from cinnabar.engine.language.contexts import PagedContext
from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.language.denoiser import LATE, Denoiser
from cinnabar.engine.language.pass_times import PROMPT_PASS, PassTimes
from cinnabar.engine.language.settings import settings_for
from cinnabar.engine.models.language.passes import Passes
from cinnabar.engine.work_time import answer_within, report_to, seconds_to_answer

FORM = form_of(INVOICE, ["name", "lines"])
#: Seconds of a token of a prompt, and of a pass of an answer, by the clock of `slowed`.
TOKEN, STEP = 0.1, 1.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that moves with the passes alone, and the passes."""
    now = [0.0]
    fake = SimpleNamespace(monotonic=lambda: now[0], thread_time=time.thread_time)
    for module in ("work_time", "language.denoiser"):
        monkeypatch.setattr(f"cinnabar.engine.{module}.time", fake)
    plain = Passes.__call__

    def passing(self: Passes, pieces: Any) -> Any:
        tokens = sum(len(piece.tokens) for piece in pieces)
        now[0] += TOKEN * tokens if tokens >= PROMPT_PASS else STEP
        return plain(self, pieces)

    monkeypatch.setattr(Passes, "__call__", passing)
    return now


@pytest.mark.parametrize("kind", ["causal", "block with shift", "token-causal"])
@pytest.mark.parametrize("seconds", [9.0, 15.0, 25.0])
def test_an_answer_ends_in_time_as_a_whole_record_that_begins_as_the_whole_one(
    clock: list[float], kind: str, seconds: float
) -> None:
    one = task(FORM, "Document" + " name" * 4, 90)
    (whole,) = decoded(Denoiser(decoder(KINDS[kind], 1), TOKENIZER, page=8), one)
    took, clock[0] = clock[0], 0.0
    with answer_within(seconds):
        (found,) = Denoiser(decoder(KINDS[kind], 1), TOKENIZER, page=8).decode([one])
    assert clock[0] <= seconds
    if took <= seconds:
        assert isinstance(found, Decoded) and found.text == whole.text
        return
    assert isinstance(found, Decoded) and one.judge is not None and one.judge(found.text)
    written = sum(1 for posterior in found.posteriors if posterior)
    assert found.passes < whole.passes and (found.accepted or written < len(found.tokens))
    if kind == "causal":
        assert written and found.tokens[:written] == whole.tokens[:written]


def test_a_prompt_that_cannot_be_read_in_time_is_left_after_its_first_stretch(clock: list[float]) -> None:
    denoiser = Denoiser(decoder(CAUSAL, 1), TOKENIZER, page=64)
    long = task(FORM, "Document" + " name" * 90, 60)
    with answer_within(20.0):
        assert denoiser.decode([long]) == [LATE] and clock[0] == pytest.approx(TOKEN * 64)
        # What was read is sound, and the price is known.
        assert denoiser.decode([long]) == [LATE] and clock[0] == pytest.approx(TOKEN * 64)
        # A price that nobody has paid lately is measured again.
        assert denoiser.decode([long]) == [LATE] and clock[0] == pytest.approx(TOKEN * 128)
    assert isinstance(denoiser._context, PagedContext) and denoiser._context.cache.pool.known
    with answer_within(2000.0):
        (found,) = denoiser.decode([long])
    assert isinstance(found, Decoded) and found.accepted and found.cached >= 64


def test_what_passes_take_is_learnt_from_the_latest_ones() -> None:
    times = PassTimes()
    assert times.needed(500, 64, False) == 0.0
    times.note(64, 6.4)
    assert times.needed(100, 64, False) == pytest.approx(10 + 8 * 2.4)
    for _ in range(9):
        times.note(5, 0.5)
    # A pass that another program delays makes the next one dear, and not all that follow.
    times.note(64, 64.0)
    assert times.needed(100, 64, False) == pytest.approx(max(64 * 0.55, 10 + 8 * 0.5))
    assert times.needed(100, 64, True) == times.needed(1, 64, False) == pytest.approx(0.5)
    times.forget()
    assert times.needed(100, 64, False) == pytest.approx(100 + 8 * 0.5)


def test_steps_that_were_slow_once_are_forgotten_as_prompts_are() -> None:
    times = PassTimes()
    times.note(5, 60.0)
    assert times.needed(9, 64, True) == 60.0
    times.forget()
    assert times.needed(9, 64, True) == 0.0


def test_seconds_to_answer_are_those_of_the_block() -> None:
    assert seconds_to_answer() is None
    with answer_within(4.0):
        assert seconds_to_answer() == 4.0
        with answer_within(None):
            assert seconds_to_answer() is None


@pytest.mark.parametrize(("effort", "steps", "same"), [("instant", 3, False), ("high", 9, False), ("low", 64, True)])
def test_steps_bound_the_passes_of_an_answer_token_by_token_and_efforts_do_not(
    effort: str, steps: int, same: bool
) -> None:
    one = task(FORM, "Document" + " name" * 4, 90)
    denoiser = Denoiser(decoder(CAUSAL, 1), TOKENIZER, page=8)
    whole, free, bounded = decoded(
        denoiser,
        one,
        replace(one, settings=settings_for(CAUSAL, effort)),
        replace(one, settings=settings_for(CAUSAL, effort, steps)),
    )
    assert free.text == whole.text and (bounded.text == whole.text) == same == (whole.passes <= steps)
    assert bounded.passes == min(whole.passes, steps)
    assert one.judge is not None and one.judge(bounded.text)
    written = sum(1 for posterior in bounded.posteriors if posterior)
    assert bounded.tokens[:written] == whole.tokens[:written] and written >= steps * (not same)


def test_an_answer_that_ends_before_its_draft_tells_its_share() -> None:
    one = task(FORM, "Document name", 90)
    (plain,) = decoded(Denoiser(decoder(CAUSAL, 1), TOKENIZER, page=8), one)
    begin, items = plain.text[: plain.text.index(b"[") + 1], plain.text[plain.text.index(b"[") + 1 : -2]
    shares = list[float]()
    with report_to(shares.append):
        longer = replace(one, source=begin + b", ".join([items, items, items]) + b"]}")
        (found,) = decoded(Denoiser(decoder(CAUSAL, 1), TOKENIZER, page=8), longer)
    assert found.text == plain.text and all(0 < share <= 1 for share in shares) and shares[-1] > 0.5
