"""`cinnabar show --steps` prints the denoising steps of one document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.text import Text

from cinnabar.apps.cli.console import standard_output
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.extraction.review.steps import WatchedStep, watch
from cinnabar.schemas.pointers import escape
from cinnabar.wording import harmless, with_noun

# A longer record is shown by the lines that changed.
_LINES = 60
# The most characters of a value.
_WIDTH = 72
_STYLES = {" ": "", "+": "bold green", "!": "bold red", "±": "bold yellow", "=": "", "·": "dim"}


def show_steps(
    document: str, out: Path, schema: str | None, model: str | None, as_json: bool
) -> None:
    """Fills a stored document again, and prints each step as soon as it is taken."""
    lines, blocks = sys.stdout, _Blocks()

    def show(step: WatchedStep) -> None:
        if as_json:
            print(json.dumps(asdict(step), ensure_ascii=False), file=lines, flush=True)
        else:
            blocks.show(step)

    # Standard output is for the steps alone.
    with redirect_stdout(sys.stderr):
        outcome = watch(out, document, schema, show, model=model, device=folder_settings().device)
    if as_json:
        return
    console = standard_output()
    if outcome.status != "written":
        why = f": {outcome.detail}" if outcome.detail else ""
        console.print(harmless(f"A run would send this record to quarantine: {outcome.code}{why}"), markup=False)
    console.print(
        "+ committed now, = before, ! opened again, ± opened again and committed, · open; the number is the model's"
        " probability so far.",
        markup=False,
        style="dim",
    )


class _Blocks:
    """Prints steps as blocks of lines, one for each value."""

    def __init__(self) -> None:
        self._console = standard_output()
        self._console.file = sys.stdout
        self._passage = 0
        self._committed: set[str] = set()
        self._before: dict[str, str] = {}

    def show(self, step: WatchedStep) -> None:
        """Prints a step."""
        if step.passage != self._passage and not step.final:
            self._passage, self._committed, self._before = step.passage, set(), {}
            if step.passage > 1:
                self._console.print(Text(f"Passage {step.passage} of the document", style="bold"))
        self._committed = (self._committed - {*step.doubted}) | {*step.committed}
        lines = [*_lines(json.loads(step.record))]
        marked = [(pointer, line, self._mark(pointer, step)) for pointer, line in lines]
        changed = [
            (p, line, mark) for p, line, mark in marked if mark in "+!±" or self._before.get(p, line) != line
        ]
        shown = marked if len(marked) <= _LINES or step.final else changed
        self._before = dict(lines)
        doubted = f", {len(step.doubted)} opened again" if step.doubted else ""
        counts = f": {len(step.committed)} committed{doubted}" if step.confidence else ""
        told = "The record, with calibrated confidence" if step.final else f"Step {step.step}{counts}"
        self._console.print(Text(told, style="bold"))
        for pointer, line, mark in shown:
            self._console.print(_line(mark, line, step.confidence.get(pointer)))
        if len(shown) < len(marked):
            self._console.print(Text(f"    … {with_noun(len(marked) - len(shown), 'line')} as before", style="dim"))
        self._console.print()

    def _mark(self, pointer: str, step: WatchedStep) -> str:
        # Lists and objects without a value are no values themselves.
        if step.final or pointer not in step.confidence:
            return " "
        if pointer in step.doubted:
            return "±" if pointer in step.committed else "!"
        if pointer in step.committed:
            return "+"
        return "=" if pointer in self._committed else "·"


def _line(mark: str, line: str, sure: float | None) -> Text:
    confidence = "    " if sure is None else f"{sure:4.2f}"
    return Text.assemble((f"  {mark} ", _STYLES[mark]), (confidence, "cyan"), "  ", (line, _STYLES[mark]))


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
