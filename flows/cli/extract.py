"""`cinnabar extract` reads documents into tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.extraction.run_options import RunOptions
from cinnabar.flows.cli.extract_report import print_report
from cinnabar.flows.cli.limit_status import check_error_rate, limit_status
from cinnabar.flows.cli.model_in_use import model_in_use
from cinnabar.flows.cli.options import (
    AsJson,
    BaseUrl,
    DeviceOption,
    Documents,
    FailOnOption,
    MaxErrorRate,
    OutOption,
    OwnModelOption,
    PricesOption,
    RayOption,
    RelatedOption,
    RouteOption,
    SchemasOption,
    run_options,
)
from cinnabar.schemas.extras import check_extra

if TYPE_CHECKING:
    from cinnabar.extraction.batched_run import Summary
    from cinnabar.extraction.inputs import Location
    from cinnabar.extraction.sources import Escalation, Source
    from cinnabar.schemas import SchemaSource


@run_options(*(name for name in RunOptions.model_fields if name != "batch"))
def extract(
    paths: Documents,
    schema: SchemasOption,
    out: OutOption,
    model: OwnModelOption = None,
    device: DeviceOption = "auto",
    max_error_rate: MaxErrorRate = None,
    fail_on: FailOnOption = None,
    route: RouteOption = False,
    related: RelatedOption = None,
    base_url: BaseUrl = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="USD", help="The most dollars to spend; 0 only tells the cost."),
    ] = None,
    escalate_to: Annotated[
        str | None,
        typer.Option(metavar="M", help="The model for unsure fields: a folder, mercury-2 or openai:NAME."),
    ] = None,
    below: Annotated[
        float | None, typer.Option(metavar="P", help="Confidence below which a field is escalated (0.8).")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", help="Requests to a server under way at a time (16).")
    ] = None,
    requests_per_minute: Annotated[
        int | None, typer.Option(metavar="N", help="Requests to a server in any minute, at most.")
    ] = None,
    tokens_per_minute: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens sent to a server in any minute, at most.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="S", help="The most seconds for a server's answer (120).")
    ] = None,
    prices: PricesOption = None,
    ray: RayOption = None,
    flow: Annotated[bool, typer.Option("--flow", help="Run as a Prefect flow.")] = False,
    as_json: AsJson = False,
    **said: Any,
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
      cinnabar extract inbox --schema invoice --schema receipt.json --route --out tables
      cinnabar extract inbox --schema invoice --related 0.5 --out tables

    The default model runs on this machine, and so does a language model in a folder. With mercury-2 and
    openai:NAME the command sends the documents to a server; it reads the key from INCEPTION_API_KEY or
    OPENAI_API_KEY.

    With --json the object has inputs, written, quarantined, skipped, seconds, schema, steps (the number of
    denoising steps over all documents read), usage (requests, tokens and cost of a server, or null), skips
    (skipped inputs by reason) and, with --route or --related, routed (the counts of each schema) and routing_ms.
    """
    from cinnabar.extraction.records.checks.checks import Checks
    from cinnabar.extraction.records.validation import Validator
    from cinnabar.extraction.routing.routing import routing_of
    from cinnabar.schemas import compile_schema, load_schema

    # Refuses an unusable schema before it reads the weights or imports anything large.
    sources = [load_schema(one) for one in schema]
    for source in sources:
        compiled = compile_schema(source.schema)
        _ = compiled.form
        Validator(source)
        Checks(source, compiled)
    model = model_in_use(out, [source.name for source in sources], model)
    routing = routing_of(sources, route, related, model)

    from cinnabar.engine.models.remote.serving import is_plain
    from cinnabar.extraction.cluster.connection import joined
    from cinnabar.extraction.inputs import located
    from cinnabar.extraction.quality.prompt_examples import prompt_examples
    from cinnabar.extraction.run import extract as extract_documents
    from cinnabar.extraction.sources import check_models, escalation_of, model_source, settings_of
    from cinnabar.flows.cli.console import Bar

    check_error_rate(max_error_rate)
    options = RunOptions(**said)
    locations = located(paths)
    server = {
        "base_url": base_url,
        "budget": budget,
        "concurrency": concurrency,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "timeout": timeout,
        "prices": prices,
    }
    settings = settings_of(server | {"context": options.context})
    check_models(model, escalate_to, below, options.steps, server)
    chosen = model_source(model, device, settings)
    escalation = escalation_of(escalate_to, below, settings, device)
    if base_url is not None and is_plain(base_url):
        print(f"cinnabar: {base_url}: documents and the key are sent unencrypted", file=sys.stderr)
    # Standard output is for the result, but Ray prints lost workers there.
    with redirect_stdout(sys.stderr):
        if flow:
            check_extra("flows", "cinnabar extract --flow")
            flow_options: dict[str, Any] = {"model": model, "device": device, "escalate_to": escalate_to, "ray": ray}
            flow_options |= {} if below is None else {"below": below}
            flow_options |= {} if related is None else {"related": related}
            prompt_examples(options, sources, chosen, escalation)
            _check_flow(locations, sources, out, ray, chosen, escalation, options.engines)
            named: str | list[str] = schema if route else schema[0]
            summary, reasons = _through_prefect(paths, named, out, server, options.model_dump() | flow_options), []
        else:
            with joined(ray, chosen, escalation, engines=options.engines) as cluster, Bar(out=out) as bar:
                summary = extract_documents(
                    locations, sources[0], out, chosen, options, bar, escalation, cluster, routing
                )
                reasons = bar.reasons()
    if as_json:
        print(json.dumps(asdict(summary) | {"out": str(out)}))
    else:
        print_report(summary, sources, out)
    return limit_status(summary, reasons, max_error_rate, fail_on)


def _check_flow(
    locations: Sequence[Location],
    sources: Sequence[SchemaSource],
    out: Path,
    ray: str | None,
    model: Source,
    escalation: Escalation | None,
    engines: str,
) -> None:
    """Raises UsageError for wrong use, before Prefect starts its server."""
    from contextlib import ExitStack

    from cinnabar.extraction.cluster.connection import check_cluster
    from cinnabar.extraction.corrections.committing import open_folder
    from cinnabar.extraction.inputs import gather
    from cinnabar.schemas import compile_schema

    if ray is not None:
        check_cluster(ray, model, escalation, engines=engines)
    with ExitStack() as connections:
        gather(locations, out, connections)
    with open_folder(out) as store:
        for source in sources:
            store.check_united(source, compile_schema(source.schema))


def _through_prefect(
    paths: list[str], schema: str | list[str], out: Path, server: dict[str, Any], parameters: dict[str, Any]
) -> Summary:
    """Runs the flow, with the configured Prefect server or a temporary one."""
    from cinnabar.extraction.batched_run import Summary
    from cinnabar.flows.extract import extract_folder
    from cinnabar.flows.parameters import Server
    from cinnabar.flows.prefect_server import check_server

    check_server()
    found: Any = extract_folder(paths, schema, str(out), **parameters, remote=Server(**server), wait=0)
    return Summary(**found)
