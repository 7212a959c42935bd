"""Plain computations of each family's logits from the files of its checkpoint: one text, no cache, NumPy in float64.

They know no module of the project. They follow what each family publishes of its network, token by token.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

Array = NDArray[Any]


class Files:
    """The configuration and the tensors of a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.config: dict[str, Any] = json.loads((folder / "config.json").read_text())
        self.tensors = {name: one.astype(np.float64) for name, one in load_file(folder / "model.safetensors").items()}

    def linear(self, x: Array, name: str) -> Array:
        """The product with a matrix, and its bias if there is one."""
        return x @ self.tensors[f"{name}.weight"].T + self.tensors.get(f"{name}.bias", 0.0)

    def logits(self, x: Array, head: str, embedding: str) -> Array:
        """The product with the matrix of the head; a checkpoint without one uses that of the embedding."""
        return x @ self.tensors.get(head, self.tensors[embedding]).T

    def norm(self, x: Array, name: str) -> Array:
        """Each vector by the root of its mean square."""
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.config["rms_norm_eps"]) * self.tensors[name]


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return x / (1 + np.exp(-x))


def turned(x: Array, frequencies: Array) -> Array:
    """x: [T, H, W]; its first numbers as complex ones, halves apart, turned by position times frequency."""
    half = len(frequencies)
    turn = np.exp(1j * np.arange(len(x))[:, None, None] * frequencies)
    pairs = (x[..., :half] + 1j * x[..., half : 2 * half]) * turn
    return np.concatenate([pairs.real, pairs.imag, x[..., 2 * half :]], -1)


def attended(q: Array, k: Array, v: Array, seen: Array, scale: float) -> Array:
    """q: [T, H, W], k and v: [S, G, W], seen: [T, S]; returns [T, H * W]."""
    shared = q.shape[1] // k.shape[1]
    heads = []
    for head in range(q.shape[1]):
        scores = np.where(seen, q[:, head] @ k[:, head // shared].T * scale, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, head // shared])
    return np.concatenate(heads, -1)


def gated(files: Files, x: Array, name: str) -> Array:
    """The gated feed-forward net of this name."""
    inner = silu(files.linear(x, f"{name}.gate_proj")) * files.linear(x, f"{name}.up_proj")
    return files.linear(inner, f"{name}.down_proj")


def blocks(length: int, size: int) -> Array:
    """[T, T] bool: each position sees all up to the end of its block."""
    at = np.arange(length) // size
    return at[None, :] <= at[:, None]


def llada2(folder: Path, tokens: Array) -> Array:
    """The logits [T, V] of LLaDA 2."""
    files = Files(folder)
    config = files.config
    heads, keys, width = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    rotary = int(width * config["partial_rotary_factor"])
    frequencies = config["rope_theta"] ** -(np.arange(0, rotary, 2) / rotary)
    x = files.tensors["model.word_embeddings.weight"][tokens]
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        both = files.linear(files.norm(x, f"{layer}.input_layernorm.weight"), f"{layer}.attention.query_key_value")
        split = both.reshape(len(tokens), heads + 2 * keys, width)
        q, k, v = split[:, :heads], split[:, heads : heads + keys], split[:, heads + keys :]
        if config["use_qk_norm"]:
            q = files.norm(q, f"{layer}.attention.query_layernorm.weight")
            k = files.norm(k, f"{layer}.attention.key_layernorm.weight")
        q, k = turned(q, frequencies), turned(k, frequencies)
        made = attended(q, k, v, blocks(len(tokens), config["block_size"]), width**-0.5)
        x = x + files.linear(made, f"{layer}.attention.dense")
        normed = files.norm(x, f"{layer}.post_attention_layernorm.weight")
        if number < config["first_k_dense_replace"]:
            x = x + gated(files, normed, f"{layer}.mlp")
        else:
            x = x + np.stack([_llada2_experts(files, token, f"{layer}.mlp") for token in normed])
    return files.logits(files.norm(x, "model.norm.weight"), "lm_head.weight", "model.word_embeddings.weight")


def _llada2_experts(files: Files, x: Array, name: str) -> Array:
    config = files.config
    scores = 1 / (1 + np.exp(-files.linear(x, f"{name}.gate")))
    choice = scores + files.tensors[f"{name}.gate.expert_bias"]
    groups = np.split(choice, config["n_group"])
    value = [np.sort(group)[-2:].sum() for group in groups]
    best = np.argsort(value)[-config["topk_group"] :]
    each = len(groups[0])
    allowed = [expert for group in best for expert in range(group * each, (group + 1) * each)]
    chosen = sorted(allowed, key=lambda expert: -choice[expert])[: config["num_experts_per_tok"]]
    total = sum(scores[expert] for expert in chosen) if len(chosen) > 1 else 1.0
    made = sum(
        scores[expert] / total * config["routed_scaling_factor"] * gated(files, x, f"{name}.experts.{expert}")
        for expert in chosen
    )
    return made + gated(files, x, f"{name}.shared_experts") if config["num_shared_experts"] else made


def fast_dllm(folder: Path, tokens: Array) -> Array:
    """The logits [T, V] of Fast-dLLM v2: Qwen2's network, block-causal, with biases of queries, keys and values."""
    files = Files(folder)
    config = files.config
    heads, keys, width = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    frequencies = config["rope_theta"] ** -(np.arange(0, width, 2) / width)
    seen = blocks(len(tokens), config["bd_size"])
    x = files.tensors["model.embed_tokens.weight"][tokens]
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        normed = files.norm(x, f"{layer}.input_layernorm.weight")
        q, k, v = (
            files.linear(normed, f"{layer}.self_attn.{one}_proj").reshape(len(tokens), count, width)
            for one, count in (("q", heads), ("k", keys), ("v", keys))
        )
        q, k = turned(q, frequencies), turned(k, frequencies)
        x = x + files.linear(attended(q, k, v, seen, width**-0.5), f"{layer}.self_attn.o_proj")
        x = x + gated(files, files.norm(x, f"{layer}.post_attention_layernorm.weight"), f"{layer}.mlp")
    return files.logits(files.norm(x, "model.norm.weight"), "lm_head.weight", "model.embed_tokens.weight")


#: By `model_type`.
PLAIN: dict[str, Callable[[Path, Array], Array]] = {
    "llada2_moe": llada2,
    "Fast_dLLM_Qwen": fast_dllm,
}
