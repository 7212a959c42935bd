"""`cinnabar packet` shows where the documents of a packet begin, and takes corrections."""

from __future__ import annotations

import getpass
import json
from typing import Annotated

import typer

from cinnabar.apps.cli import completion
from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.options import AsJson
from cinnabar.apps.cli.results import Out
from cinnabar.extraction.people.packets import amend, packet_around
from cinnabar.extraction.store.packets import Said
from cinnabar.schemas.errors import UsageError

_HELP = "Its path or that of a part, the end of it, or the start of a part's digest."
_Pages = list[int] | None
_OfPages = list[str] | None


def packet(
    document: Annotated[str, typer.Argument(metavar="PACKET", help=_HELP, autocompletion=completion.documents)],
    out: Out,
    split: Annotated[_Pages, typer.Option(metavar="PAGE", help="A document begins on this page.")] = None,
    join: Annotated[_Pages, typer.Option(metavar="PAGE", help="No document begins on this page.")] = None,
    turn: Annotated[_OfPages, typer.Option(metavar="PAGE:DEGREES", help="Turn this page clockwise.")] = None,
    kind: Annotated[
        _OfPages, typer.Option(metavar="PAGE:SCHEMA", help="The schema of the document that begins on this page.")
    ] = None,
    who: Annotated[str | None, typer.Option(metavar="NAME", help="Who corrects; by default the user's name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show where the documents of a packet begin, and correct it; the next `extract --split` reads what is new.

    Corrections may be given several times. The records of parts that are no documents any more leave the tables.

    \b
    Examples:
      cinnabar packet scans/monday.pdf --out tables
      cinnabar packet scans/monday.pdf --out tables --split 4 --join 9
      cinnabar packet scans/monday.pdf --out tables --turn 5:180 --kind 4:receipt
    """
    shown = packet_around(out, document)
    if split or join or turn or kind:
        try:
            turns, kinds = (dict(one.split(":", 1) for one in given or ()) for given in (turn, kind))
            said = Said.model_validate({"split": split or [], "join": join or [], "turns": turns, "kinds": kinds})
        except ValueError as error:
            raise UsageError("--turn, --kind: expected a page, a colon, and degrees or a schema") from error
        shown = amend(out, shown, said, who or getpass.getuser())
    if as_json:
        print(json.dumps(shown.as_json()))
        return
    rows = [(str(part).removeprefix("pages="), f"{sure:.2f}") for part, sure in shown.parts()]
    standard_output().print(table(("pages", "probability"), rows))
    if shown.sheets:
        print(f"separator sheets, left out: {', '.join(map(str, shown.sheets))}")
