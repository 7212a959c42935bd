"""Brings runs, a correction and a new version of a schema to each sink, with kills at random and with two writers.

    python -m bench.sinks --documents 60 --kills 10

The places are a real PostgreSQL, moto's server of S3, and folders of this machine. After each change every place is
compared with the views of the folder, row by row.

    python -m bench.sinks --deliver OUT ADDRESS     one delivery, as this program starts it
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.support.corrected_folder import LATER, digest_of, run
from tests.support.held_by_sinks import differing
from tests.support.object_stores import s3_server
from tests.support.postgresql_server import INITDB, server

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.store.sinks.sink import sink_of


def deliver(out: Path, address: str) -> None:
    """Brings the folder to the address once the parent says so; what is imported does not count as its time."""
    sink = sink_of(address, out)
    print("ready", flush=True)
    sys.stdin.readline()
    sink.check()
    print(sink.bring(out).sent, flush=True)


class Delivery:
    """A delivery in a process of its own, which waits until it is started."""

    def __init__(self, out: Path, address: str) -> None:
        program = [sys.executable, "-m", "bench.sinks", "--deliver", str(out), address]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def start(self) -> None:
        """Lets it begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> float:
        """Waits for its end and returns the seconds. Raises RuntimeError if it failed."""
        began = time.monotonic()
        _, error = self.process.communicate(timeout=300)
        if self.process.returncode:
            raise RuntimeError(error[-2000:])
        return time.monotonic() - began

    def dies_after(self, seconds: float) -> bool:
        """Kills it after so long, and returns True if that was before its end."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.communicate()
        return self.process.returncode == -signal.SIGKILL


def brought(out: Path, address: str) -> float:
    """Delivers without a disturbance, and returns the seconds."""
    one = Delivery(out, address)
    one.start()
    return one.end()


def killed(out: Path, address: str, kills: int, chance: random.Random, seconds: float) -> int:
    """Kills deliveries at random moments of one that takes so long; returns how many died before their end."""
    died = 0
    for _ in range(kills):
        one = Delivery(out, address)
        one.start()
        died += one.dies_after(seconds * chance.uniform(0.02, 0.98))
    return died


def at_once(out: Path, address: str) -> None:
    """Two deliveries begin at the same time."""
    both = [Delivery(out, address) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.end()


def expired(out: Path, address: str, change: Callable[[], object], seconds: float) -> bool:
    """Stops a delivery in its middle, has another one bring newer results, and lets the first go on.

    Returns True if it was stopped before its end.
    """
    late = Delivery(out, address)
    late.start()
    time.sleep(seconds)
    late.process.send_signal(signal.SIGSTOP)
    stopped = late.process.poll() is None
    change()
    newer = Delivery(out, address)
    newer.start()
    if address.startswith("postgresql"):  # it waits for the transaction of the first
        time.sleep(1)
        late.process.send_signal(signal.SIGCONT)
    newer.end()
    late.process.send_signal(signal.SIGCONT)
    late.end()
    return stopped


def told(address: str, what: str, out: Path) -> bool:
    """Prints whether the place equals the folder's views, and returns it."""
    wrong = differing(out, address)
    kind = address.partition(":")[0]
    print(f"{kind:>12}  {what:<64} equal {'yes' if not wrong else 'NO: ' + ', '.join(wrong)}", flush=True)
    return not wrong


def tried(root: Path, addresses: Mapping[str, str], documents: int, kills: int, seed: int) -> bool:
    """Does all of it; returns True if every place was equal to the folder each time.

    `addresses` has a second place of the same kind for each, where nothing is killed and which tells the time it takes.
    """
    out, chance = root / "out", random.Random(seed)
    paths = [f"{number}.txt" for number in range(documents)]

    def correct() -> None:
        change = [Change(Action.VALUE, "/number", f'"corrected {chance.random()}"')]
        Corrector(out).correct(digest_of(chance.choice(paths)), "bill", change, "a person")

    steps: list[tuple[str, Callable[[], object]]] = [
        ("first run", lambda: run(out, "e1", paths=paths)),
        ("second run, another model", lambda: run(out, "e22", paths=paths)),
        ("a correction", correct),
        ("third run, another version and new documents", lambda: run(out, "e3", LATER, paths=[*paths, "new.txt"])),
    ]
    good = True
    for what, change in steps:
        change()
        for address, trial in addresses.items():
            took = brought(out, trial)
            died = killed(out, address, kills, chance, took)
            brought(out, address)
            good &= told(address, f"{what}, {died} killed of {kills} ({took:.1f} s)", out)
    for address in addresses:
        correct()
        at_once(out, address)
        good &= told(address, "two writers at once", out)
        for moment in (0.05, 0.2, 0.5):
            correct()
            stopped = expired(out, address, correct, moment)
            good &= told(address, f"a writer stopped after {moment} s{'' if stopped else ' (had ended)'}", out)
    return good


def main() -> int:
    """Runs the bench; the status is 1 if a place differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--kills", type=int, default=10, help="deliveries killed for each change and place")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deliver", nargs=2, metavar=("OUT", "ADDRESS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.deliver:
        deliver(Path(asked.deliver[0]), asked.deliver[1])
        return 0
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cinnabar-sinks-")))
        bucket = stack.enter_context(s3_server())
        addresses = {
            f"delta+{bucket}/results": f"delta+{bucket}/trial",
            f"delta:{root / 'tables'}": f"delta:{root / 'trial'}",
        }
        if INITDB is None:
            print("there is no PostgreSQL on this machine")
        else:
            database = stack.enter_context(server())
            addresses[f"{database}?schema=results"] = f"{database}?schema=trial"
        good = tried(root, addresses, asked.documents, asked.kills, asked.seed)
    print(f"every place equal to the views each time: {'yes' if good else 'NO'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
