"""Trains a low-rank adapter that teaches a released language model the form of branches (LoRA, arXiv 2106.09685).

    python -m training.adapters prepare DATA RUN
    python -m training.adapters train WEIGHTS RUN [--minutes 150] [--start ADAPTER]
    python -m training.adapters score WEIGHTS RUN [--start ADAPTER]
    python -m training.adapters export RUN FOLDER

`prepare` writes the examples (examples.jsonl, held_back.jsonl). `train` goes on where RUN/checkpoint.pt ends, and
writes it every few minutes. RUN/curve.jsonl has the loss and the branches right of sets that never train, with mean
weights: an exponential mean of the last steps, which is what `export` writes as a LoRA folder of `peft`, and --start
begins with such a folder.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from cinnabar.engine.models.language.adapter import ADAPTER, WEIGHTS
from cinnabar.errors import CinnabarError
from cinnabar.schemas.parsing.texts import read_schema
from training.branch_examples import BranchExample, branch_example
from training.labelled import labelled_documents
from training.reading_data import SUFFIX, closed, reading_lines
from training.recipe import is_held_back, load_recipe
from training.runs import WITHHELD

RATE, WARM_UP, BATCH, MEAN = 3e-4, 10, 4, 0.97
#: The most characters of a document, and tokens of an example: longer ones take minutes of a core.
CHARACTERS, TOKENS = 1800, 900
#: Documents of a set, lines of a reading set; documents of each withheld set; seconds between two checkpoints, and
#: steps between two scores.
DOCUMENTS, LINES, SCORED, SAVED, SCORED_EVERY = 40, 60, 6, 180, 40


def prepare(data: Path, run: Path) -> None:
    """Writes the examples of the sets that train and of the reading data, and those of withheld sets."""
    run.mkdir(parents=True, exist_ok=True)
    rng, recipe = random.Random(50), load_recipe()
    trained: list[BranchExample] = []
    held: list[BranchExample] = []
    for name, own in recipe.sets.items():
        schema = read_schema((data / name / "schema.json").read_text(encoding="utf-8"))
        most, kept = (SCORED, held) if name in WITHHELD else (DOCUMENTS, trained)
        found = len(kept)
        for document in labelled_documents(data / name):
            if len(document.passage.text) <= CHARACTERS and not is_held_back(document.file, document.truth, own):
                kept += _examples(name, schema, document.passage.text, document.truth, rng)
            if len(kept) == found + most:
                break
        print(name, len(kept) - found, flush=True)
    for path in sorted((data / "reading").glob(f"*{SUFFIX}")):
        lines = [one for one in reading_lines(path) if one["part"] == "train" and len(one["text"]) <= CHARACTERS]
        for one in rng.sample(lines, min(LINES, len(lines))):
            source = f"reading_{path.name.removesuffix(SUFFIX)}"
            trained += _examples(source, closed(one["schema"]), one["text"], one["truth"], rng)
    rng.shuffle(trained)
    for name, examples in (("examples", trained), ("held_back", held)):
        rows = "".join(json.dumps(_row(example)) + "\n" for example in examples)
        (run / f"{name}.jsonl").write_text(rows, encoding="utf-8")
        print(name, len(examples))


def _row(example: BranchExample) -> dict[str, Any]:
    branches = [(branch.head, branch.answer) for branch in example.branches]
    return {"source": example.source, "messages": example.messages, "branches": branches}


def _examples(name: str, schema: dict[str, Any], text: str, truth: Any, rng: random.Random) -> Iterator[BranchExample]:
    try:
        example = branch_example(name, schema, text, truth, rng)
    except (CinnabarError, ValueError):
        return
    if example.branches:
        yield example


class LowRank(nn.Module):
    """A frozen linear layer with a trained product of two thin matrices beside it; alpha is twice the rank."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., I]; returns [..., O]."""
        thin = nn.functional.linear(x, self.down.to(x.dtype))
        made: torch.Tensor = self.base(x) + 2.0 * nn.functional.linear(thin, self.up.to(x.dtype))
        return made


