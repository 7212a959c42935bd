"""`cinnabar show --steps` prints the denoising steps of one document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from cinnabar.apps.cli.console import standard_output
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.extraction.review.steps import WatchedStep, watch
from cinnabar.schemas.pointers import escape
from cinnabar.wording import harmless

# The most characters of a value.
_WIDTH = 72
_STYLES = {" ": "", "+": "bold green", "!": "bold red", "±": "bold yellow"}


def show_steps(document: str, out: Path, schema: str | None, model: str | None, as_json: bool) -> None:
    """Fills a stored document again, and prints each step as soon as it is taken."""
    lines, console = sys.stdout, standard_output()
    console.file = lines

    def show(step: WatchedStep) -> None:
        if as_json:
            print(json.dumps(asdict(step), ensure_ascii=False), file=lines, flush=True)
        else:
            _print(step, console)

    # Standard output is for the steps alone.
    with redirect_stdout(sys.stderr):
        outcome = watch(out, document, schema, show, model=model, device=folder_settings().device)
    if as_json:
        return
    if outcome.status != "written":
        why = f": {outcome.detail}" if outcome.detail else ""
        console.print(harmless(f"A run would send this record to quarantine: {outcome.code}{why}"))
    console.print("+ committed, ! opened again, ± both; the number is the model's probability so far.", style="dim")


def _print(step: WatchedStep, console: Console) -> None:
    """Prints the values that a step committed or opened again, of the last one the whole record."""
    doubted = f", {len(step.doubted)} opened again" if step.doubted else ""
    passage = f"Passage {step.passage}, step" if step.passage > 1 else "Step"
    told = f"{passage} {step.step}: {len(step.committed)} committed{doubted}"
    console.print(Text("The record, with calibrated confidence" if step.final else told, style="bold"))
    marks = dict.fromkeys(step.committed, "+")
    marks |= {pointer: "±" if pointer in marks else "!" for pointer in step.doubted}
    for pointer, line in _lines(json.loads(step.record)):
        if step.final or pointer in marks:
            sure, style = step.confidence.get(pointer), _STYLES[marks.get(pointer, " ")]
            confidence = "    " if sure is None else f"{sure:4.2f}"
            mark = f"  {marks.get(pointer, ' ')} "
            console.print(Text.assemble((mark, style), (confidence, "cyan"), "  ", (line, style)))
    console.print()


def _lines(value: Any, pointer: str = "", name: str = "") -> Iterator[tuple[str, str]]:
    """Yields the values of a record, each with its pointer and a line that names it."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _lines(part, f"{pointer}/{escape(key)}", f"{name}.{key}" if name else key)
    elif isinstance(value, list) and value:
        for at, part in enumerate(value):
            yield from _lines(part, f"{pointer}/{at}", f"{name}[{at}]")
    else:
        text = json.dumps(value, ensure_ascii=False)
        text = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
        yield pointer, harmless(f"{name}: {text}" if name else text)
