"""`cinnabar events` lists the events of runs that wait for their receivers, and sends them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.options import AsJson
from cinnabar.apps.cli.results import Out
from cinnabar.extraction.run.events.outbox import put_back, unkept, waiting
from cinnabar.extraction.run.events.telling import send_waiting
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import counted, harmless


def events(
    out: Out,
    send: Annotated[bool, typer.Option("--send", help="Send what waits, and tell of runs that were killed.")] = False,
    refused: Annotated[bool, typer.Option("--refused", help="With --send: also what was refused before.")] = False,
    wait: Annotated[float, typer.Option(metavar="S", help="With --send: try for so many seconds at most.")] = 60.0,
    as_json: AsJson = False,
) -> int:
    """List the events of runs that wait for their receivers, and those that a receiver refused.

    Runs with --tell send their events, and those of earlier runs that wait. Exit status 1 if --send leaves some.

    \b
    Examples:
      cinnabar events --out tables
      cinnabar events --out tables --send
      cinnabar events --out tables --send --refused --wait 300
    """
    if refused and not send:
        raise UsageError("--refused: expected with --send; the list has what was refused, too")
    sent, notes = 0, list[str]()
    if send:
        if refused:
            put_back(out)
        delivered = send_waiting(out, wait)
        sent, notes = delivered.sent, delivered.notes
    states = {"waits": waiting(out), "refused": waiting(out, refused=True)}
    rows = [
        {"state": state, "id": one.event.id, "kind": one.event.kind, "to": one.address, "why": one.why}
        for state, entries in states.items()
        for one in entries
    ]
    status = 1 if send and rows else 0
    killed = unkept(out)
    if as_json:
        print(json.dumps({"sent": sent, "events": rows, "killed_runs": killed, "notes": notes}))
        return status
    if rows:
        columns = ("state", "id", "to", "why")
        standard_output().print(table(columns, [[harmless(one[name]) for name in columns] for one in rows]))
    if killed:
        print(f"{counted(killed, 'run')} killed before the end; --send tells of them")
    for note in notes:
        print(harmless(note))
    waits = counted(len(states["waits"]), "event")
    print(f"{sent} sent, {waits} waiting, {len(states['refused'])} refused")
    return status
