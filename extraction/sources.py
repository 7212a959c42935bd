"""Sources of a run's filler: a local model that is loaded, or a model behind a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args

from cinnabar.engine.models.identity import fingerprint_of, stale_calibration
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.models.remote.prices import Prices
from cinnabar.engine.models.remote.serving import (
    Served,
    Settings,
    api_key,
    check_installed,
    is_remote,
    served,
)
from cinnabar.engine.precision import DEFAULT, Precision, in_precision, reading_precision
from cinnabar.extraction.run_options import Device
from cinnabar.schemas.errors import UsageError

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.engine.engine import Engine
    from cinnabar.engine.filler import Filler
    from cinnabar.engine.models.base import Model
    from cinnabar.engine.models.remote.filler import RemoteFiller

#: Default confidence below which a field is escalated.
DEFAULT_BELOW = 0.8
# The folder in a run's output that keeps paid answers.
_JOURNALS = "remote"
#: The folder in a run's output that keeps the model's encodings of documents.
ENCODINGS = "encodings"
# The environment variable with the most megabytes of this folder, and its default, which holds a thousand pages or two.
# 0 keeps none.
_ENCODINGS_LIMIT, _ENCODINGS_DEFAULT = "CINNABAR_ENCODINGS", 1024


@dataclass(frozen=True, slots=True)
class Place:
    """The output folder and the id of a run."""

    out: Path
    run_id: str


class Source(Protocol):
    """Makes a filler; `fingerprint` names the model before it is loaded."""

    @property
    def fingerprint(self) -> str:
        """Names the model."""
        ...

    @property
    def least_batch(self) -> int:
        """Returns the least number of documents in a batch."""
        ...

    @property
    def notice(self) -> str | None:
        """Returns a warning to show before a run, None if there is none."""
        ...

    def filler(self, effort: str, steps: int | None, place: Place | None = None) -> Filler:
        """Returns the filler for a run at this place."""
        ...


@dataclass(frozen=True, slots=True)
class Named:
    """Loads the model of this name or folder, on this device, with the rules and weights of `config`."""

    name: str
    device: str
    config: PriorConfig = DEFAULT_PRIORS
    precision: Precision = DEFAULT

    def __call__(self) -> Model:
        from cinnabar.engine.models.loading import load_model

        return load_model(self.name, self.device, self.config, self.precision)


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that is loaded at its first use; `fingerprint` names it before that.

    `encodings` is the most bytes of document encodings to keep in a run's output; 0 keeps none. `notice` is a warning
    to show before a run: that the confidence is stale.
    """

    fingerprint: str
    load: Callable[[], Model]
    least_batch: int = 1
    encodings: int = _ENCODINGS_DEFAULT << 20
    notice: str | None = None

    def filler(self, effort: str, steps: int | None, place: Place | None = None) -> Engine:
        """Returns an engine with the model, which reuses its encodings of documents in this output folder."""
        from cinnabar.engine.engine import Engine
        from cinnabar.engine.models.encodings import remembering

        model = self.load()
        if place is not None:
            model = remembering(model, place.out / ENCODINGS, self.encodings)
        return Engine(model, effort, steps=steps)


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """A model behind a server. The filler reads the key from the environment when it sends requests and never stores
    it."""

    served: Served
    settings: Settings
    notice: str | None = None

    @property
    def fingerprint(self) -> str:
        """Names the model."""
        return self.served.fingerprint

    @property
    def least_batch(self) -> int:
        """Returns several times the number of concurrent requests, so that all of them are in use."""
        return 4 * self.settings.concurrency

    def filler(self, effort: str, _steps: int | None, place: Place | None = None) -> RemoteFiller:
        """Returns a filler that asks the server and keeps its journal in the run's output."""
        from cinnabar.engine.models.remote.filler import RemoteFiller
        from cinnabar.engine.models.remote.journal import Journal

        journal = Journal(*((None, "") if place is None else (self._journal(place), place.run_id)))
        key = "" if self.settings.budget == 0 else api_key(self.served)
        return RemoteFiller(self.served, self.settings, effort, key or "none", journal)

    def settle(self, place: Place) -> None:
        """Drops the texts of answers that an earlier run left at this place, once nothing is left to do."""
        from cinnabar.engine.models.remote.journal import Journal

        Journal(self._journal(place), place.run_id).close(settled=True)

    def _journal(self, place: Place) -> Path:
        return place.out / _JOURNALS / f"{self.fingerprint}.jsonl"


