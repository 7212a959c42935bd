"""Derives the events of a run from the tables, so that the next process can tell those of a killed one."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cinnabar.extraction.run.events.event import Event
from cinnabar.extraction.run.report.reports import report_path, write_report
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import EMPTY_RECORD
from cinnabar.schemas.wording import counted

_KILLED = (
    "The run did not end: its process was killed, or its machine went down. Committed records are kept, and the next"
    " run goes on from there."
)


@dataclass(slots=True)
class _Stored:
    """What the tables hold of the runs of one command; `finished` only if all of them ended."""

    schemas: list[str] = field(default_factory=list)
    finished: datetime | None = None
    seconds: float | None = None
    counts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, int] = field(default_factory=dict)
    skips: dict[str, int] = field(default_factory=dict)
    incomplete: int = 0
    failing: int = 0


def run_events(
    out: Path,
    runs: Sequence[str],
    source: str,
    bound: float | None,
    drift: Sequence[str] | None = None,
    failure: str | None = None,
) -> list[Event]:
    """Returns the events of these runs of one command, of which the first names them all.

    `bound` is the share of documents that may be in quarantine. Without `drift` it is judged anew. A run that has no
    end in the tables, or a `failure`, failed. Raises the errors of `connect` if the tables cannot be read.
    """
    stored = _stored(out, runs)
    ended = stored.finished if failure is None else None
    time = (ended or datetime.now(UTC)).isoformat().replace("+00:00", "Z")
    told: dict[str, Sequence[str]]
    if ended is None:
        told = {"failed": [failure or _KILLED]}
    else:
        told = _of_end(stored, bound, _drift(out, runs) if drift is None else drift)
    look = [f"cinnabar report {runs[0]} --out {shlex.quote(str(out))}"] if stored.schemas else []
    look += [str(path) for one in runs if (path := report_path(out, one)).is_file()]
    data: dict[str, Any] = {
        "runs": [*runs],
        "schemas": stored.schemas,
        "counts": {"inputs": stored.counts.total()}
        | {name: stored.counts[name] for name in ("written", "quarantined", "skipped")},
        "reasons": stored.reasons,
        "skips": stored.skips,
        "seconds": stored.seconds,
    }
    review = [f"cinnabar review --out {shlex.quote(str(out))}"]
    return [
        Event(kind, runs[0], source, time, data | {"sentences": [*says], "look": review * (kind in _REVIEWED) + look})
        for kind, says in told.items()
        if says
    ]


_REVIEWED = ("quarantine", "list_incomplete", "review_wanted")


def _of_end(stored: _Stored, bound: float | None, drift: Sequence[str]) -> dict[str, Sequence[str]]:
    """Returns the sentences of each kind of event of a run that ended."""
    counts = stored.counts
    held = counts["quarantined"] + stored.skips.get(EMPTY_RECORD, 0)
    read = counts["written"] + held
    above = bound is not None and held > bound * read
    waiting = {
        f"{counted(counts['quarantined'], 'document')} in quarantine": counts["quarantined"],
        f"{counted(stored.failing, 'record')} with a check that fails": stored.failing,
        f"{counted(stored.incomplete, 'list')} of another length": stored.incomplete,
    }
    wanted = [text for text, count in waiting.items() if count]
    length = f"{counted(stored.incomplete, 'list')} of another length than the document tells."
    return {
        "finished": [
            f"{counted(counts.total(), 'document')}: {counts['written']} written, {counts['quarantined']} quarantined,"
            f" {counts['skipped']} skipped."
        ],
        "quarantine": [f"{held} of {counted(read, 'document')} in quarantine or empty, more than {bound:g} of them."]
        if above
        else [],
        "drift": drift,
        "list_incomplete": [length] if stored.incomplete else [],
        "review_wanted": [f"For a person: {', '.join(wanted)}."] if wanted else [],
    }


def _stored(out: Path, runs: Sequence[str]) -> _Stored:
    found, ids = _Stored(), [[*runs]]
    if not (out / "manifest").is_dir():  # it failed before its folder held anything
        return found
    with connect(out, views=("runs", "outcomes", "lists", "_checks")) as connection:
        rows = connection.execute(
            "SELECT schema_name, epoch_us(started), epoch_us(finished) FROM runs WHERE list_contains(?, run_id)"
            " ORDER BY run_id",
            ids,
        ).fetchall()
        for outcome, code, count in connection.execute(
            "SELECT outcome, coalesce(code, ''), count(*) FROM outcomes WHERE list_contains(?, run_id)"
            " GROUP BY ALL ORDER BY 3 DESC, 2",
            ids,
        ).fetchall():
            found.counts[outcome] += count
            if outcome != "written":
                (found.reasons if outcome == "quarantined" else found.skips)[code] = count
        for name, sql in {
            "incomplete": "SELECT count(*) FROM lists WHERE incomplete AND list_contains(?, run_id)",
            "failing": "SELECT count(DISTINCT (document, schema_name)) FROM _checks"
            " WHERE NOT holds AND list_contains(?, run_id)",
        }.items():
            setattr(found, name, (connection.execute(sql, ids).fetchone() or (0,))[0])
    found.schemas = [schema for schema, _, _ in rows]
    if rows and len(rows) == len(runs) and all(row[2] is not None for row in rows):
        end = max(row[2] for row in rows)
        found.finished = datetime.fromtimestamp(end / 1e6, UTC)
        found.seconds = round(max(0.0, (end - min(row[1] for row in rows)) / 1e6), 3)
    return found


def _drift(out: Path, runs: Sequence[str]) -> list[str]:
    """Returns the drift of runs whose process was killed before it wrote their reports, and writes these."""
    return [sentences for one in runs for sentences in write_report(out, one).drift]
