"""What `Engine.fill` promises: one result for each request, whatever surrounds it, step by step."""

# ruff: noqa: ARG001, ARG002 - the models and observers of these tests have the signatures that the engine calls.

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from random_model import RandomModel, SteeredModel, request
from random_schemas import forms as random_forms

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import PAD, VOCABULARY, Candidate, Canvas, Row, Scores
from cinnabar.engine.request import Failed, Filled, Request, Result
from cinnabar.schemas import compile_schema
from cinnabar.schemas.errors import RunError, UsageError
from cinnabar.schemas.form import Form


def form_of(**properties: Any) -> Form:
    """A form with these properties; all are required but those whose name begins with `maybe`."""
    required = [name for name in properties if not name.startswith("maybe")]
    return compile_schema({"type": "object", "properties": properties, "required": required}).form


def many(count: int, seed: int = 0) -> list[Request]:
    return [request(c.form, f"r{k}") for k, c in enumerate(random_forms(seed, count))]


def filled(result: Result) -> Filled:
    assert isinstance(result, Filled), result
    return result


@pytest.mark.parametrize("effort", ["instant", "medium"])
def test_a_result_does_not_depend_on_its_batch_or_order(effort: str) -> None:
    requests = many(24)
    together = Engine(RandomModel(3), effort, token_budget=10**6).fill(requests)
    alone = [Engine(RandomModel(3), effort).fill([r])[0] for r in requests]
    packed = Engine(RandomModel(3), effort, token_budget=300).fill(requests)
    backwards = Engine(RandomModel(3), effort, token_budget=10**6).fill(requests[::-1])[::-1]
    assert together == alone == packed == backwards
    assert [result.id for result in together] == [r.id for r in requests]


def test_no_requests_give_no_results() -> None:
    assert Engine(RandomModel()).fill([]) == []


class Failing(RandomModel):
    """Fails where it meets passages of these names: at `encode`, `find_rows` or `score`."""

    def __init__(self, at: str, names: set[str], error: Exception) -> None:
        super().__init__(3)
        self.at, self.poison, self.error = at, {f"digest {name}" for name in names}, error

    def _check(self, at: str, memories: Sequence[Any]) -> None:
        if at == self.at and self.poison & set(memories):
            raise self.error

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        self._check("encode", [p.digest for p in passages])
        return super().encode(passages)

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        self._check("find_rows", memories)
        return super().find_rows(forms, memories)

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        self._check("score", memories)
        return super().score(forms, memories, rows, canvas)


@pytest.mark.parametrize("at", ["encode", "find_rows", "score"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("broken"), "engine_error"),
        (MemoryError(), "out_of_memory"),
        (torch.OutOfMemoryError("too much"), "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out_of_memory"),
    ],
    ids=["error", "host memory", "device memory", "allocator"],
)
def test_a_failing_request_fails_alone(at: str, error: Exception, code: str) -> None:
    requests = [request(form_of(a={"type": "string"}, b={"type": "integer"}), f"r{k}") for k in range(11)]
    good = Engine(RandomModel(3)).fill(requests)
    got = Engine(Failing(at, {"r2", "r7"}, error)).fill(requests)
    for k, (one, other) in enumerate(zip(got, good, strict=True)):
        if k in (2, 7):
            assert isinstance(one, Failed) and (one.id, one.code) == (f"r{k}", code)
            assert type(error).__name__ in one.detail
        else:
            assert one == other


class Small(RandomModel):
    """Has room for so many requests at once."""

    def __init__(self, room: int) -> None:
        super().__init__(3)
        self.room, self.sizes = room, list[int]()

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        self.sizes.append(len(passages))
        if len(passages) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().encode(passages)


def test_a_batch_that_runs_out_of_memory_is_halved_and_so_are_those_after_it() -> None:
    requests = [request(form_of(a={"type": "string"}), f"r{k}") for k in range(64)]
    cost = 11 + 16
    model = Small(5)
    got = Engine(model, token_budget=16 * cost).fill(requests)
    assert got == Engine(RandomModel(3)).fill(requests)
    assert model.sizes[:3] == [16, 8, 4]
    # Without learning from it, each of the four batches would have tried 16 and 8.
    assert sum(size > 5 for size in model.sizes) == 2


