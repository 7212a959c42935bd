"""Requests that join and leave a running batch: each gets what it gets alone, and no request harms another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.language.test_denoiser import INVOICE, RECORD, certain, form_of, task
from tests.support.effort import examples, some
from tests.support.scripted_decoder import ScriptedDecoder, edited, favour
from tests.support.tiny_models import BLOCK, CACHED, END, FEW_KINDS, KINDS, TOKENIZER, VOCABULARY, decoder

from cinnabar.engine.language import contexts
from cinnabar.engine.language import denoiser as denoiser_module
from cinnabar.engine.language.contexts import PagedContext
from cinnabar.engine.language.decoded import Decoded, Undecoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.language.settings import SETTINGS
from cinnabar.engine.models.language.passes import Passes, Piece
from cinnabar.engine.settings import EFFORTS
from cinnabar.engine.work_time import limit_batches
from cinnabar.kernels.paged_attention import paged_attention

SHORT = form_of({"kind": {"enum": ["ab", "the", "no"]}})
UNIQUE = form_of({"kind": {"type": "array", "uniqueItems": True, "maxItems": 3, "items": {"enum": ["ab", "the"]}}})
FORMS = (SHORT, form_of({"name": {"type": "string", "maxLength": 9}, "total": {"type": "number"}}), UNIQUE)
PAGE = 8


def broken(one: Task, call: int) -> Task:
    """The task with a judge that fails."""

    def judge(_: bytes) -> bool:
        raise ValueError(f"judge {call}")

    return replace(one, judge=judge)


@cache
def tried(kind: str, which: int, length: int, fails: bool) -> Decoded | Undecoded:
    """The result of a task alone."""
    (found,) = Denoiser(decoder(KINDS[kind], 5), TOKENIZER).decode([made(which, length, fails)])
    return found


def made(which: int, length: int, fails: bool) -> Task:
    one = task(FORMS[which], "Document: " + "name " * length, 60)
    return broken(one, 1) if fails else one


def same(found: Decoded | Undecoded, expected: Decoded | Undecoded) -> None:
    if isinstance(expected, Undecoded):
        assert found == expected
        return
    assert isinstance(found, Decoded), found
    assert (found.text, found.tokens, found.chosen) == (expected.text, expected.tokens, expected.chosen)
    assert found.passes == expected.passes
    assert found.posteriors == pytest.approx(expected.posteriors, abs=1e-3)


TASKS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.sampled_from([False] * 7 + [True])), max_size=6)


@examples(10, few=2)
@given(TASKS, st.sampled_from([None, 18, 22, 40]), st.sampled_from([None, 60, 150]), st.sampled_from([16, 512]))
@pytest.mark.parametrize("kind", some(FEW_KINDS, KINDS))
def test_a_request_gives_what_it_gives_alone(
    kind: str, asked: list[tuple[int, int, bool]], pages: int | None, room: int | None, prefill: int
) -> None:
    denoiser = Denoiser(decoder(KINDS[kind], 5), TOKENIZER, pages=pages, page=PAGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contexts, "PREFILL", prefill)
        for order in (asked, asked[::-1]):
            found = list(denoiser.stream([made(*one) for one in order], room=room))
            assert sorted(at for at, _ in found) == [*range(len(order))]
            for at, result in found:
                same(result, tried(kind, *order[at]))
    context = denoiser._context
    if isinstance(context, PagedContext):
        assert context.cache.pool.room == context.cache.pool.pages


@pytest.mark.parametrize("kind", some(("block",), CACHED))
def test_tasks_with_efforts_of_their_own_share_a_batch(kind: str) -> None:
    asked = [replace(made(at % 3, 5, False), settings=SETTINGS[name]) for at, name in enumerate([*EFFORTS] * 2)]
    found = Denoiser(decoder(KINDS[kind], 5), TOKENIZER).decode(asked)
    for one, result in zip(asked, found, strict=True):
        assert one.settings is not None
        (alone,) = Denoiser(decoder(KINDS[kind], 5), TOKENIZER, one.settings).decode([replace(one, settings=None)])
        same(result, alone)
    if kind == "revising":
        assert len({one.passes for one in found[::3] if isinstance(one, Decoded)}) > 1


@pytest.mark.parametrize("kind", some(("revising",), CACHED))
def test_passes_of_fixed_shapes_give_the_same_records(kind: str) -> None:
    asked = [(at % 3, 7 * at % 19, False) for at in range(7)]
    denoiser = Denoiser(decoder(KINDS[kind], 5), TOKENIZER, page=PAGE)
    context = denoiser._context
    assert isinstance(context, PagedContext)
    context.passes = Passes(denoiser.decoder, context.cache, attend=paged_attention)
    for one, result in zip(asked, denoiser.decode([made(*one) for one in asked]), strict=True):
        same(result, tried(kind, *one))


def test_a_stream_that_nobody_listens_to_any_more_leaves_no_pages_behind() -> None:
    denoiser = Denoiser(decoder(KINDS["block"], 5), TOKENIZER, pages=40, page=PAGE)
    context = denoiser._context
    assert isinstance(context, PagedContext)
    stream = denoiser.stream([made(0, 3, False)] * 3)
    next(stream)
    stream.close()
    assert not context._rows
    assert context.cache.pool.room == context.cache.pool.pages


class Seen:
    """Counts what the passes of a denoiser read."""

    def __init__(self, denoiser: Denoiser) -> None:
        context = denoiser._context
        assert isinstance(context, PagedContext)
        self.context, self.passes = context, context.passes
        self.read: list[list[Piece]] = []
        self.used = 0
        context.passes = self

    def __call__(self, pieces: Sequence[Piece]) -> torch.Tensor:
        self.read.append([*pieces])
        self.used = max(self.used, self.context.cache.pool.pages - self.context.cache.pool.room)
        return self.passes(pieces)


def test_a_long_prompt_is_read_beside_open_blocks_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "PREFILL", 64)
    long = task(SHORT, "xy" * 700)
    others = [task(form_of(INVOICE), "Document" + " name" * at) for at in range(4)]
    model = decoder(BLOCK, 5)
    alone = Denoiser(model, TOKENIZER).decode(others)
    denoiser = Denoiser(model, TOKENIZER)
    seen = Seen(denoiser)
    found = list(denoiser.stream([long, *others]))
    assert len(seen.read) >= len(long.prompt) // 64
    results = dict(found)
    for at, one in enumerate(alone, 1):
        same(results[at], one)
    # Each pass scores every one of the others until it is done, and reads few tokens of the long prompt.
    beside = [pieces for pieces in seen.read if pieces[0].row is seen.read[0][0].row]
    assert len(beside) > 20 and all(len(pieces[0].tokens) <= 64 for pieces in beside)
    for number, pieces in enumerate(beside):
        left = sum(isinstance(one, Decoded) and one.passes > number for one in alone)
        assert sum(len(piece.wanted) > 0 for piece in pieces[1:]) == left


def test_requests_join_as_soon_as_others_leave() -> None:
    quick, slow = task(SHORT, "one"), task(form_of(INVOICE), "name")
    denoiser = Denoiser(decoder(BLOCK, 5), TOKENIZER)
    seen = Seen(denoiser)
    found = list(denoiser.stream([slow, quick, quick, quick], room=slow.tokens + quick.tokens))
    assert [at for at, _ in found] == [1, 2, 3, 0]
    results = dict(found)
    passes = [one.passes for one in results.values() if isinstance(one, Decoded)]
    assert len(seen.read) == max(passes) and max(passes) >= sum(passes) - max(passes)
    assert {len(pieces) for pieces in seen.read} <= {1, 2}


def test_a_request_waits_for_pages_and_one_that_is_too_large_is_told() -> None:
    one, model = task(SHORT, "Document " * 6), decoder(BLOCK, 5)
    (alone,) = Denoiser(model, TOKENIZER).decode([one])
    least = -(-(len(one.prompt) + one.budget + BLOCK.block) // PAGE)
    denoiser = Denoiser(model, TOKENIZER, pages=least, page=PAGE)
    seen = Seen(denoiser)
    tasks = [one, replace(one, prompt=[*one.prompt[::-1]]), one, task(SHORT, "x" * 9 * PAGE * least)]
    found = denoiser.decode(tasks)
    same(found[0], alone)
    same(found[2], alone)
    assert 0 < seen.used <= least
    large = found[3]
    assert isinstance(large, Undecoded) and large.code == "too_long"
    assert f"the memory for keys holds {least * PAGE}" in large.detail


def test_the_youngest_gives_its_pages_to_the_oldest_and_reads_its_text_again() -> None:
    letter = TOKENIZER.encode("A")[0]
    form = form_of({"name": {"type": "string", "maxLength": 90}})

    def script(_: int, __: dict[int, int]) -> torch.Tensor:
        return favour(letter)

    tasks = [task(form, 8 * f"{at}", 110) for at in range(4)]
    alone = Denoiser(ScriptedDecoder(BLOCK, script), TOKENIZER).decode(tasks)
    denoiser = Denoiser(ScriptedDecoder(BLOCK, script), TOKENIZER, pages=24, page=PAGE)
    seen = Seen(denoiser)
    for found, expected in zip(denoiser.decode(tasks), alone, strict=True):
        same(found, expected)
    assert max(map(len, seen.read)) == 4 and min(map(len, seen.read)) < 3
    usual = 2 * BLOCK.block
    again = [piece for pieces in seen.read[1:] for piece in pieces if piece.begin == 0 and len(piece.tokens) > usual]
    assert again and all(piece.row is not seen.read[0][0].row for piece in again)


def test_keys_that_are_no_numbers_never_reach_another_request() -> None:
    model = decoder(BLOCK, 5)
    bad = TOKENIZER.encode("\x01")[0]
    with torch.no_grad():
        model.model.embed_tokens.weight[bad] = float("nan")
    good = [task(SHORT, "Document " * at) for at in (3, 6, 9)]
    (alone,) = Denoiser(model, TOKENIZER).decode(good[-1:])
    denoiser = Denoiser(model, TOKENIZER, pages=30, page=PAGE)
    spoilt = task(SHORT, "\x01" * 70)
    found = denoiser.decode([good[0], spoilt, good[1], spoilt, good[2]])
    codes = [one.code if isinstance(one, Undecoded) else None for one in found]
    assert codes == [None, "model", None, "model", None]
    same(found[4], alone)
    same(denoiser.decode(good[-1:])[0], alone)


def test_after_an_error_within_a_pass_nothing_of_it_is_kept() -> None:
    one = task(form_of(INVOICE), "Document " * 9)
    denoiser = Denoiser(decoder(BLOCK, 5), TOKENIZER, page=PAGE)
    (alone,) = denoiser.decode([one])
    context = denoiser._context
    assert isinstance(context, PagedContext)
    passes = context.passes

    def failing(_: Any) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    context.passes = failing
    with pytest.raises(torch.OutOfMemoryError):
        denoiser.decode([one, task(SHORT, "x" * 40)])
    assert context.cache.pool.room == context.cache.pool.pages
    context.passes = passes
    (again,) = denoiser.decode([one])
    same(again, alone)
    assert isinstance(again, Decoded) and again.cached == 0


def test_a_request_that_takes_too_long_leaves_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("cinnabar.engine.work_time.time.thread_time", lambda: now[0])

    def tick(_: int, __: Any) -> None:
        now[0] += 1

    slow, quick = task(form_of(INVOICE), "name"), task(SHORT, "one")
    with limit_batches(4.0):
        found = edited(Denoiser(decoder(BLOCK, 5), TOKENIZER), [slow, quick], tick)
    assert found[0] == Undecoded("too_slow", "") and isinstance(found[1], Decoded)


def test_no_more_requests_are_decoded_together_than_the_engine_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denoiser_module, "ROWS", 2)
    denoiser = Denoiser(certain(RECORD, 1), TOKENIZER)
    seen = Seen(denoiser)
    found = denoiser.decode([task(form_of(INVOICE), "x") for _ in range(5)])
    assert all(isinstance(one, Decoded) and json.loads(one.text) == json.loads(RECORD) for one in found)
    assert max(map(len, seen.read)) == 2
    assert VOCABULARY.size > END
