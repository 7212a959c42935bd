"""Sources of a run's filler: a local model or language model that is loaded, or a model behind a server."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from cinnabar.engine.models.identity import (
    CALIBRATION,
    fingerprint_of,
    model_folder,
    model_name_hint,
    stale_calibration,
)
from cinnabar.engine.models.language.configuration import CONFIG, is_checkpoint, language_precision, models_folder
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder, named_model
from cinnabar.engine.models.language.identity import checkpoint_fingerprint, precise_fingerprint
from cinnabar.engine.models.language.memory import BYTES, free_memory, longest_within, position_bytes
from cinnabar.engine.models.language.weights_file import stored_tensors
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.models.releases import RELEASED
from cinnabar.engine.remote.serving import (
    MODELS,
    RemoteSettings,
    Served,
    api_key,
    find_served,
    is_plain,
    is_remote,
)
from cinnabar.engine.settings import DEFAULT, Precision, in_precision, reading_precision
from cinnabar.errors import ModelError, UsageError
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.extraction.plan.run_options import Device
from cinnabar.extras import check_extra

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.engine.asking.few_shot import Examples
    from cinnabar.engine.fill.engine import Engine
    from cinnabar.engine.language.engine import LanguageEngine
    from cinnabar.engine.model import Model
    from cinnabar.engine.models.language.language_model import LanguageModel
    from cinnabar.engine.remote.filler import RemoteFiller

#: The name of the reader together with a fetched language model where the reader is unsure; that of the reader alone.
AUTO, READER = "auto", "reader"
#: The argument of a run with the folder of its model, if that is not the one that ships.
MODEL_FOLDER = "model_folder"


@dataclass(frozen=True, slots=True)
class ModelByName:
    """Loads the model of this name or folder, on this device, with the rules and weights of `config`."""

    name: str
    device: str
    config: PriorConfig = DEFAULT_PRIORS
    precision: Precision = DEFAULT

    def __call__(self) -> Model:
        # Cold start: it imports torch.
        from cinnabar.engine.models.reader.loading import load_model

        return load_model(self.name, self.device, self.config, self.precision)


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that is loaded at its first use; `fingerprint` names it before that.

    `notice` is a warning to show before a run: that the confidence is stale.
    """

    fingerprint: str
    load: Callable[[], Model]
    least_batch: int = 1
    notice: str | None = None

    def filler(self, effort: str, steps: int | None) -> Engine:
        """Returns an engine with the model."""
        # Cold start: it imports torch.
        from cinnabar.engine.fill.engine import Engine

        return Engine(self.load(), effort, steps=steps)


