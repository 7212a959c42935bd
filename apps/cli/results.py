"""`cinnabar sql` and `cinnabar show` query an output folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from cinnabar.apps.cli.console import standard_output, table, tables_within
from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import OutOption, StoredDocument
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections.journal import unread_corrections
from cinnabar.extraction.filling.table_columns import matched_columns
from cinnabar.extraction.store.reading import Shown, as_objects
from cinnabar.extraction.store.reading import query as ask
from cinnabar.extraction.store.reading import show as find
from cinnabar.extraction.store.tables import LENGTH, OTHER
from cinnabar.wording import harmless, with_noun

#: Less sure nulls are shown as unsure: of those of eight labelled sets 9% are right, of the surer ones 95%.
SURE_NULL = 0.6


def warn_of_unread(out: Path) -> None:
    """Prints a warning to standard error for each waiting correction of this folder that cannot be read."""
    for path, why in unread_corrections(out).items():
        print_notice(f"{path}: {why}")


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="In DuckDB's SQL.")],
    out: OutOption,
) -> Answer:
    """Query the results: a view for each schema, and fields, history, documents, quarantine, runs, ….

    \b
    Examples:
      cinnabar sql "select path, code, detail from quarantine" --out tables
    """
    answer = ask(out, query)
    yield as_objects(answer)
    console = standard_output()
    for one in tables_within(answer.columns, answer.rows, console.width):
        console.print(one)
    console.print(with_noun(len(answer.rows), "row"))


def show(
    document: StoredDocument,
    out: OutOption,
    steps: Annotated[
        bool, typer.Option("--steps", help="Fill it again and show each step.")
    ] = False,
    schema: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --steps: one of several schemas.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="M", help="With --steps: another model.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="An array, an object for each schema; with --steps a line for each.")
    ] = False,
) -> None:
    """Show a document's record with its evidence, or why it is in quarantine.

    With --steps the document is read and filled once more, and nothing is stored. Each block is a step: the
    values that it committed (+) and opened again (!). The last one is the whole record.

    \b
    Examples:
      cinnabar show mails/1042.txt --out tables --steps --model reader
    """
    if steps:
        from cinnabar.apps.cli.steps import show_steps  # Cold start: modules of the run take .2 s.

        show_steps(document, out, schema, model, as_json)
        return
    if schema is not None or model is not None:
        raise UsageError("--schema and --model: expected --steps with them")

    shown_records = find(out, document)
    if as_json:
        shown = [asdict(one) | {"record": one.record} for one in shown_records]
        print(json.dumps(shown, ensure_ascii=False, default=str))
        return
    console = standard_output()
    for one in shown_records:
        _print(one, console)


def _where(place: str | None, page: int | None) -> str:
    """Returns the place of a value in words, with its page if the place does not tell it."""
    told = [f"page {page}"] if page and "page" not in (place or "") else []
    return " › ".join([*told, *([place] if place else [])])


def _value(field: Mapping[str, Any]) -> str | None:
    """Returns the value of a field as `show` prints it; a null that is rather a miss says so."""
    value: str | None = field["value_json"]
    if value is not None and field["origin"] == LENGTH:
        return str(json.loads(value))
    if value is not None and field["origin"] == OTHER:
        return f"{with_noun(len(json.loads(value)), 'row')} in another reading"
    unsure = field["confidence"] is not None and field["confidence"] < SURE_NULL
    return "nothing found" if field["origin"] == "absent" and unsure else value


def _print(one: Shown, console: Console) -> None:
    about = [
        ("document", one.document[:16]),
        ("schema", one.schema_name),
        ("outcome", " ".join(part for part in (one.outcome, one.code) if part)),
        ("detail", one.detail),
        ("places", ", ".join(one.pointers)),
        ("confidence", one.confidence),
        ("flags", ", ".join(one.flags)),
        ("run", one.run_id),
    ]
    known = [(name, value) for name, value in about if value not in (None, "")]
    console.print(table(("path", one.path), known))
    if one.outcome != "written":
        if one.record_json is not None:
            console.print(Text(f"Rejected record: {harmless(one.record_json)}"))
        return
    rows = [
        (
            field["pointer"],
            _value(field),
            field["confidence"],
            field["origin"],
            ", ".join(field["flags"] or ()),
            _where(field["place"], field["page"]),
            field["evidence_text"],
        )
        for field in one.fields
    ]
    console.print(table(("field", "value", "confidence", "origin", "flags", "place", "evidence"), rows))
    for pointer, heads in matched_columns((field["pointer"], field["place"] or "") for field in one.fields).items():
        matches = ", ".join(f"{name} = {head}" for name, head in heads.items())
        console.print(Text(harmless(f"columns of {pointer or '/'}: {matches}")))
