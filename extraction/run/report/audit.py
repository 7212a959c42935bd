"""The audit of a run: which of its documents a second reader looks at, and how good the run is by that.

A document is drawn by the hash of its digest and the id of its run, so that the draw is the same whenever it is asked
for and knows nothing of confidence. Each run draws anew: documents that were audited before hold values of people in a
later run, and would make it look better than it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from cinnabar.extraction.run.report.audit_interval import share_right
from cinnabar.schemas.wording import counted

#: SQL of the place of a document in the draw of its run: a text of hexadecimal digits, evenly spread.
LOT = "sha256(run_id || document)"
# Hexadecimal digits of the bound of a lot.
_DIGITS = 8
_AUDITS = """
SELECT document, schema_name, after ->> 'run' AS run_id, (after ->> 'right')::BIGINT AS right_values,
  json_array_length(after, '$.wrong')::BIGINT AS wrong_values, who
FROM corrections WHERE action = 'audit' AND undone IS NULL
QUALIFY row_number() OVER (PARTITION BY document, schema_name, after ->> 'run' ORDER BY identity DESC) = 1
"""


@dataclass(frozen=True, slots=True)
class AuditFigure:
    """How good a run is by its audit: written, marked and audited documents, values judged and right, the interval."""

    run_id: str
    schema_name: str
    written: int
    marked: int
    audited: int
    values: int
    right: int
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """Returns the figure in words."""
        if not self.audited:
            return f"Not audited yet: {self.marked:,} of {counted(self.written, 'written document')} marked."
        scale = 100 if self.high - self.low >= 0.02 else 1000
        low, high = math.floor(self.low * scale), math.ceil(self.high * scale)
        shown = [f"{one / (scale / 100):.{0 if scale == 100 else 1}f}" for one in (low, high)]
        of = f"audit of {counted(self.audited, 'document')}, {counted(self.values, 'value')}"
        left = self.marked - self.audited
        unread = f"; {counted(left, 'marked document')} {'is' if left == 1 else 'are'} not audited yet"
        rest = unread if left > 0 else ""
        return f"{shown[0]} to {shown[1]}% of values right ({of}){rest}."


def bound_of(share: float) -> str:
    """Returns the text below which lots are drawn, for this share of all documents."""
    return "g" if share >= 1 else f"{math.floor(share * 16**_DIGITS):0{_DIGITS}x}"


def audit_runs(connection: duckdb.DuckDBPyConnection) -> dict[str, float]:
    """Returns the shares of the runs that draw documents; the connection has the view `runs`."""
    asked = "SELECT run_id, arguments ->> 'audit' FROM runs WHERE arguments ->> 'audit' IS NOT NULL ORDER BY run_id"
    shares = {run_id: float(text.rstrip("%")) / 100 for run_id, text in connection.execute(asked).fetchall()}
    return {run_id: share for run_id, share in shares.items() if share}


def marked_documents(
    connection: duckdb.DuckDBPyConnection, runs: dict[str, float]
) -> list[tuple[str, str, str, str]]:
    """Returns path, digest, schema and run of the drawn documents of these runs, in the order of their lots.

    The connection has the view `outcomes`.
    """
    asked = (
        "SELECT path, document, schema_name, run_id FROM outcomes"
        " JOIN (SELECT unnest(?) AS run_id, unnest(?) AS bound) USING (run_id)"
        f" WHERE outcome = 'written' AND {LOT} < bound ORDER BY {LOT}, schema_name"
    )
    rows: list[tuple[str, str, str, str]] = connection.execute(
        asked, [list(runs), [bound_of(share) for share in runs.values()]]
    ).fetchall()
    return rows


def has_corrections(connection: duckdb.DuckDBPyConnection) -> bool:
    """Returns whether the folder has the view `corrections`, which comes with the first of them."""
    return bool(connection.execute("SELECT 1 FROM (SHOW TABLES) WHERE name = 'corrections'").fetchall())


def audits(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str, str], tuple[int, int, str]]:
    """Returns right values, judged values and auditor of each audit in force, by digest, schema and run.

    The connection has the view `corrections`.
    """
    rows = connection.execute(_AUDITS).fetchall() if has_corrections(connection) else []
    return {(digest, name, run): (right, right + wrong, who) for digest, name, run, right, wrong, who in rows}


def audit_figures(connection: duckdb.DuckDBPyConnection, runs: dict[str, float]) -> list[AuditFigure]:
    """Returns the figures of these runs, the newest first.

    Only audits of drawn documents count. The connection has the views `outcomes` and `corrections`.
    """
    done = audits(connection)
    drawn: dict[tuple[str, str], list[tuple[int, int] | None]] = {}
    for _, digest, name, run_id in marked_documents(connection, runs):
        judged = done.get((digest, name, run_id))
        drawn.setdefault((run_id, name), []).append(judged and judged[:2])
    asked = (
        "SELECT run_id, schema_name, count(*) FROM outcomes WHERE outcome = 'written' AND list_contains(?, run_id)"
        " GROUP BY ALL ORDER BY run_id DESC, schema_name"
    )
    return [
        _figure(run_id, name, written, drawn.get((run_id, name), []))
        for run_id, name, written in connection.execute(asked, [list(runs)]).fetchall()
    ]


def _figure(run_id: str, name: str, written: int, drawn: Sequence[Any]) -> AuditFigure:
    judged: list[tuple[int, int]] = [one for one in drawn if one is not None]
    right, values = [one[0] for one in judged], [one[1] for one in judged]
    low, high = share_right(right, values, written)
    return AuditFigure(run_id, name, written, len(drawn), len(judged), sum(values), sum(right), low, high)