@dataclass(frozen=True, slots=True)
class LanguageSource:
    """A language model in a folder, loaded at its first use on this device; `fingerprint` names it before that.

    `memory` is the bytes of its weights. `notice` is a warning to show before a run: that the confidence is stale.
    `examples` stand in its prompts.
    """

    folder: str
    device: str
    precision: Precision
    fingerprint: str
    memory: int
    notice: str | None = None
    least_batch: int = 1
    examples: Examples | None = None

    def load(self) -> LanguageModel:
        """Returns the model. Raises ModelError if the folder no longer holds the same one, as on another machine."""
        # Cold start: it imports torch.
        from cinnabar.engine.models.language.language_model import load_language_model

        if not is_checkpoint(self.folder):
            raise ModelError(
                f"{socket.gethostname()}: --model {self.folder}: expected the folder of the language model on every"
                " machine, in the same place"
            )
        model = load_language_model(self.folder, self.device, self.precision)
        if model.fingerprint != self.fingerprint:
            raise ModelError(
                f"{socket.gethostname()}: --model {self.folder}: expected the model {self.fingerprint}, got"
                f" {model.fingerprint}; its files are others than those that the run began with"
            )
        return model

    def memory_note(self, context: int | None) -> str | None:
        """Returns a warning if this machine cannot hold a request as long as the model allows.

        Raises UsageError if it cannot hold one of this `context`, or none at all.
        """
        # Cold start: it imports torch.
        from cinnabar.engine.language.settings import LEAST_PASSAGE, beside_answer
        from cinnabar.engine.models.backend import device_of
        from cinnabar.engine.models.language.checkpoint import read_contents, weight_bytes

        traits, on = read_family(self.folder)[1], device_of(self.device)
        weights = weight_bytes(read_contents(Path(self.folder), traits), self.precision)
        free = free_memory(on)
        # Weights that do not fit are told when they are loaded.
        if free is None or free < weights:
            return None
        most = longest_within(traits, self.precision, free - weights)
        room = beside_answer(most)
        each = position_bytes(traits, self.precision)
        memory = (
            f"{self.folder}: the weights take {weights / 1e9:.2f} GB, each token {each:,} bytes more, and"
            f" {free / 1e9:.2f} GB are free on {on}"
        )
        if room < LEAST_PASSAGE:
            raise UsageError(f"{memory}, too little for any document; take a smaller model or a larger machine")
        if most >= traits.window:
            return None
        if context is None:
            return (
                f"{memory}: a document of more than about {room:,} tokens goes to quarantine, though the model's window"
                f" is {traits.window:,}; context = {room} cuts it into passages"
            )
        if min(context, beside_answer(traits.window)) > room:
            raise UsageError(f"context {context}: expected at most {room}; {memory}")
        return None

    def filler(self, effort: str, steps: int | None) -> LanguageEngine:
        """Returns an engine with the model."""
        # Cold start: it imports torch.
        from cinnabar.engine.language.engine import LanguageEngine
        from cinnabar.engine.models.reader.calibration import load_calibration

        model = self.load()
        calibration = load_calibration(Path(self.folder), checkpoint_fingerprint(self.folder))
        return LanguageEngine(model, effort, steps=steps, calibration=calibration, examples=self.examples)


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """A model behind a server. The filler reads the key from the environment when it sends requests and never stores
    it. `examples` stand in its prompts."""

    served: Served
    settings: RemoteSettings
    notice: str | None = None
    examples: Examples | None = None

    @property
    def fingerprint(self) -> str:
        """Returns the hash that names the model in the keys of records."""
        return self.served.fingerprint

    @property
    def least_batch(self) -> int:
        """Returns several times the number of concurrent requests, so that all of them are in use."""
        return 4 * self.settings.concurrency

    def filler(self, effort: str, _steps: int | None) -> RemoteFiller:
        """Returns a filler that asks the server."""
        # Cold start: it imports torch.
        from cinnabar.engine.remote.filler import RemoteFiller

        key = "" if self.settings.budget == 0 else api_key(self.served)
        return RemoteFiller(self.served, self.settings, effort, key or "none", self.examples)


#: Makes a filler. `fingerprint` names the model in the keys of records, `least_batch` is the least number of documents
#: in a batch, `notice` a warning to show before a run, None if there is none.
Source = ModelSource | LanguageSource | RemoteSource


def filler_part(source: Source) -> str:
    """Returns the part of the code that reads with the models of this source (engine/version.py)."""
    if isinstance(source, RemoteSource):
        return "remote"
    return "language" if isinstance(source, LanguageSource) else "reader"


def model_source(
    name: str = "default",
    device: str = "auto",
    settings: RemoteSettings | None = None,
    without: Collection[str] = (),
) -> Source:
    """Returns the source of this model name or folder, on this device or behind the server of the settings.

    A folder holds a model that `cinnabar improve` made (model.json), or a language model in Hugging Face form
    (config.json). `without` names rules of the former to switch off. Raises UsageError if the model, a rule, a package
    or the key is missing, and ModelError if a folder's files are damaged.
    """
    config = PriorConfig(without=frozenset(without))
    name = "default" if name == READER else name
    if is_named(name):
        _renew_calibration(name)
        name = str(checkpoint_folder(name))
    language = not is_remote(name) and is_language(name)
    if without and (language or is_remote(name)):
        raise UsageError(f"without: {name} has no rules that can be switched off")
    if is_remote(name):
        return _remote(name, settings or RemoteSettings())
    if device not in get_args(Device):
        raise UsageError(f"device: expected one of {', '.join(get_args(Device))}, got {device!r}")
    if device == "cuda":
        # Cold start: it imports torch.
        from cinnabar.engine.models.backend import device_of

        device_of(device)
    if language:
        return _language(name, device, language_precision(name))
    precision = reading_precision()
    fingerprint = in_precision(config.fingerprint(local_fingerprint(name)), precision)
    load = ModelByName(name, device, config, precision)
    return ModelSource(fingerprint, load, notice=stale_calibration(name))


def _renew_calibration(name: str) -> None:
    """Puts our calibration beside a release whose own is for other weights, or is ours of earlier rules."""
    folder = checkpoint_folder(name)
    # What is no calibration, or in a folder that nobody may write to, is told when it is loaded.
    with suppress(OSError, ValueError, KeyError, TypeError):
        there = json.loads((folder / CALIBRATION).read_text("utf-8"))
        # Cold start: it fetches models, too.
        from cinnabar.engine.models.language.released import equip_release, shipped_with

        ours = json.loads((shipped_with(name) / CALIBRATION).read_text("utf-8"))
        is_ours = not {*ours["about"].get("sets", ())}.isdisjoint(there["about"].get("sets", ()))
        earlier = is_ours and there["values_version"] < ours["values_version"]
        if earlier or there["model"] != checkpoint_fingerprint(folder):
            equip_release(name, folder)


