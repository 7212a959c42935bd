"""Fetches a checkpoint from a hub, only when asked; an interrupted download goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from cinnabar.engine.models.language.configuration import CONFIG
from cinnabar.engine.models.language.families import read_family
from cinnabar.schemas.errors import CinnabarError, RunError, UsageError

#: The files that are fetched, all at the top of a repository: no code and no pickles.
PATTERNS = ("*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "LICEN[CS]E*", "COPYING*", "NOTICE*")
#: A disk is never filled to less than this.
_SPARE = 100_000_000


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched checkpoint: its folder, the commit of the repository, its files and their bytes."""

    folder: Path
    revision: str
    files: int
    size: int


def fetch_checkpoint(name: str, out: Path, revision: str | None = None) -> Fetched:
    """Fetches the checkpoint `name` (ORG/NAME) of a hub into a folder; what is there already stays.

    The hub is that of the environment variable HF_ENDPOINT. Raises UsageError for a model that is not there, may not be
    fetched, has pickles only, or does not fit on the disk; ModelError for a family that cannot be run, before the
    weights are fetched; RunError if the hub does not answer.
    """
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError as error:
        raise UsageError("fetching a model needs huggingface_hub: pip install 'cinnabar-extract[models]'") from error
    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        with _online():
            info = huggingface_hub.HfApi(endpoint=endpoint).model_info(name, revision=revision, files_metadata=True)
            sizes = {file.rfilename: file.size or 0 for file in info.siblings or () if _wanted(file.rfilename)}
            commit = str(info.sha)
            _check_files(name, sizes, [file.rfilename for file in info.siblings or ()])
            huggingface_hub.hf_hub_download(name, CONFIG, revision=commit, local_dir=out, endpoint=endpoint)
            read_family(out)
            _check_room(out, sizes)
            huggingface_hub.snapshot_download(
                name, revision=commit, local_dir=out, allow_patterns=sorted(sizes), endpoint=endpoint, max_workers=4
            )
    except errors.GatedRepoError as error:
        raise UsageError(
            f"{name}: its owners give it to named users only; ask for access there and set HF_TOKEN"
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError) as error:
        raise UsageError(
            f"{name}: expected ORG/NAME of a model, and its revision; the hub has none, or only for those with HF_TOKEN"
        ) from error
    except CinnabarError:
        raise
    except Exception as error:  # of the library, of its HTTP client, of the disk
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise RunError(f"{name}: the hub failed: {said}; run the same command again, it goes on") from error
    return Fetched(out, commit, len(sizes), sum(sizes.values()))


def _wanted(file: str) -> bool:
    return "/" not in file and any(fnmatch(file, pattern) for pattern in PATTERNS)


def _check_files(name: str, sizes: dict[str, int], every: list[str]) -> None:
    if not any(file.endswith(".safetensors") for file in sizes):
        pickled = [file for file in every if file.endswith((".bin", ".pt", ".pth"))]
        has = f"has its weights as pickles ({pickled[0]}), which can run code" if pickled else "has no weights"
        raise UsageError(f"{name}: {has}; expected *.safetensors; take another release")
    if CONFIG not in sizes:
        raise UsageError(f"{name}: has no {CONFIG}; expected a model in Hugging Face form")


def _check_room(out: Path, sizes: dict[str, int]) -> None:
    there = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    needed, free = sum(sizes.values()) - there, shutil.disk_usage(out).free
    if needed > free - _SPARE:
        raise UsageError(f"{out}: expected {needed / 1e9:.2f} GB of room for the files, found {free / 1e9:.2f} GB")


@contextmanager
def _online() -> Iterator[None]:
    """Lifts HF_HUB_OFFLINE, which the Makefile sets so that nothing is fetched unasked."""
    from huggingface_hub import constants

    library: Any = constants
    before = library.HF_HUB_OFFLINE
    library.HF_HUB_OFFLINE = False
    try:
        yield
    finally:
        library.HF_HUB_OFFLINE = before
