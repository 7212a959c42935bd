"""The reports in an output folder: one HTML page for each run, and the seconds of its stages beside it.

A report is written after its run has ended, under a temporary name, and never fails the run. It can be made anew from
the tables at any time.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from cinnabar.extraction.storage.files import failures, write_bytes
from cinnabar.extraction.storage.folders import remembered
from cinnabar.extraction.storage.manifest import REPORTS
from cinnabar.extraction.watching.pages import link, shown
from cinnabar.extraction.watching.report_page import report_page
from cinnabar.extraction.watching.run_data import gather_run
from cinnabar.schemas.errors import UsageError

_RUN = re.compile(r"[0-9TZ]+-[0-9a-f]+")


def report_path(out: Path, run_id: str) -> Path:
    """Returns the path of a run's report, whether it is there or not."""
    return out / REPORTS / f"{run_id}.html"


def report_of_run(
    out: Path, runs: Sequence[str], stages: Mapping[str, float], note: Callable[[str], None]
) -> Path | None:
    """Writes the reports of a command's runs and returns that of the first; None, with a note, if that fails."""
    try:
        for run_id in runs:
            seconds = {stage: round(value, 3) for stage, value in stages.items()}
            write_bytes(_stages_path(out, run_id), json.dumps({"stages": seconds}).encode() + b"\n")
            write_report(out, run_id)
    # The run has ended well, whatever happens to its report.
    except Exception as error:
        note(f"the run's report could not be written ({type(error).__name__}: {error}); `cinnabar report` tries again")
        return None
    return report_path(out, runs[0])


def write_report(out: Path, run_id: str, to: Path | None = None) -> Path:
    """Writes a run's report into the folder, or to a file, and returns its path.

    Raises UsageError if the folder has no such run, RunError if the file cannot be written.
    """
    if not _RUN.fullmatch(run_id):
        raise UsageError(f"{run_id}: expected the id of a run; `cinnabar runs` lists them")
    data = gather_run(out, run_id, _stages(out, run_id))
    folders = [Path(), *remembered(out)]
    text = report_page(data, partial(link, folders=folders))
    path = report_path(out, run_id) if to is None else to
    with failures(f"{path}: the report could not be written"):
        write_bytes(path, text.encode("utf-8", "backslashreplace"))
    return path


def naming_reports(out: Path, paths: Sequence[str], digests: Sequence[str]) -> list[str]:
    """Returns the runs whose reports name one of these documents, or cannot be read."""
    marks = {text.encode("utf-8", "backslashreplace") for path in paths for text in (shown(path), html.escape(path))}
    marks |= {digest[:12].encode() for digest in digests}
    found = []
    for path in sorted((out / REPORTS).glob("*.html")) if (out / REPORTS).is_dir() else ():
        try:
            content = path.read_bytes()
        except OSError:
            content = None
        if content is None or any(mark in content for mark in marks):
            found.append(path.stem)
    return found


def remove_reports(out: Path, runs: Sequence[str]) -> None:
    """Removes the reports of these runs."""
    for run_id in runs:
        report_path(out, run_id).unlink(missing_ok=True)


def write_anew(out: Path, runs: Sequence[str]) -> None:
    """Writes the reports of these runs again, as far as they can be."""
    for run_id in runs:
        with suppress(Exception):
            write_report(out, run_id)


def _stages_path(out: Path, run_id: str) -> Path:
    return out / REPORTS / f"{run_id}.json"


def _stages(out: Path, run_id: str) -> dict[str, float]:
    """Returns the seconds of a run's stages; {} if they were not measured."""
    try:
        found = json.loads(_stages_path(out, run_id).read_bytes())["stages"]
        return {str(stage): float(seconds) for stage, seconds in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
