"""The models of a run's plan: the one that reads, and a stronger one, with `auto` a release behind the reader."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.models.identity import CALIBRATION, model_folder, model_name_hint
from cinnabar.engine.models.language.gguf_folder import named_model
from cinnabar.engine.models.language.memory import free_memory
from cinnabar.engine.models.releases import RELEASED
from cinnabar.engine.remote.ledger import Prices
from cinnabar.engine.remote.serving import MERCURY, RemoteSettings, is_remote
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.escalation import best_setting, share_asked
from cinnabar.extraction.filling.model_sources import (
    AUTO,
    READER,
    LanguageSource,
    ModelByName,
    ModelSource,
    RemoteSource,
    Source,
    is_language,
    is_named,
    known_models,
    model_source,
    on_gpu,
)
from cinnabar.extraction.filling.time_estimate import TimeEstimate, usual_seconds
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.extraction.plan.run_options import ESCALATE_BELOW, RunPlan
from cinnabar.extraction.store.spelling import began_below, began_with, is_new
from cinnabar.extras import EXTRAS, check_extra

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.engine.request import Filler
    from cinnabar.extraction.filling.tiers import Tier

#: The most rows of a list that a language model beside the reader is asked for: each takes it a second or two on a CPU,
#: where the reader binds a table's columns once.
MAX_ESCALATED_ROWS = 20
#: What a run with a release takes of memory: for each byte of its file, and beside its weights.
RELEASE_MEMORY, RUN_MEMORY = 1.6, 500 << 20
#: The release that takes the least memory.
SMALLEST = min(RELEASED, key=lambda name: RELEASED[name].size)
#: The releases that a new folder begins with: with the smaller one F1 of twelve documents was .455, without it .480.
BY_ITSELF = frozenset({"qwen2.5-coder-1.5b"})


#: What an earlier version kept with a model: on which fields one of both models has the last word.
_PREFERRED = "preferred.json"


@dataclass(frozen=True, slots=True)
class Escalation:
    """A stronger model, and the confidence below which values are escalated to it (0 to 1, else UsageError)."""

    source: Source
    threshold: float
    #: Whether its values count only where they are surer, as both models are calibrated; else they count in any case.
    #: Then it is asked for documents of which less than the share `threshold` is likely right.
    prefer_confident: bool = False
    #: The most rows of a list that is asked of a surer model, None for any number.
    max_list_rows: int | None = None
    #: The most seconds of its work on a document, None for any number.
    seconds: float | None = None
    #: The release that a new folder begins with, None for a model that the caller named.
    named: str | None = None

    def tier(self, effort: str, load: Callable[[], Filler] | None = None) -> Tier:
        """Returns the tier of a job, whose filler is loaded at the first doubt; without `load` it is the source's."""
        # Cold start: it imports torch.
        from cinnabar.extraction.filling.tiers import Tier

        rows, seconds = self.max_list_rows, self.seconds
        load = load or (lambda: self.source.filler(effort, None))
        return Tier(load, self.threshold, self.prefer_confident, rows, seconds, self.rounds(effort))

    def rounds(self, effort: str) -> int:
        """Returns how often a document is asked of this model at most.

        With `auto` the effort tells it: never with `instant`, where the reader's record, its draft, stands; twice with
        `high`.
        """
        return {"instant": 0, "high": 2}.get(effort, 1) if self.named and self.prefer_confident else 1

    def times(self, effort: str) -> float:
        """Returns how often a document is asked of this model on the mean, of a kind that the first one does not know.

        Without calibrations nobody knows, so that each document counts.
        """
        return self.rounds(effort) * (share_asked(self.threshold) if self.prefer_confident else 1.0)

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise UsageError(f"--below: expected 0 to 1, got {self.threshold}")


def sources_of(
    plan: RunPlan, model: str, without: Collection[str] = ()
) -> tuple[ModelSource | LanguageSource | RemoteSource, Escalation | None]:
    """Returns the source of this model, with the settings of a plan, and the stronger model of the plan.

    `without` names rules of the model to switch off. Raises UsageError if the models, or the options of their server,
    do not go together, and the errors of `model_source`.
    """
    kept = plan.model is None and model != "default" and plan.escalate_to is None
    auto = model == AUTO
    # A model that `improve` kept reads with the language model that the folder began with.
    auto = auto or (kept and plan.out is not None and began_with(plan.out) is not None)
    model = reader_of(model)
    if auto:
        plan = plan.model_copy(update={"escalate_to": plan.escalate_to or upper_model(plan.out)})
    if plan.options.seconds_each is not None and not auto:
        raise UsageError(f"--seconds-each: expected --model {AUTO} with it, whose reader answers in its place")
    _check_models(plan, model)
    source = model_source(model, plan.device, _settings(plan, model), without)
    if plan.escalate_to is None:
        return source, None
    upper = model_source(plan.escalate_to, plan.device, _settings(plan, plan.escalate_to))
    confident = _is_calibrated(source) and _is_calibrated(upper)
    if auto and not confident:
        raise UsageError(
            f"--model {AUTO}: expected a calibration of both models, {plan.escalate_to} has none; `python -m"
            f" training.calibrate SETS --model {plan.escalate_to}` fits one; or use --escalate-to, with which its"
            " values count in any case"
        )
    rows, threshold = MAX_ESCALATED_ROWS if confident else None, ESCALATE_BELOW
    # A GPU reads all with the language model in the reader's time, so its values count alone.
    if auto and plan.options.seconds_each is None and on_gpu(plan.device):
        confident, rows, threshold = False, None, 1.0
    elif auto and plan.out is not None:
        threshold = setting_of(plan, upper)
    threshold = threshold if plan.below is None else plan.below
    named = plan.escalate_to if auto and plan.escalate_to in RELEASED else None
    return source, Escalation(upper, threshold, confident, rows, plan.options.seconds_each, named)


