"""The rows of models behind a server: `[models."NAME"]` in `cinnabar.toml` of the working folder, and the environment.

    [models."openai:gemma"]
    base_url = "http://localhost:8000/v1"
    window = 32000
    prices = "0.25,0.025,0.75"

What a row leaves out has its usual value; `INCEPTION_BASE_URL` and `OPENAI_BASE_URL` name an address without a row.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cinnabar.engine.models.remote.serving import MODELS
from cinnabar.errors import UsageError

#: The file with the settings of a folder, and its table of models.
SETTINGS_FILE, TABLE = "cinnabar.toml", "models"


class ModelRow(BaseModel):
    """What is set for a model behind a server; `RemoteSettings` says what each means."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    base_url: str | None = None
    window: int | None = Field(default=None, ge=1)
    prices: str | None = None
    concurrency: int | None = Field(default=None, ge=1)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    timeout: float | None = Field(default=None, gt=0, lt=86_400)


def model_row(name: str) -> dict[str, Any]:
    """Returns what the row of this model sets. Raises UsageError, with the place, for a row that cannot be used."""
    place = f'{SETTINGS_FILE}: [{TABLE}."{name}"]'
    try:
        text = Path(SETTINGS_FILE).read_text("utf-8") if Path(SETTINGS_FILE).is_file() else ""
        rows = tomllib.loads(text).get(TABLE, {})
        row = ModelRow.model_validate(rows.get(name, {}))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(map(str, wrong["loc"]))
        known = f"; expected one of {', '.join(ModelRow.model_fields)}" if wrong["type"] == "extra_forbidden" else ""
        raise UsageError(f"{place}: {key}: {wrong['msg']}, got {wrong['input']!r}{known}") from None
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{SETTINGS_FILE}: expected TOML with a table for each model, {error}") from None
    variable = "INCEPTION_BASE_URL" if name in MODELS else "OPENAI_BASE_URL"
    address = {"base_url": os.environ[variable]} if os.environ.get(variable) else {}
    return address | row.model_dump(exclude_none=True)
