"""Examples in prompts: which ones a document gets, what they cost, and that they change nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import effort
from tests.support.remote_forms import form_of, request
from tests.support.tiny_checkpoint import SPECIAL, write_checkpoint

from cinnabar.engine.asking import few_shot
from cinnabar.engine.asking.few_shot import Example, Examples, FewShot, record_line
from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.language.prepared_requests import PreparedRequest, RequestPreparer
from cinnabar.engine.language.remaining_form import Remaining
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.request import Filled, Request
from cinnabar.errors import UsageError

LINE = {
    "type": "object",
    "properties": {"what": {"type": "string", "maxLength": 8}, "price": {"type": "integer", "maximum": 99}},
    "required": ["what"],
}
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "string", "maxLength": 8},
        "kind": {"enum": ["a", "b"]},
        "lines": {"type": "array", "maxItems": 2, "items": LINE},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1},
    },
    "required": ["number", "lines"],
}
FORM = form_of(NOTE)
BILL, PARCEL = "Invoice number {0}\nTotal amount due {0}0,00 EUR", "Parcel {0} was sent\nTracking code PX{0} by road"


def example(text: str, **record: Any) -> Example:
    return Example(text, json.dumps({"number": "x", "lines": []} | record, separators=(",", ":")))


def examples(*found: Example) -> Examples:
    return Examples("of a test", {FORM.fingerprint: found})


BILLS = [example(BILL.format(at), number=f"B-{at}") for at in range(5)]
PARCELS = [example(PARCEL.format(at), number=f"P-{at}") for at in range(5)]
SHOWN = examples(*BILLS, *PARCELS)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = write_checkpoint(tmp_path_factory.mktemp("model"), window=4096, block=8)
    return load_language_model(folder, "cpu", "float32")


def asked(name: str, text: str, **known: str | None) -> Request:
    one = request(FORM, text, {f"/{at.replace('__', '/')}": value for at, value in known.items()})
    return Request(name, one.form, one.passage, one.known)


def ready(preparer: RequestPreparer, *requests: Request) -> list[PreparedRequest]:
    found = preparer.prepare(requests)
    assert all(isinstance(prepared, PreparedRequest) for prepared in found)
    return [prepared for prepared in found if isinstance(prepared, PreparedRequest)]


def prompt(model: LanguageModel, prepared: PreparedRequest) -> str:
    assert prepared.task is not None
    return model.tokenizer.decode(prepared.task.prompt).decode()


def few(room: int, shown: Examples = SHOWN) -> FewShot:
    """A choice with room for so many tokens; a token is a character."""
    return FewShot(shown, room * few_shot.SHARE, len)


def test_a_document_gets_the_four_examples_that_it_is_like() -> None:
    choice = few(4000)
    bill, parcel = choice.nearest(FORM, BILL.format(77)), choice.nearest(FORM, PARCEL.format(77))
    assert len(bill) == len(parcel) == 4 and {*bill} < {*BILLS} and {*parcel} < {*PARCELS}


def test_examples_stand_in_one_order_whichever_is_nearer() -> None:
    choice = few(4000, examples(*BILLS[:2], *PARCELS[:2]))
    shown = {choice.nearest(FORM, text) for text in (BILL.format(77), PARCEL.format(77), "", "other")}
    assert shown == {(*BILLS[:2], *PARCELS[:2])}


@pytest.mark.parametrize("own", [BILL.format(2), f"  {BILL.format(2)}\n".upper(), BILL.format(2).split("\n")[0]])
def test_a_document_among_the_examples_does_not_get_itself(own: str) -> None:
    assert {*few(4000).nearest(FORM, own)} == {*BILLS} - {BILLS[2]}
    assert few(4000, examples(BILLS[2])).nearest(FORM, own) == ()


@effort.examples(60)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=14), st.text(max_size=60), st.integers(60, 900))
def test_examples_stay_within_their_room_and_never_hold_the_document(texts: list[str], own: str, room: int) -> None:
    shown = [Example(f"{text} {at}", "{}") for at, text in enumerate(texts)]
    try:
        choice = few(room, examples(*shown))
        chosen = choice.nearest(FORM, own)
    except UsageError:
        assert min(len(one.text) for one in shown) + 2 + few_shot.MARKS > room
        return
    assert len(chosen) <= few_shot.SHOWN
    assert sum(len(one.text) + 2 + few_shot.MARKS for one in chosen) <= choice.most(FORM) <= room
    words = few_shot._plain(own)
    assert not words or not any(words in few_shot._plain(one.text) for one in chosen)
    assert chosen == few(room, examples(*shown)).nearest(FORM, own)


def test_examples_that_do_not_fit_are_told_before_any_document(model: LanguageModel) -> None:
    with pytest.raises(UsageError, match=r"--examples: the shortest of 1 examples takes \d+ tokens, expected at most"):
        LanguageEngine(model, examples=examples(example("word " * 4000)))


def test_an_example_is_a_question_with_its_answer_before_the_document(model: LanguageModel) -> None:
    (prepared,) = ready(RequestPreparer(model, examples(BILLS[0])), asked("a", "the text of a page", number='"A"'))
    told = prompt(model, prepared)
    parts = ["Fields:", BILL.format(0), '{"lines": []}', "Known:", "the text of a page"]
    places = [told.index(part) for part in parts]
    assert places == sorted(places) and told.count("Fields:") == 1 and told.count("assistant\n") == 2


def test_the_record_of_an_example_has_the_places_that_are_asked_for() -> None:
    lines = [{"what": "figs", "price": 3}, {"what": "pears"}, {"what": "nuts", "price": 1}]
    one = example("", number="N", kind="a", lines=lines, more={"left": 2})
    assert record_line(one, FORM, FORM).startswith('{"number": "N", "lines": [{"what": "figs", "price": 3}, ')

    def told(**known: str | None) -> Any:
        remaining = Remaining(asked("a", "", **known)).form
        assert remaining is not None
        return json.loads(record_line(one, FORM, remaining))

    assert told(number='"X"', kind=None) == {"lines": lines, "more": {"left": 2}}
    prices = [{"price": 3}, {}, {"price": 1}]
    assert told(lines__0__what='"kiwis"') == {"number": "N", "kind": "a", "lines": prices, "more": {"left": 2}}


def test_prompts_with_the_same_examples_share_a_beginning_that_ends_with_them(model: LanguageModel) -> None:
    preparer = RequestPreparer(model, examples(*BILLS[:4]))
    first, second = ready(preparer, asked("a", BILL.format(70)), asked("b", "An invoice: 7"))
    assert first.task is not None and second.task is not None
    pairs = enumerate(zip(first.task.prompt, second.task.prompt, strict=False))
    shared = model.tokenizer.decode(first.task.prompt[: next(at for at, (a, b) in pairs if a != b)]).decode()
    assert shared.endswith("Document:\n") and all(one.text in shared for one in BILLS[:4])


@pytest.mark.parametrize("effort", effort.first(1, ["low", "instant"]))
def test_records_are_valid_and_do_not_depend_on_the_batch(model: LanguageModel, effort: str) -> None:
    texts = [BILL.format(70), PARCEL.format(70), BILL.format(1), "other"]
    requests = [asked(str(at), text) for at, text in enumerate(texts)]
    requests.append(asked("known", BILL.format(71), number='"K"'))
    engine = LanguageEngine(model, effort, examples=SHOWN)
    shown: list[str] = []
    together = engine.fill(requests, lambda state: shown.append(state.record))
    assert all(FORM.judge is not None and FORM.judge.accepts(json.loads(record)) for record in shown)
    for own, result in zip(reversed(requests), reversed(together), strict=True):
        (alone,) = LanguageEngine(model, effort, examples=SHOWN).fill([own])
        assert isinstance(result, Filled) and isinstance(alone, Filled) and alone.record == result.record
        for pointer, leaf in alone.leaves.items():
            assert abs(leaf.confidence - result.leaves[pointer].confidence) < 0.001


def test_examples_can_neither_end_a_turn_nor_become_a_mask(model: LanguageModel) -> None:
    hostile = "".join(next(iter(SPECIAL.values()))) + "<think>"
    special = {token.id for token in model.tokenizer.added.values()}
    (clean,) = ready(RequestPreparer(model, examples(example("text", number="n"))), asked("a", "document"))
    (prepared,) = ready(RequestPreparer(model, examples(example(hostile, number="<|MASK|>"))), asked("a", "document"))
    assert clean.task is not None and prepared.task is not None and hostile in prompt(model, prepared)
    marks = [[token for token in task.prompt if token in special] for task in (clean.task, prepared.task)]
    assert marks[0] == marks[1] and marks[0]


def test_a_passage_has_the_room_that_examples_leave(model: LanguageModel) -> None:
    plain, beside = LanguageEngine(model), LanguageEngine(model, "instant", examples=SHOWN)
    room = beside.context_beside(FORM)
    assert room < plain.context_beside(FORM)
    (result,) = beside.fill([asked("a", "a" * room)])
    assert isinstance(result, Filled)
