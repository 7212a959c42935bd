"""The group `cinnabar status`, and `cinnabar verify`: they inspect and maintain an output folder."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer, AsJson
from cinnabar.apps.cli.options import OutOption, setting
from cinnabar.apps.cli.results import warn_of_unread
from cinnabar.extraction.maintenance.verification import verify as check
from cinnabar.extraction.run.report.reports import write_report
from cinnabar.extraction.store.housekeeping import status as look
from cinnabar.extraction.store.model_runs import MODEL_RUN
from cinnabar.extraction.store.reading import as_objects, query
from cinnabar.extraction.store.records import STATUSES
from cinnabar.wording import harmless, with_noun

status_app = typer.Typer()
# The most schemas and reasons that a folder is shown with: all of it is one screen.
_NAMED = 8


@status_app.callback(invoke_without_command=True)
def status(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder of the results.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what stands in a folder, and what its last run did.

    Without a command: records by schema, quarantine by reason, the last run, and files.

    \b
    Examples:
      cinnabar status --out tables
    """
    if context.invoked_subcommand is not None:
        if out is not None or as_json:
            context.fail(f"expected --out and --json after `{context.invoked_subcommand}`")
        return
    if out is None:
        out = setting("--out DIR", "results")
    warn_of_unread(out)
    content = look(out)
    if as_json:
        print(json.dumps(asdict(content)))
        return
    files = f"{decimal(content.bytes)} in {with_noun(content.batches, 'batch', 'batches')}"
    done = ", ".join(f"{count} {outcome}" for outcome, count in content.last_outcomes.items())
    last = f"{'one is going' if content.writing else 'the last'}: {done}; {content.last_run}"
    rows = [
        ("documents", content.documents, ""),
        ("records", sum(content.records.values()), _counts(content.records)),
        ("quarantine", sum(content.quarantined.values()), _counts(content.quarantined)),
        ("corrections", content.corrections, f"{content.waiting} to be committed" if content.waiting else ""),
        ("runs", content.runs, last if content.runs else ""),
        ("files", content.files, files + ("" if content.snapshot else "; the next run renews the snapshot")),
    ]
    standard_output().print(table(("", "now", ""), rows, f"What stands in {content.folder}"))


@status_app.command()
def runs(
    out: OutOption,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="The last N.")] = None,
) -> Answer:
    """List the runs of a folder, the last one first.

    \b
    Examples:
      cinnabar status runs --out tables --limit 10
    """
    # The clock may have been set back during a run.
    sql = (
        "SELECT run_id, strftime(make_timestamp(epoch_us(started)), '%Y-%m-%dT%H:%M:%SZ') AS started,"
        " CASE WHEN finished IS NOT NULL THEN round(greatest(0, epoch_us(finished) - epoch_us(started)) / 1e6, 1) END"
        " AS seconds, schema_name AS schema, model, inputs, written, quarantined, skipped"
        f" FROM runs WHERE {MODEL_RUN} ORDER BY run_id DESC LIMIT {limit or 'NULL'}"
    )
    listed = as_objects(query(out, sql))
    yield listed
    # The id begins with the time. An id that a terminal folds cannot be copied, so the other columns are few.
    rows = [[one["run_id"], one["schema"], one["model"], _ending(one)] for one in listed]
    standard_output().print(table(("run_id", "schema", "model", "outcomes"), rows))


@status_app.command()
def report(
    out: OutOption,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="By default the last.")] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="The file.")] = None,
) -> Answer:
    """Write the report of a run anew.

    Each run leaves its report as DIR/reports/RUN.html, one file without a script that fetches nothing. A new one
    counts what people corrected since.

    \b
    Examples:
      cinnabar status report --out tables --to report.html
    """
    # The last run of a model; what a person corrected is a run, too.
    sql = "SELECT run_id FROM runs ORDER BY arguments ->> 'model' IS NULL, run_id DESC LIMIT 1"
    run_id = run or str(query(out, sql).rows[0][0])
    written = write_report(out, run_id, to)
    yield {"run_id": run_id, "report": str(written)}
    print(harmless(str(written)))


def verify(
    out: OutOption,
    clean: Annotated[bool, typer.Option("--clean", help="Remove what dead runs left.")] = False,
) -> Answer:
    """Check files against their manifests, records against their schema.

    A broken file is reported and moved with its batch to DIR/aside; the next run fills its documents again.
    Exit status 1 if a file or record is broken.

    \b
    Examples:
      cinnabar verify --out tables --clean
    """
    checked = check(out, clean)
    yield asdict(checked)
    for problem in checked.problems:
        print(harmless(f"{problem.path}: {problem.detail}"))
    for name in checked.aside:
        print(harmless(f"{name}: set aside; the next run fills its documents again"))
    if checked.removed:
        print(f"removed: {with_noun(len(checked.removed), 'file')} of dead runs")
    if checked.leftovers:
        lying = with_noun(len(checked.leftovers), "file")
        print(f"left over from dead runs: {lying}; --clean or the next run removes them")
    broken = with_noun(len(checked.problems), "problem") if checked.problems else "all is well"
    looked = (with_noun(checked.batches, "batch", "batches"), with_noun(checked.files, "file"))
    print(f"{', '.join(looked)}, {with_noun(checked.records, 'record')}: {broken}")
    return 1 if checked.problems else 0


def _ending(run: dict[str, Any]) -> str:
    if run["seconds"] is None:
        return "not ended"
    return f"{run['seconds']:.1f} s: " + ", ".join(f"{run[one]} {one}" for one in STATUSES if run[one])


def _counts(counts: dict[str, int]) -> str:
    """Returns the largest of these counts in words, and how many others there are."""
    named = [f"{name} {count}" for name, count in Counter(counts).most_common(_NAMED)]
    return ", ".join(named + [f"{len(counts) - _NAMED} more"] * (len(counts) > _NAMED))
