"""The training loop of the default model: resumable, on the CPU or one GPU."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from cinnabar.engine.models.reader.inputs.tensors import to_device
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.settings import precision_asked
from cinnabar.engine.training.batches import TrainingBatch, collate
from cinnabar.engine.training.objective import losses, total
from cinnabar.engine.training.pool import Mix, TrainingSource, add_evidence

#: The file in a run's folder from which it resumes.
CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Settings of a training run.

    steps: length of the schedule; the clock does not influence the weights.
    at_most: seconds of this call after which the schedule ends, too; its rates fall in time for that.
    encoder_rate, decoder_rate, new_rate: learning rates of the pretrained encoder, of the decoder that starts
        from its layers, and of the new parts.
    warmup: share of the schedule in which rates rise. decay: share at its end in which they fall to zero.
    sources, each, budget: windows of a batch (engine.training.pool.Mix.draw).
    save_every: seconds between checkpoints.
    """

    steps: int
    encoder_rate: float = 1e-4
    decoder_rate: float = 3e-4
    new_rate: float = 2e-3
    warmup: float = 0.02
    decay: float = 0.4
    sources: int = 3
    each: int = 7
    budget: int = 6144
    save_every: float = 300.0
    seed: int = 0
    at_most: float = math.inf

    def __post_init__(self) -> None:
        if self.at_most <= 0 or min(self.sources, self.each, self.steps) < 1:
            raise ValueError(f"expected positive at_most, sources, each and steps, got {self}")


def trains_in_bfloat16(device: torch.device) -> bool:
    """Returns whether training computes matrix products in bfloat16: as asked, else if the device supports it.

    A processor without instructions for bfloat16 emulates it and takes four times as long as in float32.
    """
    asked = precision_asked()
    if asked is not None:
        return asked == "bfloat16"
    return device.type == "cuda" or torch.cpu._is_avx512_bf16_supported()


def rate_at(share: float, config: TrainingConfig) -> float:
    """Returns the factor on the learning rates after this share of the schedule: a rise, a plateau, a linear fall."""
    if share < config.warmup:
        return max(0.02, share / config.warmup)
    return min(1.0, max(0.0, (1.0 - share) / config.decay))


def optimizer_for(network: Network, config: TrainingConfig) -> torch.optim.AdamW:
    """Returns AdamW with one rate each for encoder, decoder and new parts. Vectors of words and letters are fixed."""
    encoder: list[nn.Parameter] = []
    decoder: list[nn.Parameter] = []
    new: list[nn.Parameter] = []
    for name, p in network.named_parameters():
        if p.requires_grad:
            pretrained = name.startswith(("encoder.layers", "encoder.positions", "encoder.norm"))
            (encoder if pretrained else decoder if name.startswith("decoder.") else new).append(p)
    rates = ((encoder, config.encoder_rate), (decoder, config.decoder_rate), (new, config.new_rate))
    groups = [{"params": params, "lr": rate, "base": rate} for params, rate in rates]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01)


def train(
    network: Network,
    sources: Sequence[TrainingSource],
    wordpieces: WordPieces,
    config: TrainingConfig,
    folder: Path,
    report: Callable[[dict[str, float]], None] = lambda _: None,
    device: torch.device | str = "cpu",
    kinds: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Trains until the schedule ends; resumes from the checkpoint in `folder` if there is one.

    `of` in a report is the length of the schedule in steps. `kinds` as in `collate`.
    """
    device = torch.device(device)
    network.to(device).train()
    optimizer = optimizer_for(network, config)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / CHECKPOINT
    spent, step = _resume(checkpoint, network, optimizer, device)
    rng = random.Random(config.seed * 1_000_003 + step)
    words = network.encoder.words.weight.detach().cpu()
    mix = Mix([add_evidence(source, words, wordpieces) for source in sources], rng)
    clock = _Clock(config, spent, step)
    saved = time.monotonic()
    means: dict[str, float] = {}

    def save() -> None:
        """Writes the checkpoint; an earlier one stays until the new one is whole."""
        state = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
        temporary = checkpoint.with_suffix(".tmp")
        torch.save(state | {"spent": clock.spent, "step": clock.step}, temporary)
        temporary.replace(checkpoint)

    try:
        while (now := clock.elapsed()) < config.steps:
            factor = rate_at(now / config.steps, config)
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * factor
            drawn = mix.draw(config.sources, config.each, config.budget)
            parts = _learn(network, collate(drawn, wordpieces, rng, kinds), optimizer, device)
            clock.step += 1
            for k, v in parts.items():
                means[k] = 0.98 * means.get(k, float(v.detach())) + 0.02 * float(v.detach())
            if clock.step % 20 == 0:
                reached = {"step": clock.step, "minutes": clock.spent / 60, "of": config.steps, "rate": factor}
                report(reached | {k: round(v, 4) for k, v in means.items()})
            if time.monotonic() - saved > config.save_every:
                save()
                saved = time.monotonic()
    except KeyboardInterrupt:
        save()
        raise
    save()


class _Clock:
    """How far a schedule has come: steps, and seconds spent over all resumed parts."""

    def __init__(self, config: TrainingConfig, spent: float, step: int) -> None:
        self._config, self.spent, self.step = config, spent, step
        self._called = time.monotonic()
        self._begun = self._called - spent

    def elapsed(self) -> float:
        """Returns the elapsed part of the schedule, in steps; updates `spent`."""
        self.spent = time.monotonic() - self._begun
        # Of the two bounds the nearer one counts; the first step is made in any case.
        by_clock = (time.monotonic() - self._called) / self._config.at_most if self.step else 0.0
        return max(float(self.step), by_clock * self._config.steps)


def _resume(
    checkpoint: Path, network: Network, optimizer: torch.optim.Optimizer, device: torch.device
) -> tuple[float, int]:
    """Returns the seconds spent and the step, 0 without a checkpoint, whose state network and optimizer take."""
    if not checkpoint.exists():
        return 0.0, 0
    kept: dict[str, Any] = torch.load(checkpoint, map_location=device, weights_only=True)
    network.load_state_dict(kept["network"])
    optimizer.load_state_dict(kept["optimizer"])
    return kept["spent"], kept["step"]


def _learn(
    network: Network, batch: TrainingBatch, optimizer: torch.optim.Optimizer, device: torch.device
) -> dict[str, torch.Tensor]:
    """Takes one step, unless the gradient is not finite; returns the losses of the batch by part."""
    batch = TrainingBatch(*(to_device(getattr(batch, part.name), device) for part in fields(batch)))
    with torch.autocast(device.type, torch.bfloat16, enabled=trains_in_bfloat16(device)):
        parts = losses(network, batch)
        loss = total(parts)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    trained = [p for g in optimizer.param_groups for p in g["params"]]
    norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
    if math.isfinite(float(norm)):
        optimizer.step()
    return parts
