"""A model that denoises blocks as an engine's model: its blocks are branches, and it drafts by itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.support.branch_checks import check_documents_are_apart, check_records_are_valid
from tests.support.effort import first
from tests.support.family_traits import FAMILY_TRAITS
from tests.support.tiny_checkpoint import write_checkpoint
from tests.support.whole_texts import whole

from cinnabar.engine.branches import branch_model, decoding
from cinnabar.engine.branches.branch_model import BranchMemory, BranchModel
from cinnabar.engine.branches.decoding import BranchDecoder, BranchPiece
from cinnabar.engine.branches.engine import has_branches, language_engine
from cinnabar.engine.branches.forks import DocumentKeys, read_document
from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.errors import ModelError
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form, Slot

#: Families whose logits are for the next position, and others.
FAMILIES = ("fast-dllm", *(pytest.param(one, marks=pytest.mark.slow) for one in ("llada2", "sdar-moe")))
TEXT = "ACME Ltd.\nInvoice 2024/117 of 9 June 2024\nWidget A, large 3 12.50\nTotal due: £52.00 (urgent)\n"
SCHEMA = {
    "title": "invoice",
    "type": "object",
    "properties": {
        "number": {"type": ["string", "null"]},
        "total": {"type": ["number", "null"]},
        "state": {"enum": ["urgent", "usual", None]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
}


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    traits = FAMILY_TRAITS[request.param]
    folder = write_checkpoint(tmp_path_factory.mktemp("blocks"), traits=traits, window=8192)
    return load_language_model(folder, "cpu", "float32")


def asked(name: str, text: str = TEXT) -> Request:
    return Request(name, compile_schema(SCHEMA).form, text_passage(text))


def shares_of_text(model: LanguageModel, text: Sequence[int], masks: int) -> torch.Tensor:
    """Returns the shares [masks, V] at so many masks behind a text, all of it read at once."""
    traits = model.traits
    assert traits.mask is not None
    tokens = torch.tensor([[*text, *[traits.mask] * masks]])
    positions = torch.arange(tokens.shape[1])[None]
    opened = torch.tensor([len(text) // traits.block * traits.block])
    hidden = whole(model.decoder, tokens, positions, opened)
    first = len(text) - int(traits.shift)
    return model.decoder.logits(hidden)[0, first : first + masks].float().softmax(-1)


def test_each_pass_tells_what_the_model_says_of_the_whole_text(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: dict[int, tuple[DocumentKeys, list[int]]] = {}

    def reading_document(decoder: Decoder, tokens: list[int], before: DocumentKeys | None = None) -> DocumentKeys:
        keys = read_document(decoder, tokens, before)
        texts[id(keys)] = keys, [*(() if before is None else texts[id(before)][1]), *tokens]
        return keys

    checked, told_of = 0, set[int]()
    read = BranchDecoder._read

    def reading(own: BranchDecoder, pieces: Sequence[BranchPiece]) -> list[list[np.ndarray]]:
        nonlocal checked
        told = read(own, pieces)
        for piece, shares in zip(pieces, told, strict=True):
            text = [*texts[id(piece.forks.keys)][1], *piece.fork.text]
            told_of.add(id(piece.forks))
            assert len(shares) == model.traits.block - len(text) % model.traits.block
            expected = shares_of_text(model, text, len(shares))
            torch.testing.assert_close(torch.from_numpy(np.stack(shares)), expected, atol=2e-5, rtol=1e-3)
            checked += 1
        return told

    monkeypatch.setattr(branch_model, "read_document", reading_document)
    ask_doubted = BranchModel._ask_doubted

    def telling(own: BranchModel, asked: Sequence[tuple[Form, BranchMemory, Sequence[tuple[Slot, int]]]]) -> None:
        answers = [answer for _, memory, _ in asked for answer in memory.answers.values() if answer.text is not None]
        monkeypatch.setattr(branch_model, "SURE_VALUE", max(min(one.share, 1 - one.null) for one in answers))
        ask_doubted(own, asked)

    monkeypatch.setattr(BranchModel, "_ask_doubted", telling)
    monkeypatch.setattr(BranchDecoder, "_read", reading)
    monkeypatch.setattr(decoding, "LIST_ITEMS", 3)
    monkeypatch.setattr(decoding, "VALUE_TOKENS", 12)
    (result,) = language_engine(model).fill([asked("a")])
    assert isinstance(result, Filled), result
    # The second time behind the values that are sure.
    assert checked > 20 and len(told_of) == 2


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_every_record_is_valid_whatever_the_schema(model: LanguageModel, seed: int) -> None:
    check_records_are_valid(model, TEXT, seed)


def test_a_value_does_not_depend_on_other_documents(model: LanguageModel) -> None:
    check_documents_are_apart(model, asked, [TEXT, "Nothing here.", "Total 4"])


@pytest.mark.parametrize("model", ["fast-dllm"], indirect=True)
def test_a_sure_model_takes_several_tokens_a_pass(model: LanguageModel) -> None:
    note = {"type": "string", "maxLength": 40, "x-cinnabar-written": True}
    form = compile_schema({"type": "object", "properties": {"note": note}}).form

    def passes(threshold: float) -> int:
        own = BranchModel(model)
        own.branches._threshold = threshold
        (result,) = Engine(own).fill([Request("a", form, text_passage(TEXT))])
        assert isinstance(result, Filled)
        return own.branches.passes

    assert passes(0.0) < passes(1.1)


def test_a_model_that_writes_over_its_own_tokens_has_no_branches(tmp_path: Path) -> None:
    traits = FAMILY_TRAITS["diffusion-gemma"]
    folder = write_checkpoint(tmp_path, traits=traits, window=4096)
    assert not has_branches(load_language_model(folder, "cpu", "float32"))


def test_a_model_that_was_trained_on_whole_records_writes_these(tmp_path: Path) -> None:
    traits = FAMILY_TRAITS["fast-dllm"]
    folder = write_checkpoint(tmp_path, traits=traits, window=4096)
    assert has_branches(load_language_model(folder, "cpu", "float32"))
    config = write_checkpoint(tmp_path, traits=traits, writes_records=True, window=4096) / "config.json"
    assert isinstance(language_engine(load_language_model(folder, "cpu", "float32")), DiffusionEngine)
    config.write_text(json.dumps(json.loads(config.read_text()) | {"answers": "songs"}))
    with pytest.raises(ModelError, match="records"):
        language_engine(load_language_model(folder, "cpu", "float32"))
