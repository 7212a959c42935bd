"""Asks a server that misbehaves about many documents; checks that all are accounted for and the cost is exact.

    python -m bench.remote_report --documents 1000 --share 0.2

The server speaks the documented contract of Mercury's API over HTTP on this machine and keeps a ledger of its own. It
answers a share of all requests with a fault: refusals with and without Retry-After, errors, cut connections, slow
bytes, silence, nonsense, wrong records, answers out of order. Everything else is `cinnabar extract --model mercury-2`.
Answers are compared one by one: each one received must be charged here as it is there. If a busy machine delays a good
answer beyond the time-out, it counts as unanswered here and as charged there; the report calls such answers late.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support import mercury_server as mercury

from cinnabar.engine.models.remote.serving import RemoteSettings
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema

SCHEMA: dict[str, Any] = {
    "title": "note",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "total": {"type": "number", "multipleOf": 0.01},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
                "required": ["what", "price"],
            },
        },
    },
    "required": ["name", "total", "lines"],
}


@dataclass(frozen=True)
class Report:
    """The promised figures beside the observed ones; `server` is the server's own ledger."""

    documents: int
    requests: int
    faults: dict[str, int]
    breaches: int
    written: int
    quarantined: int
    outcomes: int
    right: int
    twice: int
    cost: Decimal
    server_cost: Decimal
    entries: Counter[tuple[int, ...]]
    server_entries: Counter[tuple[int, ...]]
    unanswered: int
    server_unanswered: int
    seconds: float

    @property
    def late(self) -> int:
        """Answers that the server gave whole and charged, but that came after the time-out."""
        return self.server_entries.total() - self.entries.total()

    @property
    def kept(self) -> dict[str, bool]:
        """Each promise, and whether it was kept."""
        accounted = self.outcomes == self.documents == self.written + self.quarantined
        return {
            "every document accounted for": accounted,
            "none twice": self.twice == 0,
            "every record right": self.right == self.written,
            "cost exact": self.entries <= self.server_entries
            and self.cost == sum(mercury.Entry(*one).cost * n for one, n in self.entries.items()),
            "unanswered requests known": self.unanswered == self.server_unanswered + self.late,
            "contract kept": self.breaches == 0,
        }


def measure(documents: int, share: float, seed: int, timeout: float = 4.0) -> Report:
    """Reads `documents` documents with this share of faults, in a folder that is removed afterwards."""
    os.environ["INCEPTION_API_KEY"] = mercury.KEY
    server = mercury.Server(fault=mercury.drawn(share, seed))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name, mercury.running(server):
        folder = Path(name)
        (folder / "docs").mkdir()
        for number in range(documents):
            lines = f"- what=first {number}; price=1\n- what=b; price=2.5\n"
            text = f"name=Person {number}\ntotal={number}.25\n{lines}"
            (folder / "docs" / f"{number:05}.txt").write_text(text)
        settings = RemoteSettings(
            base_url=server.url, concurrency=24, timeout=timeout, first_wait=0.02, longest_wait=0.2, asks=5
        )
        model = model_source("mercury-2", settings=settings)
        options = RunOptions(workers=1, batch=documents)
        summary = extract([folder / "docs"], load_schema(SCHEMA), folder / "out", model, options)
        usage = summary.usage or {}
        outcomes, paths = query(
            folder / "out", "select count(*), count(distinct path) from outcomes where outcome <> 'skipped'"
        ).rows[0]
        records = query(folder / "out", "select path, record_json from records").rows
        (journal,) = (folder / "out" / "remote").iterdir()
        entries = [json.loads(line) for line in journal.read_text().splitlines()]
    return Report(
        documents=documents,
        requests=len(server.bodies),
        faults=dict(server.faults),
        breaches=len(server.breaches),
        written=summary.written,
        quarantined=summary.quarantined,
        outcomes=int(paths),
        right=sum(_is_right(Path(path).stem, json.loads(text)) for path, text in records),
        twice=int(outcomes) - int(paths) + len(records) - summary.written,
        cost=Decimal(str(usage["cost"])),
        server_cost=server.cost,
        entries=Counter(tuple(one["tokens"]) for one in entries if "tokens" in one),
        server_entries=Counter((one.input, one.cached, one.output) for one in server.charged),
        unanswered=int(usage["unanswered"]),
        server_unanswered=server.doubtful,
        seconds=time.monotonic() - begin,
    )


def _is_right(stem: str, record: dict[str, Any]) -> bool:
    number = int(stem)
    lines = [{"what": f"first {number}", "price": 1}, {"what": "b", "price": 2.5}]
    return record == {"name": f"Person {number}", "total": number + 0.25, "lines": lines}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.2, help="share of requests that meet a fault")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    found = measure(chosen.documents, chosen.share, chosen.seed)
    faults = sum(count for fault, count in found.faults.items() if fault != "none")
    print(f"{found.documents} documents, {found.requests} requests, {faults} of them met a fault:")
    print("  " + ", ".join(f"{fault} {count}" for fault, count in sorted(found.faults.items())))
    print(f"written {found.written}, quarantined {found.quarantined}, in {found.seconds:.1f} s")
    print(f"cost ${found.cost}, by the server's ledger ${found.server_cost.normalize():f}")
    late = f", and {found.late} answers that came too late" if found.late else ""
    print(f"unanswered {found.unanswered}, by the server's ledger {found.server_unanswered}{late}")
    for promise, kept in found.kept.items():
        print(f"{'kept  ' if kept else 'BROKEN'}  {promise}")
    return 0 if all(found.kept.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
