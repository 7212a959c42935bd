"""Joint choice: other texts that the model read replace the likeliest ones if the checks hold with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_model import ReadingModel

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import Candidate, Row, Scores
from cinnabar.engine.request import Alternative, Failed, Filled, Leaf, Passage, Request
from cinnabar.extraction.chunking import Chunk
from cinnabar.extraction.records.checks.checks import Checks
from cinnabar.extraction.records.checks.joint_choice import settled
from cinnabar.extraction.records.merging import merge
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.canonical import json_text, parse
from cinnabar.schemas.form.form import Form

NUMBER = {"type": ["number", "null"], "maximum": 1000}
SOURCE = load_schema(
    {
        "type": "object",
        "properties": {
            "net": NUMBER,
            "tax": NUMBER,
            "gross": NUMBER,
            "name": {"type": ["string", "null"]},
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"amount": NUMBER}, "required": ["amount"]},
            },
        },
        "required": ["net", "tax", "gross", "name", "lines"],
        "x-cinnabar-checks": {
            "adds_up": "net + tax = gross",
            "lines": "list_sum(list_transform(lines, x -> x.amount)) = net",
        },
    }
)
COMPILED = compile_schema(SOURCE.schema)
CHECKS = Checks(SOURCE, COMPILED)


def leaf(text: Any, *others: tuple[Any, float], sure: float = 0.6) -> Leaf:
    alternatives = tuple(Alternative(json_text(one), chance, ((7, 9),)) for one, chance in others)
    return Leaf(json_text(text), sure, ((1, 2),), posterior=sure, alternatives=alternatives)


def filled(lines: Sequence[Leaf] = (), **leaves: Leaf) -> Filled:
    own = {name: leaves.get(name, Leaf("null", 0.9, origin="absent")) for name in ("net", "tax", "gross", "name")}
    record: dict[str, Any] = {name: parse(one.text or "null") for name, one in own.items()}
    record["lines"] = [{"amount": parse(one.text or "null")} for one in lines]
    pointers = {f"/{name}": one for name, one in own.items()}
    pointers |= {f"/lines/{at}/amount": one for at, one in enumerate(lines)}
    rows = {f"/lines/{at}": (at, 0.9) for at in range(len(lines))}
    return Filled("a", json_text(record), pointers, rows, 1, 0)


def choice(before: Filled) -> Filled:
    (after,) = settled([before], COMPILED, CHECKS)
    assert isinstance(after, Filled)
    return after


def test_a_less_likely_text_is_taken_if_the_sum_holds_with_it() -> None:
    after = choice(filled(net=leaf(100), tax=leaf(9, (19, 0.2), (8, 0.3)), gross=leaf(119)))
    assert json.loads(after.record) == {"net": 100, "tax": 19, "gross": 119, "name": None, "lines": []}
    assert (after.leaves["/tax"].text, after.leaves["/tax"].spans) == ("19", ((7, 9),))
    assert after.leaves["/tax"].joint and not after.leaves["/net"].joint
    assert after.leaves["/net"].text == "100"


def test_of_several_combinations_the_most_probable_one_is_taken() -> None:
    before = filled(net=leaf(100, (110, 0.1)), tax=leaf(9, (19, 0.3)), gross=leaf(119, (109, 0.2)))
    assert json.loads(choice(before).record)["tax"] == 19
    before = filled(net=leaf(100, (110, 0.1)), tax=leaf(9, (19, 0.1)), gross=leaf(119, (109, 0.3)))
    after = choice(before)
    assert (json.loads(after.record)["tax"], json.loads(after.record)["gross"]) == (9, 109)


def test_two_fields_change_together_within_a_list_too() -> None:
    before = filled(
        [leaf(10, (40, 0.25)), leaf(60)], net=leaf(90, (100, 0.3)), tax=leaf(19), gross=leaf(119)
    )
    after = json.loads(choice(before).record)
    assert (after["net"], [one["amount"] for one in after["lines"]]) == (100, [40, 60])


def test_a_record_that_meets_its_checks_or_cannot_stays_as_it_is() -> None:
    right = filled(net=leaf(100, (1, 0.4)), tax=leaf(19, (9, 0.39)), gross=leaf(119, (109, 0.39)))
    open_one = filled(net=leaf(100, (1, 0.4)), gross=leaf(119, (109, 0.39)))
    hopeless = filled(net=leaf(100, (1, 0.4)), tax=leaf(9), gross=leaf(119))
    failure = Failed("b", "internal_error")
    assert settled([right, open_one, hopeless, failure], COMPILED, CHECKS) == [right, open_one, hopeless, failure]


def test_a_text_that_breaks_the_schema_or_another_check_is_not_taken() -> None:
    too_large = filled(net=leaf(100), tax=leaf(9), gross=leaf(119, (109, 0.3)), name=leaf("x"))
    assert choice(too_large).leaves["/gross"].text == "109"
    beyond = filled(net=leaf(999), tax=leaf(9), gross=leaf(1000, (1008, 0.3)))
    assert choice(beyond) == beyond
    # With a net of 110 the sum would hold, but the lines would not.
    other = filled([leaf(100)], net=leaf(100, (110, 0.3)), tax=leaf(9), gross=leaf(119))
    assert choice(other) == other


def test_another_reading_of_the_same_words_or_a_text_ten_times_less_likely_is_not_taken() -> None:
    alternatives = (Alternative("19", 0.3, ((1, 2),)),)
    sign = Leaf("-19", 0.6, ((0, 2),), posterior=0.6, alternatives=alternatives)
    before = filled(net=leaf(100), tax=sign, gross=leaf(119))
    assert choice(before) == before
    before = filled(net=leaf(100), tax=leaf(9, (19, 0.05)), gross=leaf(119))
    assert choice(before) == before


def test_nothing_changes_if_a_field_of_the_check_was_not_read() -> None:
    schema = SOURCE.schema if isinstance(SOURCE.schema, dict) else {}
    source = load_schema(schema | {"x-cinnabar-checks": {"adds_up": "net + coalesce(tax, 0) = gross"}})
    compiled = compile_schema(source.schema)
    before = filled(net=leaf(100), gross=leaf(119, (100, 0.3)))
    assert settled([before], compiled, Checks(source, compiled)) == [before]
    read = filled(net=leaf(100), tax=leaf(0), gross=leaf(119, (100, 0.3)))
    (after,) = settled([read], compiled, Checks(source, compiled))
    assert isinstance(after, Filled) and json.loads(after.record)["gross"] == 100


def test_guesses_and_generated_texts_keep_their_values() -> None:
    guess = leaf(9, (19, 0.3))
    for origin in ("generated", "chosen", "known", "default"):
        own = Leaf(guess.text, 0.5, origin=origin, posterior=0.5, alternatives=guess.alternatives)  # type: ignore[arg-type]
        before = filled(net=leaf(100), tax=own, gross=leaf(119))
        assert choice(before) == before


NUMBERS = st.integers(0, 12).map(Decimal)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(*[st.tuples(NUMBERS, st.lists(st.tuples(NUMBERS, st.floats(0.001, 0.4)), max_size=3))] * 3),
    st.lists(NUMBERS, max_size=2),
)
def test_a_choice_is_valid_confident_within_bounds_and_fails_no_more_checks(
    read: Any, amounts: list[Decimal]
) -> None:
    net, tax, gross = (leaf(value, *others) for value, others in read)
    before = filled([leaf(one) for one in amounts], net=net, tax=tax, gross=gross)
    after = choice(before)
    assert COMPILED.accepts(after.record)
    was, now = CHECKS.evaluate([before.record, after.record])
    assert sum(one is False for one in now.values()) <= sum(one is False for one in was.values())
    assert all(now[name] for name in was if was[name])
    if after.record != before.record:
        assert any(was[name] is False and now[name] for name in was)
    record = json.loads(after.record)
    for name in ("net", "tax", "gross"):
        own, old = after.leaves[f"/{name}"], before.leaves[f"/{name}"]
        assert parse(own.text or "null") == parse(json_text(record[name])) and 0 <= own.confidence <= 1
        assert own == old or own.text in {one.text for one in old.alternatives}
        assert own == old or own.confidence <= 1 - old.confidence


class Wavering(ReadingModel):
    """A model that also reads the value behind `not_NAME=`, with less probability."""

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        scores = super().score(forms, memories, rows, canvas)
        more = torch.full((len(canvas.instances), 1), float("-inf"))
        for at, one in enumerate(canvas.instances):
            name, text = one.slot.path.rsplit("/", 1)[1], memories[one.request]
            start = text.find(f"or_{name}=")
            if start >= 0:
                begin = start + len(name) + 4
                spelled = text[begin:].split()[0]
                scores.candidates[at].append(Candidate(spelled.encode(), ((begin, begin + len(spelled)),)))
                more[at] = 7.0
        return Scores(
            scores.candidates, torch.cat([scores.candidate_logits, more], 1), scores.absent_logit,
            scores.refused_logit,
        )  # fmt: skip


def passage(text: str, offset: int = 0) -> Passage:
    none = torch.zeros(0, dtype=torch.int32).numpy()
    return Passage("p", text, offset, none, none, torch.zeros(0, 4).numpy())


def test_the_engine_tells_other_texts_only_if_asked_and_by_characters_of_the_document() -> None:
    text = "net=100 tax=9 or_tax=19 gross=119"
    (asked, plain) = Engine(Wavering()).fill(
        [Request("a", COMPILED.form, passage(text, 50), alternatives=True), Request("b", COMPILED.form, passage(text))]
    )
    assert isinstance(asked, Filled) and isinstance(plain, Filled) and asked.record == plain.record
    assert not any(one.alternatives for one in plain.leaves.values())
    tax = asked.leaves["/tax"]
    assert [(one.text, one.spans) for one in tax.alternatives] == [("9", ((62, 63),)), ("19", ((71, 73),))]
    assert tax.alternatives[0].probability > tax.alternatives[1].probability > 0
    assert json.loads(choice(asked).record)["tax"] == 19


def test_other_texts_survive_the_merge_of_chunks() -> None:
    texts = ["net=100 tax=9 or_tax=19", "nothing gross=119"]
    requests = [
        Request(f"a:{at}", COMPILED.form, passage(text, at * 40), alternatives=True) for at, text in enumerate(texts)
    ]
    parts = [one for one in Engine(Wavering()).fill(requests) if isinstance(one, Filled)]
    whole = merge(COMPILED.form, [Chunk(0, 40), Chunk(40, 80)], parts)
    assert [one.text for one in whole.leaves["/tax"].alternatives] == ["9", "19"]
    assert json.loads(choice(whole).record)["tax"] == 19
