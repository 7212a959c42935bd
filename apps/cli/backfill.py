"""`cinnabar backfill` brings stored records to a new version of their schema."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.console import Bar
from cinnabar.apps.cli.lazy_commands import AsJson
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import (
    RUN_OPTIONS,
    FromOption,
    LocalModelOption,
    OnOption,
    OutOption,
    plan_of,
    takes_options,
)
from cinnabar.apps.cli.plan_checks import limit_status
from cinnabar.engine.remote.serving import is_remote
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import parse_locations
from cinnabar.extraction.plan.outcomes import CHANGED, GONE, UNREADABLE
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.backfill.backfill import begin_backfill
from cinnabar.extraction.run.backfill.estimate import BackfillEstimate
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.cluster.connection import join_cluster
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.stored_records import Selection, latest_source, names
from cinnabar.schemas.library import LIBRARY
from cinnabar.wording import harmless, with_noun

#: The most lost documents that the report names.
NAMED = 20


_Version = Annotated[
    str,
    typer.Option(metavar="S", help="The new version."),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only tell the cost: documents, tokens, seconds.")
]
_Source = Annotated[
    str | None, typer.Option(metavar="PATH", help="Only of this file, folder, mailbox or pattern.")
]
_Below = Annotated[
    float | None,
    typer.Option(metavar="P", help="Only records, and again fields, less sure than this."),
]
_Where = Annotated[
    str | None, typer.Option(metavar="SQL", help="Only records that meet this condition.")
]

@takes_options(
    "related",
    "max_error_rate",
    *(one for one in RUN_OPTIONS if one not in ("limit", "min_confidence", "retry_quarantined", "split")),
    "ray",
)
def backfill(
    schema: _Version,
    out: OutOption,
    model: LocalModelOption = None,
    on: OnOption = None,
    dry_run: _DryRun = False,
    source: _Source = None,
    below: _Below = None,
    where: _Where = None,
    others: FromOption = None,
    as_json: AsJson = False,
    **run_options: Any,
) -> int:
    """Fill the new and changed fields of a schema's new version, and keep other values.

    The records in DIR of the schema with the same name (its title, or its file's name) become records of the
    new version; the old records stay. After an interruption, run the command again to continue.

    Documents are read again from their stored paths, from any working directory; mails from their mailboxes.
    The password of an IMAP mailbox is read from CINNABAR_IMAP_PASSWORD. No server is asked.

    With --related documents that earlier runs skipped as other_kind are compared again.

    \b
    Examples:
      cinnabar backfill --schema invoice_v2.json --out tables --dry-run
      cinnabar backfill --schema invoice --out tables --below 0.7 --effort high

    The estimate comes from a sample of a few documents on this machine, also with --ray.

    With --json the object has the estimate, and the summary of the run or null.
    """
    stored = latest_source(out, schema) if out.is_dir() and schema not in LIBRARY else None
    given = schema if stored is None or Path(schema).exists() else stored
    plan = plan_of([given], out, model=model, on=on, **run_options)
    if plan.model is not None and is_remote(plan.model):
        raise UsageError(f"--model {plan.model}: expected a local model; a backfill asks no server")
    if not out.is_dir():
        raise UsageError(f"--out {out}: expected the folder that the records lie in")
    if below is not None and not 0 < below <= 1:
        raise UsageError(f"--below: expected more than 0, and at most 1, got {below:g}")
    chosen = Selection(source=source, below=below, where=where)
    assignment = Assignment.of(plan, print_notice)
    return _work(plan, assignment, chosen, others or [], dry_run, as_json)


def _work(
    plan: RunPlan, assignment: Assignment, chosen: Selection, others: list[str], dry_run: bool, as_json: bool
) -> int:
    """Tells the estimate, does the work unless it is a `dry_run`, and returns the exit status."""
    assert plan.out is not None
    out = plan.out
    lying = parse_locations(others)
    summary = None
    with (
        Bar(out=out) as bar,
        join_cluster(plan.ray, assignment) as cluster,
        (backfill := begin_backfill(assignment, out, chosen, bar, lying)).run as run,
    ):
        estimate = backfill.estimate()
        if not as_json:
            _print_estimate(estimate, assignment.source.name, names(out))
        if not (dry_run or run.empty):
            # Standard output is for the result, but Ray prints lost workers there.
            with redirect_stdout(sys.stderr):
                summary = run.work_through(cluster)
    if as_json:
        ended = None if summary is None else asdict(summary)
        print(json.dumps({"estimate": asdict(estimate), "summary": ended, "out": str(out)}))
    elif summary is not None:
        _report(summary, out)
    return 0 if summary is None else limit_status(summary, bar.reasons(), plan)


def _print_estimate(estimate: BackfillEstimate, name: str, there: list[str]) -> None:
    if not (estimate.documents or estimate.done or estimate.lost or estimate.renamed):
        others = f"; there are records of {', '.join(there)}" if there and name not in there else ""
        reason = f"no record of an older version was chosen{others}{_gone_elsewhere(estimate)}"
        print(harmless(f"{name}: nothing to fill: {reason}"))
        return
    filled_fields = "all fields" if "" in estimate.asked else ", ".join(estimate.asked) or "nothing"
    dropped = f"; dropped: {', '.join(estimate.dropped)}" if estimate.dropped else ""
    print(harmless(f"{name}: to be filled: {filled_fields}{dropped}"))
    if estimate.renamed:
        print(f"{with_noun(estimate.renamed, 'record')} that need no document: names alone have changed")
    print(
        f"{with_noun(estimate.documents, 'document')} of {with_noun(estimate.tokens, 'token')}, {estimate.time}"
        f" (from a sample of {estimate.sampled});"
        f" {estimate.done} done before, {estimate.lost} gone or changed{_gone_elsewhere(estimate)}"
    )


def _gone_elsewhere(estimate: BackfillEstimate) -> str:
    if not estimate.elsewhere:
        return ""
    return f"; {with_noun(estimate.elsewhere, 'document')} left out, which a later choice or --related sent elsewhere"


def _report(summary: Summary, out: Path) -> None:
    codes = ", ".join(f"'{code}'" for code in (GONE, CHANGED, *UNREADABLE))
    of_these = f"from outcomes where run_id = '{summary.run_id}' and outcome = 'skipped' and code in ({codes})"
    with connect(out, views=("outcomes",)) as connection:
        path_and_detail = "case when contains(detail, path) then detail else path || ': ' || detail end"
        lost = connection.execute(f"select {path_and_detail} {of_these} order by path").fetchall()
    for (detail,) in lost[:NAMED]:
        print(harmless(detail))
    if more := len(lost[NAMED:]):
        print(f"… and {more} more: cinnabar sql \"from outcomes where outcome = 'skipped'\"")
    print(f"{summary.counts} in {summary.seconds:.1f} s")
    if summary.report is not None:
        print(harmless(f"Report: {summary.report}"))