def name_of(source: Source) -> str:
    """Returns the name of a model for people: the reader, a folder's, or that for its server."""
    if isinstance(source, RemoteSource):
        return source.served.model
    if isinstance(source, LanguageSource):
        return Path(source.folder).name
    if not isinstance(source, ModelSource) or not isinstance(source.load, ModelByName):
        return source.fingerprint
    # Those that `improve` keeps for a schema all have one name.
    return READER if source.load.name == "default" else "/".join(Path(source.load.name).resolve().parts[-2:])


def named_folder(source: Source) -> dict[str, str]:
    """Returns the folder of a model as an argument of a run, to find the model again; {} for the one that ships."""
    if isinstance(source, LanguageSource):
        return {MODEL_FOLDER: source.folder}
    load = source.load if isinstance(source, ModelSource) else None
    if not isinstance(load, ModelByName) or load.name == "default":
        return {}
    return {MODEL_FOLDER: str(Path(load.name).resolve())}


def _language(name: str, device: str, precision: Precision) -> LanguageSource:
    """Returns the source of a language model whose config.json and files of weights are sound."""
    check_extra("models", f"--model {name}")
    read_family(name)
    stored = stored_tensors(Path(name)).values()
    return LanguageSource(
        str(Path(name).resolve()),
        device,
        precision,
        precise_fingerprint(name, precision),
        # Of whole numbers this is more than they take.
        sum(tensor.values for tensor in stored) * BYTES[precision],
        stale_calibration(name, "language"),
    )


def is_language(name: str | Path) -> bool:
    """Returns True for the folder of a language model; a folder of the name `default` is never meant."""
    return str(name) != "default" and is_checkpoint(name)


def is_named(name: str | Path) -> bool:
    """Returns True for a language model that is named by something else than its folder; see `named_model`."""
    return str(name) not in ("default", AUTO) and not is_remote(str(name)) and named_model(name) is not None


def known_models() -> str:
    """Returns the names that a model may have, and where each of these models is."""
    fetched = sorted(path.parent.name for path in models_folder().glob(f"*/{CONFIG}"))
    rows = [*dict.fromkeys([*MODELS, *folder_settings().models, "openai:NAME"])]
    places = {
        "shipped": [READER],
        "fetched": [*([AUTO] if fetched else []), *fetched],
        "brought by `cinnabar model fetch`": [name for name in RELEASED if name not in fetched],
        "behind a server": rows,
    }
    return "names: " + "; ".join(f"{', '.join(names)} ({place})" for place, names in places.items() if names)


def local_folder(name: str | Path) -> Path:
    """Returns the folder of a local model, of either kind. Raises UsageError if it is none."""
    if is_named(name):
        return checkpoint_folder(name)
    if is_language(name):
        return Path(name)
    if str(name) != "default" and not (Path(name) / "model.json").is_file():
        if reason := model_name_hint(name):
            raise UsageError(f"--model {name}: {reason}")
        raise UsageError(
            f"--model {name}: expected `default` or a folder with model.json, as `cinnabar improve` makes it, or with"
            f" config.json and *.safetensors, as `cinnabar model fetch` makes it; {known_models()}"
        )
    return model_folder(name)


def local_fingerprint(name: str | Path) -> str:
    """Returns the fingerprint of a local model. Raises UsageError or ModelError if it is none."""
    folder = local_folder(name)
    return precise_fingerprint(folder, language_precision(folder)) if is_language(folder) else fingerprint_of(folder)


def _remote(name: str, settings: RemoteSettings) -> RemoteSource:
    check_extra("mercury", f"--model {name}")
    # Cold start: it fetches nothing where a row says all.
    from cinnabar.engine.remote.listing import described

    server = find_served(name, settings)
    key = api_key(server) if settings.budget != 0 else os.environ.get(server.key_name) or "none"
    server = described(name, server, settings, key)
    unsafe = f"{server.base_url}: documents and the key are sent unencrypted"
    return RemoteSource(server, settings, unsafe if is_plain(server.base_url) else None)


def on_gpu(device: Device) -> bool:
    """Returns whether models run on a GPU. Raises UsageError if there is none, and one is demanded."""
    if device == "cpu" or (device == "auto" and shutil.which("nvidia-smi") is None):
        return False
    # Cold start: it imports torch.
    from cinnabar.engine.models.backend import device_of

    return device_of(device).type == "cuda"
