"""The report of a run tells how dates of one meaning are written where others have two."""

from __future__ import annotations

import duckdb

from cinnabar.apps.cli import extract


def test_dates_of_one_meaning_are_counted_by_their_order() -> None:
    rows = [
        ("a", "run", "03/04/2026", ["ambiguous_date"]),
        ("a", "run", "04/05/2026", ["ambiguous_date", "ocr"]),
        ("b", "run", "25/04/2026", []),
        ("b", "run", "25.4.26", []),
        ("c", "run", "4/25/2026", []),
        ("c", "run", "2026-04-25", []),
        ("c", "run", "13/14", []),
        ("d", "other", "04/25/2026", ["ambiguous_date"]),
    ]

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE _fields (document TEXT, run_id TEXT, evidence_text TEXT, flags TEXT[])")
        connection.executemany("INSERT INTO _fields VALUES (?, ?, ?, ?)", rows)
        assert extract._orders_of_dates("run", connection) == (1, 2, 1)
