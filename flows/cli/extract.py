"""`cinnabar extract`: a folder of documents into tables."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.flows.cli.options import (
    AsJson,
    BaseUrl,
    ContextOption,
    Device,
    DeviceOption,
    Documents,
    EffortName,
    EffortOption,
    MinConfidence,
    Missing,
    MissingOption,
    ModelOption,
    OutOption,
    PricesOption,
    RayOption,
    SchemaOption,
    StepsOption,
    WorkersOption,
)
from cinnabar.flows.cli.remote import BELOW, check, escalation_of, spent
from cinnabar.schemas.errors import UsageError

if TYPE_CHECKING:
    from cinnabar.extraction.run import Options, Summary
    from cinnabar.schemas import SchemaSource

#: Rows and columns of the preview.
PREVIEW_ROWS, PREVIEW_COLUMNS = 5, 6


def extract(
    paths: Documents,
    schema: SchemaOption,
    out: OutOption,
    model: ModelOption = "default",
    device: DeviceOption = Device.AUTO,
    effort: EffortOption = EffortName.MEDIUM,
    steps: StepsOption = None,
    on_missing: MissingOption = Missing.QUARANTINE,
    min_confidence: MinConfidence = 0.0,
    limit: Annotated[int | None, typer.Option(metavar="N", help="The first N inputs only.")] = None,
    context: ContextOption = None,
    workers: WorkersOption = 2,
    max_error_rate: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Exit status 3 where more of what was read is in quarantine."),
    ] = None,
    retry_quarantined: Annotated[
        bool, typer.Option("--retry-quarantined", help="Try again what is in quarantine.")
    ] = False,
    base_url: BaseUrl = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="USD", help="Ask for no more than this; 0 only tells what it would cost."),
    ] = None,
    escalate_to: Annotated[
        str | None,
        typer.Option(metavar="M", help="Let mercury-2 or openai:NAME fill what the model is not sure of."),
    ] = None,
    below: Annotated[
        float | None, typer.Option(metavar="P", help="Confidence below which a field goes up (0.8).")
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
        float | None, typer.Option(metavar="S", help="Seconds that a server's answer may take (120).")
    ] = None,
    prices: PricesOption = None,
    ray: RayOption = None,
    flow: Annotated[bool, typer.Option("--flow", help="Run as a Prefect flow.")] = False,
    as_json: AsJson = False,
) -> int:
    """Read documents into tables: one record each, with the words behind every value.

    A second run over the same inputs does no model work. What cannot be read, or lacks a value that the
    schema demands, goes to quarantine with a reason.

    \b
    Examples:
      cinnabar extract mails --schema insurance_mail --out tables
      cinnabar extract invoices letter.pdf --schema invoice.json --out tables --effort high
      cinnabar extract mails --schema claims:Claim --out tables --on-missing guess --json
      cinnabar extract mails --schema receipt --out tables --model mercury-2 --budget 5.00
      cinnabar extract mails --schema receipt --out tables --escalate-to mercury-2 --below 0.8
      cinnabar extract mails --schema receipt --out tables --ray auto

    The default model runs on this machine. With mercury-2 and openai:NAME documents are sent to a server; the
    key is read from INCEPTION_API_KEY or OPENAI_API_KEY.

    With --json the object has inputs, written, quarantined, skipped, seconds, schema, steps (the number of
    denoising steps over all documents read) and usage (requests, tokens and cost of a server, or null).
    """
    from cinnabar.extraction.records.validation import Validator
    from cinnabar.schemas import compile_schema, load_schema

    # A schema that cannot be used is refused before the weights are looked at, or anything large imported.
    source = load_schema(schema)
    _ = compile_schema(source.schema).form
    Validator(source)

    from cinnabar.engine.models.remote.serving import is_plain
    from cinnabar.extraction.cluster.connection import check as check_cluster
    from cinnabar.extraction.cluster.connection import joined
    from cinnabar.extraction.inputs import located
    from cinnabar.extraction.run import Options
    from cinnabar.extraction.run import extract as extract_documents
    from cinnabar.extraction.sources import model_source, settings_of
    from cinnabar.flows.cli.console import Bar

    if max_error_rate is not None and not 0 <= max_error_rate <= 1:
        raise UsageError(f"--max-error-rate: expected 0 to 1, got {max_error_rate}")
    options = Options(
        effort=effort.value,
        steps=steps,
        on_missing=on_missing.value,
        min_confidence=min_confidence,
        limit=limit,
        context=context,
        workers=workers,
        retry_quarantined=retry_quarantined,
    )
    locations = located(paths)
    remote = {
        "base_url": base_url,
        "budget": budget,
        "concurrency": concurrency,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "timeout": timeout,
        "prices": prices,
    }
    settings = settings_of(remote | {"context": context})
    check(model, escalate_to, below, steps, remote)
    chosen = model_source(model, device.value, settings)
    escalation = escalation_of(escalate_to, below, settings)
    if base_url is not None and is_plain(base_url):
        print(f"cinnabar: {base_url}: documents and the key are sent unencrypted", file=sys.stderr)
    # Standard output is for the result. Ray, for one, prints there whom it lost.
    with redirect_stdout(sys.stderr):
        if flow:
            if ray is not None:
                check_cluster(ray, chosen, escalation)
            asked = (model, device.value, options, remote, escalate_to, below, ray)
            summary = _through_prefect(paths, schema, out, *asked)
        else:
            with joined(ray, chosen, escalation) as cluster, Bar() as bar:
                summary = extract_documents(locations, source, out, chosen, options, bar, escalation, cluster)
    if as_json:
        print(json.dumps(asdict(summary) | {"out": str(out)}))
    else:
        _report(summary, source, out)
    read = summary.written + summary.quarantined
    return 3 if max_error_rate is not None and summary.quarantined > max_error_rate * read else 0


def _through_prefect(
    paths: list[str],
    schema: str,
    out: Path,
    model: str,
    device: str,
    options: Options,
    remote: dict[str, Any],
    escalate_to: str | None,
    below: float | None,
    ray: str | None,
) -> Summary:
    from contextlib import ExitStack

    from cinnabar.extraction.inputs import gather, located
    from cinnabar.extraction.run import Summary
    from cinnabar.extraction.storage.store import Store
    from cinnabar.schemas import compile_schema, load_schema

    # What is wrong with the use is told before Prefect starts its server.
    with ExitStack() as connections:
        gather(located(paths), out, connections)
    source = load_schema(schema)
    with Store.open(out) as store:
        store.check_united(source, compile_schema(source.schema))
    from cinnabar.flows.extract import extract_folder
    from cinnabar.flows.parameters import Server
    from cinnabar.flows.prefect_server import check_server

    check_server()
    found: Any = extract_folder(
        paths,
        schema,
        str(out),
        model,
        device,
        **asdict(options),
        remote=Server(**remote),
        escalate_to=escalate_to,
        below=BELOW if below is None else below,
        ray=ray,
        wait=0,
    )
    return Summary(**found)


def _report(summary: Summary, source: SchemaSource, out: Path) -> None:
    from cinnabar.flows.cli.console import short, standard_output, table

    console = standard_output()
    reasons = ", ".join(f"{code} {count}" for code, count in summary.reasons.items())
    rate = (summary.written + summary.quarantined) / max(summary.seconds, 1e-3)
    left = summary.usage["left"] if summary.usage else 0
    again = "done before, or the same bytes as another input; --retry-quarantined reads quarantine again"
    before = again if summary.skipped > left else ""
    if left:
        why = (summary.usage or {}).get("stopped")
        before += f"{'; ' if before else ''}{left} left for lack of budget{f': {why}' if why else ''}"
    rows = [
        ("inputs", summary.inputs, ""),
        ("written", summary.written, ""),
        ("quarantined", summary.quarantined, reasons),
        ("skipped", summary.skipped, before),
        ("seconds", f"{summary.seconds:.1f}", f"{rate:.1f} documents/s, {summary.steps} denoising steps"),
    ]
    console.print(table(("", summary.schema, ""), [*rows, *spent(summary.usage or {})]))
    columns, records, more = _preview(source, out)
    if records:
        shown = [[path, *map(short, values)] for path, *values in records]
        title = f"{len(records)} of the records" + (f"; {more} more fields each" if more else "")
        console.print(table(("document", *columns), shown, title))
    console.print(f"Results: {out} (cinnabar sql, cinnabar show, or {out / 'cinnabar.duckdb'} in DuckDB)")


def _preview(source: SchemaSource, out: Path) -> tuple[list[str], list[list[Any]], int]:
    """The first fields of some of the latest records, and how many more fields there are."""
    from cinnabar.extraction.storage.reading import connect

    sql = (
        "SELECT path, record_json FROM records WHERE latest AND schema_fingerprint = ?"
        " ORDER BY run_id DESC, path LIMIT ?"
    )
    with connect(out) as connection:
        found = connection.execute(sql, [source.fingerprint, PREVIEW_ROWS]).fetchall()
    records = [(Path(path).name, json.loads(text)) for path, text in found]
    rows = [(name, record if isinstance(record, dict) else {"value": record}) for name, record in records]
    fields = list(dict.fromkeys(field for _, record in rows for field in record))
    columns = fields[:PREVIEW_COLUMNS]
    values = [[name, *(record.get(column) for column in columns)] for name, record in rows]
    return columns, values, len(fields) - len(columns)
