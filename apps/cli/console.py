"""The output of the commands: a progress bar, tables, and safe text."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cinnabar.apps.cli.notices import print_notice
from cinnabar.errors import ModelError, UsageError
from cinnabar.extraction.filling.progress import OutcomeTally
from cinnabar.extraction.store.records import STATUSES
from cinnabar.wording import harmless, with_noun

if TYPE_CHECKING:
    from cinnabar.extraction.store.records import Outcome

#: Seconds between two lines of progress without a terminal.
LINE_SECONDS = 30.0
#: The most characters of a column that is never folded: a number or a word over two lines reads badly.
UNFOLDED = 11
#: The width of output for people where there is no terminal.
PAGE_WIDTH = 80
#: The most characters of a value of a correction, and in a preview; the blanks between two columns.
CELL_WIDTH, PREVIEW_WIDTH, GAP = 48, 24, 3
# The beginning of a number at the end of a text, and the characters that continue it.
_NUMBER_AT_END = re.compile(r"(?<![\w.])-?\d[\d.eE+-]*$")
_DIGITS = frozenset("0123456789.eE+-")


def standard_output(width: int = 10_000) -> Console:
    """Returns the console of standard output, `width` characters wide without a terminal: enough for any row."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False, markup=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> Table:
    """Returns a table of these values without interpreting markup in them."""
    above = Text(harmless(title), "table.title")
    result = Table(box=box.SIMPLE_HEAD, title=above or None, title_justify="left", pad_edge=False)
    lines = [tuple(map(cell, row)) for row in rows]
    heads = [*map(cell, columns)]
    for head, (_, folds) in zip(heads, _widths(heads, lines), strict=True):
        result.add_column(Text(head), overflow="fold", no_wrap=not folds)
    for line in lines:
        result.add_row(*map(Text, line))
    return result


