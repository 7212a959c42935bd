"""Fine-tunes a diffusion language model on labelled sets and keeps the result only if it reads them better."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from cinnabar.engine.backend import device_of
from cinnabar.engine.branches.engine import language_engine
from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.diffusion.prompt import messages
from cinnabar.engine.models.language.checkpoint import save_decoder
from cinnabar.engine.models.language.configuration import stated_precision
from cinnabar.engine.models.language.identity import model_fingerprint
from cinnabar.engine.models.language.language_model import LanguageModel, fresh_language_model
from cinnabar.engine.training.diffusion.examples import TokenExample, answer_example
from cinnabar.engine.training.diffusion.trainer import DiffusionTraining, add_low_rank, merge_low_rank, train_diffusion
from cinnabar.engine.training.trainer import CHECKPOINT
from cinnabar.errors import NotAccepted, UsageError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.learning.tuning_sets import WORKERS, FineTuned, TuningSet, measure_sets, overall_f1, run_key
from cinnabar.schemas.form.record_language import one_line
from cinnabar.wording import with_noun

#: Files of a checkpoint that the training does not change.
_TEXTS = ("*.json", "*.jinja", "*.model", "*.txt", "LICENSE*", "NOTICE*", "README*")
#: The learning rate of a model of a thousand million parameters (SDAR's supervised fine-tuning); smaller models take
#: a higher one, and so do low-rank matrices.
_RATE, _PARAMETERS, _LOW_RANK_RATE = 1e-5, 1e9, 2e-4


@dataclass(frozen=True, slots=True)
class DiffusionTuning:
    """Settings of `cinnabar train --diffusion`.

    minutes: wall time of training; steps: its length in steps, instead of minutes. rank: of the matrices that are
    trained beside the frozen ones, None to train all weights. rate: the learning rate, None for one by the size of the
    model. seed: of all random draws.
    """

    minutes: float = 30.0
    steps: int | None = None
    rank: int | None = None
    rate: float | None = None
    seed: int = 0


def _trainable(base: Path, device: str) -> LanguageModel:
    """Returns the model of a checkpoint in float32. Raises UsageError if this training does not fit its family."""
    model = fresh_language_model(base, device, "float32")
    if model.traits.noise != "mask":
        raise UsageError(f"--model {base}: {model.traits.family} has no mask token; --diffusion needs one")
    return model


def tune_diffusion(
    folders: Sequence[Path],
    base: Path,
    out: Path,
    settings: DiffusionTuning,
    device: str,
    report: Callable[[dict[str, float]], None],
    say: Callable[[str], None] = lambda _: None,
) -> FineTuned:
    """Fine-tunes the checkpoint in `base` and writes the new one to `out` only if it measures better.

    An interrupted run continues. Raises UsageError if a set is invalid or too small, if `out` is the base, or if the
    model is not one that denoises.
    """
    if out.resolve() == base.resolve():
        raise UsageError(f"--out {out}: expected a folder other than that of --model")
    model = _trainable(base, device)
    with ParserPool(WORKERS, settings=parser_settings()) as pool:
        own = [TuningSet(folder, pool) for folder in folders]
    examples = [_examples(one, model, say) for one in own]
    # As it fills forms now, beside whole records, which the training is of.
    before = measure_sets(own, language_engine(model))
    decoder = model.decoder.requires_grad_(True)
    parameters = sum(weight.numel() for weight in decoder.parameters())
    if settings.rank is not None:
        add_low_rank(decoder, settings.rank)
    usual = _LOW_RANK_RATE if settings.rank else _RATE * max(1.0, math.sqrt(_PARAMETERS / parameters))
    config = DiffusionTraining(
        minutes=settings.minutes, steps=settings.steps, matrix_rate=None, rate=settings.rate or usual,
        warmup=0.05, save_every=60.0, seed=settings.seed,
    )  # fmt: skip

    def draw(count: int, _: float, rng: random.Random) -> Sequence[TokenExample]:
        # Each set as often as any other, however many documents it has.
        return [rng.choice(rng.choice(examples)) for _ in range(count)]

    working = out / "training" / run_key(folders, model_fingerprint(base), settings)
    train_diffusion(decoder, draw, model.tokenizer.end, config, working, report, device_of(device))
    if settings.rank is not None:
        merge_low_rank(decoder)
    decoder.eval().requires_grad_(False)
    after = measure_sets(own, DiffusionEngine(model))
    kept = overall_f1(after) > overall_f1(before)
    size = 0
    if kept:
        for pattern in _TEXTS:
            for path in base.glob(pattern):
                if not path.name.endswith(".index.json"):
                    shutil.copy(path, out / path.name)
        save_decoder(out, decoder.to(torch.bfloat16), stated_precision(base), writes_records=True)
        # Its confidence was fitted to other weights.
        (out / "calibration.json").unlink(missing_ok=True)
        size = (out / "model.safetensors").stat().st_size
    (working / CHECKPOINT).unlink()
    results = tuple(one.result(b, a) for one, b, a in zip(own, before, after, strict=True))
    return FineTuned(results, kept, size)


def _examples(one: TuningSet, model: LanguageModel, say: Callable[[str], None]) -> list[TokenExample]:
    """Returns the training part of a set as examples; says how many of its documents cannot be trained on."""
    form, examples, long, refused = one.compiled.form, list[TokenExample](), 0, 0
    for document in one.documents():
        try:
            record = one_line(one.compiled.canonical(document.truth))
        except NotAccepted:
            refused += 1
            continue
        example = answer_example(model, messages(form, {}, document.passage.text), record)
        if len(example.prompt) + len(example.answer) > model.traits.window:
            long += 1
        else:
            examples.append(example)
    name = one.labelled.name
    if long:
        window = f"the model's window of {model.traits.window} tokens"
        say(f"{name}: {with_noun(long, 'document')} longer than {window}: left out")
    if refused:
        say(f"{name}: {with_noun(refused, 'truth')} refused by the schema: left out")
    if not examples:
        raise UsageError(f"{one.labelled.folder}: expected documents that fit into the model's window, found none")
    return examples
