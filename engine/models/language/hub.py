"""Fetches checkpoints and files from the hub that the environment variable HF_ENDPOINT names, only when asked."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from cinnabar.engine.models.language.configuration import CONFIG, GENERATION, ORIGIN
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.weights_file import INDEX
from cinnabar.errors import CinnabarError, RunError, UsageError
from cinnabar.extras import check_extra

#: The files that are fetched, all at the top of a repository: no code and no pickles.
TEXTS = ("*.json", "*.jinja", "*.txt", "*.model", "LICEN[CS]E*", "COPYING*", "NOTICE*")
WEIGHT_FILES = "*.safetensors"
#: Seconds in which a hub answers, or counts as out of reach.
_REACHED = 10


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched checkpoint: its folder, the commit of the repository, its files and their bytes."""

    folder: Path
    revision: str
    files: int
    size: int


def fetch_checkpoint(
    name: str, out: Path, revision: str | None = None, say: Callable[[str], None] = lambda _: None
) -> Fetched:
    """Fetches the checkpoint `name` (ORG/NAME) of a hub into a folder; files that are there already stay.

    `say` is told the size of the weights before they are fetched.

    Raises UsageError for a model that is not there, may not be fetched or has pickles only; ModelError for what cannot
    be run or is lacking, before the weights are fetched; RunError if the hub fails.
    """
    check_extra("models", "cinnabar model fetch")
    # Extra: models.
    import huggingface_hub
    from huggingface_hub import errors

    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        with _online():
            info = huggingface_hub.HfApi(endpoint=endpoint).model_info(name, revision=revision, files_metadata=True)
            every = {str(one.rfilename): one for one in info.siblings or () if not {"/", "\\"} & set(one.rfilename)}
            weights = _weights_of(name, every)

            def fetch(*patterns: str) -> None:
                # The list of the files of weights comes when they are there.
                for file in every:
                    if any(fnmatch(file, one) for one in patterns) and (file != INDEX or patterns == (INDEX,)):
                        huggingface_hub.hf_hub_download(
                            name, file, revision=info.sha, endpoint=endpoint, local_dir=out
                        )

            out.mkdir(parents=True, exist_ok=True)
            origin = json.dumps({"name": name, "revision": info.sha}) + "\n"
            (out / ORIGIN).write_text(origin, encoding="utf-8")
            _fetch_weights_last(name, weights, out, fetch, say)
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
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        hub = endpoint or "huggingface.co"
        raise RunError(
            f"{name}: fetching from {hub} failed: {reason}; run the same command again, it goes on"
        ) from error
    there = [path for path in out.iterdir() if path.is_file() and path.name != ORIGIN]
    return Fetched(out, str(info.sha), len(there), sum(path.stat().st_size for path in there))


def _weights_of(name: str, every: dict[str, Any]) -> dict[str, Any]:
    """Returns what the hub tells of the files of weights, by their names. Raises UsageError if it is no checkpoint."""
    weights = {file: one for file, one in every.items() if fnmatch(file, WEIGHT_FILES)}
    if not weights:
        pickled = [file for file in every if file.endswith((".bin", ".pt", ".pth"))]
        has = f"has its weights as pickles ({pickled[0]}), which can run code" if pickled else "has no weights"
        raise UsageError(f"{name}: {has}; expected {WEIGHT_FILES}; take another release")
    if CONFIG not in every:
        raise UsageError(f"{name}: has no {CONFIG}; expected a model in Hugging Face form")
    return weights


def _fetch_weights_last(
    name: str, weights: dict[str, Any], out: Path, fetch: Callable[..., None], say: Callable[[str], None]
) -> None:
    """Fetches the files of a checkpoint; what cannot run or is lacking is found before its weights are fetched."""
    from cinnabar.engine.models.language.language_model import load_texts  # Cold start: Torch takes a second.

    fetch(CONFIG, GENERATION)
    read_family(out)
    fetch(*TEXTS)
    load_texts(out)
    say(f"{name}: {sum(one.size for one in weights.values()) / 1e9:.2f} GB of weights, and as much memory")
    fetch(WEIGHT_FILES)
    for file, one in weights.items():
        # The library compares sizes alone.
        if one.lfs and sha256_of(out / file) != one.lfs.sha256:
            (out / file).unlink()
            raise RunError(f"{out / file}: arrived with another content than the hub tells; run the same command again")
    fetch(INDEX)


def fetch_file(repository: str, revision: str, name: str, path: Path) -> None:
    """Fetches one file of a repository. Raises RunError if the hub is out of reach."""
    # Extra: models.
    import huggingface_hub

    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        with _online():
            url = huggingface_hub.hf_hub_url(repository, name, revision=revision, endpoint=endpoint)
            # The download itself would try a hub that is out of reach again and again.
            huggingface_hub.get_hf_file_metadata(url, timeout=_REACHED)
            found = huggingface_hub.hf_hub_download(
                repository, name, revision=revision, endpoint=endpoint, local_dir=path.parent
            )
            Path(found).replace(path)
    except Exception as error:  # of the library, of its HTTP client, of the disk
        raise RunError(f"{repository}: {' '.join(str(error).split())[:200]}") from error


def sha256_of(path: Path) -> str:
    """Returns the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _online() -> Iterator[None]:
    """Lifts HF_HUB_OFFLINE, by which the Makefile sees to it that nothing is fetched unasked; reports nothing."""
    # Extra: models.
    from huggingface_hub import constants

    library: Any = constants
    before = library.HF_HUB_OFFLINE, library.HF_HUB_DISABLE_TELEMETRY
    library.HF_HUB_OFFLINE, library.HF_HUB_DISABLE_TELEMETRY = False, True
    try:
        yield
    finally:
        library.HF_HUB_OFFLINE, library.HF_HUB_DISABLE_TELEMETRY = before
