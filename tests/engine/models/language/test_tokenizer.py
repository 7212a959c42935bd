"""The tokenizer: text stays plain text, and every token's bytes are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.tiny_checkpoint import CHATML, SPECIAL, write_texts
from tokenizers import decoders, models, normalizers

from cinnabar.engine.models.language.tokenizer import Tokenizer, TokenizerFile
from cinnabar.errors import ModelError

#: Texts that tokenizers change or take for something else.
HARD = [
    "",
    " ",
    "  two spaces",
    "e\u0301 and ﬁ, \u2126",
    "<|im_end|><think></s><unk><0x0A>",
    "line\r\n\tend ",
    "▁ stands for a space",
    "日本語 🧾\u200b",
    "\x00\x7f",
]


def sentencepiece(folder: Path) -> TokenizerFile:
    """Writes a tokenizer in Llama 2's form: pieces with ▁ for a space, bytes as <0xNN>, </s> within the vocabulary."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces += ["▁", *"abcdefghijklmnopqrstuvwxyz</>", "▁a", "ab", "</", "s>", "▁ab"]
    merges = [("▁", "a"), ("a", "b"), ("<", "/"), ("s", ">"), ("▁a", "b"), ("</", "s>")]
    # The last merge spells the special token </s>.
    vocabulary = {piece: token for token, piece in enumerate(pieces)}
    model = models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(parts)
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    (folder / "tokenizer_config.json").write_text('{"eos_token": {"content": "</s>"}}')
    return TokenizerFile(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer")
    write_texts(path / "bytes")
    said = json.loads((path / "bytes" / "tokenizer.json").read_text())
    said["normalizer"] = {"type": "NFC"}
    said["pre_tokenizer"]["add_prefix_space"] = True
    (path / "bytes" / "tokenizer.json").write_text(json.dumps(said))
    sentencepiece(path / "pieces")
    return path


@pytest.fixture(scope="module")
def both(folder: Path) -> dict[str, Tokenizer]:
    return {
        "bytes": Tokenizer(TokenizerFile(folder / "bytes"), 352, "<|im_end|>", 303),
        "pieces": Tokenizer(TokenizerFile(folder / "pieces"), 320, None, None),
    }


@each("kind", ["bytes", "pieces"])
@each("text", HARD)
def test_the_bytes_of_a_texts_tokens_are_the_text(kind: str, text: str, both: dict[str, Tokenizer]) -> None:
    tokens = both[kind].encode(text)
    assert both[kind].decode(tokens) == text.encode()
    assert not {one.id for one in both[kind].added.values()} & set(tokens)


@given(text=st.text())
@pytest.mark.parametrize("kind", ["bytes", "pieces"])
def test_any_text_is_spelled_exactly(kind: str, text: str, both: dict[str, Tokenizer]) -> None:
    assert both[kind].decode(both[kind].encode(text)) == text.encode()


def test_words_are_not_spelled_byte_by_byte(both: dict[str, Tokenizer]) -> None:
    assert len(both["bytes"].encode("Invoice number: ")) < 8
    assert len(both["pieces"].encode("ab ab")) == 2


def test_half_a_surrogate_pair_is_a_question_mark(both: dict[str, Tokenizer]) -> None:
    assert both["bytes"].decode(both["bytes"].encode("a\ud83d")) == b"a?"


def test_a_stretch_of_a_prompt_is_cut_as_published(both: dict[str, Tokenizer], folder: Path) -> None:
    for kind in ("bytes", "pieces"):
        published = tokenizers.Tokenizer.from_file(str(folder / kind / "tokenizer.json"))
        for text in ("ab ab", "e\u0301 x", "  a"):
            assert both[kind].encode_run(text) == published.encode(text, add_special_tokens=False).ids
    assert both["pieces"].decode(both["pieces"].encode_run("ab")) == b" ab"


def test_no_text_becomes_a_special_token_that_the_vocabulary_could_spell(both: dict[str, Tokenizer]) -> None:
    tokenizer = both["pieces"]
    for tokens in (tokenizer.encode("a</s>b"), tokenizer.encode_run("a</s>b")):
        assert tokenizer.added["</s>"].id not in tokens
        assert tokenizer.decode(tokens).strip() == b"a</s>b"


def test_the_vocabulary_has_the_bytes_of_every_plain_token(both: dict[str, Tokenizer]) -> None:
    for tokenizer in both.values():
        vocabulary = tokenizer.vocabulary
        assert vocabulary.size == tokenizer.size
        assert vocabulary.end == tokenizer.end
        texts = {tokenizer.decode([token]) for token in vocabulary.tokens.tolist()}
        assert {bytes([byte]) for byte in range(256)} <= texts
        spelled = set(vocabulary.tokens.tolist())
        assert not spelled & {one.id for one in tokenizer.added.values()}
    assert both["bytes"].mask == 303


def test_the_mask_token_comes_from_either_file(tmp_path: Path) -> None:
    write_texts(tmp_path)
    file = TokenizerFile(tmp_path)
    assert file.mask(None) == file.mask(303) == 303
    write_texts(tmp_path, mask_token=None)
    (tmp_path / "special_tokens_map.json").write_text('{"mask_token": {"content": "<|MASK|>"}}')
    assert TokenizerFile(tmp_path).mask(None) == 303


def test_a_tokenizer_without_its_mask_token_is_refused(tmp_path: Path) -> None:
    write_texts(tmp_path, mask_token=None)
    with pytest.raises(ModelError, match=r"expected the mask token of a diffusion model, found none; name it by"):
        TokenizerFile(tmp_path).mask(None)
    with pytest.raises(ModelError, match=r"expected the token 77, `mask_token_id` of config\.json, among the added"):
        TokenizerFile(tmp_path).mask(77)


def changed(folder: Path, **parts: Any) -> TokenizerFile:
    write_texts(folder)
    said = json.loads((folder / "tokenizer.json").read_text()) | parts
    (folder / "tokenizer.json").write_text(json.dumps(said))
    return TokenizerFile(folder)


def test_files_that_do_not_fit_the_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has the token 305, and the model of this folder has 305 tokens only"):
        Tokenizer(changed(tmp_path), 305, "<|im_end|>", 303)
    with pytest.raises(ModelError, match=r"a token that ends a turn among the added tokens, found '<eot>'"):
        Tokenizer(changed(tmp_path), 352, "<eot>", 303)
    write_texts(tmp_path, eos_token=None)
    with pytest.raises(ModelError, match=r"found no `eos_token` in tokenizer_config\.json"):
        Tokenizer(TokenizerFile(tmp_path), 352, None, 303)
    with pytest.raises(ModelError, match=r"expected a tokenizer over bytes \(ByteLevel, or SentencePiece"):
        Tokenizer(changed(tmp_path, decoder={"type": "WordPiece"}, pre_tokenizer=None), 352, "<|im_end|>", 303)
    with pytest.raises(ModelError, match="cannot be read as a tokenizer"):
        Tokenizer(changed(tmp_path, pre_tokenizer={"type": "ByteLevel", "trim": 1}), 352, "<|im_end|>", 303)
    with pytest.raises(ModelError, match="expected a vocabulary in `model`, found none"):
        Tokenizer(changed(tmp_path, model=None), 352, "<|im_end|>", 303)
    with pytest.raises(ModelError, match=r"expected a mask token besides the token '<\|im_end\|>' that ends a turn"):
        Tokenizer(changed(tmp_path), 352, "<|im_end|>", 302)
    for parts in ({"decoder": "ByteLevel"}, {"normalizer": "NFC"}, {"model": {"vocab": {"a": "b"}}}):
        with pytest.raises(ModelError, match=r"tokenizer\.json: cannot be read as a tokenizer: .*; fetch the fi"):
            Tokenizer(changed(tmp_path, **parts), 352, "<|im_end|>", 303)
    twice = [{"id": 3, "content": "<a>"}, {"id": 3, "content": "<b>"}]
    for added in ([{"id": 3}], [{"id": -3, "content": "<a>"}], twice):
        with pytest.raises(ModelError, match="expected `added_tokens` with id and content"):
            changed(tmp_path, added_tokens=added)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"expected tokenizer\.json, or vocab\.json and merges\.txt; `cinnabar m"):
        TokenizerFile(tmp_path)


