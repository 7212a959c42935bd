"""`cinnabar extract` reads documents into tables, and reports outcomes, cost, and a preview of the records."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.apps.cli.console import Bar, fitted, standard_output, table
from cinnabar.apps.cli.lazy_commands import AsJson
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import (
    RUN_OPTIONS,
    Documents,
    OnOption,
    OutOption,
    SchemasOption,
    plan_of,
    takes_options,
)
from cinnabar.apps.cli.plan_checks import check_plan, limit_status
from cinnabar.extraction.plan.outcomes import OTHER_KIND, SYSTEM_FILE, UNREADABLE
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.store.names import quote_name
from cinnabar.extraction.store.records import AMBIGUOUS_DATE, EMPTY, EMPTY_RECORD, LIST_INCOMPLETE
from cinnabar.extras import check_extra
from cinnabar.flows.parameters import flow_parameters
from cinnabar.flows.prefect_server import check_server
from cinnabar.wording import harmless, with_noun

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from cinnabar.extraction.filling.progress import ReasonCount
    from cinnabar.extraction.run.batch.assignment import Assignment
    from cinnabar.extraction.run.stored_run import Summary
    from cinnabar.schemas import SchemaSource


@takes_options(
    "model",
    *RUN_OPTIONS,
    *("max_error_rate", "related", "escalate_to", "below", "budget", "ray"),
)
def extract(
    paths: Documents,
    schema: SchemasOption,
    out: OutOption,
    on: OnOption = None,
    flow: Annotated[bool, typer.Option("--flow", help="Run as a Prefect flow.")] = False,
    as_json: AsJson = False,
    on_empty: Annotated[str | None, typer.Option("--on-empty", hidden=True)] = None,
    **run_options: Any,
) -> int:
    """Read documents into tables: one record each, with the evidence behind every value.

    A second run over the same inputs does no model work. A document that cannot be read, or that lacks a value
    that the schema demands, goes to quarantine with a reason.

    \b
    Examples:
      cinnabar extract mails --schema insurance_mail --out tables
      cinnabar extract mails --schema claims:Claim --out tables --on missing=guess
      cinnabar extract scans --schema invoice --out tables --day-first yes

    With mercury-2 and openai:NAME documents go to a server, with the key in INCEPTION_API_KEY or OPENAI_API_KEY.

    With --json the object has run_id, out, inputs, written, quarantined, skipped, seconds, schema, steps, report,
    usage (of a server, or null), the counts reasons, skips and empty, routed and routing_ms.
    """
    if flow:
        check_extra("flows", "cinnabar extract --flow")
    policies = [*(on or ()), *([f"empty={on_empty}"] if on_empty else [])]
    plan = plan_of(schema, out, on=policies, **run_options)
    # Cold start: help and the refusal of an option need none of what a run needs.
    from cinnabar.extraction.run.batch.assignment import Assignment

    # An unusable schema is refused before weights are read.
    assignment = Assignment.of(plan, print_notice)
    # Standard output is for the result, but Ray prints lost workers there.
    with redirect_stdout(sys.stderr):
        summary, reasons = (_through_prefect if flow else _run)(paths, plan, assignment)
    if as_json:
        print(json.dumps(asdict(summary) | {"out": str(out)}))
    else:
        print_report(summary, [part.source for part in assignment.parts], out)
    return limit_status(summary, reasons, plan)


def _run(paths: list[str], plan: RunPlan, assignment: Assignment) -> tuple[Summary, list[ReasonCount]]:
    # Cold start: an unusable schema is refused before.
    from cinnabar.extraction.documents.inputs import parse_locations
    from cinnabar.extraction.run.cluster.connection import join_cluster
    from cinnabar.extraction.run.extract import begin_extraction

    assert plan.out is not None
    locations = parse_locations(paths)
    with (
        Bar(out=plan.out) as bar,
        join_cluster(plan.ray, assignment) as cluster,
        begin_extraction(assignment, locations, plan.out, bar) as run,
    ):
        return run.work_through(cluster), bar.reasons()


def _through_prefect(paths: list[str], plan: RunPlan, assignment: Assignment) -> tuple[Summary, list[ReasonCount]]:
    """Runs the flow, with the configured Prefect server or a temporary one.

    Raises UsageError for wrong use before Prefect starts its server.
    """
    # Cold start: as above. The flow comes last: wrong use is refused before.
    from cinnabar.extraction.run.stored_run import Summary
    from cinnabar.extraction.store.store import Store

    assert plan.out is not None
    check_plan(paths, plan, assignment)
    with Store.open(plan.out) as store:
        for part in assignment.parts:
            store.check_united(part.source, part.compiled_schema)
    check_server()

    from cinnabar.flows.extract import extract_folder  # Extra: flows. Wrong use is refused before it is imported.

    # The command itself holds the run to its limits, and tells it by its status.
    free = plan.model_copy(update={"max_error_rate": None})
    fields: Any = extract_folder(**flow_parameters(paths, free), wait=0)
    return Summary(**fields), []


# What the codes of skipped inputs say.
_SKIPS = {OTHER_KIND: "of another kind", EMPTY_RECORD: "without any value", SYSTEM_FILE: "of the system, no documents"}
# What the flags of a run's records say.
_FLAGS = {
    "check_failed:": "Failed checks of the schema",
    LIST_INCOMPLETE: "Records with a list of another length than their document tells",
    AMBIGUOUS_DATE: "Records with a date that means two days, which --day-first decides",
}
# Rows of the preview.
_PREVIEW_ROWS = 5


def print_report(summary: Summary, sources: Sequence[SchemaSource], out: Path) -> None:
    """Prints the counts of a run, the cost of a server, and a preview of the records of each schema."""
    console = standard_output()
    reasons = ", ".join(f"{code} {count}" for code, count in summary.reasons.items())
    read = summary.written + summary.quarantined
    pace = f"{summary.seconds / (read or 1):,.3f} a document, {with_noun(summary.steps, 'denoising step')}"
    rows: list[tuple[str, object, str]] = [
        ("inputs", summary.inputs, ""),
        ("written", summary.written, ""),
        ("quarantined", summary.quarantined, reasons),
        ("skipped", summary.skipped, "; ".join(_skip_reasons(summary))),
        ("seconds", summary.seconds, pace if read else ""),
    ]
    if summary.routing_ms is not None:
        rows.append(("routing", f"{summary.routing_ms:g} ms", "to choose the schema of a document"))
    console.print(table(("", summary.schema, ""), [*rows, *spent(summary.usage or {})]))
    if summary.routed and len(summary.routed) > 1:
        counts = ("schema", "written", "quarantined", "skipped")
        console.print(table(counts, [[part[name] for name in counts] for part in summary.routed]))
    views = _print_records(summary, sources, out)
    if not summary.inputs:
        console.print("Nothing to do: there is no file to read (hidden ones do not count).")
    console.print(harmless(f"Results: {out} (cinnabar sql, cinnabar show, or {out}/cinnabar.duckdb in DuckDB){views}"))
    if summary.report is not None:
        console.print(harmless(f"Report: {summary.report}"))


def _skip_reasons(summary: Summary) -> list[str]:
    """Returns why inputs were skipped, with their numbers."""
    left = summary.usage["left"] if summary.usage else 0
    why = (summary.usage or {}).get("stopped")
    known = left + sum(count for code, count in summary.skips.items() if code in {*_SKIPS, *UNREADABLE})
    again = "done before, or the same bytes as another input; --retry-quarantined reads quarantine again"
    reasons = [again] if summary.skipped > known else []
    if unread := {code: count for code, count in summary.skips.items() if code in UNREADABLE}:
        codes = ", ".join(f"{code} {count}" for code, count in unread.items())
        reasons.append(f"{sum(unread.values())} that cannot be read now ({codes}); their records stay")
    reasons += [f"{count} {_SKIPS[code]} ({code} in outcomes)" for code in _SKIPS if (count := summary.skips.get(code))]
    if left:
        reasons.append(f"{left} left for lack of budget{f': {why}' if why else ''}")
    return reasons


def _print_records(summary: Summary, sources: Sequence[SchemaSource], out: Path) -> str:
    """Prints a preview of the records of each schema, and what the folder tells of a run's records.

    Returns the names of the views that hold them, as the end of a line.
    """
    # Cold start: DuckDB and PyArrow take .4 s.
    from cinnabar.extraction.store import manifest as manifests
    from cinnabar.extraction.store.reading import connect
    from cinnabar.extraction.store.snapshot import define_views, records_as_table, view_of_version

    console = standard_output()
    runs = [part["run_id"] for part in summary.routed or ()] or [summary.run_id]
    # One connection for all of them: its views take as long as their queries.
    committed = manifests.read_live(out)
    with connect(out, views=(), committed=committed) as connection:
        # Not of the view, which says of each record whether it is the latest.
        every = records_as_table(out.absolute(), committed)
        flags = f"SELECT unnest(flags) AS flag FROM ({every}) WHERE list_contains(?, run_id)"
        counts = dict(connection.execute(f"SELECT flag, count(*) FROM ({flags}) GROUP BY 1", [runs]).fetchall())
        named = {source.name: view_of_version(connection, committed, source.fingerprint) for source in sources}
        views = [view for view in named.values() if view is not None]
        define_views(connection, out.absolute(), committed, views)
        previews = {name: _preview(view, connection) for name, view in named.items() if view in views}
    for name, (columns, records) in previews.items():
        if records:
            of = f" of {name}" if len(sources) > 1 else ""
            console.print(fitted(columns, records, f"{len(records)} of the records{of}"))
    for flag, meaning in _FLAGS.items():
        if found := sum(count for name, count in counts.items() if name.startswith(flag)):
            console.print(f"{meaning}: {found} (flag {flag} in records)")
    if kept := summary.empty - summary.skips.get(EMPTY_RECORD, 0) - summary.reasons.get(EMPTY_RECORD, 0):
        console.print(f"Written records whose every value is null: {kept} (flag {EMPTY} in records)")
    return f"; view {', '.join(views)}" if views else ""


def spent(usage: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    """Returns the usage of a model behind a server, and the escalated fields, as rows of the report."""
    escalated: list[tuple[str, Any, str]] = []
    if "escalated_documents" in usage:
        fields = f"{with_noun(usage['escalated_fields'], 'field')} escalated to {usage['model']}"
        escalated = [("escalated", usage["escalated_documents"], fields)]
    if "cost" not in usage:
        return escalated
    cost = "not known" if usage["cost"] is None else f"${usage['cost']}"
    tokens = f"{usage['input_tokens']:,} tokens in ({usage['cached_tokens']:,} cached), {usage['output_tokens']:,} out"
    again = f"{usage['retries']} sent again, {usage['asked_again']} asked again"
    rows: list[tuple[str, Any, str]] = [
        ("cost", cost, tokens),
        ("requests", usage["requests"], again),
    ]
    for name, meaning in (
        ("unmetered", "answers without a reported usage, so their cost is not known"),
        ("unanswered", "sent, perhaps charged"),
    ):
        if usage[name]:
            most = usage[f"{name}_cost_at_most"]
            rows.append((name, usage[name], meaning if most is None else f"{meaning}, ${most} at most"))
    return rows + escalated


def _preview(view: str, connection: DuckDBPyConnection) -> tuple[list[str], list[list[Any]]]:
    """Returns the columns of a view's fields, and those of some of its latest records, behind their documents."""
    # Cold start: as above.
    from cinnabar.extraction.store.tables import SYSTEM_COLUMNS

    fields = f"SELECT path, * EXCLUDE ({', '.join(SYSTEM_COLUMNS.names)}) FROM {quote_name(view)}"
    answer = connection.execute(f"{fields} ORDER BY run_id DESC, path LIMIT {_PREVIEW_ROWS}")
    columns = [column for column, *_ in answer.description or ()]
    return ["document", *columns[1:]], [[Path(path).name, *values] for path, *values in answer.fetchall()]
