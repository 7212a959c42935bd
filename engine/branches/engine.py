"""The engine of a language model: branches, or whole records as its denoiser writes them."""

from __future__ import annotations

from cinnabar.engine.branches.branch_model import BranchModel
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.engine import Engine
from cinnabar.engine.few_shot import Examples
from cinnabar.engine.models.language.configuration import writes_records
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.settings import Effort

#: The tokens of a batch, whose keys are held together: 2,000 of 1.5B weights are 0.1 GB.
TOKENS, TOKENS_OF_ACCELERATOR = 2_048, 16_384


def has_branches(model: LanguageModel) -> bool:
    """Returns whether a model fills fields as branches.

    For that, what it has written must stay and all layers see all positions; one that was trained on whole records
    writes these.
    """
    traits = model.traits
    return traits.noise != "uniform" and traits.local is None and not writes_records(model.folder)


def language_engine(
    model: LanguageModel,
    effort: Effort | str = "medium",
    steps: int | None = None,
    calibration: Calibration | None = None,
    examples: Examples | None = None,
    denoiser: Denoiser | None = None,
) -> Engine | DiffusionEngine:
    """Returns the engine that fills forms with a language model.

    Examples are shown as whole records, so with them any model writes whole records too, with this denoiser or one of
    its own.
    """
    if examples is not None or not has_branches(model):
        return DiffusionEngine(
            model, effort, steps=steps, calibration=calibration, examples=examples, denoiser=denoiser
        )
    budget = TOKENS if model.decoder.device.type == "cpu" else TOKENS_OF_ACCELERATOR
    return Engine(BranchModel(model, calibration), effort, budget, steps=steps, part="language")
