"""The events of a run, derived from the tables, so that another process can tell those of a killed one."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cinnabar.extraction.run.report.run_data import gather_run
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import EMPTY_RECORD
from cinnabar.schemas.wording import counted

#: A JSON object of CloudEvents 1.0. Its id follows from run and kind, so that a receiver knows a repeated one.
Event = Mapping[str, Any]
#: What the types of our events begin with, as receivers and automations know them; behind it the kind.
TYPE = "dev.cinnabar.run."
KINDS = ("finished", "failed", "quarantine", "drift", "list_incomplete", "review_wanted")
_KILLED = (
    "The run did not end: its process was killed, or its machine went down. Committed records are kept, and the next"
    " run goes on from there."
)


def kind_of(event: Event) -> str:
    """Returns which of `KINDS` it is."""
    return str(event["type"]).removeprefix(TYPE)


def run_events(
    out: Path,
    runs: Sequence[str],
    source: str,
    bound: float | None,
    drift: Sequence[str] | None = None,
    failure: str | None = None,
) -> list[Event]:
    """Returns the events of these runs of one command, of which the first names them all.

    They hold counts and sentences, never content of a document. `bound` is the share of documents that may be in
    quarantine. Without `drift` it is judged anew. A run that has no end in the tables, or a `failure`, failed. Raises
    the errors of `connect` if the tables cannot be read.
    """
    stored = _stored(out, runs) if (out / "manifest").is_dir() else {}  # it may have failed before its first commit
    time: datetime | None = stored.pop("ended", None)
    if failure is not None or time is None:
        told = {"failed": failure or _KILLED}
        time = datetime.now(UTC)
    else:
        if drift is None:
            drift = [text for one in runs for text in gather_run(out, one, {}).drift]
        told = _at_end(**stored, bound=bound) | {"drift": "\n".join(drift)}
    where = f"--out {shlex.quote(str(out))}"
    look = f"\n\ncinnabar report {runs[0]} {where}\ncinnabar review {where}" if stored else ""
    data = {"runs": [*runs]} | {name: stored.get(name) for name in ("schemas", "counts", "reasons")}
    about = ", ".join(stored.get("schemas", runs))
    return [
        {
            "specversion": "1.0",
            "id": f"{runs[0]}-{kind}",
            "source": source,
            "type": TYPE + kind,
            "subject": runs[0],
            "time": time.isoformat().replace("+00:00", "Z"),
            "datacontenttype": "application/json",
            "data": data | {"title": f"Cinnabar: {kind.replace('_', ' ')}: {about}", "text": told[kind] + look},
        }
        for kind in KINDS
        if told.get(kind)
    ]


def _stored(out: Path, runs: Sequence[str]) -> dict[str, Any]:
    """Returns what the tables hold of these runs; `ended` is None if one of them has no end."""
    counts, reasons, empty = Counter[str](), dict[str, int](), 0
    with connect(out, views=("runs", "outcomes", "lists", "_checks")) as connection:

        def rows(columns: str, where: str) -> list[Any]:
            sql = f"SELECT {columns} FROM {where} AND list_contains(?, run_id) GROUP BY ALL ORDER BY ALL"
            return connection.execute(sql, [[*runs]]).fetchall()

        begun = rows("run_id, schema_name, epoch_us(finished)", "runs WHERE true")
        for outcome, code, count in rows("outcome, code, count(*)", "outcomes WHERE true"):
            counts[outcome] += count
            reasons |= {code: count} if outcome == "quarantined" else {}
            empty += count if code == EMPTY_RECORD and outcome == "skipped" else 0
        incomplete = sum(count for (count,) in rows("count(*)", "lists WHERE incomplete"))
        failing = len(rows("document, schema_name", "_checks WHERE NOT holds"))
    ends = [end for _, _, end in begun if end is not None]
    return {
        "schemas": [schema for _, schema, _ in begun],
        "ended": datetime.fromtimestamp(max(ends) / 1e6, UTC) if ends and len(ends) == len(runs) else None,
        "counts": {name: counts[name] for name in ("written", "quarantined", "skipped")},
        "reasons": reasons,
        "waiting": {"empty": empty, "incomplete": incomplete, "failing": failing},
    }


def _at_end(counts: Mapping[str, int], waiting: Mapping[str, int], bound: float | None, **_: Any) -> dict[str, str]:
    """Returns the sentence of each kind of event of a run that ended, except for drift."""
    written, quarantined, skipped = counts["written"], counts["quarantined"], counts["skipped"]
    held = quarantined + waiting["empty"]
    read = written + held
    lists = f"{counted(waiting['incomplete'], 'list')} of another length than the document tells"
    review = f"For a person: {counted(quarantined, 'document')} in quarantine, {lists}, and"
    review += f" {counted(waiting['failing'], 'record')} with a check that fails."
    all_of = counted(written + quarantined + skipped, "document")
    above = ""
    if bound is not None and held > bound * read:
        above = f"{held} of {counted(read, 'document')} in quarantine or empty, more than {bound:g} of them."
    return {
        "finished": f"{all_of}: {written} written, {quarantined} quarantined, {skipped} skipped.",
        "quarantine": above,
        "list_incomplete": f"{lists}." if waiting["incomplete"] else "",
        "review_wanted": review if quarantined or waiting["incomplete"] or waiting["failing"] else "",
    }
