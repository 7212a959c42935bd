"""`cinnabar extract` reads documents into tables."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.console import Bar
from cinnabar.apps.cli.extract_report import print_report
from cinnabar.apps.cli.options import AsJson, Documents, OutOption, SchemasOption, takes_options
from cinnabar.apps.cli.plans import check_plan, flow_parameters, limit_status, print_notice
from cinnabar.extraction.corrections.waiting_commits import open_folder
from cinnabar.extraction.documents.inputs import parse_locations
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan, Server
from cinnabar.extraction.reading.progress import ReasonCount
from cinnabar.extraction.run.batched_run import Summary
from cinnabar.extraction.run.cluster.connection import join_cluster
from cinnabar.extraction.run.events.telling import notify_run
from cinnabar.extraction.run.extract import Extraction
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.flows.prefect_server import check_server
from cinnabar.schemas.extras import check_extra


@takes_options(
    "model",
    "device",
    *(name for name in RunOptions.model_fields if name != "batch"),
    *("at_most_wrong", "sample", "max_error_rate", "fail_on", "route", "related", "escalate_to", "below", "tell"),
    *Server.model_fields,
    "ray",
    "sink",
)
def extract(
    paths: Documents,
    schema: SchemasOption,
    out: OutOption,
    flow: Annotated[bool, typer.Option("--flow", help="Run as a Prefect flow.")] = False,
    as_json: AsJson = False,
    **run_options: Any,
) -> int:
    """Read documents into tables: one record each, with the evidence behind every value.

    A second run over the same inputs does no model work. A document that cannot be read, or that lacks a value
    that the schema demands, goes to quarantine with a reason.

    \b
    Examples:
      cinnabar extract mails --schema insurance_mail --out tables
      cinnabar extract invoices letter.pdf --schema invoice.json --out tables --effort high
      cinnabar extract mails --schema claims:Claim --out tables --on-missing guess --json
      cinnabar extract mails --schema receipt --out tables --model models/SDAR-1.7B-Chat
      cinnabar extract mails --schema receipt --out tables --model models/SDAR-1.7B-Chat --examples my_set
      cinnabar extract mails --schema receipt --out tables --model mercury-2 --budget 5.00
      cinnabar extract mails --schema receipt --out tables --escalate-to mercury-2 --below 0.8
      cinnabar extract mails --schema receipt --out tables --ray auto
      cinnabar extract s3://bucket/inbox --schema receipt --out tables
      cinnabar extract inbox --schema invoice --schema receipt.json --route --out tables
      cinnabar extract inbox --schema invoice --related 0.5 --out tables
      cinnabar extract inbox --schema invoice --at-most-wrong 5% --sample my_set --out tables

    The default model runs on this machine, and so does a language model in a folder. With mercury-2 and
    openai:NAME the command sends the documents to a server; it reads the key from INCEPTION_API_KEY or
    OPENAI_API_KEY.

    With --json the object has inputs, written, quarantined, skipped, seconds, schema, steps (the number of
    denoising steps over all documents read), usage (requests, tokens and cost of a server, or null), skips
    (skipped inputs by reason) and, with --route or --related, routed (the counts of each schema) and routing_ms.
    """
    if flow:
        check_extra("flows", "cinnabar extract --flow")
    plan = RunPlan.of(schema, out, **run_options)
    if plan.at_most_wrong is not None or plan.sample is not None:
        # Cold start: it imports torch, and a model reads the sample.
        from cinnabar.extraction.learning.wrong_values import with_promise

        plan = with_promise(plan, print_notice)
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
    assert plan.out is not None
    locations = parse_locations(paths)
    with (
        Bar(out=plan.out) as bar,
        notify_run(plan, bar) as progress,
        join_cluster(plan.ray, assignment) as cluster,
        Extraction(assignment, locations, plan.out, progress) as run,
    ):
        return run.work_through(cluster), bar.reasons()


def _through_prefect(paths: list[str], plan: RunPlan, assignment: Assignment) -> tuple[Summary, list[ReasonCount]]:
    """Runs the flow, with the configured Prefect server or a temporary one.

    Raises UsageError for wrong use before Prefect starts its server.
    """
    assert plan.out is not None
    check_plan(paths, plan, assignment)
    with open_folder(plan.out) as store:
        for part in assignment.parts:
            store.check_united(part.source, part.compiled_schema)
    check_server()

    from cinnabar.flows.extract import extract_folder  # Extra: flows. Wrong use is refused before it is imported.

    # The command itself holds the run to its limits, and tells it by its status.
    free = plan.model_copy(update={"max_error_rate": None, "fail_on": None})
    fields: Any = extract_folder(**flow_parameters(paths, free), wait=0)
    return Summary(**fields), []