def model_source(
    name: str = "default",
    device: str = "auto",
    settings: Settings | None = None,
    without: Collection[str] = (),
) -> ModelSource | RemoteSource:
    """Returns the source of this model name or folder, on this device or behind the server of the settings.

    `without` names rules of local models to switch off. Raises UsageError if the model, a rule, a package or the key is
    missing.
    """
    config = PriorConfig(without=frozenset(without))
    if is_remote(name):
        if without:
            raise UsageError(f"without: {name} has no rules that can be switched off")
        return _remote(name, settings or Settings())
    if device not in get_args(Device):
        raise UsageError(f"device: expected one of {', '.join(get_args(Device))}, got {device!r}")
    if device == "cuda":
        from cinnabar.engine.models.loading import device_of

        device_of(device)
    precision = reading_precision()
    fingerprint = in_precision(config.fingerprint(fingerprint_of(name)), precision)
    load = Named(name, device, config, precision)
    return ModelSource(fingerprint, load, encodings=_encodings_limit(), notice=stale_calibration(name))


def _encodings_limit() -> int:
    """Returns the environment's limit of kept encodings in bytes. Raises UsageError if it is not a number."""
    said = os.environ.get(_ENCODINGS_LIMIT, str(_ENCODINGS_DEFAULT))
    if not said.isdecimal():
        raise UsageError(f"{_ENCODINGS_LIMIT}={said}: expected megabytes, such as 4096, or 0 to keep none")
    return int(said) << 20


def settings_of(said: Mapping[str, Any]) -> Settings:
    """Returns settings from a mapping with `budget` (dollars) and `prices` (INPUT,CACHED,OUTPUT) as text.

    Raises UsageError if a value is out of range.
    """
    found = {name: value for name, value in said.items() if value is not None}
    if "prices" in found:
        found["prices"] = Prices.parse(found["prices"])
    if "budget" in found:
        try:
            found["budget"] = Decimal(str(found["budget"]))
        except InvalidOperation:
            raise UsageError(f"--budget {found['budget']}: expected dollars, such as 5.00") from None
    return Settings(**found)


def _remote(name: str, settings: Settings) -> RemoteSource:
    check_installed(name)
    found = served(name, settings)
    if settings.budget != 0:
        api_key(found)
    return RemoteSource(found, settings)


@dataclass(frozen=True, slots=True)
class Escalation:
    """A stronger model, and the confidence below which values are escalated to it (0 to 1, else UsageError)."""

    source: Source
    below: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.below <= 1.0:
            raise UsageError(f"--below: expected 0 to 1, got {self.below}")


def escalation_of(name: str | None, below: float | None, settings: Settings) -> Escalation | None:
    """Returns the model that fields are escalated to; None if none is named."""
    if name is None:
        return None
    return Escalation(model_source(name, settings=settings), DEFAULT_BELOW if below is None else below)


def check_models(
    model: str, escalate_to: str | None, below: float | None, steps: int | None, server: Mapping[str, Any]
) -> None:
    """Raises UsageError if the models, or the options of their `server`, do not go together."""
    if escalate_to is not None and not is_remote(escalate_to):
        raise UsageError(f"--escalate-to {escalate_to}: expected mercury-2 or openai:NAME")
    if escalate_to is not None and is_remote(model):
        raise UsageError(f"--escalate-to {escalate_to}: expected a local --model, got {model}")
    if below is not None and escalate_to is None:
        raise UsageError("--below: expected --escalate-to with it, which names the model for such fields")
    given = [f"--{name.replace('_', '-')}" for name, value in server.items() if value is not None]
    if given and not is_remote(escalate_to or model):
        raise UsageError(f"{given[0]}: expected mercury-2 or openai:NAME with it, got the model {model}")
    if steps is not None and is_remote(model):
        raise UsageError(f"--steps: {model} has no steps to be set; see --effort")
