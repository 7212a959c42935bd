"""The training loop of diffusion language models: resumable, on the CPU or one GPU.

Low-rank fine-tuning: small matrices beside the frozen ones (LoRA, arXiv 2106.09685).
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.training.diffusion.examples import NO_LOSS, DiffusionBatch, Noise, TokenExample, make_batch
from cinnabar.engine.training.trainer import (
    CHECKPOINT,
    log_progress,
    rate_schedule,
    saved_when_interrupted,
    trains_in_bfloat16,
    write_state,
)

#: Draws so many examples at a share (0 to 1) of the schedule, with this generator.
Draw = Callable[[int, float, random.Random], Sequence[TokenExample]]
#: Batches that are drawn at once, sorted by length: rows of like length have little padding.
_TOGETHER = 4
_COLUMNS = ("step", "minutes", "rate", "hidden", "right", "visible", "clean", "places")


@dataclass(frozen=True, slots=True)
class DiffusionTraining:
    """Settings of a training run.

    minutes: wall time of the whole schedule, over all resumed parts. steps: its length in steps, in place of minutes.
    batch: the most places of a batch, clean text and noisy copies together. matrix_rate: learning rate of the
    matrices of the layers, by Muon; rate: of everything else, by AdamW. With `matrix_rate` None AdamW has all.
    warmup, decay: shares of the schedule in which the rates rise and fall. visible: weight of the loss at visible
    tokens, right ones and wrong ones. clean: weight of the next-token loss of the clean text, for logits that are for
    the next position. save_every: seconds between checkpoints.
    """

    minutes: float = 60.0
    steps: int | None = None
    batch: int = 4096
    matrix_rate: float | None = 0.02
    rate: float = 3e-3
    warmup: float = 0.02
    decay: float = 0.5
    visible: float = 0.3
    clean: float = 0.5
    noise: Noise = field(default_factory=Noise)
    save_every: float = 120.0
    seed: int = 0


def train_diffusion(
    decoder: Decoder,
    draw: Draw,
    end: int,
    config: DiffusionTraining,
    folder: Path,
    report: Callable[[dict[str, float]], None] = lambda _: None,
    device: torch.device | str = "cpu",
) -> None:
    """Trains a model that denoises blocks until the schedule ends; resumes from the checkpoint in `folder`.

    end: the end token. Only parameters that require a gradient are trained and kept in the checkpoint. `folder` also
    holds `progress.csv`: loss and share of right tokens at hidden positions, loss at visible ones. Raises ValueError
    for a model without a mask token.
    """
    traits, device = decoder.traits, torch.device(device)
    decoder.to(device).train()
    trained = [weight for weight in decoder.parameters() if weight.requires_grad]
    optimizers = _optimizers(decoder, config)
    bases = [[group["lr"] for group in one.param_groups] for one in optimizers]
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / CHECKPOINT
    spent, step = 0.0, 0
    if checkpoint.exists():
        spent, step = _restore(checkpoint, trained, optimizers, device)
    begun = saved = time.monotonic()
    before = spent
    rng = random.Random(config.seed * 1_000_003 + step)
    length = config.minutes * 60 if config.steps is None else float(config.steps)
    means: dict[str, float] = {}

    def save() -> None:
        weights, states = [weight.data for weight in trained], [one.state_dict() for one in optimizers]
        write_state(checkpoint, {"weights": weights, "optimizers": states, "spent": spent, "step": step})

    waiting: list[Sequence[TokenExample]] = []
    with saved_when_interrupted(save):
        while (gone := (spent if config.steps is None else float(step)) / length) < 1.0:
            if not waiting:
                waiting = _batches(draw, gone, config, rng)
            factor = rate_schedule(gone, config.warmup, config.decay)
            _set_rates(optimizers, bases, factor)
            batch = make_batch(waiting.pop(), traits, end, rng, config.noise)
            losses = _step(decoder, batch.to(device), optimizers, trained, config, device)
            step += 1
            spent = before + time.monotonic() - begun
            for name, value in losses.items():
                means[name] = 0.95 * means.get(name, value) + 0.05 * value
            if step % 20 == 0:
                row = {"step": step, "minutes": spent / 60, "rate": factor, **means}
                rounded = {name: round(value, 4) for name, value in row.items()}
                log_progress(folder / "progress.csv", _COLUMNS, rounded)
                report(row)
            if time.monotonic() - saved > config.save_every:
                save()
                saved = time.monotonic()
        save()
    decoder.eval()


def _restore(
    checkpoint: Path, trained: Sequence[nn.Parameter], optimizers: Sequence[torch.optim.Optimizer], device: torch.device
) -> tuple[float, int]:
    """Returns the seconds and the steps of a checkpoint; weights and optimizers take its state."""
    kept = torch.load(checkpoint, map_location=device, weights_only=True)
    for weight, stored in zip(trained, kept["weights"], strict=True):
        weight.data.copy_(stored)
    for one, stored in zip(optimizers, kept["optimizers"], strict=True):
        one.load_state_dict(stored)
    return kept["spent"], kept["step"]


def _set_rates(
    optimizers: Sequence[torch.optim.Optimizer], bases: Sequence[Sequence[float]], factor: float
) -> None:
    """Sets the learning rates to those of the beginning, `bases`, times the factor."""
    for one, base in zip(optimizers, bases, strict=True):
        for group, rate in zip(one.param_groups, base, strict=True):
            group["lr"] = rate * factor


def _optimizers(decoder: Decoder, config: DiffusionTraining) -> list[torch.optim.Optimizer]:
    """Returns Muon for the matrices of the layers, and AdamW for the rest; or AdamW alone."""
    named = [(name, weight) for name, weight in decoder.named_parameters() if weight.requires_grad]
    matrices = [w for name, w in named if w.dim() == 2 and ".layers." in name and config.matrix_rate is not None]
    chosen = {id(weight) for weight in matrices}
    rest = [weight for _, weight in named if id(weight) not in chosen]
    optimizers: list[torch.optim.Optimizer] = []
    if matrices and config.matrix_rate is not None:
        optimizers.append(torch.optim.Muon(matrices, lr=config.matrix_rate, weight_decay=0.01, momentum=0.95))
    if rest:
        optimizers.append(torch.optim.AdamW(rest, lr=config.rate, betas=(0.9, 0.98), weight_decay=0.0))
    return optimizers


def _batches(draw: Draw, gone: float, config: DiffusionTraining, rng: random.Random) -> list[Sequence[TokenExample]]:
    """Returns some batches of at most `config.batch` places, each of examples of like length, in any order."""
    examples: list[TokenExample] = []
    while sum(_places(example, config.noise) for example in examples) < _TOGETHER * config.batch:
        examples += draw(8, gone, rng)
    examples.sort(key=lambda example: _places(example, config.noise))
    batches: list[Sequence[TokenExample]] = [[]]
    for example in examples:
        if batches[-1] and (len(batches[-1]) + 1) * _places(example, config.noise) > config.batch:
            batches.append([])
        batches[-1] = [*batches[-1], example]
    rng.shuffle(batches)
    return batches


def _places(example: TokenExample, noise: Noise) -> int:
    return len(example.prompt) + (1 + 2 * noise.pairs) * len(example.answer)


def _step(
    decoder: Decoder,
    batch: DiffusionBatch,
    optimizers: Sequence[torch.optim.Optimizer],
    trained: Sequence[nn.Parameter],
    config: DiffusionTraining,
    device: torch.device,
) -> dict[str, float]:
    """Takes one step; returns the losses and the share of right tokens."""
    at = batch.labels != NO_LOSS
    for one in optimizers:
        one.zero_grad(set_to_none=True)
    with torch.autocast(device.type, torch.bfloat16, enabled=trains_in_bfloat16(device)):
        hidden = decoder.hidden(batch.tokens, batch.positions, batch.sight)
        logits = decoder.logits(hidden[at]).float()
    wanted, visible = batch.labels[at], batch.corrupted[at]
    clean = (torch.arange(at.shape[1], device=device) < batch.clean).expand_as(at)[at]
    loss = F.cross_entropy(logits, wanted, reduction="none")
    weight = torch.where(visible, config.visible, torch.where(clean, config.clean, 1.0))
    ((loss * weight).sum() / weight.sum()).backward()  # type: ignore[no-untyped-call]
    norm = float(torch.nn.utils.clip_grad_norm_(trained, 1.0))
    if math.isfinite(norm):
        for one in optimizers:
            one.step()
    hidden_at = ~visible & ~clean
    right = (logits.argmax(-1) == wanted)[hidden_at].float()
    means = {"hidden": float(loss.detach()[hidden_at].mean()), "right": float(right.mean())}
    for name, some in (("visible", visible), ("clean", clean)):
        if bool(some.any()):
            means[name] = float(loss.detach()[some].mean())
    return means


class LowRank(nn.Module):
    """A frozen linear layer with a trained product of two thin matrices beside it."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features, device=base.weight.device) * rank**-0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., I]; returns [..., O]."""
        # Twice the product is the usual scale: alpha is twice the rank.
        added = nn.functional.linear(nn.functional.linear(x, self.down.to(x.dtype)), self.up.to(x.dtype))
        made: torch.Tensor = self.base(x) + 2.0 * added
        return made

    def merge(self) -> nn.Linear:
        """Returns the base with the product added to its weight."""
        with torch.no_grad():
            self.base.weight += 2.0 * (self.up @ self.down).to(self.base.weight.dtype)
        return self.base


def add_low_rank(decoder: Decoder, rank: int) -> None:
    """Freezes a decoder, in place, and puts trained matrices of this rank beside those of its layers."""
    decoder.requires_grad_(False)
    for part in list(decoder.model.layers.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, nn.Linear):
                setattr(part, name, LowRank(child, rank))


def merge_low_rank(decoder: Decoder) -> None:
    """Puts plain linear layers with the trained products back in their places."""
    for part in list(decoder.model.layers.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, LowRank):
                setattr(part, name, child.merge())
