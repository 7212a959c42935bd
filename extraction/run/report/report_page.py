"""Writes a run's report as one HTML page with inline drawings and no script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from cinnabar.extraction.plan.outcomes import REASONS
from cinnabar.extraction.run.report.drift import LEVEL
from cinnabar.extraction.run.report.pages import render
from cinnabar.extraction.run.report.run_data import BINS, MOST_FIELDS, RunData
from cinnabar.extraction.store.records import EMPTY

_STAGES = {
    "parse": "parse the files",
    "fill": "fill the forms (the model)",
    "judge": "cut, merge, find evidence, judge",
    "store": "store",
}
# The most differences from earlier runs that are told.
_MOST_DRIFT = 40


def report_page(data: RunData, folders: Sequence[Path]) -> str:
    """Returns the report of a run. Relative paths of documents are looked for in these folders."""
    return render(
        "report.html",
        data=data,
        address_of=partial(_address, folders=folders),
        stages=[(label, data.stages[name]) for name, label in _STAGES.items() if name in data.stages],
        within=[(name.partition("/")[2], value) for name, value in data.stages.items() if "/" in name and value > 0],
        reasons=REASONS,
        bins=BINS,
        empty_flag=EMPTY,
        level=LEVEL,
        most_drift=_MOST_DRIFT,
        most_fields=MOST_FIELDS,
    )


def _address(path: str, folders: Sequence[Path]) -> str | None:
    """Returns the address of a file that is there now, None if it is not."""
    for folder in folders:
        try:
            file = (folder / path).absolute()
            if file.is_file():
                return file.as_uri()
        except (OSError, ValueError):  # too long a name, or one with a NUL
            continue
    return None
