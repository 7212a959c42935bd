"""The events of a run, derived from the tables, so that another process can tell those of a killed one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cinnabar.extraction.run.report.run_data import gather_run
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import EMPTY_RECORD

#: A JSON object of CloudEvents 1.0. Its id follows from run and kind, so that a receiver knows a repeated one.
Event = Mapping[str, Any]
#: What the types of our events begin with, as receivers and automations know them; behind it the kind.
TYPE = "dev.cinnabar.run."
KINDS = ("finished", "failed", "quarantine", "drift", "list_incomplete", "review_wanted")
_KILLED = (
    "The run did not end: its process was killed, or its machine went down. Committed records are kept, and the next"
    " run goes on from there."
)
_LISTS = "Lists of another length than their documents tell: {incomplete}."
_SENTENCES = {
    "finished": "{written} written, {quarantined} quarantined, {skipped} skipped.",
    "quarantine": "{held} of {read} documents in quarantine or empty, more than {bound:g} of them.",
    "list_incomplete": _LISTS,
    "review_wanted": f"In quarantine: {{quarantined}}. Records with a check that fails: {{failing}}. {_LISTS}",
}
# What the tables hold of the runs of one command; `ended` is null, or microseconds once all of them have ended.
_STORED = f"""
WITH own AS (SELECT unnest($runs) AS run_id),
    begun AS (SELECT * FROM runs SEMI JOIN own USING (run_id)),
    told AS (SELECT outcome, code FROM outcomes SEMI JOIN own USING (run_id)),
    reasons AS (SELECT code, count(*) AS documents FROM told WHERE outcome = 'quarantined' GROUP BY code ORDER BY code)
SELECT (SELECT coalesce(list(schema_name ORDER BY run_id), []) FROM begun) AS schemas,
    (SELECT CASE WHEN count(finished) = len($runs) THEN epoch_us(max(finished)) END FROM begun) AS ended,
    (SELECT count(*) FROM told WHERE outcome = 'written') AS written,
    (SELECT count(*) FROM told WHERE outcome = 'quarantined') AS quarantined,
    (SELECT count(*) FROM told WHERE outcome = 'skipped') AS skipped,
    (SELECT count(*) FROM told WHERE outcome = 'skipped' AND code = '{EMPTY_RECORD}') AS empty,
    (SELECT coalesce(map(list(code), list(documents)), map()) FROM reasons) AS reasons,
    (SELECT count(*) FROM lists SEMI JOIN own USING (run_id) WHERE incomplete) AS incomplete,
    (SELECT count(DISTINCT (document, schema_name)) FROM _checks SEMI JOIN own USING (run_id) WHERE NOT holds)
        AS failing
"""


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
    stored: dict[str, Any] = {"schemas": [], "ended": None}
    if (out / "manifest").is_dir():  # else it failed before its folder held anything
        with connect(out, views=("runs", "outcomes", "lists", "_checks")) as connection:
            cursor = connection.execute(_STORED, {"runs": [*runs]})
            stored = dict(zip([column[0] for column in cursor.description or ()], cursor.fetchall()[0], strict=True))
    time = datetime.now(UTC)
    if failure is not None or stored["ended"] is None:
        told = {"failed": failure or _KILLED}
    else:
        if drift is None:
            drift = [text for one in runs for text in gather_run(out, one, {}).drift]
        told = _at_end(stored, bound) | {"drift": "\n".join(drift)}
        time = datetime.fromtimestamp(stored["ended"] / 1e6, UTC)
    where = f"--out {shlex.quote(str(out))}"
    look = f"\n\ncinnabar status report {runs[0]} {where}\ncinnabar review {where}" if stored["schemas"] else ""
    data = {"runs": [*runs]} | {name: value for name, value in stored.items() if name != "ended"}
    about = ", ".join(stored["schemas"]) or runs[0]
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


def _at_end(stored: Mapping[str, Any], bound: float | None) -> dict[str, str]:
    """Returns the sentence of each kind of event of a run that ended, except for drift."""
    held = stored["quarantined"] + stored["empty"]
    read = stored["written"] + held
    applies = {
        "finished": True,
        "quarantine": bound is not None and held > bound * read,
        "list_incomplete": stored["incomplete"],
        "review_wanted": stored["quarantined"] or stored["failing"] or stored["incomplete"],
    }
    return {
        kind: text.format(**stored, held=held, read=read, bound=bound)
        for kind, text in _SENTENCES.items()
        if applies[kind]
    }
