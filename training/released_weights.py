"""Turns a released GGUF file of a Qwen2 body into a folder of transformers, with all weights in float32.

    python -m training.released_weights MODEL.gguf FOLDER

Needs the package `gguf`. Only the training of adapters uses it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.torch import save_file

#: What the names of the parts of a layer are in transformers.
PARTS = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
#: Where Qwen2 parts a text before its bytes are merged.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def main(source: Path, folder: Path) -> None:
    """Writes config.json, tokenizer.json, tokenizer_config.json and model.safetensors into the folder."""
    reader = GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    folder.mkdir(parents=True, exist_ok=True)
    tensors = dict(_tensors(reader))
    # The head is a finer copy of the tied embeddings.
    head = tensors.pop("output", None)
    tensors["model.embed_tokens.weight"] = tensors["model.embed_tokens.weight"] if head is None else head
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _write(folder / "config.json", _config(fields))
    added = _added_tokens(fields)
    _write(folder / "tokenizer.json", _tokenizer(fields, added))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
        "chat_template": fields["tokenizer.chat_template"],
    }  # fmt: skip
    _write(folder / "tokenizer_config.json", settings)


def _tensors(reader: GGUFReader) -> Any:
    for tensor in reader.tensors:
        values = torch.from_numpy(np.ascontiguousarray(dequantize(tensor.data, tensor.tensor_type))).float()
        layer = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", tensor.name)
        if layer:
            yield f"model.layers.{layer[1]}.{PARTS[layer[2]]}.{layer[3]}", values
        else:
            known = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
            yield known.get(tensor.name, tensor.name.removesuffix(".weight")), values


def _config(fields: dict[str, Any]) -> dict[str, Any]:
    own = {name.removeprefix("qwen2."): value for name, value in fields.items()}
    return {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_act": "silu",
        "hidden_size": own["embedding_length"], "intermediate_size": own["feed_forward_length"],
        "num_hidden_layers": own["block_count"], "num_attention_heads": own["attention.head_count"],
        "num_key_value_heads": own["attention.head_count_kv"], "rms_norm_eps": own["attention.layer_norm_rms_epsilon"],
        "rope_theta": own["rope.freq_base"], "max_position_embeddings": own["context_length"],
        "tie_word_embeddings": True, "vocab_size": len(fields["tokenizer.ggml.tokens"]), "use_sliding_window": False,
        "torch_dtype": "float32",
    }  # fmt: skip


def _added_tokens(fields: dict[str, Any]) -> list[dict[str, Any]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    both = zip(fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"], strict=True)
    # Type 3 are control tokens, type 1 is the vocabulary; the rest fills it up to a round number.
    return [{"id": i, "content": token, **flags} for i, (token, kind) in enumerate(both) if kind == 3]


def _tokenizer(fields: dict[str, Any], added: list[dict[str, Any]]) -> dict[str, Any]:
    both = enumerate(zip(fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"], strict=True))
    by_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    merges = [merge.split(" ") for merge in fields["tokenizer.ggml.merges"]]
    model = {"type": "BPE", "vocab": {token: i for i, (token, kind) in both if kind == 1}, "merges": merges}
    return {
        "version": "1.0", "added_tokens": added, "normalizer": {"type": "NFC"}, "decoder": by_bytes, "model": model,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, by_bytes]}, "post_processor": by_bytes,
    }  # fmt: skip


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