def test_scores_that_are_not_numbers_fail_their_request_only() -> None:
    class Broken(RandomModel):
        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            for at, instance in enumerate(canvas.instances):
                if memories[instance.request] == "digest r1":
                    scores.absent_logit[at] = float("nan")
            return scores

    requests = [request(form_of(a={"type": "string"}), f"r{k}") for k in range(3)]
    got = Engine(Broken(3)).fill(requests)
    assert [type(result) for result in got] == [Filled, Failed, Filled]
    assert got[1] == Failed("r1", "model", "expected finite scores, got NaN or infinity")


def test_a_candidate_that_the_schema_does_not_allow_fails_its_request() -> None:
    class Wrong(RandomModel):
        def candidates(self, slot: Any, draw: random.Random) -> list[bytes]:
            return [b"12"]

    (got,) = Engine(Wrong(generates=0.0)).fill([request(form_of(a={"type": "string"}))])
    assert isinstance(got, Failed) and got.code == "model" and "/a: the candidate 12" in got.detail


def test_known_values_never_change_and_are_shown_to_the_model() -> None:
    form = form_of(
        name={"type": "string"},
        count={"type": ["integer", "null"]},
        maybe={"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": ["number", "null"]}}},
        items={
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "string"}, "m": {"type": "string"}}},
        },
    )
    known = {"/name": '"Ada"', "/count": "null", "/maybe/x": '"kept"', "/items/1/n": '"second"'}
    seen = []

    class Watching(RandomModel):
        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            seen.append(dict(zip((i.slot.path for i in canvas.instances), canvas.values, strict=True)))
            return super().score(forms, memories, rows, canvas)

    for seed in range(15):
        states: list[str] = []
        engine = Engine(Watching(seed), "high")
        (result,) = engine.fill([request(form, known=known)], lambda _, s, states=states: states.append(s[0]))
        for state in [*states, filled(result).record]:
            record = json.loads(state)
            assert record["name"] == "Ada" and record["count"] is None and record["maybe"]["x"] == "kept"
            assert record["items"][1]["n"] == "second"
        leaves = filled(result).leaves
        assert all(leaves[pointer].text == text for pointer, text in known.items())
        assert all(
            leaves[pointer].origin == "known" and leaves[pointer].confidence == 1.0 for pointer in known
        )
    assert all(values["/name"] == b'"Ada"' and values["/maybe/x"] == b'"kept"' for values in seen)


@pytest.mark.parametrize(
    ("known", "detail"),
    [
        ({"/nme": '"Ada"'}, "the form has no place '/nme'"),
        ({"/name": "7"}, "/name: the known value 7 is not allowed here"),
        ({"/name": None}, "/name: it may not be left out"),
        ({"/items/2/n": '"x"'}, "/items: 3 known items, 2 are allowed"),
    ],
)
def test_known_values_that_do_not_fit_fail_the_request(known: dict[str, str | None], detail: str) -> None:
    item = {"type": "object", "properties": {"n": {"type": "string"}}}
    form = form_of(name={"type": "string"}, items={"type": "array", "maxItems": 2, "items": item})
    (got,) = Engine(RandomModel()).fill([request(form, known=known)])
    assert isinstance(got, Failed) and got.code == "known" and detail in got.detail


class Scripted(RandomModel):
    """Offers these candidates for every slot, with the logits of the step; nothing is spelled out."""

    def __init__(self, texts: list[str], steps: list[list[float]], absent: float = -20.0) -> None:
        super().__init__()
        self.texts, self.script, self.absent, self.step = texts, steps, absent, 0

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        size, width = canvas.tokens.shape
        logits = self.script[min(self.step, len(self.script) - 1)]
        self.step += 1
        nothing = torch.full((size,), float("-inf"))
        return Scores(
            candidates=[[Candidate(text.encode(), ((2, 5),)) for text in self.texts] for _ in range(size)],
            candidate_logits=torch.tensor([[*logits]] * size),
            absent_logit=torch.full((size,), self.absent),
            generate_logit=nothing,
            generating=torch.zeros(0, dtype=torch.long),
            token_logits=torch.zeros(0, width, VOCABULARY),
            refused_logit=nothing,
        )


