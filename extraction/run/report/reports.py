"""The reports in an output folder: one HTML page for each run, and the seconds of its stages beside it.

A report is written after its run has ended, under a temporary name, and never fails the run. It can be made anew from
the tables at any time.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cinnabar.extraction.run.report.pages import visible
from cinnabar.extraction.run.report.report_page import report_page
from cinnabar.extraction.run.report.run_data import gather_run
from cinnabar.extraction.store.files import failures, write_bytes
from cinnabar.extraction.store.folders import known_folders
from cinnabar.extraction.store.manifest import REPORTS
from cinnabar.extraction.store.path_safety import is_own
from cinnabar.schemas.errors import UsageError


def report_path(out: Path, run_id: str) -> Path:
    """Returns the path of a run's report, whether it is there or not."""
    return out / REPORTS / f"{run_id}.html"


@dataclass(frozen=True, slots=True)
class Report:
    """The file of a run's report, its schema, and the sentences on what moved beyond chance against earlier runs."""

    path: Path
    schema: str
    drift: tuple[str, ...]


def report_of_run(
    out: Path, runs: Sequence[str], stages: Mapping[str, float], note: Callable[[str], None]
) -> Report | None:
    """Writes the reports of a command's runs, and returns that of the first with the drift of all.

    Returns None, with a note, if that fails.
    """
    try:
        written = []
        for run_id in runs:
            seconds = {stage: round(value, 3) for stage, value in stages.items()}
            write_bytes(_stages_path(out, run_id), json.dumps({"stages": seconds}).encode() + b"\n")
            written.append(write_report(out, run_id))
    # The run has ended well, whatever happens to its report.
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        note(f"the run's report could not be written ({failure}); `cinnabar status report` tries again")
        return None
    if len(written) == 1:
        return written[0]
    return replace(written[0], drift=tuple(f"{one.schema}: {text}" for one in written for text in one.drift))


def write_report(out: Path, run_id: str, to: Path | None = None) -> Report:
    """Writes a run's report into the folder, or to a file.

    Raises UsageError if the folder has no such run, RunError if the file cannot be written.
    """
    if not is_own("run", run_id):
        raise UsageError(f"{run_id}: expected the id of a run; `cinnabar status runs` lists them")
    data = gather_run(out, run_id, _stages(out, run_id))
    text = report_page(data, [Path(), *known_folders(out)])
    path = report_path(out, run_id) if to is None else to
    with failures(f"{path}: the report could not be written"):
        write_bytes(path, text.encode("utf-8", "backslashreplace"))
    return Report(path, data.schema_name, data.drift)


def naming_reports(out: Path, paths: Sequence[str], digests: Sequence[str]) -> list[str]:
    """Returns the runs whose reports name one of these documents, or cannot be read."""
    marks = {*map(visible, paths), *(digest[:12] for digest in digests)}
    run_ids = []
    reports = sorted((out / REPORTS).glob("*.html")) if (out / REPORTS).is_dir() else []
    for path in (one for one in reports if is_own("run", one.stem)):
        try:
            content = html.unescape(path.read_text("utf-8", "replace"))
        except OSError:
            content = None
        if content is None or any(mark in content for mark in marks):
            run_ids.append(path.stem)
    return run_ids


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
        stages = json.loads(_stages_path(out, run_id).read_bytes())["stages"]
        return {str(stage): float(seconds) for stage, seconds in stages.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
