"""Denoising: every state and every record is valid, no request depends on another, errors are mended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.effort import first, some
from tests.support.random_scores import sure_script
from tests.support.scripted_decoder import ScriptedDecoder, edited, favour, put_other, scripted
from tests.support.tiny_models import BLOCK, END, FEW_KINDS, KINDS, REVISING, TOKENIZER, VOCABULARY, decoder

from cinnabar.engine.language import denoiser as denoiser_module
from cinnabar.engine.language import graph_tables
from cinnabar.engine.language.decoded import Decoded, Undecoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.language.lookahead import Constraint
from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.language.sequences import OpenSequence, Task
from cinnabar.engine.language.settings import SETTINGS
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits
from cinnabar.errors import ModelError
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_language import one_line

INVOICE: dict[str, Any] = {
    "name": {"type": "string", "maxLength": 9},
    "date": {"type": "string", "format": "date"},
    "total": {"type": ["number", "null"]},
    "lines": {
        "type": "array",
        "maxItems": 3,
        "items": {"type": "object", "properties": {"kind": {"enum": ["ab", "the", None]}}, "required": ["kind"]},
    },
}


def form_of(properties: dict[str, Any], required: Sequence[str] | None = None) -> Form:
    schema = {
        "type": "object",
        "properties": properties,
        "required": [*properties] if required is None else [*required],
        "additionalProperties": False,
    }
    return compile_schema(schema).form


@cache
def graph_of_form(form: Form) -> RecordGraph:
    return cached_graph(form, TOKENIZER)


def accepted(form: Form, text: bytes) -> bool:
    return form.judge is None or form.judge.accepts(json.loads(text))


def task(form: Form, prompt: str = "Document: name", budget: int = 90) -> Task:
    minimal = one_line(form.instance).encode()
    tokens = TOKENIZER.encode(prompt)
    return Task(tokens, graph_of_form(form), budget, lambda text: accepted(form, text), minimal)


def decoded(denoiser: Denoiser, *tasks: Task) -> list[Decoded]:
    found = denoiser.decode(tasks)
    assert all(isinstance(one, Decoded) for one in found), found
    return [one for one in found if isinstance(one, Decoded)]


def check_states(form: Form, kind: str, effort: str, seed: int) -> list[Decoded]:
    """Decodes three requests; every state shown and every result must be a record."""
    least = int(graph_of_form(form).distance[0])
    tasks = [task(form, "Document" + " name" * n, least + extra) for n, extra in enumerate((0, 7, 60), 1)]
    shown: list[list[bytes]] = []
    denoiser = Denoiser(decoder(KINDS[kind], seed), TOKENIZER, SETTINGS[effort])
    found = denoiser.decode(tasks, lambda _, states: shown.append(states))
    results = [one for one in found if isinstance(one, Decoded)]
    assert len(results) == len(tasks), found
    for result, one in zip(results, tasks, strict=True):
        assert b"".join(VOCABULARY_TEXTS[token] for token in result.tokens) == result.text
        assert len(result.tokens) == len(result.posteriors) == len(result.chosen)
        assert len(result.tokens) < one.budget or not result.accepted
    for state in [*(state for step in shown for state in step), *(result.text for result in results)]:
        assert graph_of_form(form).automaton.accepts(state), state
        assert accepted(form, state), state
    assert len(shown) == max(result.passes for result in results) + 1
    return results


VOCABULARY_TEXTS = {
    int(token): VOCABULARY.bytes[row, :size].tobytes()
    for row, (token, size) in enumerate(zip(VOCABULARY.tokens, VOCABULARY.lengths, strict=True))
}


@pytest.mark.parametrize("effort", first(2, SETTINGS))
@pytest.mark.parametrize("kind", some(FEW_KINDS, KINDS))
def test_every_state_shown_is_a_record(kind: str, effort: str) -> None:
    results = check_states(form_of(INVOICE, ["name", "lines"]), kind, effort, 1)
    assert all(result.accepted for result in results)


def test_the_tables_of_a_batchs_graphs_are_made_once_and_those_of_old_ones_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[RecordGraph] = []

    class Counted(Constraint):
        def __init__(self, graph: RecordGraph, device: torch.device | None = None) -> None:
            made.append(graph)
            super().__init__(graph, device)

    monkeypatch.setattr(graph_tables, "Constraint", Counted)
    monkeypatch.setattr(graph_tables, "CONSTRAINTS", 1)
    denoiser = Denoiser(decoder(BLOCK, 3), TOKENIZER)
    tasks = [task(form_of({name: {"enum": ["ab", "the"]}})) for name in ("a", "b", "c")]
    graphs = [one.graph for one in tasks]
    decoded(denoiser, *tasks)
    assert len(made) == 3 and {*made} == {*graphs}
    decoded(denoiser, tasks[1])
    decoded(denoiser, tasks[2])
    assert len(made) == 3, "c was used last beside b"
    decoded(denoiser, tasks[0])
    assert made[3:] == graphs[:1]
    monkeypatch.setattr(graph_tables, "TABLES", 0)
    decoded(denoiser, tasks[1])
    decoded(denoiser, tasks[0])
    assert made[4:] == [graphs[1], graphs[0]], "no tables stay but those of the present tasks"


def certain(text: str, prompt: int, traits: Traits = BLOCK) -> ScriptedDecoder:
    """A decoder that is sure of this answer behind a prompt of some tokens."""
    return ScriptedDecoder(traits, sure_script(text.encode(), prompt))


def certain_of(text: str, prompt: int, traits: Traits) -> Decoder:
    """The same for any kind of noise."""
    return scripted(traits, sure_script(text.encode(), prompt))


RECORD = '{"name": "Ann", "date": "2024-05-06", "total": 12.5, "lines": [{"kind": "ab"}, {"kind": null}]}'


@pytest.mark.parametrize("kind", KINDS)
def test_a_certain_model_writes_its_answer_in_one_pass_a_block(kind: str) -> None:
    traits, one = KINDS[kind], task(form_of(INVOICE))
    model = certain_of(RECORD, len(one.prompt), traits)
    (found,) = decoded(Denoiser(model, TOKENIZER, replace(SETTINGS["medium"], rounds=0)), one)
    assert found.text.decode() == RECORD
    begin, answer = len(one.prompt), [*found.tokens, END]
    chosen = [begin + at for at, by_choice in enumerate(found.chosen) if by_choice]
    if kind == "causal":
        assert found.passes == len(chosen)
    elif traits.visibility == "block_causal":
        assert found.passes == len({at // traits.block for at in chosen})
    else:
        assert found.passes == len({(at - begin) // traits.block for at in chosen})
    assert len(answer) - 1 == len(TOKENIZER.encode(RECORD))


@pytest.mark.parametrize("kind", KINDS)
def test_forced_text_needs_no_pass(kind: str) -> None:
    form = form_of({"name": {"const": "always the same"}, "kind": {"const": "12"}})
    (found,) = decoded(Denoiser(decoder(KINDS[kind]), TOKENIZER), task(form))
    assert found.text == b'{"name": "always the same", "kind": "12"}'
    assert found.passes == 0
    assert not any(found.chosen)


@pytest.mark.parametrize("kind", ["block", "causal"])
def test_a_shared_prefix_is_read_once(kind: str) -> None:
    form, prefix = form_of({"kind": {"enum": ["ab", "the"]}}), "instructions and fields: "
    shared, page = len(TOKENIZER.encode(prefix)), 8
    model = certain('{"kind": "ab"}', shared, KINDS[kind])
    denoiser = Denoiser(model, TOKENIZER, page=page)
    whole = shared // page * page
    cached = []
    for _ in range(2):
        tasks = [task(form, prefix + text) for text in ("one", "another text", "three")]
        cached += [result.cached for result in decoded(denoiser, *tasks)]
    times = np.zeros(whole, np.int64)
    for row in (row for step in model.read for row in step):
        for position in row:
            if position < whole:
                times[position] += 1
    assert times.tolist() == [1] * whole
    assert cached[0] == 0 and all(count >= whole for count in cached[1:])


@pytest.mark.parametrize("kind", ["block", "revising"])
def test_each_finished_block_is_read_once_more_for_its_keys(kind: str) -> None:
    one = task(form_of(INVOICE))
    model = certain(RECORD, len(one.prompt), KINDS[kind])
    settings = replace(SETTINGS["medium"], rounds=int(kind == "revising"))
    (found,) = decoded(Denoiser(model, TOKENIZER, settings), one)
    reads = [row for (row,) in model.read]
    block = BLOCK.block
    blocks = [sorted({at // block for at in row}) for row in reads]
    written = [number for row in blocks for number in row[:-1]]
    # The prompt is read with the first block. The revising model checks its last block, too: that pass reads it alone.
    assert written == [*range(max(written) + 1)]
    assert found.passes == len(reads)


def injected(kind: str, effort: str, at: int = 3) -> tuple[Decoded, list[tuple[int, int]]]:
    """Puts another token of the same class at the first chosen letter of the first open block, after its first pass."""
    one = task(form_of(INVOICE))
    wrong = [*TOKENIZER.encode(RECORD)]
    denoiser = Denoiser(certain_of(RECORD, len(one.prompt), KINDS[kind]), TOKENIZER, SETTINGS[effort])
    put: list[tuple[int, int]] = []

    def edit(_: int, sequences: Sequence[OpenSequence]) -> None:
        (sequence,) = sequences
        letter = TOKENIZER.encode("A")[0]
        places = np.flatnonzero((sequence.tokens == letter) & sequence.chosen)
        if not put and len(places):
            put.append((int(places[0]), put_other(sequence, int(places[0]), at)))

    (found,) = [result for result in edited(denoiser, [one], edit) if isinstance(result, Decoded)]
    assert put and len(wrong) == len(found.tokens)
    return found, put


@pytest.mark.parametrize("kind", ["revising", "uniform noise"])
def test_a_wrong_token_is_mended_by_a_model_that_revises(kind: str) -> None:
    kept, _ = injected(kind, "low")
    assert kept.text.decode() != RECORD
    found, _ = injected(kind, "medium")
    assert found.text.decode() == RECORD
    assert found.reopened == 1
    one = task(form_of(INVOICE))
    (right,) = decoded(Denoiser(certain_of(RECORD, len(one.prompt), KINDS[kind]), TOKENIZER), one)
    # The pass that found it out is thrown away, and one pass mends it.
    assert found.passes == right.passes + 2


@pytest.mark.parametrize("kind", first(3, [kind for kind, traits in KINDS.items() if not traits.revises]))
def test_a_model_that_was_not_trained_on_wrong_tokens_doubts_none(kind: str) -> None:
    form = form_of(INVOICE)
    settings = [replace(SETTINGS["high"], threshold=0.5, rounds=rounds) for rounds in (0, 2)]
    plain, same = (decoded(Denoiser(decoder(KINDS[kind], 2), TOKENIZER, one), task(form)) for one in settings)
    assert plain == same and same[0].reopened == 0


def test_a_budget_below_the_smallest_record_is_told() -> None:
    form = form_of(INVOICE)
    least = int(graph_of_form(form).distance[0])
    (found,) = Denoiser(decoder(BLOCK), TOKENIZER).decode([task(form, budget=least - 1)])
    assert isinstance(found, Undecoded)
    assert str(least) in found.detail


def test_a_record_that_the_judge_refuses_gives_way_to_its_longest_accepted_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(denoiser_module, "REPAIRS", 0)
    one = task(form_of(INVOICE))
    short = replace(one, judge=lambda text: len(text) < len(one.minimal) + 3)
    (found,) = decoded(Denoiser(certain(RECORD, len(one.prompt)), TOKENIZER), short)
    assert not found.accepted
    assert found.text.startswith(b'{"name": "Ann')
    assert len(found.text) < len(one.minimal) + 3
    assert b"".join(VOCABULARY_TEXTS[token] for token in found.tokens) == found.text
    rest = [at for at, sure in enumerate(found.posteriors) if sure == 0.0]
    assert rest == [*range(rest[0], len(found.tokens))]
    never = replace(one, judge=lambda text: text == one.minimal)
    (found,) = decoded(Denoiser(certain(RECORD, len(one.prompt)), TOKENIZER), never)
    assert found.text == one.minimal


def test_a_model_that_the_loop_cannot_run_is_refused() -> None:
    with pytest.raises(ModelError, match="mask token"):
        Denoiser(decoder(replace(BLOCK, mask=None)), TOKENIZER)


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_rule_that_no_automaton_knows_is_repaired_from_the_block_at_fault(kind: str) -> None:
    row = {"enum": ["ab", "the", "date"]}
    form = form_of({"kind": {"type": "array", "uniqueItems": True, "items": row}, "name": {"enum": ["total", "no"]}})
    one = task(form)
    model = certain_of('{"kind": ["ab", "the", "ab"], "name": "total"}', len(one.prompt), KINDS[kind])
    (found,) = decoded(Denoiser(model, TOKENIZER), one)
    assert found.accepted
    said = json.loads(found.text)
    assert said["kind"][:2] == ["ab", "the"]
    assert accepted(form, found.text)


def test_the_log_mass_of_an_answer_has_each_of_its_blocks_once_after_a_repair() -> None:
    sequence = OpenSequence(task(form_of(INVOICE), "x" * 4, budget=30), 4, 0, END)
    begin = sequence.begin
    for block in range(3):
        assert sequence.block is not None
        sequence.block.log_mass = -1.0
        sequence.commit(np.arange(4) + begin + 4 * block, np.zeros(4, np.int64), np.ones(4, np.float32), True)
        sequence.open_next()
    assert sequence.log_mass == -3.0
    assert sequence.repair(begin + 5, 7) == begin + 4
    assert sequence.log_mass == -2.0


def test_a_wrong_token_is_mended_while_its_block_is_open() -> None:
    one = task(form_of(INVOICE), "x" * 16)
    answer = [*TOKENIZER.encode(RECORD), END]
    begin, letter = len(one.prompt), TOKENIZER.encode("A")[0]
    place = begin + answer.index(letter)

    def script(position: int, seen: dict[int, int]) -> torch.Tensor:
        at = position - begin
        token = answer[at] if 0 <= at < len(answer) else END
        # The model is unsure of all that follows until it sees what stands before.
        return favour(token, 12.0 if position <= place or position - 1 in seen else 1.0)

    steps: list[int] = []

    def edit(step: int, sequences: Sequence[OpenSequence]) -> None:
        (sequence,) = sequences
        if not steps and sequence.tokens[place] == letter:
            put_other(sequence, place, 0)
            steps.append(step)
        elif len(steps) == 1 and sequence.tokens[place] == letter:
            steps.append(step)

    denoiser = Denoiser(ScriptedDecoder(replace(REVISING, block=64), script), TOKENIZER)
    (found,) = [result for result in edited(denoiser, [one], edit) if isinstance(result, Decoded)]
    assert found.text.decode() == RECORD
    # One pass finds it out, the next one mends it.
    assert steps[1] == steps[0] + 2 < found.passes


@pytest.mark.parametrize("kind", ["block", "token-causal"])
def test_an_unsure_model_commits_one_token_a_pass(kind: str) -> None:
    flat = scripted(KINDS[kind], lambda *_: torch.zeros(VOCABULARY.size))
    settings = replace(SETTINGS["medium"], threshold=1.0, rounds=0)
    (found,) = decoded(Denoiser(flat, TOKENIZER, settings), task(form_of(INVOICE)))
    # No pass is spent on what follows from the end token.
    assert found.passes <= sum(found.chosen) + 1


def test_forced_text_leaves_room_for_the_rest_of_the_record() -> None:
    class ByteTokenizer:
        vocabulary, end = VOCABULARY, END

        def encode(self, text: str) -> list[int]:
            return [*text.encode()]

    form = form_of({"name": {"const": "the total"}, "date": {"enum": ["no", "date"]}})
    for extra in range(12):
        one = task(form, budget=int(graph_of_form(form).distance[0]) + extra)
        (found,) = decoded(Denoiser(decoder(BLOCK), ByteTokenizer(), SETTINGS["low"]), one)
        assert len(found.tokens) < one.budget
        assert accepted(form, found.text)


def test_a_sequence_that_is_masked_again_drops_what_follows() -> None:
    one = OpenSequence(task(form_of(INVOICE), "x" * 20), 8, 0, END)
    block = one.block
    assert block is not None
    assert (block.begin, block.first, block.stop) == (16, 20, 24)
    one.commit(np.arange(20, 24), np.array([65, END, END, END]), np.ones(4, np.float32), True)
    one.reopen(block, np.array([21]))
    assert one.tokens[20:24].tolist() == [65, -1, -1, -1]
    assert (one.reopened, block.rounds, one.block) == (1, 1, block)


def test_what_follows_agrees_with_a_token_that_was_put_in() -> None:
    names = [*("a" + x + y for x in "pq" for y in "13"), *("b" + x + y for x in "pq" for y in "24")]
    form = form_of({"name": {"enum": names}})
    one = task(form)

    def edit(_: int, sequences: Sequence[OpenSequence]) -> None:
        (sequence,) = sequences
        if sequence.chosen.sum() == 2:
            sequence.tokens[sequence.tokens == TOKENIZER.encode("a")[0]] = TOKENIZER.encode("b")[0]

    # The model is so unsure that it commits one letter a pass, the first one first.
    model = ScriptedDecoder(replace(BLOCK, block=64), lambda *_: favour(TOKENIZER.encode("a")[0], 1.0))
    settings = replace(SETTINGS["medium"], rounds=0)
    (found,) = edited(Denoiser(model, TOKENIZER, settings), [one], edit)
    assert isinstance(found, Decoded)
    assert json.loads(found.text)["name"] in names[4:]


def test_where_nothing_is_certain_the_first_open_token_is_committed() -> None:
    one, letter = task(form_of(INVOICE)), TOKENIZER.encode("A")[0]
    # The further right, the surer, yet below the threshold.
    model = ScriptedDecoder(replace(BLOCK, block=64), lambda position, _: favour(letter, 4.0 + position / 20))
    fronts: list[bool] = []

    def edit(_: int, sequences: Sequence[OpenSequence]) -> None:
        block = sequences[0].block
        assert block is not None
        fronts.append(sequences[0].tokens[block.front] >= 0)

    edited(Denoiser(model, TOKENIZER, replace(SETTINGS["medium"], threshold=1.0, rounds=0)), [one], edit)
    assert len(fronts) > 5
    assert all(fronts)