def test_a_doubted_value_is_opened_again_and_takes_the_better_one() -> None:
    class Changing(Scripted):
        """Sure of the first slot at once, and of the opposite afterwards; never sure of the second."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            spans.append(list(canvas.spans))
            scores = super().score(forms, memories, rows, canvas)
            scores.candidate_logits[1] = 0.0
            return scores

    spans: list[Any] = []
    form = form_of(a={"type": "string"}, b={"type": "string"})
    engine = Engine(Changing(['"A"', '"B"'], [[5, 0], [0, 5]]), "medium")
    states: list[str] = []
    (got,) = engine.fill([request(form)], lambda _, s: states.append(json.loads(s[0])["a"]))
    assert spans[:2] == [[(), ()], [((2, 5),), ()]]
    assert states[1] == "A" and json.loads(filled(got).record)["a"] == "B"
    assert filled(got).reopened == 1
    assert (engine.reopenings.values, engine.reopenings.changed) == (1, 1)


def test_a_spelled_out_value_stands_when_the_model_no_longer_spells_it() -> None:
    class Once(SteeredModel):
        """Spells the first slot out in the first step only, and would rather copy something else later."""

        step = 0

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            scores.candidates = [[Candidate(b'"copied"')] for _ in canvas.instances]
            scores.candidate_logits = torch.full((2, 1), -9.0 + 9.0 * self.step)
            scores.generate_logit[1] = scores.absent_logit[1] = scores.candidate_logits[1, 0]
            if self.step:
                scores.generating = torch.zeros(0, dtype=torch.long)
                scores.token_logits = scores.token_logits[:0]
            self.step += 1
            return scores

    form = form_of(a={"type": "string"}, b={"type": "string"})
    (got,) = Engine(Once(), "high").fill([request(form, text='{"a":"x","b":"y"}')])
    assert json.loads(filled(got).record)["a"] == "x" and filled(got).steps > 1
    assert filled(got).leaves["/a"].origin == "generated" and filled(got).reopened == 0


def test_a_value_is_opened_again_at_most_twice() -> None:
    class Fickle(Scripted):
        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            scores.candidate_logits[0] = scores.candidate_logits[0].roll(self.step)
            scores.candidate_logits[1] = 0.0
            return scores

    form = form_of(a={"type": "string"}, b={"type": "string"})
    (got,) = Engine(Fickle(['"A"', '"B"'], [[5, 0]]), "high").fill([request(form)])
    assert filled(got).reopened == 2


def test_an_answer_that_is_certain_at_once_takes_one_step() -> None:
    form = form_of(a={"type": "string"}, b={"type": "string"})
    (got,) = Engine(Scripted(['"A"', '"B"'], [[9, 0]]), "high").fill([request(form)])
    assert filled(got).steps == 1 and filled(got).record == '{"a":"A","b":"A"}'
    leaf = filled(got).leaves["/a"]
    assert leaf.confidence == pytest.approx(0.9999, abs=1e-4) and leaf.spans == ((9, 12),)
    assert leaf.origin == "copied" and not leaf.missing


def test_an_uncertain_answer_takes_no_more_steps_than_its_effort() -> None:
    form = form_of(**{name: {"type": "string"} for name in "abcdefgh"})
    for effort, steps in (("instant", 1), ("low", 2), ("medium", 3), ("high", 8)):
        (got,) = Engine(Scripted(['"A"', '"B"'], [[0, 0]]), effort).fill([request(form)])
        assert filled(got).steps == steps
        assert set(json.loads(filled(got).record).values()) == {"A"}


def test_no_form_takes_more_than_two_steps_beyond_its_effort_however_many_slots_it_has() -> None:
    # Among so many there are some whose value is doubted again and again.
    form = form_of(**{f"{at}": {"type": "string"} for at in range(300)})
    for seed in range(2):
        (got,) = Engine(RandomModel(seed), "instant").fill([request(form)])
        assert filled(got).steps <= 1 + 2


def test_a_value_that_is_demanded_but_not_found_is_guessed_and_flagged() -> None:
    form = form_of(a={"type": "string"}, b={"type": ["string", "null"]}, maybe={"type": "string"})
    (got,) = Engine(Scripted(['"A"', '"B"'], [[1, 0]], absent=4.0)).fill([request(form)])
    leaves = filled(got).leaves
    assert filled(got).record == '{"a":"A","b":null}'
    assert leaves["/a"].missing and leaves["/a"].text == '"A"' and leaves["/a"].confidence < 0.1
    assert (leaves["/b"].text, leaves["/b"].origin, leaves["/b"].missing) == ("null", "absent", False)
    assert (leaves["/maybe"].text, leaves["/maybe"].origin) == (None, "absent")
    assert leaves["/b"].confidence > 0.9


def test_a_slot_for_which_nothing_is_offered_is_minimal() -> None:
    (got,) = Engine(Scripted([], [[]])).fill([request(form_of(a={"type": "string", "minLength": 1}))])
    leaf = filled(got).leaves["/a"]
    assert leaf.origin == "minimal" and leaf.missing and leaf.confidence == 0.0


@pytest.mark.parametrize("size", [3, 14, 15, 30, 31, 62])
@pytest.mark.parametrize("effort", ["instant", "medium"])
def test_a_value_grows_until_it_fits(size: int, effort: str) -> None:
    record = json.dumps({"a": "x" * size}, separators=(",", ":"))
    (got,) = Engine(SteeredModel(), effort).fill([request(form_of(a={"type": "string"}), text=record)])
    assert filled(got).record == record
    assert filled(got).steps <= 1 + (size > 14) + (size > 30)


def test_a_value_longer_than_the_longest_slot_is_cut_but_valid() -> None:
    record = json.dumps({"a": "x" * 100})
    form = form_of(a={"type": "string"})
    (got,) = Engine(SteeredModel(), "low").fill([request(form, text=record)])
    assert json.loads(filled(got).record)["a"] == "x" * 62


def test_forced_positions_do_not_count_towards_confidence() -> None:
    class Unsure(SteeredModel):
        """Sure of the digits, not of the dashes and quotes that the form of a date leaves no choice of."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            for at in (0, 5, 8, 11):
                scores.token_logits[:, at] = 0.0
            return scores

    form = form_of(a={"type": "string", "format": "date"})
    (got,) = Engine(Unsure()).fill([request(form, text='{"a":"2024-05-17"}')])
    assert filled(got).record == '{"a":"2024-05-17"}'
    assert filled(got).leaves["/a"].confidence > 0.99


