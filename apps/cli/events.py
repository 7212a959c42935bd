"""`cinnabar events` lists the events of runs that wait for their receivers, and sends them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.options import AsJson
from cinnabar.apps.cli.results import Out
from cinnabar.extraction.run.events.outbox import deliver, waiting
from cinnabar.extraction.run.events.telling import keep_promises
from cinnabar.schemas.wording import counted, harmless

# Seconds of tries.
_TRIES = 60.0


def events(
    out: Out,
    send: Annotated[bool, typer.Option("--send", help="Send what waits, and tell of runs that were killed.")] = False,
    as_json: AsJson = False,
) -> int:
    """List the events of runs that wait for their receivers, and with --send try for a minute to send them.

    Runs with --tell send their events, and those of earlier runs that wait. Exit status 1 if --send leaves some.

    \b
    Examples:
      cinnabar events --out tables
      cinnabar events --out tables --send
    """
    notes = list[str]()
    if send:
        keep_promises(out, notes.append)
        notes += deliver(out, None, _TRIES)
    rows = [{"id": one.id, "to": one.to} for one in waiting(out)]
    if as_json:
        print(json.dumps({"events": rows, "notes": notes}))
    else:
        if rows:
            standard_output().print(table(("id", "to"), [[harmless(text) for text in row.values()] for row in rows]))
        for note in (*notes, f"{counted(len(rows), 'event')} waiting"):
            print(harmless(note))
    return 1 if send and rows else 0
