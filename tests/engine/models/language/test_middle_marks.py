"""The marks of code models for the middle of a text: found in the vocabulary, and the prompt that they make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.tiny_checkpoint import add_special, write_texts

from cinnabar.engine.models.language.tokenizer import TRIPLES, Tokenizer, TokenizerFile, middle_marks


def tokenizer(folder: Path, *texts: str) -> Tokenizer:
    """The small tokenizer with these special tokens."""
    write_texts(folder)
    add_special(folder, *texts)
    return Tokenizer(TokenizerFile(folder), 352, "<|im_end|>", None)


@pytest.mark.parametrize("triple", TRIPLES)
def test_each_triple_is_found_whatever_order_the_vocabulary_has(tmp_path: Path, triple: tuple[str, str, str]) -> None:
    before, behind, middle = triple
    own = tokenizer(tmp_path, middle, "<|file_sep|>", behind, "<|other|>", before)
    marks = middle_marks(own)
    assert marks is not None
    assert [marks.before, marks.behind, marks.middle] == [own.added[text].id for text in triple]
    ends = {own.added[text].id for text in (*triple, "<|file_sep|>", "<|endoftext|>")}
    assert {*marks.ends} == ends and own.end not in ends


def test_a_vocabulary_with_a_part_of_a_triple_has_no_marks(tmp_path: Path) -> None:
    assert middle_marks(tokenizer(tmp_path, "<|fim_prefix|>", "<|fim_suffix|>", "<fim_middle>")) is None


def test_the_prompt_has_the_texts_as_plain_text_between_the_marks(tmp_path: Path) -> None:
    own = tokenizer(tmp_path, *TRIPLES[0])
    marks = middle_marks(own)
    assert marks is not None
    before, behind = "def f(x):  # <|fim_suffix|>\n    return ", "<|fim_middle|>\n\nf(2)\n"
    prompt = marks.prompt(own, before, behind)
    cut = prompt.index(marks.behind)
    assert prompt[0] == marks.before and prompt[-1] == marks.middle
    assert prompt[1:cut] == own.encode(before) and prompt[cut + 1 : -1] == own.encode(behind)
    assert sum(token in {one.id for one in own.added.values()} for token in prompt) == 3
    assert own.decode(prompt) == (before + behind).encode()
    assert marks.prompt(own, "", "") == [marks.before, marks.behind, marks.middle]


def test_the_prompt_begins_as_the_published_tokenizer_begins_a_text(tmp_path: Path) -> None:
    own = tokenizer(tmp_path, *TRIPLES[1])
    path = tmp_path / "tokenizer.json"
    begin = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
    template = {
        "type": "TemplateProcessing", "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
        "special_tokens": {},
    }  # fmt: skip
    for processor in (template, {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]}):
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"post_processor": processor}), "utf-8")
        begun = Tokenizer(TokenizerFile(tmp_path), 352, "<|im_end|>", None)
        marks = middle_marks(begun)
        assert marks is not None and own.begin is None
        assert marks.prompt(begun, "a", "b")[:2] == [begun.added["<|endoftext|>"].id, marks.before]
