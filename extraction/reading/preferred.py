"""The fields of which one of two models is right where they differ, beside a model that `improve` kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from cinnabar.extraction.store.files import write_bytes

#: The file of a kept model that names them.
_FILE = "preferred.json"


def keep_preferred(folder: Path, upper: str | None, by_pointer: Mapping[str, bool]) -> None:
    """Keeps with a model, by pointer, whether the language model `upper` has the last word beside it."""
    write_bytes(folder / _FILE, json.dumps({"model": upper, "fields": by_pointer}).encode())


def kept_preferences(folder: str, upper: str) -> dict[str, bool]:
    """Returns what is kept with the model in a folder for this language model; {} if nothing is."""
    try:
        kept = json.loads((Path(folder) / _FILE).read_text(encoding="utf-8"))
        return {str(at): bool(one) for at, one in kept["fields"].items()} if kept["model"] == upper else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
