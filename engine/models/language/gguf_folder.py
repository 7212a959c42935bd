"""GGUF files (of llama.cpp and Ollama) as folders in Hugging Face form; needs no torch.

A folder is made once for each file: configuration, tokenizer and chat template are written from the file's own, and an
index says where each tensor lies in the file itself, which stays as it is. Weights are turned back to floats when they
are read, by the package `gguf`. `checkpoint_folder` finds the folder of what somebody names: a folder, a fetched model,
or a GGUF file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.models.identity import model_name_hint
from cinnabar.engine.models.language.configuration import CONFIG, PRECISION, SPLITS, bpe_content, models_folder
from cinnabar.engine.models.language.gguf_file import GgufTensor, read_gguf
from cinnabar.engine.models.language.weights_file import GGUF_INDEX, GGUF_TYPES, SIZES, StoredTensor
from cinnabar.errors import ModelError, UsageError
from cinnabar.extras import check_extra

if TYPE_CHECKING:
    import torch

#: Rows of a head that are compared with those of the embeddings, and how far a copy in few bits is off at most: Q4_K is
#: by .06, Q2_K by .3, and others by 1.4.
COPY_SAMPLE, COPY_DISTANCE = 64, 0.5
#: The bodies that are read, each with the class that config.json names.
ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
#: What the names of the parts of a layer are in Hugging Face form, and of the tensors outside of layers.
_PARTS = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
#: The fields that are read, by the kind of their values.
_TEXTS = ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template")
_KINDS_OF_TOKENS = "tokenizer.ggml.token_type"
_LISTS = ("tokenizer.ggml.tokens", "tokenizer.ggml.merges", _KINDS_OF_TOKENS)
_WHOLE = (
    "embedding_length", "feed_forward_length", "block_count", "context_length", "attention.head_count",
    "attention.head_count_kv", "attention.key_length",
)  # fmt: skip
# Kinds of tokens: of the vocabulary, control tokens, and others that were added to it.
_CONTROL, _ADDED = 3, 4


def gguf_folder(path: Path) -> Path:
    """Returns the folder of a GGUF file; it is made at the first use, and again if the file has changed.

    Raises ModelError for a damaged file, and for a body, a tokenizer or a part that is not read.
    """
    state = path.stat()
    key = hashlib.sha256(f"{path.resolve()} {state.st_size} {state.st_mtime_ns}".encode()).hexdigest()[:16]
    folder = models_folder() / "gguf" / f"{path.stem}-{key}"
    if not (folder / GGUF_INDEX).is_file():
        part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
        part.mkdir(parents=True, exist_ok=True)
        write_texts(path, part)
        shutil.rmtree(folder, ignore_errors=True)
        part.replace(folder)
    return folder


def write_texts(path: Path, folder: Path) -> None:
    """Writes all of a GGUF file's folder but the weights, which stay in the file; see `gguf_folder`."""
    check_extra("models", f"--model {path}")
    read = read_gguf(path)
    fields = read.fields
    _check_fields(path, fields)
    try:
        tensors = {name: where for tensor in read.tensors for name, where in _place_of(tensor, fields)}
        head, embedded = tensors.get("lm_head.weight"), tensors["model.embed_tokens.weight"]
        if head is not None and _is_copy(_tensor_at(path, head), _tensor_at(path, embedded)):
            tensors["model.embed_tokens.weight"] = tensors.pop("lm_head.weight")
        written = {
            CONFIG: _config(path, fields) | {"tie_word_embeddings": "lm_head.weight" not in tensors},
            "tokenizer.json": _tokenizer(path, fields),
            "tokenizer_config.json": _tokenizer_config(fields),
            GGUF_INDEX: {"file": path.name if path.parent == folder else str(path.resolve()), "tensors": tensors},
        }
    except KeyError as error:
        raise ModelError(f"{path}: expected the key {error} in the GGUF file, found none; fetch it again") from error
    for name, content in written.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def dequantise_stored(stored: StoredTensor, rows: slice = slice(None)) -> torch.Tensor:
    """Returns a tensor of a GGUF file in float32, its rows in the order of Hugging Face form.

    rows: the rows that it has; all of them if the tensor has `heads`.
    """
    # Extra: models.
    import numpy as np
    import torch  # Cold start: names and places need none.
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    kind = GGMLQuantizationType[stored.dtype]
    values, size = GGML_QUANT_SIZES[kind]
    raw = np.memmap(stored.path, np.uint8, "r", stored.begin, (stored.end - stored.begin,))
    chosen = raw.reshape(*stored.shape[:-1], stored.shape[-1] // values * size)[rows]
    typed = chosen.view({"F32": np.float32, "F16": np.float16}.get(kind.name, np.uint8))
    found = torch.from_numpy(np.array(dequantize(typed, kind), np.float32)).view(-1, *stored.shape[1:])
    if stored.heads:
        # llama.cpp has the two halves of each head of Llama interleaved.
        parted = found.view(stored.heads, -1, 2, *stored.shape[1:])
        found = parted.transpose(1, 2).reshape(stored.shape)
    return found


def _tensor_at(path: Path, place: Sequence[Any]) -> StoredTensor:
    kind, shape, begin, end, heads = place
    return StoredTensor(path, "", kind, tuple(shape), begin, end, heads)


def _is_copy(head: StoredTensor, embedded: StoredTensor) -> bool:
    """Returns whether a head is the embeddings in more bits, as some releases whose two are tied store it."""
    if head.shape != embedded.shape or not {head.dtype, embedded.dtype} <= {*SIZES, *GGUF_TYPES}:
        return False
    sample = slice(None, None, max(1, head.shape[0] // COPY_SAMPLE))
    one, other = (dequantise_stored(stored, sample) for stored in (head, embedded))
    return float((one - other).norm()) < COPY_DISTANCE * float(one.norm())


def _place_of(tensor: GgufTensor, fields: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yields the name of a tensor with its type, shape, first byte and end, and its heads if their halves are apart."""
    stem, _, kind = tensor.name.rpartition(".")
    layer = re.fullmatch(r"blk\.(\d+)\.(\w+)", stem)
    if tensor.name == "rope_freqs.weight":
        raise ModelError("scaled positions (rope_freqs.weight) of GGUF files are not read; fetch the release itself")
    part = _PARTS.get(layer[2]) if layer else _OUTSIDE.get(stem)
    name = f"model.layers.{layer[1]}.{part}.{kind}" if layer and part else f"{part or stem}.{kind}"
    heads = 0
    if fields["general.architecture"] == "llama" and layer and layer[2] in ("attn_q", "attn_k"):
        heads = fields[f"llama.attention.head_count{'' if layer[2] == 'attn_q' else '_kv'}"]
    yield name, [tensor.kind, [*tensor.shape], tensor.begin, tensor.end, heads]


def _check_fields(path: Path, fields: Mapping[str, Any]) -> None:
    """Raises ModelError for a field that is there and of another kind than it must be."""
    tokens = fields.get("tokenizer.ggml.tokens")
    count = len(tokens) if isinstance(tokens, list) else 0
    for name, value in fields.items():
        part = name.partition(".")[2] if name.startswith(tuple(ARCHITECTURES)) else name
        wanted, fits = "a text", isinstance(value, str)
        if part in _WHOLE:
            wanted, fits = "a whole number from 1 on", type(value) is int and value > 0
        elif name in _LISTS:
            kind = int if name == _KINDS_OF_TOKENS else str
            wanted = f"a list of {'numbers, one for each token' if kind is int else 'texts'}"
            fits = isinstance(value, list) and all(type(one) is kind for one in value)
            fits = fits and (kind is str or len(value) == count)
        elif name.endswith("os_token_id"):
            wanted, fits = f"one of {count:,} tokens", type(value) is int and 0 <= value < count
        elif name not in _TEXTS:
            continue
        if not fits:
            raise ModelError(f"{path}: {name}: expected {wanted}, found {value!r:.60}; fetch the file again")


def _config(path: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    body = fields["general.architecture"]
    if body not in ARCHITECTURES:
        raise ModelError(f"{path}: a body of the kind {body!r} is not read; expected {', '.join(ARCHITECTURES)}")
    own = {name.removeprefix(f"{body}."): value for name, value in fields.items()}
    if own.get("expert_count") or own.get("rope.scaling.type", "none") != "none":
        raise ModelError(f"{path}: experts and scaled positions of GGUF files are not read; fetch the release itself")
    heads = own["attention.head_count"]
    return {
        "architectures": [ARCHITECTURES[body]], "model_type": body, "hidden_act": "silu",
        "hidden_size": own["embedding_length"], "intermediate_size": own["feed_forward_length"],
        "num_hidden_layers": own["block_count"], "num_attention_heads": heads,
        "num_key_value_heads": own.get("attention.head_count_kv", heads),
        "head_dim": own.get("attention.key_length", own["embedding_length"] // heads),
        "rms_norm_eps": own["attention.layer_norm_rms_epsilon"], "rope_theta": own.get("rope.freq_base", 10_000.0),
        "max_position_embeddings": own["context_length"], "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "use_sliding_window": False, PRECISION: "int8",
    }  # fmt: skip


def _tokenizer(path: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    named = fields["tokenizer.ggml.model"], fields.get("tokenizer.ggml.pre", "gpt-2")
    if named[0] != "gpt2" or named[1] not in SPLITS:
        known = ", ".join(SPLITS)
        raise ModelError(f"{path}: a tokenizer of the kind {' '.join(named)} is not read; expected gpt2 with {known}")
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokens = list(enumerate(zip(fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"], strict=True)))
    added = [
        {"id": number, "content": token, "special": kind == _CONTROL, **flags}
        for number, (token, kind) in tokens
        if kind in (_CONTROL, _ADDED)
    ]
    vocabulary = {token: number for number, (token, kind) in tokens if kind == 1}
    merges = [merge.split(" ") for merge in fields["tokenizer.ggml.merges"]]
    return bpe_content(named[1], vocabulary, merges, added)


def _tokenizer_config(fields: Mapping[str, Any]) -> dict[str, Any]:
    tokens = fields["tokenizer.ggml.tokens"]
    named = {
        f"{name}_token": tokens[fields[key]]
        for name in ("bos", "eos")
        if (key := f"tokenizer.ggml.{name}_token_id") in fields
    }
    template = fields.get("tokenizer.chat_template")
    return {"tokenizer_class": "PreTrainedTokenizerFast", **named} | ({"chat_template": template} if template else {})


def named_model(name: str | Path) -> Path | None:
    """Returns the folder of a model that is named otherwise: a fetched one, or a GGUF file.

    None for a folder. Raises ModelError for a GGUF file that is not read.
    """
    if _is_gguf(Path(name)):
        return gguf_folder(Path(name))
    fetched = models_folder() / str(name)
    return fetched if fetched.parent == models_folder() and (fetched / CONFIG).is_file() else None


def _is_gguf(path: Path) -> bool:
    """Returns whether this is a GGUF file, by its ending or, as those of Ollama have none, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix.lower() == ".gguf" or file.read(4) == b"GGUF"


def checkpoint_folder(folder: str | Path) -> Path:
    """Returns the folder of a checkpoint, also by the names of `named_model`. Raises UsageError if it is none."""
    path = named_model(folder) or Path(folder)
    if not (path / CONFIG).is_file():
        if wrong := model_name_hint(folder):
            raise UsageError(f"{folder}: {wrong}")
        raise UsageError(
            f"{folder}: expected a folder with {CONFIG}, *.safetensors and tokenizer.json, as"
            " `cinnabar model fetch ORG/NAME` makes it"
        )
    return path