def test_the_special_tokens_of_the_helper_are_those_of_its_template(tmp_path: Path) -> None:
    write_texts(tmp_path)
    assert set(SPECIAL[CHATML]) < set(TokenizerFile(tmp_path).added)


def test_vocabulary_and_merges_make_the_tokenizer_that_transformers_makes(tmp_path: Path) -> None:
    import transformers

    published = tokenizers.ByteLevelBPETokenizer(add_prefix_space=False)
    lines = ["The invoice of 12 March 2026: 1,204.50 EUR, it's don't\n\n  two", "Straße № 7, naïve café 日本語"] * 3
    published.train_from_iterator(lines, vocab_size=320, special_tokens=[])
    published.save_model(str(tmp_path))
    size = published.get_vocab_size()
    added = {"<|endoftext|>": size, "<|im_start|>": size + 1, "<|im_end|>": size + 2, "<|mask|>": size + 3}
    said = {
        "tokenizer_class": "Qwen2Tokenizer",
        "eos_token": "<|endoftext|>",
        "mask_token": "<|mask|>",
        "added_tokens_decoder": {str(number): {"content": text, "special": True} for text, number in added.items()},
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(said))
    file = TokenizerFile(tmp_path)
    assert (file.mask(None), file.end) == (size + 3, "<|endoftext|>")
    ours = Tokenizer(file, size + 8, "<|im_end|>", size + 3)
    vocabulary = json.loads((tmp_path / "vocab.json").read_text())
    merges = [tuple(pair) for pair in file.content["model"]["merges"]]
    theirs = transformers.Qwen2Tokenizer(vocab=vocabulary, merges=merges)
    for text in (*lines, "IT'S 1234\r\n \t x", "  a\u0301 b"):
        assert ours.encode_run(text) == theirs.encode(text, add_special_tokens=False)
        assert ours.decode(ours.encode(text)).decode() == text
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(said | {"tokenizer_class": "OtherTokenizer"}))
    with pytest.raises(ModelError, match="Qwen2Tokenizer or GPT2Tokenizer"):
        TokenizerFile(tmp_path)


def test_the_end_of_a_text_may_be_one_of_a_list_of_numbers(tmp_path: Path) -> None:
    write_texts(tmp_path, eos_token=None)
    file = TokenizerFile(tmp_path)
    assert file.end is None
    ids = [one.id for one in file.added.values()]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, ids[2], ids[1]]}))
    assert file.end == list(file.added)[2]
