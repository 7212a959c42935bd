"""The models that `cinnabar improve` makes for the schemas of an output folder: a candidate, and the one in use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.extraction.filling.model_sources import AUTO, READER
from cinnabar.extraction.filling.run_models import BY_ITSELF, largest_model
from cinnabar.extraction.store.files import failures
from cinnabar.extraction.store.names import identifier
from cinnabar.extraction.store.path_safety import check_links
from cinnabar.extraction.store.spelling import began_with, is_new

_MODELS, _CANDIDATE, _CURRENT, _BEFORE = "models", "candidate", "current", "before"
_DESCRIPTION = "model.json"
#: The figures of a candidate, within its folder.
FIGURES = "improvement.json"


def models_of(out: Path, schema_name: str) -> Path:
    """Returns the folder with the models of a schema. Raises StrangeName if a link leads out of the output folder."""
    check_links(out, everything=True)
    return out / _MODELS / identifier(schema_name)


def candidate(out: Path, schema_name: str) -> Path:
    """Returns the folder of the model that waits for a decision; it may not be there."""
    return models_of(out, schema_name) / _CANDIDATE


def waiting_models(out: Path) -> dict[str, dict[str, Any]]:
    """Returns the figures of the models that wait for a decision, by the name of their schema, the newest first."""
    check_links(out, everything=True)
    candidates = (out / _MODELS).glob(f"*/{_CANDIDATE}/{FIGURES}")
    newest_first = sorted(candidates, key=lambda one: one.stat().st_mtime, reverse=True)
    waiting = {}
    for figures in newest_first:
        try:
            name = json.loads((figures.parent / _DESCRIPTION).read_text(encoding="utf-8"))["name"]
            waiting[str(name)] = dict(json.loads(figures.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            # Another process writes, keeps or discards it.
            continue
    return waiting


def kept_model(out: Path, schema_name: str) -> Path | None:
    """Returns the model in use for a schema in this folder; None if it is the shipped one."""
    folder = models_of(out, schema_name)
    # A process that died while it kept a candidate may have left the model before it alone.
    return next((one for name in (_CURRENT, _BEFORE) if ((one := folder / name) / _DESCRIPTION).is_file()), None)


def keep_model(out: Path, schema_name: str) -> Path:
    """Takes the candidate into use and returns its new place. Raises UsageError if there is none."""
    folder, waiting = models_of(out, schema_name), candidate(out, schema_name)
    _check(waiting, out, schema_name)
    current, before = folder / _CURRENT, folder / _BEFORE
    with failures(f"{folder}: the model could not be kept"):
        if current.exists():
            shutil.rmtree(before, ignore_errors=True)
            current.rename(before)
        waiting.rename(current)
        shutil.rmtree(before, ignore_errors=True)
    return current


def discard_model(out: Path, schema_name: str) -> None:
    """Removes the candidate. Raises UsageError if there is none."""
    waiting = candidate(out, schema_name)
    _check(waiting, out, schema_name)
    with failures(f"{waiting}: could not be removed"):
        shutil.rmtree(waiting)


def model_for(out: Path | None, schema_names: Sequence[str], asked: str | None) -> str:
    """Returns the model for a run: the one asked for, else that in use for its only schema, else that of the folder.

    A folder goes on with what it began with, so that a model that is fetched later makes nobody's documents anew. A new
    one begins with the largest fetched model that fits the memory, beside the reader (`auto`), if that serves its user.
    """
    if asked is not None:
        return "default" if asked == READER else asked
    if out is None:
        return "default"
    kept = kept_model(out, schema_names[0]) if len(schema_names) == 1 else None
    if kept is not None:
        return str(kept)
    return AUTO if began_with(out) is not None or (is_new(out) and largest_model() in BY_ITSELF) else "default"


def _check(waiting: Path, out: Path, schema_name: str) -> None:
    if not (waiting / _DESCRIPTION).is_file():
        raise UsageError(
            f"{schema_name}: expected a trained model that waits in {waiting}, found none;"
            f" `cinnabar improve {schema_name} --out {out}` trains one"
        )
