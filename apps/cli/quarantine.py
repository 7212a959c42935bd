"""`cinnabar quarantine` lists, retries and releases records in quarantine."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer

from cinnabar.apps.cli.console import Bar, standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer, group_of
from cinnabar.apps.cli.options import FromOption, OutOption
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import parse_locations
from cinnabar.extraction.filling.model_sources import READER, model_source
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.extraction.run.backfill.document_lookup import ELSEWHERE
from cinnabar.extraction.run.backfill.retrying import retry as again
from cinnabar.extraction.run.quarantine import held_documents
from cinnabar.extraction.run.quarantine import release as let_through
from cinnabar.wording import harmless

quarantine_app = group_of(
    """See, retry and release documents in quarantine.

    \b
    Examples:
      cinnabar quarantine list --out tables
      cinnabar quarantine retry --out tables
      cinnabar quarantine release mails/1042.txt --out tables
    """
)

_HeldDocuments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DOCUMENT...",
        help="By default all, but for release.",
    ),
]
_Codes = Annotated[
    list[str] | None,
    typer.Option("--code", metavar="C", help="Only this reason; repeatable."),
]


@quarantine_app.command("list")
def list_held(out: OutOption, documents: _HeldDocuments = None, codes: _Codes = None) -> Answer:
    """List the documents in quarantine, with reasons.

    \b
    Examples:
      cinnabar quarantine list --out tables --code missing
    """
    listed = held_documents(out, documents or (), codes or ())
    yield [asdict(one) for one in listed]
    console = standard_output()
    rows = [(one.path, one.schema_name, one.code, one.detail) for one in listed]
    console.print(table(("path", "schema", "code", "detail"), rows))
    reasons = ", ".join(f"{code} {count}" for code, count in Counter(o.code for o in listed).most_common())
    console.print(harmless(f"{len(listed)} in quarantine" + (f": {reasons}" if reasons else "")))


@quarantine_app.command()
def retry(
    out: OutOption,
    documents: _HeldDocuments = None,
    codes: _Codes = None,
    model: Annotated[
        str, typer.Option(metavar="M", help="reader, a fetched model or a folder.")
    ] = READER,
    others: FromOption = None,
) -> Answer:
    """Read quarantined documents again, with the options of their run.

    Files are read from their stored paths, mails from their mailboxes; the password of an IMAP mailbox is read
    from CINNABAR_IMAP_PASSWORD.

    \b
    Examples:
      cinnabar quarantine retry --out tables --code timeout --model my_model
    """
    chosen = held_documents(out, documents or (), codes or ())
    source = model_source(model, folder_settings().device)
    with Bar() as bar:
        done = again(out, chosen, source, bar, parse_locations(others or []))
    yield {"runs": [asdict(run) for run in done.runs], "gone": [*done.gone]}
    for missing in done.gone.values():
        print(harmless(f"{missing}, nothing was done; {ELSEWHERE}"))
    for run in done.runs:
        print(f"{run.schema}: {run.inputs} tried again, {run.written} written, {run.quarantined} held back")
    if not done.runs:
        print("nothing was tried again")


@quarantine_app.command()
def release(
    out: OutOption,
    documents: _HeldDocuments = None,
    codes: _Codes = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    fields: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="F", help="Release the unlikely value there; repeatable."),
    ] = None,
) -> Answer:
    """Release rejected records as they are, flagged `released`, without any model.

    A record that breaks its schema stays in quarantine, and so does a document without a record. A value that the
    model did not hold for likely, or that is below --min-confidence, is written only if --field names its place (a
    JSON pointer, `*` for any index); the option may be repeated.

    \b
    Examples:
      cinnabar quarantine release --all --out tables --field /kind
    """
    if not (documents or codes or every):
        raise UsageError("release: expected documents, --code or --all, got none of them")
    done = let_through(out, held_documents(out, documents or (), codes or ()), fields or ())
    yield asdict(done)
    for path, reason in done.refused.items():
        print(harmless(f"{path}: {reason}"))
    print(f"{len(done.released)} released, {len(done.refused)} stay in quarantine")