class Spelling(Scripted):
    """Spells the first slot out with these logits; offers `"A"` with certainty `sure` for the others."""

    def __init__(self, token_logits: torch.Tensor, spelled: float, absent: float, sure: float) -> None:
        super().__init__(['"A"'], [[sure]], absent=0.0)
        self.token_logits, self.spelled, self.nothing = token_logits, spelled, absent
        self.seen: list[tuple[bytes | None, list[int]]] = []

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        self.seen.append((canvas.values[0], canvas.tokens[0].tolist()))
        scores = super().score(forms, memories, rows, canvas)
        scores.candidate_logits[0] = float("-inf")
        scores.candidates[0] = []
        scores.generate_logit = torch.tensor([self.spelled, *[float("-inf")] * (len(canvas.instances) - 1)])
        scores.absent_logit[0] = self.nothing
        scores.generating = torch.tensor([0])
        scores.token_logits = self.token_logits.unsqueeze(0)
        return scores


def test_padding_follows_from_the_end_of_a_value_and_never_comes_first() -> None:
    logits = torch.zeros(16, VOCABULARY)
    logits[0, ord('"')] = 9.0
    logits[1:4, ord("x")] = 6.0
    logits[4, ord('"')] = 5.0
    logits[5:9, PAD] = 4.0
    # That the far right is padding is certain; where the value ends is not.
    logits[9:, PAD] = 30.0
    model = Spelling(logits, 99.0, -9.0, 0.0)
    (got,) = Engine(model, "medium", threshold=1.0).fill([request(form_of(a={"type": "string"}))])
    end = len(filled(got).leaves["/a"].text or "")
    assert end < 9 and filled(got).steps > 1
    for _, tokens in model.seen:
        assert PAD not in tokens or tokens.index(PAD) == end
        assert PAD not in tokens or set(tokens[end:]) == {PAD}


def test_a_value_without_any_choice_of_letters_waits_for_its_turn_as_a_whole() -> None:
    form = form_of(a={"type": ["string", "null"], "pattern": "^abc$"}, b={"type": "string"})
    # Sixteen positions of 1 in 258 are -88.8: spelled out and absent are nearly even.
    model = Spelling(torch.zeros(16, VOCABULARY), 89.0, 0.0, 9.0)
    (got,) = Engine(model, "medium").fill([request(form)])
    assert filled(got).record == '{"a":"abc","b":"A"}'
    assert [value for value, _ in model.seen] == [None, None]
    assert all(set(tokens) == {-1} for _, tokens in model.seen)
    assert filled(got).leaves["/a"].confidence == pytest.approx(0.54, abs=0.02)