class Trained:
    """A released model with adapters in all of its layers."""

    def __init__(self, weights: Path, precision: torch.dtype, rank: int) -> None:
        torch.manual_seed(0)
        self.tokenizer = AutoTokenizer.from_pretrained(weights)
        self.network = AutoModelForCausalLM.from_pretrained(weights, dtype=precision, attn_implementation="sdpa")
        self.network.requires_grad_(False)
        self.added: dict[str, nn.Parameter] = {}
        for i, layer in enumerate(self.network.model.layers):
            for part in (layer.self_attn, layer.mlp):
                for name, child in list(part.named_children()):
                    if isinstance(child, nn.Linear):
                        beside = LowRank(child, rank)
                        setattr(part, name, beside)
                        self.added[f"layers.{i}.{name}.down"] = beside.down
                        self.added[f"layers.{i}.{name}.up"] = beside.up

    def packed(self, row: dict[str, Any]) -> tuple[torch.Tensor, ...] | None:
        """Returns tokens [T], positions [T], mask [T, T], places of the answers [A], their tokens [A] and ends [B].

        All branches see the prompt and themselves, and none sees another one. None if the example is too long.
        """
        chat = self.tokenizer.apply_chat_template(row["messages"], tokenize=False, add_generation_prompt=True)
        tokens = list(self.tokenizer.encode(chat))
        prompt, positions, begins = len(tokens), list(range(len(tokens))), [0] * len(tokens)
        places: list[int] = []
        ends: list[int] = []
        for head, answer in row["branches"]:
            first, given = len(tokens), len(self.tokenizer.encode(head))
            own = self.tokenizer.encode(head + answer)
            if first + len(own) > TOKENS:
                break
            tokens += own
            positions += range(prompt, prompt + len(own))
            begins += [first] * len(own)
            places += range(first + given - 1, len(tokens) - 1)
            ends.append(len(places))
        if not places:
            return None
        at, begin = torch.arange(len(tokens)), torch.tensor(begins)
        sees = (at[None] <= at[:, None]) & ((at[None] < prompt) | (at[None] >= begin[:, None]))
        ids = torch.tensor(tokens)
        answered = torch.tensor(places)
        return ids, torch.tensor(positions), sees, answered, ids[answered + 1], torch.tensor(ends)

    def logits(self, packed: Sequence[torch.Tensor]) -> torch.Tensor:
        """Returns the logits before each token of the answers, [A, V] float32."""
        ids, positions, sees, places = packed[:4]
        mask = torch.zeros(sees.shape).masked_fill(~sees, torch.finfo(torch.float32).min)[None, None]
        hidden = self.network.model(
            ids[None], position_ids=positions[None], attention_mask=mask.to(self.network.dtype), use_cache=False
        ).last_hidden_state[0]
        logits: torch.Tensor = self.network.lm_head(hidden[places]).float()
        return logits

    @torch.no_grad()
    def score(self, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Returns the loss, and the share of branches right at each token: all, nulls, values; invented and missed."""
        losses, right = [], {"null": [0, 0], "value": [0, 0]}
        invented = missed = 0
        for row in rows:
            packed = self.packed(row)
            if packed is None:
                continue
            logits = self.logits(packed)
            losses.append(nn.functional.cross_entropy(logits, packed[4]).item())
            best, start = logits.argmax(-1), 0
            same = best == packed[4]
            # A value may end in many ways: `"`, `",`, `"}`.
            for end in packed[5].tolist():
                same[end - 1] = same[end - 1] or str(self.tokenizer.decode(best[end - 1])).startswith('"')
            for (_, answer), end in zip(row["branches"], packed[5].tolist(), strict=False):
                kind = "null" if answer.startswith(" null") else "value"
                until = start + 1 if kind == "null" else end
                right[kind][0] += bool(same[start:until].all())
                right[kind][1] += 1
                invented += kind == "null" and not bool(same[start])
                missed += kind == "value" and not bool(same[start])
                start = end
        hits, count = (sum(pair[i] for pair in right.values()) for i in (0, 1))
        return {
            "loss": sum(losses) / len(losses), "right": hits / count, "branches": count,
            "nulls": right["null"][0] / max(1, right["null"][1]), "invented": invented / max(1, right["null"][1]),
            "values": right["value"][0] / max(1, right["value"][1]), "missed": missed / max(1, right["value"][1]),
        }  # fmt: skip

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Takes the weights of an adapter, in place."""
        for name, parameter in self.added.items():
            parameter.data.copy_(weights[name])


def train(trained: Trained, run: Path, minutes: float) -> None:
    """Trains until the minutes are over, from the checkpoint if there is one."""
    rows, held = (_rows(run / f"{name}.jsonl") for name in ("examples", "held_back"))
    optimizer = torch.optim.AdamW(trained.added.values(), lr=RATE, weight_decay=0.0, betas=(0.9, 0.98))
    state: dict[str, Any] = {"step": 0, "row": 0, "tokens": 0}
    mean = {name: p.detach().clone() for name, p in trained.added.items()}
    if (run / "checkpoint.pt").exists():
        saved = torch.load(run / "checkpoint.pt")
        trained.load(saved["weights"])
        optimizer.load_state_dict(saved["optimizer"])
        state, mean = saved["state"], saved["mean"]
    ends, saved_at, lately = time.monotonic() + 60 * minutes, time.monotonic(), []
    while time.monotonic() < ends:
        if state["step"] % SCORED_EVERY == 0:
            _score_mean(trained, mean, held, run, state)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (state["step"] + 1) / WARM_UP)
        taken = 0
        while taken < BATCH:
            packed = trained.packed(rows[state["row"] % len(rows)])
            state["row"] += 1
            if packed is None:
                continue
            loss = nn.functional.cross_entropy(trained.logits(packed), packed[4])
            torch.autograd.backward(loss / BATCH)
            lately.append(loss.item())
            state["tokens"] += len(packed[0])
            taken += 1
        nn.utils.clip_grad_norm_(trained.added.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        state["step"] += 1
        for name, parameter in trained.added.items():
            mean[name].lerp_(parameter.detach(), 1 - min(MEAN, state["step"] / (state["step"] + 10)))
        if state["step"] % 5 == 0:
            counts = {name: state[name] for name in ("step", "row", "tokens")}
            _log(run, {**counts, "training": sum(lately) / len(lately)})
            lately = []
        if time.monotonic() - saved_at > SAVED:
            weights = {name: p.detach() for name, p in trained.added.items()}
            whole = {"weights": weights, "optimizer": optimizer.state_dict(), "state": state, "mean": mean}
            torch.save(whole, run / "checkpoint.tmp")
            (run / "checkpoint.tmp").rename(run / "checkpoint.pt")
            saved_at = time.monotonic()


def export(run: Path, folder: Path) -> None:
    """Writes the mean weights of a run's checkpoint as a LoRA folder."""
    mean = torch.load(run / "checkpoint.pt")["mean"]
    thin = {_name_in_peft(name): weight.to(torch.bfloat16).contiguous() for name, weight in mean.items()}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(thin, folder / WEIGHTS)
    rank = min(next(iter(thin.values())).shape)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "bias": "none", "task_type": "CAUSAL_LM"}
    (folder / ADAPTER).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def _name_in_peft(name: str) -> str:
    _, layer, projection, side = name.split(".")
    part = "self_attn" if projection[0] in "qkvo" else "mlp"
    return f"base_model.model.model.layers.{layer}.{part}.{projection}.lora_{'A' if side == 'down' else 'B'}.weight"


