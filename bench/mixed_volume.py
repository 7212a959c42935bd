"""Measures a run over mixed sample documents: PDFs, mails and texts of each kind that the library has a schema for.

    python -m bench volume_report --mixed --engines auto

Each kind lies in a folder of its own, and one `cinnabar extract` reads each folder into tables of its own, one after
the other; the sums of their times are the figure. Memory is that of the largest run.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from bench.mixture import mixed_documents
from bench.processes import Watched, watch
from bench.reporting import table
from cinnabar.extraction.store.reading import connect

SAMPLES = Path(__file__).resolve().parent.parent / "data/samples"


def report(count: int, engines: str, root: Path) -> None:
    """Reads `count` documents and prints the table. Raises SystemExit if an input has no outcome, or two."""
    written: Counter[str] = Counter()
    for document in mixed_documents(SAMPLES, count):
        folder = root / "docs" / document.kind
        folder.mkdir(parents=True, exist_ok=True)
        (folder / document.name).write_bytes(document.data)
        written[document.kind] += 1
    runs: list[tuple[str, int, str, Watched]] = []
    for kind, documents in written.items():
        out = root / "out" / kind
        command = [
            *(sys.executable, "-m", "cinnabar.apps.cli.main", "extract", str(root / "docs" / kind), "--schema", kind),
            *("--out", str(out), "--on", "missing=guess", "--engines", engines),
        ]
        ran = watch(command, root / "log")
        runs.append((kind, documents, outcomes(out, documents), ran))
        print(f"{kind}: {ran.seconds:.0f} s", file=sys.stderr, flush=True)
    rows = [_row(*run) for run in runs]
    whole = [run for *_, run in runs]
    every = Watched(
        sum(run.seconds for run in whole),
        sum(run.work for run in whole),
        max(run.peak for run in whole),
        max(run.main for run in whole),
    )
    rows.append(_row("all", count, "", every))
    head = ["kind", "documents", "seconds", "of processors", "documents/s", "outcomes"]
    print(table([*head, "MiB, main process", "MiB, all processes"], rows))


def outcomes(out: Path, count: int) -> str:
    """The outcomes by kind. Raises SystemExit if an input has none, or two."""
    with connect(out) as tables:
        rows = tables.execute("SELECT path, outcome, code FROM outcomes").fetchall()
    if len(rows) != count or len({path for path, *_ in rows}) != count:
        raise SystemExit(f"expected one outcome for each of {count} documents, got {len(rows)}")
    found = Counter(outcome if outcome == "written" else f"{outcome} {code}" for _, outcome, code in rows)
    return ", ".join(f"{n} {what}" for what, n in found.most_common())


def _row(kind: str, documents: int, found: str, ran: Watched) -> list[str]:
    times = [f"{ran.seconds:.0f}", f"{ran.work:.0f}", f"{documents / ran.seconds:.1f}"]
    return [kind, str(documents), *times, found, f"{ran.main / 2**20:.0f}", f"{ran.peak / 2**20:.0f}"]
