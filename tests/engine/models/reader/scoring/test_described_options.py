"""Options that no document prints: their meanings are compared with passages, and codes are pointed at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from tests.support.cases import each
from tests.support.tiny_network import form_of, passage_of, tiny_network, wordpieces

from cinnabar.engine.fill.choices import code_choice, is_compared
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.mixed_choices import pointed_at
from cinnabar.engine.models.reader.memory.passage import Compared
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.models.reader.scoring.described_options import (
    MOST_STRETCHES,
    OptionComparer,
    familiarity,
    passages,
    sentences,
    weigh_options,
)
from cinnabar.engine.models.sentences.encoder import Vectors
from cinnabar.engine.request import Filled, Request
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form, Slot

KIND = {"enum": ["complaint", "quote", "other"], "description": "complaint = angry; quote = price; other = rest"}
FORM = form_of(kind=KIND)
LIST = form_of(kinds={"type": "array", "items": KIND})
TEXT = "We are angry about this. The rest of it is fine. What is your price for ten of them?"
#: The words of the fake encoder, each a direction of its own.
WORDS = ("angry", "price", "rest")


@dataclass
class FakeSentences:
    """A sentence encoder that knows three words."""

    asked: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        found = np.array([[text.count(word) for word in WORDS] + [0.1] for text in texts], np.float32)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def reader(fake: FakeSentences | None, config: PriorConfig = DEFAULT_PRIORS) -> ExtractiveReader:
    return ExtractiveReader(tiny_network(1), wordpieces(), "tiny", config=config, sentences=fake and (lambda: fake))  # type: ignore[arg-type, return-value]


def filled(model: ExtractiveReader, form: Form, text: str) -> Filled:
    (result,) = Engine(model).fill([Request("one", form, passage_of(text))])
    assert isinstance(result, Filled)
    return result


def test_a_class_that_no_document_prints_is_decided_by_the_passage_that_is_most_like_it() -> None:
    for text, kind in (("I am very angry with you.", "complaint"), ("A price, please: what price?", "quote")):
        found = filled(reader(FakeSentences()), FORM, text)
        assert found.record == f'{{"kind":"{kind}"}}'
        leaf = found.leaves["/kind"]
        assert (leaf.origin, leaf.spans) == ("chosen", ((0, len(text)),))


def test_a_printed_option_is_left_to_the_network() -> None:
    model, fake = reader(FakeSentences()), FakeSentences()
    with torch.no_grad():
        model.network.choice_printed.fill_(50.0)
    model = ExtractiveReader(model.network, wordpieces(), "tiny", sentences=lambda: fake)  # type: ignore[arg-type, return-value]
    found = filled(model, FORM, "This is a quote. I am angry.")
    assert found.record == '{"kind":"quote"}' and found.leaves["/kind"].spans == () and fake.asked == []


def test_nothing_is_embedded_for_a_schema_without_such_a_choice() -> None:
    fake = FakeSentences()
    filled(reader(fake), form_of(paid={"type": "boolean"}, name={"type": ["string", "null"]}), TEXT)
    assert fake.asked == []


def test_options_and_passages_are_read_once() -> None:
    fake = FakeSentences()
    model = reader(fake)
    memories = model.encode([passage_of(TEXT)])
    slots = [SlotInstance(0, slot, -1) for slot in FORM.slots]
    canvas = Canvas(slots, [None], [False], [()])
    for _ in range(3):
        model.score([FORM], memories, [[]], canvas)
    assert len(fake.asked) == len(set(fake.asked)) == 2 * len(KIND["enum"]) + 1


def test_a_list_of_options_has_those_that_its_sentences_tell() -> None:
    found = filled(reader(FakeSentences(), PriorConfig()), LIST, "We are very angry.\nWhat is your price?")
    assert found.record == '{"kinds":["complaint","quote"]}'
    assert found.leaves["/kinds/1"].spans == ((19, 38),)
    assert 0.25 < found.rows["/kinds/0"][1] < 1.0


def test_rows_that_were_known_before_are_no_listed_options() -> None:
    text = "We are very angry.\nWhat is your price?"
    known = {"/kinds/0": '"other"'}
    request = Request("one", LIST, passage_of(text), known, frozenset({0}), ((0, 0),))
    (result,) = Engine(reader(FakeSentences())).fill([request])
    assert isinstance(result, Filled) and result.record == '{"kinds":["other"]}'


def test_the_rule_can_be_switched_off() -> None:
    fake = FakeSentences()
    model = reader(fake, PriorConfig(without=frozenset({"described_options"})))
    assert filled(model, FORM, TEXT).record == filled(reader(None), FORM, TEXT).record
    assert fake.asked == []


def test_a_clear_meaning_makes_absence_less_likely() -> None:
    config = DEFAULT_PRIORS.described_options
    flat, clear = (Compared([top, 0.1, 0.1], [(0, 1)] * 3, []) for top in (0.1, 0.6))
    logs, unprinted = [-1.1, -1.1, -1.1], [False] * 3
    (before, _), (after, options) = (weigh_options(1.0, logs, one, unprinted, config) for one in (flat, clear))
    assert after < before and options.index(max(options)) == 0
    assert sum(np.exp(options)) == pytest.approx(1.0)


@each("seed", range(20))
def test_the_probabilities_of_options_sum_to_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    count = int(draw.integers(3, 80))
    compared = Compared(draw.uniform(-1, 1, count).tolist(), [(0, 1)] * count, [])
    logs = np.log(draw.dirichlet(np.full(count, 0.2)) + 1e-30).tolist()
    marks = (draw.random(count) < 0.2).tolist()
    absent, options = weigh_options(float(draw.normal(0, 5)), logs, compared, marks, DEFAULT_PRIORS.described_options)
    assert sum(np.exp(options)) == pytest.approx(1.0) and np.isfinite(absent)


def test_the_reader_s_absence_counts_only_above_even_odds() -> None:
    config = DEFAULT_PRIORS.described_options
    compared = Compared([0.3, 0.1, 0.1], [(0, 1)] * 3, [])
    absent = [weigh_options(at, [-1.1] * 3, compared, [False] * 3, config)[0] for at in (-9.0, -1.0, 2.0)]
    assert absent[0] == absent[1] and absent[2] == pytest.approx(absent[1] + 2 * config.absent)


def test_a_class_is_given_though_no_option_has_most_of_the_probability() -> None:
    kind = {"enum": [*KIND["enum"], "praise", "order", None], "description": KIND["description"]}
    found = filled(reader(FakeSentences()), form_of(kind=kind), "I am angry about your price, and about the rest.")
    leaf = found.leaves["/kind"]
    assert leaf.text != "null" and leaf.confidence < 0.55


def test_rows_codes_and_pairs_are_not_compared() -> None:
    forms = {
        "pair": form_of(x={"enum": ["complaint", "quote"]}),
        "codes": form_of(x={"enum": ["VFR", "IFR", "LIFR"]}),
        "numbers": form_of(x={"enum": [1, 2, 3]}),
        "row": form_of(x={"type": "array", "items": {"type": "object", "properties": {"y": KIND}}}),
    }
    assert [name for name, form in forms.items() if any(map(is_compared, form.slots))] == []
    assert is_compared(FORM.slots[0]) and is_compared(LIST.slots[0])


def is_of_codes(slot: Slot) -> bool:
    found = code_choice(slot)
    return found is not None and found.only_codes


def test_a_choice_among_codes_is_pointed_at() -> None:
    form = form_of(currency={"enum": ["EUR", "USD"]}, kind=KIND)
    assert [is_of_codes(slot) for slot in form.slots] == [True, False]
    read = pointed_at(form)
    assert read.slots[0].options == () and read.slots[1] == form.slots[1]
    assert pointed_at(read) is read and pointed_at(FORM) is FORM
    found = filled(reader(None), form, "Total: 3.25 €")
    leaf = found.leaves["/currency"]
    assert leaf.text == '"EUR"' and leaf.origin == "copied" and leaf.spans


def test_codes_in_lists_and_unions_are_pointed_at_and_names_of_branches_are_not() -> None:
    code = {"enum": ["EUR", "USD"]}
    union = {"anyOf": [code, {"type": "object", "properties": {"currency": code}}]}
    properties = {"all": {"type": "array", "items": code}, "one": union}
    form = compile_schema({"type": "object", "properties": properties}).form
    read = pointed_at(form)
    assert not any(is_of_codes(slot) for slot in read.slots if slot.index != form.choices[0].selector.index)
    assert read.choices == form.choices and read.arrays[0].item is read.slots[read.arrays[0].item.index]  # type: ignore[union-attr]


def test_passages_overlap_and_sentences_are_whole() -> None:
    words = " ".join(f"w{at}" for at in range(200))
    assert [words[a:b].split()[0] for a, b in passages(words)] == ["w0", "w60", "w120"]
    assert passages("") == sentences(" \n. ") == []
    assert [TEXT[a:b] for a, b in sentences(TEXT)] == [part.strip() for part in TEXT.replace(". ", ".|").split("|")]
    many = "One more sentence here.\n" * 500
    assert len(sentences(many)) == MOST_STRETCHES and sentences(many)[-1][1] == len(many) - 1


WORDED = form_of(
    kind={"enum": ["complaint", "quote", "other"], "x-cinnabar-options": {"complaint": ["angry"], "quote": "price"}}
)


def test_another_word_for_an_option_is_compared_with_the_document() -> None:
    for text, kind in (("I am very angry with you.", "complaint"), ("A price, please: what price?", "quote")):
        (leaf,) = filled(reader(FakeSentences()), WORDED, text).leaves.values()
        assert leaf.text == f'"{kind}"'


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("I would like to cancel the contract for my car at the end of this year, please.", 1.0),
        ("Hiermit möchte ich den Vertrag für mein Auto zum Ende dieses Jahres auflösen und bitte um Bestätigung.", 0.0),
        ("17 20 33", 1.0),
        ("From: Jan\nTo: Support\nSubject: VPN\nMy VPN drops since Monday, laptop LT-2231.", 1.0),
    ],
)
def test_texts_of_words_that_the_encoder_spells_in_pieces_are_unfamiliar(text: str, known: float) -> None:
    (memory,) = reader(None).encode([passage_of(text)])
    assert familiarity(memory) == pytest.approx(known, abs=0.35)


def test_likeness_says_nothing_of_an_unfamiliar_text_but_that_something_is_there() -> None:
    comparer = OptionComparer(FakeSentences, DEFAULT_PRIORS.described_options)  # type: ignore[arg-type]
    (known,) = reader(None).encode([passage_of("They are angry about it and about all of this.")])
    foreign = "angry über grundlosen aufschub, verspätete lieferung bestellter ersatzteile sowie fehlende rückmeldung"
    (unknown,) = reader(None).encode([passage_of(foreign)])
    told = comparer.similarities(FORM, FORM.slots[0], known).alike
    untold = comparer.similarities(FORM, FORM.slots[0], unknown).alike
    assert max(told) - min(told) > 0.3 and max(untold) - min(untold) < 0.05 and max(untold) > 0.3