def setting_of(plan: RunPlan, upper: Source) -> float:
    """Returns the setting of `auto` in a plan's folder: the one that it began with, in a new one the best one here."""
    assert plan.out is not None
    if is_new(plan.out) and (seconds := usual_seconds([upper], plan.options)) is not None:
        return best_setting(seconds)
    began = began_below(plan.out)
    return ESCALATE_BELOW if began is None else began


def chosen_note(plan: RunPlan, model: str, escalation: Escalation | None) -> str | None:
    """Returns what a run says of a model that its folder chose; None of one that the plan names, and of the shipped.

    Of a second model it names the price: the seconds for a document that is asked.
    """
    if plan.model is not None or model == "default":
        return None
    beside = ""
    if escalation is not None and escalation.named is not None:
        each = usual_seconds([escalation.source], plan.options, escalation.rounds(plan.options.effort))
        price = "" if each is None else f", about {TimeEstimate(each).each} more each"
        where = f"for documents of which it expects less than {escalation.threshold:.0%} to be right{price}"
        if not escalation.threshold:
            where = "where a demanded value is missing, since it is slow here"
        if not escalation.prefer_confident:
            where = "for all fields, on the GPU"
        beside = f"{escalation.named} {where}"
    if model == AUTO:
        return f"the reader, and {beside}; --model {READER} takes the reader alone, --below sets the share"
    beside = f", with {beside}" if beside else ""
    if (Path(model) / _PREFERRED).is_file():
        beside += "; the fields on which one of the two had the last word are as any other now"
    return f"model {model}, kept by `improve`{beside}; --model default takes the shipped one"


def reader_of(model: str) -> str:
    """Returns the model that reads first: `default` for `auto` and `reader`."""
    return "default" if model in (AUTO, READER) else model


def upper_model(out: Path | None) -> str:
    """Returns the fetched model that reads beside the reader: the one that a folder began with, or the largest.

    Raises UsageError if it is not in its place, or if none is that has room.
    """
    began = None if out is None else began_with(out)
    if began is not None and named_model(began) is None:
        raise UsageError(
            f"{out}: began with the model {began}, which is not here any more; `cinnabar model fetch {began}` brings"
            f" it, and --model {READER} goes on without it"
        )
    model = began or largest_model()
    if model is None:
        check_extra("models", f"--model {AUTO}")
        raise UsageError(
            f"--model {AUTO}: expected a fetched language model that fits the free memory; `cinnabar model fetch"
            f" {SMALLEST}` brings one, and --model {READER} reads without"
        )
    return model


def largest_model() -> str | None:
    """Returns the largest release in its place that is calibrated and fits the free memory, None if there is none.

    Without the packages that read its weights there is none.
    """
    if EXTRAS["models"].missing_packages():
        return None
    free = free_memory()
    for name, release in sorted(RELEASED.items(), key=lambda item: -item[1].size):
        folder, needed = named_model(name), RELEASE_MEMORY * release.size + RUN_MEMORY
        if folder is not None and (folder / CALIBRATION).is_file() and (free is None or needed < free):
            return name
    return None


def _is_calibrated(source: Source) -> bool:
    if isinstance(source, LanguageSource):
        return (Path(source.folder) / CALIBRATION).is_file()
    named = source.load if isinstance(source, ModelSource) else None
    return isinstance(named, ModelByName) and (model_folder(named.name) / CALIBRATION).is_file()


def _settings(plan: RunPlan, model: str) -> RemoteSettings:
    """Returns the settings of a model behind a server. Raises UsageError if its row or the budget cannot be used."""
    values: dict[str, Any] = _row_of(model) if is_remote(model) else {}
    if "prices" in values:
        values["prices"] = Prices.parse(values["prices"])
    if plan.budget is not None:
        try:
            values["budget"] = Decimal(plan.budget)
        except InvalidOperation:
            raise UsageError(f"--budget {plan.budget}: expected dollars, such as 5.00") from None
    return RemoteSettings(context=plan.options.context, **values)


def _row_of(model: str) -> dict[str, Any]:
    """Returns what is set for a model behind a server; a variable names an address that no row has."""
    variable = "INCEPTION_BASE_URL" if model.startswith(MERCURY) else "OPENAI_BASE_URL"
    address = {"base_url": os.environ[variable]} if os.environ.get(variable) else {}
    return {**address, **folder_settings().models.get(model, {})}


def _check_models(plan: RunPlan, model: str) -> None:
    upper = plan.escalate_to
    if upper is not None and not is_named(upper) and not is_remote(upper) and not is_language(upper):
        if reason := model_name_hint(upper):
            raise UsageError(f"--escalate-to {upper}: {reason}")
        raise UsageError(
            f"--escalate-to {upper}: expected mercury-2, openai:NAME, a fetched language model, or the folder of one"
            f" (config.json and *.safetensors); {known_models()}"
        )
    if upper is not None and is_remote(model):
        raise UsageError(f"--escalate-to {upper}: expected a local --model, got {model}")
    if plan.below is not None and upper is None:
        raise UsageError("--below: expected --escalate-to with it, which names the model for such fields")
    if plan.budget is not None and not (is_remote(model) or is_remote(upper or model)):
        raise UsageError(f"--budget: expected mercury-2 or openai:NAME with it, got the model {model}")
    if plan.options.steps is not None and is_remote(model):
        raise UsageError(f"steps: {model} has none to be set; see --effort")
