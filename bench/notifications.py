"""Events of runs while their receiver is down and their processes are killed: how many are lost, and how many doubled.

    python -m bench.notifications --seconds 600

Runs of `cinnabar extract --notify` follow each other over one folder, each with new documents. A third of them is
killed at a random moment, and a third at one of the moments between the last commit and the receiver's answer. The
receiver is down for so many seconds; then it answers 503 to a fifth of the requests and takes another tenth without an
answer.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cinnabar.extraction.store.reading import query

# Where a process kills itself, in place of this call.
_MOMENTS = (
    "cinnabar.extraction.run.notifications.run_notifications:PendingNotifications.on_runs_ended",
    "cinnabar.extraction.run.notifications.run_notifications:PendingNotifications._remove",
    "cinnabar.extraction.run.notifications.run_notifications:PendingNotifications.drop",
    "cinnabar.extraction.run.notifications.delivery:WaitingNotification.taken",
    "cinnabar.extraction.run.batched_run:BatchedRun.finish",
)
_RUN = """
import importlib, os, signal, sys
from cinnabar.apps.cli.main import run
where, *words = sys.argv[1:]
if where:
    module, _, name = where.partition(":")
    owner, _, name = name.partition(".")
    owner = getattr(importlib.import_module(module), owner)
    setattr(owner, name, lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))
sys.exit(run(words))
"""
_TIMEOUT = 120


class Receiver:
    """A webhook that keeps the ids and types of the events that reached it, whatever it answered."""

    def __init__(self, chance: random.Random) -> None:
        self.got: list[tuple[str, str, str]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Takes an event, or not."""
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fate = chance.random()
                if fate >= 0.2:
                    receiver.got.append((event["subject"], event["type"].rpartition(".")[2], event["id"]))
                if 0.2 <= fate < 0.3:  # taken, but nobody hears of it
                    self.close_connection = True
                    return
                self.send_response(503 if fate < 0.2 else 204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Prints nothing."""

        # The address is known, and refuses connections, until the receiver is up.
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self._server.server_bind()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/events"

    def up(self) -> None:
        self._server.server_activate()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()


def one_run(root: Path, number: int, url: str, chance: random.Random) -> bool:
    """Does a run over one more document, perhaps with a kill; returns whether it was killed."""
    docs = root / "docs"
    docs.mkdir(exist_ok=True)
    for at in range(4):
        (docs / f"{number}-{at}.txt").write_text(f"Meeting {number}.{at} on 2026-03-0{at + 1} in Bern.\n")
    kind = number % 3
    where = chance.choice(_MOMENTS) if kind == 1 else ""
    words = ["extract", str(docs), "--schema", "event", "--out", str(root / "out"), "--workers", "1", "--notify", url]
    program = [sys.executable, "-c", _RUN, where, *words]
    null = subprocess.DEVNULL
    with subprocess.Popen(program, stdout=null, stderr=null) as process:
        if kind == 2:
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.5, 9.0))
            process.kill()
        process.wait(_TIMEOUT)
    return process.returncode == -signal.SIGKILL


def measure(seconds: float, least: int, seed: int) -> int:
    """Prints the figures; returns the exit status, 1 if an event was lost or doubled without a mark."""
    chance = random.Random(seed)
    receiver = Receiver(chance)
    with tempfile.TemporaryDirectory() as folder:
        root, begun, runs, killed = Path(folder), time.monotonic(), 0, 0
        while runs < least or time.monotonic() - begun < seconds:
            killed += one_run(root, runs, receiver.url, chance)
            runs += 1
        down, arrived = time.monotonic() - begun, len(receiver.got)
        receiver.up()
        for _ in range(6):  # some of these are killed, too, while they deliver
            killed += one_run(root, runs, receiver.url, chance)
            runs += 1
        send = ["status", "events", "--out", str(root / "out"), "--send"]
        subprocess.run([sys.executable, "-c", _RUN, "", *send], stdout=subprocess.DEVNULL, check=False)
        rows = query(root / "out", "select run_id, finished is not null from runs").rows
    expected = {(run, "finished" if ended else "failed") for run, ended in rows}
    ids = defaultdict(set)
    for run, kind, event in receiver.got:
        ids[run, kind].add(event)
    twice = sum(count - 1 for count in Counter(receiver.got).values())
    unmarked = sum(len(one) - 1 for one in ids.values())
    unmarked += sum({(run, "finished"), (run, "failed")} <= ids.keys() for run, _ in rows)
    lost = len(expected - ids.keys())
    others = len({run for run, _ in ids} - {run for run, _ in rows})
    print(f"receiver down for {down:.0f} s ({arrived} events came meanwhile); {runs} processes, {killed} killed")
    print(f"runs in the folder {len(rows)}; events received {len(receiver.got)}, of which different {len(ids)}")
    print(f"killed before their run began, and told all the same: {others}")
    print(f"lost {lost}; doubled with the same id {twice}; doubled without a mark {unmarked}")
    return 1 if lost or unmarked else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long the receiver is down")
    parser.add_argument("--runs", type=int, default=6, help="the fewest runs meanwhile")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    return measure(given.seconds, given.runs, given.seed)


if __name__ == "__main__":
    sys.exit(main())
