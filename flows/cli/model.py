"""`cinnabar model` checks and fetches language models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.flows.cli.options import AsJson, DeviceOption
from cinnabar.schemas.errors import ModelError

model_app = typer.Typer(help="Check and fetch language models.")


@model_app.callback(invoke_without_command=True)
def model_group(context: typer.Context) -> None:
    """Check and fetch language models."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@model_app.command("check")
def check_model(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder in Hugging Face form.")],
    device: DeviceOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Show a language model's family, licence, memory, window, block, and missing or odd tensors.

    Exit status 2, with the first problem, if the model cannot be loaded.

    \b
    Examples:
      cinnabar model check models/SDAR-1.7B-Chat
      CINNABAR_PRECISION=bfloat16 cinnabar model check models/SDAR-1.7B-Chat --json
    """
    from cinnabar.engine.models.language.inspection import inspect_checkpoint

    found = inspect_checkpoint(folder, device)
    if as_json:
        print(json.dumps({**found.facts, "problems": found.problems}, ensure_ascii=False))
    else:
        _show(found.facts, found.problems)
    if found.problems:
        raise ModelError(found.problems[0])


@model_app.command("fetch")
def fetch_model(
    name: Annotated[str, typer.Argument(metavar="ORG/NAME", help="A model of the hub.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder for the model; models/NAME if not given.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="REV", help="A branch, tag or commit of the model.")
    ] = None,
) -> None:
    """Fetch a language model from a hub; an interrupted download goes on where it stopped.

    It fetches weights in safetensors, JSON files, the chat template and the licence: no code, no pickles. The
    environment variable HF_ENDPOINT names another hub, HF_TOKEN a user.

    \b
    Examples:
      cinnabar model fetch JetLM/SDAR-1.7B-Chat
      cinnabar model fetch Qwen/Qwen3-0.6B --out qwen
    """
    from cinnabar.engine.models.language.hub import fetch_checkpoint

    folder = out or Path("models") / name.rpartition("/")[2]
    done = fetch_checkpoint(name, folder, revision)
    print(f"written: {done.folder}: {done.files} files, {done.size / 1e9:.2f} GB, commit {done.revision[:12]}")


def _show(facts: dict[str, Any], problems: list[str]) -> None:
    from cinnabar.flows.cli.console import harmless

    for name, value in [*facts.items(), *(("problem", one) for one in problems)]:
        print(harmless(f"{name:<26} {_said(value)}"))


def _said(value: Any) -> str:
    """Returns a fact as text; of a list the first ten."""
    if isinstance(value, list):
        more = f" and {len(value) - 10} more" if len(value) > 10 else ""
        return ", ".join(map(str, value[:10])) + more if value else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "none" if value is None else str(value)
