"""Small GGUF files with random weights, and the models of `transformers` with the weights that they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf.quants import dequantize, quantize
from tests.support.tiny_checkpoint import CHATML, tokenizer_json

#: Names in Hugging Face form, of tensors and of the class of the configuration.
PARTS = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
CLASSES = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}
#: Rows of 256 values, so that every type has whole blocks of them.
WIDTH, HEADS, KEY_HEADS = 256, 4, 2


def named(name: str) -> str:
    if name.startswith("model.layers."):
        _, _, layer, rest = name.split(".", 3)
        stem, _, kind = rest.rpartition(".")
        return f"blk.{layer}.{PARTS[stem]}.{kind}"
    stem, _, kind = name.rpartition(".")
    return f"{OUTSIDE[stem]}.{kind}"


def interleaved(weight: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """The rows of a projection as llama.cpp stores those of Llama."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def written(path: Path, body: str, kind: str, tied: bool = True, pre: str = "qwen2", head: str | None = None) -> Any:
    """Writes a GGUF file with random weights; returns the model of `transformers` with the weights that it has."""
    import transformers

    torch.manual_seed(5)
    content = json.loads(tokenizer_json(CHATML))
    added = {one["id"]: one["content"] for one in content["added_tokens"]}
    tokens = {number: token for token, number in content["model"]["vocab"].items()} | added
    count = max(tokens) + 1
    sizes = {
        "vocab_size": count, "hidden_size": WIDTH, "intermediate_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "max_position_embeddings": 2048,
        "tie_word_embeddings": tied, "rms_norm_eps": 1e-5,
    }  # fmt: skip
    if body == "qwen3":
        sizes["head_dim"] = 32
    config = getattr(transformers, f"{CLASSES[body]}Config")(**sizes)
    model = getattr(transformers, f"{CLASSES[body]}ForCausalLM")(config).eval()
    writer = gguf.GGUFWriter(path, body)
    for key, value in (
        ("embedding_length", WIDTH), ("feed_forward_length", 256), ("block_count", 2), ("context_length", 2048),
        ("attention.head_count", HEADS), ("attention.head_count_kv", KEY_HEADS),
    ):  # fmt: skip
        writer.add_uint32(f"{body}.{key}", value)
    if body == "qwen3":
        writer.add_uint32("qwen3.attention.key_length", 32)
    writer.add_float32(f"{body}.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32(f"{body}.rope.freq_base", 10_000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([tokens[number] for number in range(count)])
    writer.add_token_types([3 if number in added else 1 for number in range(count)])
    writer.add_token_merges([" ".join(pair) for pair in content["model"]["merges"]])
    writer.add_eos_token_id(next(number for number, text in added.items() if text == "<|im_end|>"))
    writer.add_chat_template(CHATML)
    state = {}
    for name, weight in model.state_dict().items():
        if tied and name == "lm_head.weight":
            continue
        values = (torch.randn_like(weight) * 0.3 + ("norm" in name)).numpy()
        own = gguf.GGMLQuantizationType[kind if values.ndim > 1 else "F32"]
        packed = quantize(values, own)
        state[name] = torch.from_numpy(dequantize(packed, own).copy()).view(weight.shape)
        if body == "llama" and ("q_proj" in name or "k_proj" in name):
            packed = interleaved(packed, HEADS if "q_proj" in name else KEY_HEADS)
        writer.add_tensor(named(name), packed, raw_dtype=own)
        if head and name == "model.embed_tokens.weight":
            finer = gguf.GGMLQuantizationType[head]
            writer.add_tensor("output.weight", quantize(values, finer), raw_dtype=finer)
            state[name] = torch.from_numpy(dequantize(quantize(values, finer), finer).copy()).view(weight.shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model.load_state_dict(state, strict=False)
    return model
