"""Small checkpoints in Hugging Face form, with random weights: config.json, safetensors, tokenizer, chat template."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from tests.support.saved_decoder import save_decoder
from tokenizers import decoders, models, pre_tokenizers, trainers

from cinnabar.engine.models.language.checkpoint import network_of
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits

#: Templates in the form of published ones: Qwen's and SDAR's, and that of Llama 3.
CHATML = """\
{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role != 'system' %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""
HEADERS = """\
{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' \
+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}\
{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}\
{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""
SPECIAL = {
    CHATML: ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|MASK|>"],
    HEADERS: ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|MASK|>"],
}
#: Added tokens that are not marked as special, as in Qwen3.
MARKS = ["<think>", "</think>"]
TEXTS = ('{"number": "A-17", "date": "2026-03-04", "total": 12.50, "lines": [{"name": "bolt"}]}', "Invoice number: ")

TRAITS = Traits(
    family="sdar",
    vocabulary=352,
    width=32,
    layers=2,
    heads=4,
    key_heads=2,
    head_width=8,
    inner=48,
    epsilon=1e-6,
    window=512,
    visibility="block_causal",
    block=4,
    mask=None,
    qk_norm=True,
    rope_theta=10_000.0,
)


@cache
def tokenizer_json(template: str = CHATML) -> str:
    """Returns a byte-level BPE of some 300 tokens with the template's special tokens behind them."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 4, trainer)
    tokenizer.add_special_tokens(SPECIAL[template])
    tokenizer.add_tokens(MARKS)
    return tokenizer.to_str()


def write_texts(folder: Path, template: str = CHATML, **settings: Any) -> None:
    """Writes tokenizer.json, tokenizer_config.json (with more `settings`) and chat_template.jinja."""
    folder.mkdir(parents=True, exist_ok=True)
    special = SPECIAL[template]
    (folder / "tokenizer.json").write_text(tokenizer_json(template), encoding="utf-8")
    said = {"bos_token": special[0], "eos_token": special[0], "mask_token": "<|MASK|>"} | settings
    (folder / "tokenizer_config.json").write_text(json.dumps(said), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")


def add_special(folder: Path, *texts: str) -> dict[str, int]:
    """Adds special tokens to the vocabulary of a checkpoint that has room for them; returns their numbers."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    first = max(one["id"] for one in content["added_tokens"]) + 1
    kind = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    content["added_tokens"] += [{"id": first + at, "content": text, **kind} for at, text in enumerate(texts)]
    path.write_text(json.dumps(content), encoding="utf-8")
    return {text: first + at for at, text in enumerate(texts)}


def tiny_decoder(traits: Traits = TRAITS, seed: int = 0) -> Decoder:
    """Returns a decoder with random weights, norms and biases included; the same ones with every release of torch."""
    drawn = np.random.RandomState(seed)
    decoder = network_of(traits).eval().requires_grad_(False)
    for name, weight in sorted(decoder.named_parameters()):
        values = torch.from_numpy(drawn.standard_normal(tuple(weight.shape)).astype(np.float32))
        weight.copy_(values * 0.2 + (1.0 if "norm" in name else 0.0))
    for name, buffer in sorted(decoder.named_buffers()):
        if name in decoder.state_dict():
            buffer.copy_(torch.from_numpy(drawn.standard_normal(tuple(buffer.shape)).astype(np.float32)) * 0.2)
    return decoder


def write_checkpoint(
    folder: Path,
    template: str = CHATML,
    seed: int = 0,
    traits: Traits = TRAITS,
    **changed: Any,
) -> Path:
    """Writes a whole checkpoint of these traits with some changed; returns its folder."""
    write_texts(folder, template)
    save_decoder(folder, tiny_decoder(replace(traits, **changed), seed))
    return folder
