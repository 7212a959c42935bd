"""Choices of codes and other options: the codes are pointed at, and the others get what no code takes."""

from __future__ import annotations

import math

import pytest
from tests.support.cases import each
from tests.support.tiny_network import form_of, passage_of, tiny_model

from cinnabar.engine.fill.choices import code_choice
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.inputs.mixed_choices import MixedSlot, pointed_at
from cinnabar.engine.models.reader.scoring.choices import settle_mixed
from cinnabar.engine.models.reader.scoring.spans import UNLISTED, Answers, Pointed, candidates_of
from cinnabar.engine.request import Filled, Leaf, Request


def found(text: str, options: list[str | None]) -> Leaf:
    (result,) = Engine(tiny_model()).fill([Request("one", form_of(code={"enum": options}), passage_of(text))])
    assert isinstance(result, Filled)
    return result.leaves["/code"]


def mixed(*options: str) -> MixedSlot:
    (slot,) = pointed_at(form_of(code={"enum": [*options]})).slots
    assert isinstance(slot, MixedSlot)
    return slot


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["EUR", "USD", "other"], ('"other"',)),
        (["EUR", "other", None], ('"other"',)),
        (["EUR", "USD", "BTC"], ()),  # looks like a code, and the readings know none
        (["de", "en", "not stated"], ('"not stated"',)),
        (["EUR", "Euro", "USD"], ()),  # a name of a code is not the rest
        (["NY", "NJ", "abroad", "unknown"], ('"abroad"', '"unknown"')),
    ],
)
def test_words_beside_codes_are_no_codes(options: list[str], words: tuple[str, ...]) -> None:
    (slot,) = form_of(code={"enum": options}).slots
    choice = code_choice(slot)
    assert choice is not None and choice.words == words and not choice.only_codes


@each(
    "options",
    [
        ["EUR", "yes", "no thanks"], ["IT", "Sales", "Legal"], ["EUR", 1], ["EUR"],
        ["CUP", "GLASS"], ["ARM", "x86", None], ["ALL", "CAN"], ["EUR", "US", "other"],
        ["kg", "ml", "mg"], ["ja", "nein"], ["si", "no"], ["he", "she", "it"],
    ],
)  # fmt: skip
def test_a_choice_with_few_codes_or_with_units_and_words_is_judged(options: list[str]) -> None:
    (slot,) = form_of(code={"enum": options}).slots
    assert code_choice(slot) is None


def test_a_code_beside_words_is_pointed_at() -> None:
    for text, code in (("3.25 €", '"EUR"'), ("EUR", '"EUR"'), ("US dollars", '"USD"')):
        leaf = found(text, ["EUR", "USD", "other"])
        assert (leaf.text, leaf.origin) == (code, "copied") and leaf.spans


def test_a_code_that_is_no_option_speaks_for_the_other_option() -> None:
    leaf = found("£", ["EUR", "USD", "other"])
    assert (leaf.text, leaf.origin, leaf.spans) == ('"other"', "chosen", ((0, 1),))


def test_a_sign_is_read_as_a_code_of_the_options_before_any_other() -> None:
    assert found("$", ["CAD", "EUR", "other"]).text == '"CAD"'


def test_the_name_of_a_language_is_read_as_its_code() -> None:
    assert found("Deutsch", ["en", "de"]).text == '"de"'
    assert found("Spanish", ["en", "de", "other"]).text == '"other"'


def test_codes_of_another_kind_say_nothing() -> None:
    assert not mixed("EUR", "USD", "other").is_unlisted([b'"DE"', b'"DEU"', b"3"])
    assert not mixed("EUR", "USD", "BTC").is_unlisted([b'"GBP"'])
    assert mixed("EUR", "USD", "other").is_unlisted([b'"pound"', b'"GBP"'])


def test_the_word_other_in_a_text_is_no_value() -> None:
    for slot, text, number in ((mixed("EUR", "USD", "other"), "other", 0), (mixed("HR", "IT", "Sales"), "Sales", 1)):
        read, _ = candidates_of(slot, False, [Pointed(((0, len(text)),), -1.0)], MentionReader(text))
        assert len(read) == number


def test_without_a_printed_code_the_value_is_null_where_null_is_allowed() -> None:
    (slot,) = pointed_at(form_of(code={"enum": ["EUR", "USD", "other", None]})).slots
    out = answers({b'"EUR"': 0.3}, 0.7)
    assert isinstance(slot, MixedSlot)
    settle_mixed(0, slot, answers({b'"EUR"': 0.5, b'"USD"': 0.2, b'"other"': 0.1}, 0.2), out)
    assert probabilities(out) == {b'"EUR"': 0.3} and math.exp(out.absent[0]) == pytest.approx(0.7)


def answers(texts: dict[bytes, float], absent: float) -> Answers:
    out = Answers(1)
    out.candidates[0] = [Candidate(text, ((0, 3),) if text != b'"other"' else ()) for text in texts]
    out.logits[0], out.absent[0] = [math.log(p) for p in texts.values()], math.log(absent)
    return out


def probabilities(out: Answers) -> dict[bytes, float]:
    return {c.text: pytest.approx(math.exp(log)) for c, log in zip(out.candidates[0], out.logits[0], strict=True)}


def test_what_no_code_takes_is_divided_between_the_words_and_absence() -> None:
    judged = answers({b'"EUR"': 0.5, b'"USD"': 0.2, b'"other"': 0.1}, 0.2)
    out = answers({b'"EUR"': 0.3, UNLISTED: 0.4}, 0.3)
    settle_mixed(0, mixed("EUR", "USD", "other"), judged, out)
    assert probabilities(out) == {b'"other"': 0.5, b'"EUR"': 0.3}
    assert math.exp(out.absent[0]) == pytest.approx(0.2)


def test_two_letters_that_are_not_printed_are_judged_among_all_options() -> None:
    judged = answers({b'"HR"': 0.4, b'"IT"': 0.2, b'"other"': 0.2}, 0.2)
    out = answers({b'"IT"': 0.5}, 0.5)
    settle_mixed(0, mixed("HR", "IT", "other"), judged, out)
    assert probabilities(out) == {b'"IT"': 0.6, b'"HR"': 0.2, b'"other"': 0.1}
    assert math.exp(out.absent[0]) == pytest.approx(0.1)
