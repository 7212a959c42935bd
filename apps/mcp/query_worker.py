"""A process that answers queries of agents, so that one that takes long or much memory harms nobody else.

    python -P -m cinnabar.apps.mcp.query_worker SECONDS MEMORY

A request is the length of a JSON text, 8 bytes little-endian, and the text: `out`, `sql`, `rows`, `bytes`. So is an
answer: `rows`, as many as have room, and `cut`, why not all; or `problem`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from cinnabar.errors import CinnabarError
from cinnabar.extraction.documents.processes.serving import answer_json_requests
from cinnabar.extraction.store.manifest import about_lost, read_live
from cinnabar.extraction.store.reading import as_objects, query

_MEMORY = "sql: the query takes too much memory; ask for less"


def answer(asked: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Returns the rows of a query, as many as have room, or what is wrong with it."""
    try:
        found = query(Path(asked["out"]), asked["sql"], asked["rows"] + 1, seconds)
    except CinnabarError as problem:
        # DuckDB advises to change settings, which are locked.
        return {"problem": _MEMORY if "Out of Memory" in str(problem) else str(problem)}
    except MemoryError:
        return {"problem": _MEMORY}
    kept, left = list[dict[str, Any]](), asked["bytes"]
    for number, row in enumerate(found.rows, 1):
        (one,) = as_objects(found._replace(rows=[row]))
        size = len(orjson.dumps(one, default=str)) + 2
        if number > asked["rows"] or size > left:
            alone = size > asked["bytes"]
            large = f"row {number} takes {size} bytes; ask for fewer columns, or for a part with substr()"
            return {"rows": kept, "cut": large if alone else f"the rows from {number} on; ask for less, as with LIMIT"}
        left -= size
        kept.append(one)
    lost = about_lost(Path(asked["out"]), read_live(Path(asked["out"])))
    return {"rows": kept} | ({"cut": f"what lies in {lost}"} if lost else {})


if __name__ == "__main__":
    # The clock of the query ends one that DuckDB can end, the processor time, or the parent, all others.
    allowed = float(sys.argv[1])
    answer_json_requests(lambda text: answer(orjson.loads(text), allowed), 2 * allowed, int(sys.argv[2]))
