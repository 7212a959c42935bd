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


def packet(
    document: Annotated[
        str,
        typer.Argument(
            metavar="PACKET",
            help="Its path or that of a part, the end of it, or the start of a part's digest.",
            autocompletion=completion.documents,
        ),
    ],
    out: Out,
    split: Annotated[
        list[int] | None, typer.Option("--split", metavar="PAGE", help="A document begins on this page.")
    ] = None,
    join: Annotated[
        list[int] | None, typer.Option("--join", metavar="PAGE", help="No document begins on this page.")
    ] = None,
    who: Annotated[str | None, typer.Option(metavar="NAME", help="Who corrects; by default the user's name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show where the documents of a packet begin, and correct it; the next `extract --split` reads what is new.

    --split and --join may be given several times. The records of parts that are no documents any more leave the tables.

    \b
    Examples:
      cinnabar packet scans/monday.pdf --out tables
      cinnabar packet scans/monday.pdf --out tables --split 4 --join 9
    """
    shown = packet_around(out, document)
    if split or join:
        shown = amend(out, shown, split or (), join or (), who or getpass.getuser())
    parts = shown.ranges()
    if as_json:
        told = [{"first": one.first, "last": one.last, "probability": round(one.probability, 4)} for one in parts]
        print(json.dumps({"packet": shown.digest, "pages": shown.pages, "who": shown.who, "parts": told}))
        return
    rows = [(f"{one.first}-{one.last}", f"{one.probability:.2f}") for one in parts]
    standard_output().print(table(("pages", "probability"), rows))
