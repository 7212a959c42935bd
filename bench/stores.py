"""Documents in a bucket, with runs that are killed and a store that fails: are the rows those of a local folder?

    python -m bench.stores [--documents N] [--kills K] [--seed S]

The server is moto's, behind a proxy of ours that counts requests and lets some fail; the runs are the command line.
Kills come in turn while a run lists, reads and commits. Prints one JSON object; exit status 1 if a row is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.store_servers import KEYS, Bucket, bucket

from cinnabar.extraction.store.reading import connect

_ROOT = Path(__file__).resolve().parent.parent
_PREFIX = "s3://bucket/inbox"
#: Of the requests 5% fail, and a few get no answer before the client's patience ends.
FAULTS = {"503": 0.02, "reset": 0.015, "cut": 0.01, "slow": 0.0048, "hang": 0.0002}
_ROWS = {
    "receipt": "SELECT * EXCLUDE (run_id) FROM receipt",
    "fields": "SELECT * EXCLUDE (run_id) FROM fields",
    "outcomes": "SELECT path, outcome, code, document FROM outcomes WHERE outcome <> 'skipped'",
}


def document(number: int) -> str:
    """Returns the text of a receipt."""
    return f"Corner Shop {number}\nDate: 2024-03-{number % 28 + 1:02}\nTotal: {number % 900 + 1}.50 EUR\n"


class Runs:
    """Runs of the command line over a folder or the bucket."""

    def __init__(self, stored: Bucket) -> None:
        path = os.pathsep.join([str(_ROOT / "src"), str(_ROOT)])
        self._environment = os.environ | KEYS | {"AWS_ENDPOINT_URL": stored.url, "PYTHONPATH": path}

    def start(self, place: str, out: Path) -> subprocess.Popen[bytes]:
        """Starts a run."""
        command = [sys.executable, "-m", "cinnabar.apps.cli.main", "extract", place, "--schema", "receipt"]
        return subprocess.Popen(
            [*command, "--out", str(out), "--json"],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def whole(self, place: str, out: Path) -> tuple[dict[str, Any], float]:
        """Returns the summary and the seconds of a run. Raises RuntimeError if it fails."""
        began = time.monotonic()
        with self.start(place, out) as run:
            said, _ = run.communicate()
        if run.returncode:
            raise RuntimeError(f"the run over {place} into {out} ended with {run.returncode}")
        return json.loads(said), round(time.monotonic() - began, 1)


def rows_of(out: Path, prefix: str) -> dict[str, list[str]]:
    """Returns the rows of a folder of results without run ids, with paths below `prefix` alone."""
    found = {}
    with connect(out) as connection:
        for name, sql in _ROWS.items():
            rows = connection.execute(sql).fetchall()
            found[name] = sorted(repr(row).replace(f"{prefix}/", "") for row in rows)
    return found


def differing(expected: dict[str, list[str]], found: dict[str, list[str]]) -> int:
    """Returns how many rows are lost, doubled or wrong."""
    both = ((Counter(rows), Counter(found[name])) for name, rows in expected.items())
    return sum(((one - other) + (other - one)).total() for one, other in both)


def _moments(stored: Bucket, out: Path, documents: int, chance: random.Random) -> list[tuple[str, Callable[[], bool]]]:
    """Returns for each stage a condition that becomes true at a random moment of it."""

    def commits() -> int:
        return len(list((out / "manifest").glob("*"))) if (out / "manifest").is_dir() else 0

    pages = stored.count["list"] + chance.randint(1, max(1, documents // 1000))
    gets = stored.count["get"] + chance.randint(1, max(1, documents // 4))
    batches = commits() + chance.randint(1, 3)
    return [
        ("listing", lambda: stored.count["list"] >= pages),
        ("reading", lambda: stored.count["get"] >= gets),
        ("committing", lambda: commits() >= batches),
    ]


def killed(
    runs: Runs, stored: Bucket, folder: Path, documents: int, kills: int, chance: random.Random
) -> tuple[dict[str, int], list[Path]]:
    """Returns how many runs were killed in each stage, and the folders that were finished afterwards."""
    died: dict[str, int] = {"listing": 0, "reading": 0, "committing": 0}
    stages, folders = list(died), [folder / "killed-0"]
    while sum(died.values()) < kills:
        stage = stages[sum(died.values()) % len(stages)]
        reached = dict(_moments(stored, folders[-1], documents, chance))[stage]
        with runs.start(_PREFIX, folders[-1]) as run:
            while run.poll() is None and not reached():
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.2))
            run.kill()
            run.communicate()
        if run.returncode == -signal.SIGKILL:
            died[stage] += 1
        elif run.returncode:
            raise RuntimeError(f"a run ended with {run.returncode}")
        else:  # It ended before its moment came; the next one begins anew.
            folders.append(folder / f"killed-{len(folders)}")
    runs.whole(_PREFIX, folders[-1])
    return died, folders


def measured(documents: int, kills: int, seed: int) -> dict[str, Any]:
    """Returns all figures."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, bucket() as stored:
        folder, inbox = Path(name), Path(name) / "inbox"
        inbox.mkdir()
        for number in range(documents):
            (inbox / f"{number:05}.txt").write_text(document(number))
            stored.put_at(f"inbox/{number:05}.txt", document(number))
        runs = Runs(stored)
        _, local = runs.whole(str(inbox), folder / "local")
        expected = rows_of(folder / "local", str(inbox))
        stored.count.clear()
        _, first = runs.whole(_PREFIX, folder / "first")
        figures: dict[str, Any] = {
            "documents": documents,
            "rows": sum(map(len, expected.values())),
            "seconds_local": local,
            "seconds_store": first,
            "reads_first_run": stored.count["get"],
            "wrong_rows_first_run": differing(expected, rows_of(folder / "first", _PREFIX)),
        }
        stored.count.clear()
        summary, figures["seconds_second_run"] = runs.whole(_PREFIX, folder / "first")
        figures |= {"reads_second_run": stored.count["get"], "skipped_second_run": summary["skipped"]}
        stored.count.clear()
        figures["kills"], folders = killed(runs, stored, folder, documents, kills, chance)
        figures["reads_with_kills"] = stored.count["get"]
        figures["wrong_rows_with_kills"] = sum(differing(expected, rows_of(one, _PREFIX)) for one in folders)
        stored.count.clear()
        stored.faults, stored.chance = FAULTS, random.Random(seed)
        _, figures["seconds_with_faults"] = runs.whole(_PREFIX, folder / "faulty")
        figures["faults"] = {kind: stored.count[kind] for kind in FAULTS}
        figures["wrong_rows_with_faults"] = differing(expected, rows_of(folder / "faulty", _PREFIX))
    return figures


def main() -> int:
    """Prints the figures; returns 1 if a row is wrong, or the second run reads an object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    figures = measured(given.documents, given.kills, given.seed)
    print(json.dumps(figures, indent=1))
    wrong = sum(count for name, count in figures.items() if name.startswith("wrong_rows"))
    return int(bool(wrong or figures["reads_second_run"]))


if __name__ == "__main__":
    sys.exit(main())