def test_a_position_is_opened_again_at_most_twice() -> None:
    class Fickle(Spelling):
        """Sure of the first letter, and of another one in every step; never sure of the others."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            self.token_logits[1] = 0.0
            self.token_logits[1, ord("xy"[len(self.seen) % 2])] = 12.0
            return super().score(forms, memories, rows, canvas)

    logits = torch.zeros(16, VOCABULARY)
    logits[[0, 14], ord('"')] = 30.0
    logits[15:, PAD] = 30.0
    engine = Engine(Fickle(logits, 99.0, -9.0, 0.0), "high")
    (got,) = engine.fill([request(form_of(a={"type": "string"}))])
    assert filled(got).reopened == engine.reopenings.positions == 2
    assert filled(got).steps > 5


@pytest.mark.parametrize("other", ["absent", "copied"])
def test_a_value_that_is_partly_committed_is_neither_absent_nor_another_text(other: str) -> None:
    class Leaning(Spelling):
        """Leans towards something else once the first letters are there, but not clearly."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            self.spelled = 0.6 if self.seen else 4.0
            self.nothing = 0.0 if other == "absent" else -9.0
            scores = super().score(forms, memories, rows, canvas)
            if other == "copied":
                scores.candidates[0] = [Candidate(b'"copied"'), Candidate(b'"xxx"')]
                scores.candidate_logits = torch.tensor([[0.0, -9.0]])
            return scores

    logits = torch.zeros(16, VOCABULARY)
    logits[[0, 4], ord('"')] = 30.0
    logits[1:4, ord("x")] = 6.0
    logits[5:, PAD] = 30.0
    model = Leaning(logits, 0.0, 0.0, 0.0)
    engine = Engine(model, "medium", steps=4, threshold=0.9)
    (got,) = engine.fill([request(form_of(a={"type": ["string", "null"]}))])
    assert len(model.seen) == 4 and -1 in model.seen[1][1]
    assert filled(got).record == '{"a":"xxx"}' and filled(got).reopened == 0
    assert filled(got).leaves["/a"].origin == "generated"


def test_an_observer_that_fails_stops_the_run() -> None:
    def observer(step: int, states: list[str]) -> None:
        raise AssertionError(f"seen {len(states)}")

    with pytest.raises(RunError, match="seen 3"):
        Engine(RandomModel()).fill(many(3), observer)


def test_the_fingerprint_names_model_and_effort() -> None:
    plain = Engine(RandomModel(1)).fingerprint
    assert plain == Engine(RandomModel(1), "medium").fingerprint
    others = {
        Engine(RandomModel(2)).fingerprint,
        Engine(RandomModel(1), "high").fingerprint,
        Engine(RandomModel(1), steps=5).fingerprint,
        Engine(RandomModel(1), threshold=0.5).fingerprint,
    }
    assert len(others | {plain}) == 5


def test_timings_are_kept_by_stage() -> None:
    engine = Engine(RandomModel())
    engine.fill(many(2))
    assert list(engine.timings) == ["encode", "rows", "score", "constrain", "commit"]
    assert all(seconds > 0 for seconds in engine.timings.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"effort": "huge"}, "expected one of instant, low, medium, high, got 'huge'"),
        ({"steps": 0}, "expected 1 to 64 steps, got 0"),
        ({"threshold": 1.5}, "expected threshold from 0 to 1, got 1.5"),
        ({"token_budget": 0}, "expected at least 1, got 0"),
    ],
)
def test_wrong_settings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Engine(RandomModel(), **arguments)


def test_the_offset_of_the_passage_is_added_to_spans_and_anchors() -> None:
    form = form_of(items={"type": "array", "items": {"type": "string"}})

    class Rows(Scripted):
        def find_rows(self, forms: Any, memories: Any) -> list[list[Row]]:
            return [[Row(0, -1, 3, 0.75)]]

    base = request(form)
    moved = replace(base, passage=replace(base.passage, offset=100))
    (got,) = Engine(Rows(['"A"'], [[9.0]])).fill([moved])
    assert filled(got).rows == {"/items/0": (103, 0.75)}
    assert filled(got).leaves["/items/0"].spans == ((102, 105),)
