"""`cinnabar.toml`: what is set once for the commands in a folder, which is the working folder of whoever types them.

The command line goes before it. A folder of results is not read for one: it may come from somebody else.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from cinnabar.errors import UsageError
from cinnabar.extraction.plan.run_options import OPTIONS, RUN_SETTINGS, Device, expected_values

FILE = "cinnabar.toml"
_PATHS = ("schema", "inbox", "results")
#: A file of more bytes is no settings file.
_MOST_BYTES = 1 << 20


class ModelRow(BaseModel):
    """What is set for a model behind a server; `RemoteSettings` says what each means."""

    base_url: str | None = None
    window: int | None = Field(default=None, ge=1)
    prices: str | None = None
    concurrency: int | None = Field(default=None, ge=1)
    timeout: float | None = Field(default=None, gt=0)


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """What `cinnabar.toml` says; empty where it says nothing.

    schema: one or several to route by. inbox: what `extract` reads without a path. results: the folder for results.
    model: the model of a run. run: `RUN_SETTINGS` by name. models: the rows of models behind a server by name.
    """

    schema: tuple[str, ...] = ()
    inbox: tuple[str, ...] = ()
    results: Path | None = None
    model: str | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def device(self) -> Device:
        """Returns the device of models."""
        device: Device = self.run.get("device", "auto")
        return device


def folder_settings() -> FolderSettings:
    """Returns the settings of the working folder. Raises UsageError for a file that cannot be read or understood."""
    path = Path(FILE)
    try:
        if not path.exists():
            return FolderSettings()
        if any(Path("manifest").glob("batch-*.json")):
            raise UsageError(f"{FILE}: the settings in a folder of results are not read; work in the folder above it")
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1).decode()
        if len(text) > _MOST_BYTES:
            raise UsageError(f"{FILE}: expected settings, got more than {_MOST_BYTES:,} bytes")
        return _settings_of(text, tomllib.loads(text))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{FILE}: cannot be read: {reason}") from None


def _settings_of(text: str, content: Mapping[str, Any]) -> FolderSettings:
    models = content.get("models", {})
    for name, one in models.items() if isinstance(models, dict) else [("", models)]:
        if not isinstance(one, dict):
            raise UsageError(f'{FILE}: models: expected tables such as [models."openai:NAME"], got {one!r}')
        _check(text, one, ModelRow.model_fields, f'[models."{name}"] ')
    known = dict.fromkeys(_PATHS) | {name: OPTIONS[name] for name in ("model", *RUN_SETTINGS)} | {"models": None}
    _check(text, content, known)
    texts = {name: _texts(name, content[name]) for name in _PATHS if name in content}
    for one in texts.get("schema", ()):
        # Whoever sent the folder would have their code run.
        if ":" in one and not Path(one).is_file():
            raise UsageError(f"{FILE}: schema: expected a name or a file, got {one}; code is named by --schema alone")
    if len(texts.get("results", ("one",))) != 1:
        raise UsageError(f"{FILE}: results: expected one folder, got {content['results']!r}")
    return FolderSettings(
        texts.get("schema", ()),
        texts.get("inbox", ()),
        Path(texts["results"][0]) if "results" in texts else None,
        content.get("model"),
        {name: content[name] for name in RUN_SETTINGS if name in content},
        models,
    )


def _check(text: str, content: Mapping[str, Any], known: Mapping[str, FieldInfo | None], where: str = "") -> None:
    """Raises UsageError for a key that is not known, and for a value that the option does not take."""
    for name, value in content.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            lines = enumerate(text.splitlines(), 1)
            line = next((at for at, one in lines if re.match(rf"\W*{re.escape(name)}\b", one)), 0)
            meant = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
            raise UsageError(f"{FILE}, line {line}: {where}{name} is no setting; {meant}")
        option = known[name]
        if option is not None and not _allows(option, value):
            raise UsageError(f"{FILE}: {where}{name}: expected {expected_values(option)}, got {value!r}")


def _allows(option: FieldInfo, value: Any) -> bool:
    kind: Any = Annotated[(option.annotation, *option.metadata)] if option.metadata else option.annotation
    try:
        TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python(value)
    except ValidationError:
        return False
    return bool(value != "")


def _texts(name: str, value: Any) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(one, str) and one.strip() for one in texts):
        raise UsageError(f"{FILE}: {name}: expected text, or a list of texts, got {value!r}")
    return tuple(texts)