def _widths(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[tuple[int, bool]]:
    """Returns the characters that each column takes at least, and whether its longer texts are folded for that."""
    widest = [max(map(cell_len, column)) for column in zip(heads, *lines, strict=True)]
    folded = [max(UNFOLDED, cell_len(head)) for head in heads]
    return [(min(most, least), most > least) for most, least in zip(widest, folded, strict=True)]


def tables_within(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> list[Table]:
    """Returns a table of these rows, or one for each, a field a line, where this width would fold a head."""
    heads, lines = [*map(cell, columns)], [[*map(cell, row)] for row in rows]
    widths = _widths(heads, lines)
    folded = [least for least, folds in widths if folds]
    # Rich folds such columns to one width.
    least = len(folded) * max(folded, default=0) + sum(least for least, folds in widths if not folds)
    if least + GAP * len(heads) <= width:
        return [table(heads, lines)]
    return [table((heads[0], line[0]), [*zip(heads[1:], line[1:], strict=True)]) for line in lines]


def fitted(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str) -> Table:
    """Returns a preview with as many columns as the page has room for; no head and no number is cut.

    Longer texts end in an ellipsis. The title tells the number of the columns that are left out.
    """
    lines = [[short(value, PREVIEW_WIDTH) for value in row] for row in rows]
    room, shown = standard_output(PAGE_WIDTH).width, 0
    for at, column in enumerate(columns):
        room -= max(map(cell_len, (column, *(line[at] for line in lines)))) + GAP
        shown += room >= 0 or at == 0
    more = len(columns) - shown
    title += f"; {with_noun(more, 'more field')} each" if more else ""
    return table(columns[:shown], [line[:shown] for line in lines], title)


def cell(value: Any) -> str:
    """Returns a value as the text of a table's cell, on one line; a number has all its digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value
    elif isinstance(value, Decimal):
        text = f"{value:f}"  # never 0E-12
    elif isinstance(value, (dict, list, tuple)):
        text = _json(value)
    else:
        text = str(value)
    return harmless(" ".join(text.split()))


def _json(value: Any) -> str:
    """Returns a value as JSON; a Decimal is a number with all its digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(str(name))}: {_json(part)}" for name, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_json, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, ensure_ascii=False, default=str)


def short(value: Any, most: int = CELL_WIDTH) -> str:
    """Returns a value as the text of a preview's cell: a long text ends in an ellipsis, a number is never cut."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return with_noun(len(value), "row")
    text = cell(value)
    if len(text) <= most or isinstance(value, (int, float, Decimal)):
        return text
    kept = text[: most - 1]
    if not isinstance(value, str):  # JSON: a number that the cut would shorten is left out
        kept = _NUMBER_AT_END.sub("", kept) if text[most - 1] in _DIGITS else kept
    return f"{kept}…"


class Bar(OutcomeTally):
    """A bar on standard error: documents, fields, the time left, and quarantine by reason; without a terminal lines.

    It is a context manager and the `ProgressListener` of a run. If the run breaks off, it prints the totals so far, and
    that they lie in `out`.
    """

    def __init__(self, out: Path | None = None) -> None:
        super().__init__()
        console = Console(stderr=True)
        self._out, self._terminal = out, console.is_terminal
        self._fields, self._skipped, self.completed = 0, 0, 0.0
        # The seconds of a document; the moment of the first news, before which models are loaded, with the documents
        # that were read then; the moment of the last news.
        self._each: float | None = None
        self._news: tuple[float, float] | None = None
        self._moved = time.monotonic()
        self._ended, self._lock = threading.Event(), threading.Lock()
        # Lines come from a thread of their own, so that they go on while the model reads a long document.
        self._lines = threading.Thread(target=self._print_lines, name="progress", daemon=True)
        self._live = Live(console=console, get_renderable=self.shown, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start() if self._terminal else self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.transient = not self.inputs
        self._live.stop()
        self._ended.set()
        # Wrong use is found before any document is read, or while documents are counted: nothing is done then.
        begun = bool(self.done) or not isinstance(error, UsageError | ModelError)
        if error is not None and self.inputs and begun:
            where = f", in {self._out}" if self._out is not None else ""
            print_notice(f"so far {self._totals()}{where}")

    def shown(self) -> Group:
        """Returns what a terminal shows: the bar, and below it what is in quarantine and why."""
        line = Table.grid(padding=(0, 1))
        line.add_row(ProgressBar(self.inputs or None, self.completed, width=24), self._so_far())
        held = self._outcome_counts("quarantined")
        return Group(line, *([Text(held, overflow="ellipsis", no_wrap=True)] if held else ()))

    def _so_far(self) -> str:
        """Returns the documents and fields so far, and the time left unless nobody knows it, or it is over."""
        if not self.inputs:
            return "looking for documents"
        so_far = f"{self.done:,} of {with_noun(self.inputs, 'document')}, {with_noun(self._fields, 'field')}"
        left = (self._each or 0.0) * (self.inputs - self.completed) - (time.monotonic() - self._moved)
        unit, size = next(((unit, size) for unit, size in (("h", 3600), ("min", 60)) if left >= 2 * size), ("s", 1))
        return f"{so_far}, {left / size:.0f} {unit} left" if left > 0 else so_far

    def _print_lines(self) -> None:
        while not self._ended.wait(LINE_SECONDS):
            if self.inputs:
                print_notice(self._totals())

    def _totals(self) -> str:
        return ": ".join(filter(None, (self._so_far(), self._outcome_counts(*STATUSES))))

    def _outcome_counts(self, *outcomes: str) -> str:
        """Returns the counts of these outcomes in words, and the reasons of documents in quarantine."""
        with self._lock:
            reasons = self.reasons()
        counts = Counter[str]()
        for one in reasons:
            counts[one.outcome] += one.documents
        codes = ", ".join(f"{one.code} {one.documents}" for one in reasons if one.outcome == "quarantined")
        why = {"quarantined": f" ({codes})"}
        return ", ".join(f"{counts[one]} {one}{why.get(one, '')}" for one in outcomes if counts[one])

    def note(self, text: str) -> None:
        """Prints a notice or an estimate to standard error, with or without a terminal."""
        print_notice(text)

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Counts finished documents by their outcomes."""
        with self._lock:
            super().advance(outcomes)
        self._skipped += sum(outcome.status == "skipped" for outcome in outcomes)
        self._fields += sum(len(outcome.record.leaves) for outcome in outcomes if outcome.record)
        self.within(0.0)

    def step(self, documents: int) -> None:
        """Advances the bar by so many more documents."""
        self.done += documents
        self.within(0.0)

    def within(self, documents: float) -> None:
        """Moves the bar on by documents that are answered and not committed; it never goes back."""
        self.completed, self._moved = max(self.completed, self.done + documents), time.monotonic()
        if read := self.completed - self._skipped:
            begun, before = self._news = self._news or (self._moved, read)
            self._each = (self._moved - begun) / (read - before) if read > before else self._each
