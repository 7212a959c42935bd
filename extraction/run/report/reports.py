"""The reports in an output folder: one HTML page for each run, and the seconds of its stages beside it.

A report is written after its run has ended, under a temporary name, and never fails the run. It can be made anew from
the tables at any time. A page is made of the template in `templates/`: it is one file without a script that fetches
nothing. The template writes every value escaped, with control and direction characters as visible escapes. Its page's
policy allows its own style alone, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cinnabar.errors import UsageError
from cinnabar.extraction.plan.outcomes import REASONS
from cinnabar.extraction.run.report.run_data import SURE, gather_run
from cinnabar.extraction.store.files import failures, write_bytes
from cinnabar.extraction.store.manifest import REPORTS
from cinnabar.extraction.store.path_safety import is_own
from cinnabar.extraction.store.records import EMPTY
from cinnabar.extraction.store.rows import StoredRows
from cinnabar.extraction.store.spelling import known_folders
from cinnabar.extraction.store.store import Store
from cinnabar.wording import with_noun


def report_path(out: Path, run_id: str) -> Path:
    """Returns the path of a run's report, whether it is there or not."""
    return out / REPORTS / f"{run_id}.html"


def report_of_run(
    store: Store, runs: Sequence[str], stages: Mapping[str, float], note: Callable[[str], None]
) -> Path | None:
    """Writes the reports of a command's runs, and returns the path of the first; None, with a note, if that fails."""
    try:
        written = []
        for run_id in runs:
            seconds = {stage: round(value, 3) for stage, value in stages.items()}
            write_bytes(_stages_path(store.out, run_id), json.dumps({"stages": seconds}).encode() + b"\n")
            written.append(write_report(store.out, run_id, rows=store.rows))
    # The run has ended well, whatever happens to its report.
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        note(f"the run's report could not be written ({failure}); `cinnabar status report` tries again")
        return None
    return written[0]


def write_report(out: Path, run_id: str, to: Path | None = None, rows: StoredRows | None = None) -> Path:
    """Writes a run's report into the folder, or to a file, and returns its path.

    `rows` are those of a folder that the caller has open. Raises UsageError if the folder has no such run, RunError if
    the file cannot be written.
    """
    if not is_own("run", run_id):
        raise UsageError(f"{run_id}: expected the id of a run, as in the view `runs`")
    data = gather_run(out, run_id, _stages(out, run_id), rows)
    text = report_page(data, [Path(), *known_folders(out)])
    path = report_path(out, run_id) if to is None else to
    with failures(f"{path}: the report could not be written"):
        write_bytes(path, text.encode("utf-8", "backslashreplace"))
    return path


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


def write_anew(store: Store, runs: Sequence[str]) -> None:
    """Writes the reports of these runs again, as far as they can be."""
    for run_id in runs:
        with suppress(Exception):
            write_report(store.out, run_id, rows=store.rows)


def _stages_path(out: Path, run_id: str) -> Path:
    return out / REPORTS / f"{run_id}.json"


def _stages(out: Path, run_id: str) -> dict[str, float]:
    """Returns the seconds of a run's stages; {} if they were not measured."""
    try:
        stages = json.loads(_stages_path(out, run_id).read_bytes())["stages"]
        return {str(stage): float(seconds) for stage, seconds in stages.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


_STAGES = {
    "parse": "parse the files",
    "fill": "fill the forms (the model)",
    "judge": "cut, merge, find evidence, judge",
    "store": "store",
}


def report_page(data: Mapping[str, Any], folders: Sequence[Path]) -> str:
    """Returns the report of a run. Relative paths of documents are looked for in these folders."""
    return _environment().get_template("report.html").render(
        data=data,
        address_of=partial(_address, folders=folders),
        stages=[(label, data["stages"][name]) for name, label in _STAGES.items() if name in data["stages"]],
        reasons=REASONS,
        empty_flag=EMPTY,
        sure=SURE,
    )


def embedded(page: str) -> str:
    """Returns the body of a report for a page that allows HTML without styles and drawings: its bars are images."""
    body = page[page.index("<main>") + len("<main>") : page.index("</main>")]
    body = re.sub(
        "<svg.*?</svg>",
        lambda found: f'<img alt="" src="data:image/svg+xml;base64,{base64.b64encode(found[0].encode()).decode()}">',
        body,
        flags=re.DOTALL,
    )
    # Prefect's first UI gives headings no weight. An empty line ends the HTML in Markdown, and four blanks begin code.
    body = re.sub(r"<(h\d)>(.*?)</h\d>", r"<\1><b>\2</b></\1>", body)
    return re.sub(r"\s*\n\s*", "\n", body).strip()


def _line(values: Iterable[float | None]) -> str:
    """Returns the points of a line through these values, the newest first, in a picture of 90 by 18."""
    known = [(at, value) for at, value in enumerate([*values][::-1]) if value is not None]
    if not known:
        return ""
    least, most = (pick(value for _, value in known) for pick in (min, max))
    step, size = 88 / max(known[-1][0], 1), 14 / ((most - least) or 1.0)
    return " ".join(f"{1 + at * step:.1f},{16 - (value - least) * size:.1f}" for at, value in known)


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


# Characters that are not shown, or that turn the text around them; a lone surrogate has no bytes in UTF-8.
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: object) -> str:
    """Returns a text with control and direction characters as visible escapes."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if hasattr(value, "__html__") else visible(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"counted": with_noun, "policy": _policy, "line": _line}
    return made


def _policy(style: str) -> str:
    """Returns the hash of a style for a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
