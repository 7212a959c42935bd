"""What opens DuckDB closes it off before anything of a folder is bound in it (tests/project/test_one_door.py)."""

from __future__ import annotations

import pandas
import pyarrow as pa

from cinnabar.extraction.store import reading, snapshot
from cinnabar.results import in_pandas

CLOSED = (
    "SELECT current_setting('lock_configuration'), current_setting('enable_external_access'),"
    " current_setting('python_enable_replacements'), current_setting('autoload_known_extensions')"
)


def test_the_door_is_closed_before_the_views_of_a_folder_are_bound(out, workload, monkeypatch):
    seen, define = [], snapshot.define_views

    def closed(connection, *rest):
        seen.append(connection.execute(CLOSED).fetchall())
        return define(connection, *rest)

    monkeypatch.setattr(snapshot, "define_views", closed)
    monkeypatch.setattr(reading, "define_views", closed)
    workload.work(out)
    reading.query(out, "SELECT 1")
    assert len(seen) > 1 and seen == [[(True, False, False, False)]] * len(seen)


def test_a_frame_is_made_behind_the_door() -> None:
    """A name in a query would be a variable of the program elsewhere."""
    assert in_pandas(pa.table({"secret": [1, 2]})).equals(pandas.DataFrame({"secret": [1, 2]}))
