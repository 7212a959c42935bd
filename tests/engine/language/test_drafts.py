"""Drafts: fewer passes, and neither another record nor other posteriors, whatever is drafted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.engine.language.test_denoiser import INVOICE, RECORD, certain, decoded, form_of, graph_of_form, task
from tests.support.remote_forms import request
from tests.support.tiny_checkpoint import write_checkpoint
from tests.support.tiny_models import CAUSAL, END, TOKENIZER, VOCABULARY, decoder

from cinnabar.engine.language import denoiser as denoiser_module
from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.drafts import Drafter, draft_source
from cinnabar.engine.language.forced import ForcedText, TokenTexts
from cinnabar.engine.language.prepared_requests import PreparedRequest, RequestPreparer
from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.models.language.attention import PagedAttention
from cinnabar.engine.models.language.cache import PagedCache
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.models.language.passes import Piece, packed_numbers, unpack_numbers

FORM = form_of(INVOICE, ["name", "lines"])
TEXTS = TokenTexts(VOCABULARY)


def answers(tasks: Sequence[Task], seed: int = 1, together: bool = True) -> list[Decoded]:
    """What a random model says, which is the same one for each seed."""
    if together:
        return decoded(Denoiser(decoder(CAUSAL, seed), TOKENIZER, page=8), *tasks)
    return [found for one in tasks for found in answers([one], seed)]


def check_same(plain: Sequence[Decoded], drafted: Sequence[Decoded]) -> None:
    """The answers differ in their passes at most."""
    for one, other in zip(plain, drafted, strict=True):
        assert (one.text, one.tokens, one.chosen, one.accepted) == (
            other.text, other.tokens, other.chosen, other.accepted,
        )  # fmt: skip
        assert np.round(one.posteriors, 4).tolist() == np.round(other.posteriors, 4).tolist()
        assert one.log_mass == pytest.approx(other.log_mass, abs=1e-3)
        assert other.passes <= one.passes


def random_source(seed: int, texts: Sequence[bytes]) -> bytes:
    """Wrong lines: beginnings of records with other ends."""
    draw = random.Random(seed)
    parts = [text[at : at + 6] for text in texts for at in range(0, len(text), 3)]
    return b"".join(draw.choice(parts) for _ in range(200))


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_right_and_wrong_drafts_change_the_number_of_passes_alone(seed: int, together: bool) -> None:
    tasks = [task(FORM, "Document" + " name" * n, 60) for n in (1, 4, 9)]
    plain = answers(tasks, seed, together)
    assert sum(one.passes for one in plain) > 30
    right = [replace(one, source=found.text) for one, found in zip(tasks, plain, strict=True)]
    good = answers(right, seed, together)
    check_same(plain, good)
    assert sum(one.passes for one in good) < 0.6 * sum(one.passes for one in plain)
    wrong = random_source(seed, [one.text for one in plain])
    check_same(plain, answers([replace(one, source=wrong) for one in tasks], seed, together))


def test_a_draft_of_random_tokens_is_refused_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [task(FORM, "Document" + " name" * n, 60) for n in (1, 5)]
    plain, draw, refused = answers(tasks), random.Random(3), [0]

    def any_tokens(_: Drafter, graph: RecordGraph, *others: Any) -> list[int]:
        state, most, drafted = others[1], others[-1], list[int]()
        while len(drafted) < most:
            begin, end = np.searchsorted(graph.source, [state, state + 1])
            labels = graph.label[begin:end]
            kinds = [kind for kind in labels.tolist() if kind != graph.end_class]
            if not kinds:
                break
            drafted.append(int(np.flatnonzero(graph.token_class == draw.choice(kinds))[0]))
            state = graph.run(drafted[-1:], state)
        refused[0] += len(drafted)
        return drafted

    monkeypatch.setattr(Drafter, "draft", any_tokens)
    check_same(plain, answers([replace(one, source=b"any") for one in tasks]))
    assert refused[0] > 100


def test_a_record_that_is_drafted_as_a_whole_takes_few_passes_and_each_of_them_few_tokens() -> None:
    form = form_of(INVOICE)
    one = task(form)
    source = RECORD.encode()
    model = certain(RECORD, len(one.prompt), CAUSAL)
    (found,) = decoded(Denoiser(model, TOKENIZER), replace(one, source=source))
    assert found.text == source
    prompt, *others = [len(row) for (row,) in model.read]
    assert found.passes == len(model.read) <= 2 + len(TOKENIZER.encode(RECORD)) // denoiser_module.DRAFTED_OF_ONE
    assert max(others) <= 2 * denoiser_module.DRAFTED_OF_ONE and prompt > len(one.prompt)


def test_a_pass_reads_no_more_drafted_tokens_than_its_share() -> None:
    tasks = [replace(task(form_of(INVOICE)), source=RECORD.encode()) for _ in range(6)]
    model = certain(RECORD, len(tasks[0].prompt), CAUSAL)
    denoiser = Denoiser(model, TOKENIZER)
    drafted, draft = list[int](), denoiser._draft

    def noted(sequences: Any) -> None:
        draft(sequences)
        drafted.append(sum(len(sequence.draft) for sequence in sequences))

    denoiser._draft = noted  # type: ignore[method-assign]
    assert all(found.text == RECORD.encode() for found in decoded(denoiser, *tasks))
    assert 0 < max(drafted) <= denoiser_module.DRAFTED


def test_the_judge_and_the_end_of_a_task_see_a_drafted_record_token_by_token() -> None:
    row = {"enum": ["ab", "the", "date"]}
    form = form_of({"kind": {"type": "array", "items": row}, "name": {"enum": ["total", "no"]}})
    # The second "ab" is taken back, and what is drafted behind it stays of use.
    text = '{"kind": ["ab", "the", "ab"], "name": "total"}'
    one = replace(task(form), judge=lambda record: record.count(b"ab") < 2)
    (plain,) = decoded(Denoiser(certain(text, len(one.prompt), CAUSAL), TOKENIZER), one)
    drafted = replace(one, source=text.encode())
    (found,) = decoded(Denoiser(certain(text, len(one.prompt), CAUSAL), TOKENIZER), drafted)
    check_same([plain], [found])
    assert found.accepted and found.reopened == plain.reopened > 0 and found.passes < plain.passes
    stops = [replace(other, judge=None, ends=lambda begun: b"the" in begun) for other in (one, drafted)]
    ended = [decoded(Denoiser(certain(text, len(one.prompt), CAUSAL), TOKENIZER), stop)[0] for stop in stops]
    assert [one.text for one in ended] == 2 * [b'{"kind": ["ab", "the']


def test_what_is_shown_after_each_pass_is_a_record_with_all_that_was_drafted() -> None:
    form = form_of(INVOICE)
    shown = list[bytes]()
    one = replace(task(form), source=RECORD.encode())
    denoiser = Denoiser(certain(RECORD, len(one.prompt), CAUSAL), TOKENIZER)
    denoiser.decode([one], lambda _, states: shown.append(states[0]))
    assert all(graph_of_form(form).automaton.accepts(text) for text in shown)
    assert shown[1].startswith(b'{"name": "Ann"') and shown[-1] == RECORD.encode()


def test_a_draft_goes_on_with_what_is_forced_and_ends_before_the_end_token() -> None:
    form = form_of({"name": {"type": "string"}, "kind": {"const": "12"}})
    graph = graph_of_form(form)
    written = b'{"name": "'
    tokens = Drafter(TOKENIZER, TEXTS).draft(
        graph, ForcedText(graph), graph.automaton.run(written), written, b'"name": "Ann"', 60
    )  # fmt: skip
    assert TEXTS.text(tokens) == b'Ann", "kind": "12"}' and END not in tokens
    cut = Drafter(TOKENIZER, TEXTS).draft(graph, ForcedText(graph), graph.automaton.run(written), written, b"", 60)
    assert cut == []


def test_behind_a_value_of_its_own_a_record_goes_on_as_the_drafted_one_does() -> None:
    row = {"type": "object", "properties": {"what": {"type": "string"}, "no": {"type": "integer"}}}
    form = form_of(
        {"day": {"type": "string"}, "total": {"type": "number"}, "rows": {"type": "array", "items": row}}, ["total"]
    )
    graph, drafter = graph_of_form(form), Drafter(TOKENIZER, TEXTS)
    other = '{"day": "1 May", "total": 12.5, "rows": [{"what": "ab", "no": 1}, {"what": "no", "no": 2}]}'
    source = draft_source(other, 'No. 7\n"Ann" Lee')
    assert source.split(b"\n")[1:] == [b"No. 7", b'\\"Ann\\" Lee']
    for written, drafted in (
        ("", '{"day": "1 May", "total": 12.5, "rows'),
        ('{"day": "3 June"', ', "total": 12.5, "rows": [{"what": "ab'),
        ('{"day": "3 June", "', 'total": 12.5, "rows": [{"what": "ab'),
        ('{"total": 7, "', 'rows": [{"what": "ab", "no": 1}, {"what'),
        ('{"total": 7, "rows": [{"what": "x", "no": 1}, {"what": "y", "', 'no": 2}]}'),
    ):
        begun = written.encode()
        state = graph.automaton.run(begun)
        tokens = drafter.draft(graph, ForcedText(graph), state, begun, source, 60)
        assert TEXTS.text(tokens).decode().startswith(drafted), (written, TEXTS.text(tokens))


def test_a_plan_of_a_causal_model_has_the_lines_of_its_document(tmp_path: Path) -> None:
    form = form_of({"name": {"type": "string"}})
    model = load_language_model(write_checkpoint(tmp_path, window=4096, block=8), "cpu", "float32")
    for noise in ("mask", "none"):
        traits = replace(CAUSAL, window=4096) if noise == "none" else model.traits
        model.decoder.traits = traits
        (prepared,) = RequestPreparer(model).prepare([request(form, "Ann\nLee", {})])
        assert isinstance(prepared, PreparedRequest) and prepared.task is not None
        assert prepared.task.source == (b"\nAnn\nLee" if noise == "none" else b"")


def test_scores_that_are_no_numbers_within_a_draft_fail_their_task_alone() -> None:
    one, other = (replace(task(form_of(INVOICE), text), source=RECORD.encode()) for text in ("name", "name" * 2))
    model = certain(RECORD, len(one.prompt), CAUSAL)
    logits, calls = model.logits, [0]

    def broken(hidden: torch.Tensor) -> torch.Tensor:
        made = logits(hidden)
        calls[0] += 1
        if calls[0] == 1:
            made[3] = float("nan")
        return made

    model.logits = broken  # type: ignore[method-assign]
    first, second = Denoiser(model, TOKENIZER).decode([one, other])
    assert not isinstance(first, Decoded) and isinstance(second, Decoded)


def attended(cuts: Sequence[int], beside: int = 0, alone: int = 70) -> torch.Tensor:
    """The attention of a text's tokens that passes read in parts, beside other texts."""
    traits = replace(CAUSAL, layers=1, heads=14, key_heads=2, head_width=64, width=32)
    q, k, v = (
        torch.randn(1, heads, cuts[-1], 64, generator=torch.Generator().manual_seed(heads)) for heads in (14, 2, 2)
    )
    cache = PagedCache(traits, 64, torch.device("cpu"), torch.float32, page=16)
    rows = [cache.open(np.zeros(0, np.int64)) for _ in range(1 + beside)]
    made = list[torch.Tensor]()
    for begin, end in pairwise([0, *cuts]):
        pieces = list[Piece]()
        for number, row in enumerate(rows):
            # The other texts are a page and more behind.
            first, last = (max(at - 20 * number, 0) for at in (begin, end))
            assert cache.extend(row, last)
            pieces += [Piece(row, first, np.zeros(last - first, np.int64), None, np.zeros(0, np.int64), alone)]
        pieces = [piece for piece in pieces if len(piece.tokens)]
        cache.prepare()
        shape, numbers = packed_numbers(pieces, cache)
        packed, _ = unpack_numbers(torch.from_numpy(numbers), shape)
        asked, keys, values = (torch.cat([x[:, :, one.begin : one.end] for one in pieces], 2) for x in (q, k, v))
        found = PagedAttention(traits, cache, packed, torch.float32)(asked, keys, values, 0)
        made.append(found[0, :, : end - begin])
    return torch.cat(made, 1)


def test_the_attention_of_a_token_is_the_same_to_the_bit_whatever_a_pass_reads() -> None:
    one_by_one = attended([70, *range(71, 121)])
    for cuts in ([120], [70, 75, 80, 90, 120], [72, 77, 80, 85, 95, 120], [48, 75, 120], [64, 71, 120]):
        assert torch.equal(attended(cuts), one_by_one)
        assert torch.equal(attended(cuts, beside=2), one_by_one)