def _score_mean(
    trained: Trained, mean: dict[str, torch.Tensor], held: list[Any], run: Path, state: dict[str, Any]
) -> None:
    now = {name: p.detach().clone() for name, p in trained.added.items()}
    trained.load(mean)
    scores = trained.score(held)
    trained.load(now)
    _log(run, {"step": state["step"], "tokens": state["tokens"], **scores})


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _log(run: Path, figures: dict[str, float]) -> None:
    line = json.dumps({name: round(value, 4) for name, value in figures.items()})
    with (run / "curve.jsonl").open("a", encoding="utf-8") as curve:
        curve.write(line + "\n")
    print(line, flush=True)


def main() -> None:
    """Runs the command that was given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("prepare", "train", "score", "export"))
    parser.add_argument("source", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=float, default=150)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--precision", default="float32", help="bfloat16 where the processor multiplies it")
    parser.add_argument("--rank", type=int, default=8)
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(given.source, given.run)
        return
    if given.command == "export":
        export(given.source, given.run)
        return
    torch.set_num_threads(1)
    trained = Trained(given.source, getattr(torch, given.precision), given.rank)
    if given.start is not None:
        given_weights = load_file(given.start / WEIGHTS)
        trained.load({name: given_weights[_name_in_peft(name)] for name in trained.added})
    if given.command == "train":
        train(trained, given.run, given.minutes)
    else:
        print(json.dumps(trained.score(_rows(given.run / "held_back.jsonl"))))


if __name__ == "__main__":
    main()
