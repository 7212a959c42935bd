"""The baseline writes valid records, and those that it is told to write."""

from __future__ import annotations

import json

import pytest
from tiny_checkpoint import write_checkpoint

from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.schemas import compile_schema

pytest.importorskip("xgrammar")

from bench.engine.autoregressive import Autoregressive, Grammars, causal

SCHEMA = {
    "type": "object",
    "properties": {
        "number": {"enum": ["A-17", "A-4", "B-17"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 9999},
        "paid": {"type": "boolean"},
    },
    "required": ["number", "count", "paid"],
    "additionalProperties": False,
}
RECORD = json.dumps({"number": "A-17", "count": 12, "paid": True}).encode()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return load_language_model(write_checkpoint(tmp_path_factory.mktemp("checkpoint")), "cpu", "float32")


def writer(model: LanguageModel, shift: bool) -> Autoregressive:
    return Autoregressive(causal(model.decoder, shift), model.tokenizer)


@pytest.mark.parametrize("shift", [True, False])
def test_what_the_baseline_writes_is_a_record_however_the_model_reads(model: LanguageModel, shift: bool) -> None:
    prompts = [model.tokenizer.encode(text) for text in ("Invoice number: A-17", "total", "2026-03-04 bolt")]
    grammar = Grammars(model.tokenizer).compile(SCHEMA)
    answers = writer(model, shift).write(prompts, [grammar] * 3, budget=200)
    for answer in answers:
        assert compile_schema(SCHEMA).accepts(answer.text.decode()) and answer.ended
        assert answer.text.startswith(b'{"number": "') and answer.passes == answer.chosen


def test_the_baseline_writes_a_given_record_and_jumps_over_forced_text(model: LanguageModel) -> None:
    prompt = model.tokenizer.encode("Invoice number: A-17")
    grammar = Grammars(model.tokenizer).compile(SCHEMA)
    (answer,) = writer(model, True).write([prompt], [grammar], 200, follow=[RECORD])
    assert (answer.text, answer.ended) == (RECORD, True)
    assert answer.passes < len(model.tokenizer.encode(RECORD.decode()))


def test_an_answer_does_not_depend_on_the_others_of_its_batch(model: LanguageModel) -> None:
    prompts = [model.tokenizer.encode(text) for text in ("Invoice number: A-17", "x", "2026-03-04 bolt")]
    grammar, write = Grammars(model.tokenizer).compile(SCHEMA), writer(model, False).write
    together = write(prompts, [grammar] * 3, budget=60)
    assert [write([prompt], [grammar], budget=60)[0].text for prompt in prompts] == [one.text for one in together]
