"""Measures a review that a team shares: many clients correct at once over HTTP, and the server is killed in between.

    python -m bench.team_review --people 20 --corrections 2000 --kills 2

Each client is a person behind the proxy: it takes the next document that nobody has claimed or reviewed, claims it,
reads its record, corrects one value several times, and accepts the record. Each value is a text that occurs once, so
that a correction that is lost or doubled shows in the view `corrections`. A client whose request got no answer looks
whether its correction is there, as the page does. Without `--pause` nobody rests between requests; people do.

The machine's processor is shared by clients and server, which is told beside the latencies.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.support.corrected_folder import commit_waiting_of

from bench.reporting import table
from bench.stored_volume import fill
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.reading import query

# Corrections of one document before its record is accepted; documents in a batch of the folder.
_EACH, _BATCH = 5, 64
_DOWN = (httpx.TransportError,)


@dataclass
class Client:
    """A person at work: the latencies of their requests, in seconds, and the texts that the server acknowledged."""

    name: str
    address: str
    wanted: int
    pause: float = 0.0
    kept: list[str] = field(default_factory=list)
    took: dict[str, list[float]] = field(default_factory=dict)
    late: int = 0
    unanswered: int = 0

    def work(self) -> None:
        """Corrects until the wanted number is acknowledged."""
        with httpx.Client(base_url=self.address, timeout=60, headers=_headers(self.name)) as self.http:
            listed = self.ask("list", "GET", "/api/list", {})["list"]
            place = -1
            while len(self.kept) < self.wanted:
                try:
                    found = self.ask("next", "GET", "/api/next", {"list": listed, "after": place})
                    if found["place"] is None:
                        raise SystemExit("expected more documents; raise --documents")
                    place = found["place"]
                    rows = self.ask("rows", "GET", "/api/documents", {"list": listed, "start": place, "count": 1})
                except _Gone:
                    listed = self.ask("list", "GET", "/api/list", {})["list"]
                    continue
                at = {"document": rows["rows"][0]["document"], "schema": rows["rows"][0]["schema_name"]}
                if self.ask("claim", "POST", "/api/claim", {**at, "tab": self.name})["held"] is None:
                    self.document(at)

    def document(self, at: dict[str, str]) -> None:
        """Corrects one document several times, and accepts it."""
        state = self.ask("state", "GET", "/api/state", at)
        for _ in range(min(_EACH, self.wanted - len(self.kept))):
            text = json.dumps(f"{self.name} {len(self.kept)}")
            time.sleep(random.expovariate(1 / self.pause) if self.pause else 0)
            while True:
                seen = state["seen"].get("/carrier", state["seen"]["-"])
                change = {"action": "value", "pointer": "/carrier", "after": text, "seen": seen}
                try:
                    state = self.once("correct", "POST", "/api/correct", {**at, "changes": [change]})
                    break
                except _Overtaken:
                    self.late += 1
                except _DOWN:
                    self.unanswered += 1
                state = self.ask("state", "GET", "/api/state", at)
                if any(one["after"] == text and one["who"] == self.name for one in state["corrections"]):
                    break
            self.kept.append(text)
        whole = {"action": "accept", "pointer": "", "seen": state["seen"][""]}
        with suppress(_Overtaken, *_DOWN):
            self.once("accept", "POST", "/api/correct", {**at, "changes": [whole]})

    def ask(self, what: str, method: str, path: str, said: dict[str, Any]) -> Any:
        """Asks until the server answers."""
        while True:
            try:
                return self.once(what, method, path, said)
            except _DOWN:
                self.unanswered += 1
                time.sleep(0.2)

    def once(self, what: str, method: str, path: str, said: dict[str, Any]) -> Any:
        """Asks once, and takes the time of an answer."""
        begun = time.perf_counter()
        send = self.http.get(path, params=said) if method == "GET" else self.http.post(path, json=said)
        self.took.setdefault(what, []).append(time.perf_counter() - begun)
        if send.status_code in (409, 410):
            raise _Overtaken if send.status_code == 409 else _Gone
        if send.status_code == 503:
            raise httpx.TransportError(send.text)
        answer = send.json() if send.status_code == 200 else {"error": send.text}
        if send.status_code != 200 or "refused" in answer:
            raise SystemExit(f"{path}: {send.status_code} {answer}")
        return answer


class _Gone(Exception):
    """A list that a new server does not know."""


class _Overtaken(Exception):
    """Somebody was faster."""


def _headers(name: str) -> dict[str, str]:
    public = {"x-forwarded-proto": "https", "x-forwarded-host": "review.example", "origin": "https://review.example"}
    return {"x-forwarded-user": name, "x-forwarded-groups": "clerks", **public}


def start(out: Path, port: int) -> subprocess.Popen[str]:
    """Starts the team's review of a folder, and returns it once it answers."""
    command = [sys.executable, "-m", "cinnabar.apps.cli.main", "review", "--out", str(out), "--port", str(port)]
    team = out.with_name("team.toml")
    team.write_text('[groups]\nclerks = "reviewer"\n')
    command += ["--team", str(team), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    if not process.stdout.readline():
        raise SystemExit("the review did not start")
    return process


def measure(out: Path, people: int, corrections: int, kills: int, pause: float) -> tuple[list[Client], float]:
    """Lets so many clients correct, kills the server now and then, and returns the clients and the seconds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = start(out, port)
    share, rest = divmod(corrections, people)
    clients = [
        Client(f"person {number:02}", f"http://127.0.0.1:{port}", share + (number < rest), pause)
        for number in range(people)
    ]
    threads = [threading.Thread(target=one.work) for one in clients]
    begun = time.perf_counter()
    for one in threads:
        one.start()
    points = sorted(random.Random(39).uniform(0.2, 0.8) * corrections for _ in range(kills))
    while any(one.is_alive() for one in threads):
        time.sleep(0.05)
        if points and sum(len(one.kept) for one in clients) > points[0]:
            points.pop(0)
            process.kill()
            process.wait()
            process = start(out, port)
    seconds = time.perf_counter() - begun
    process.terminate()
    process.wait()
    return clients, seconds


def check(out: Path, clients: Sequence[Client]) -> tuple[int, int, int]:
    """Returns how many acknowledged corrections are lost, how many are there twice, and the problems of the folder."""
    commit_waiting_of(out)
    asked = "SELECT after, count(*) FROM corrections WHERE pointer = '/carrier' AND action = 'value' GROUP BY 1"
    stored = Counter(dict(query(out, asked).rows))
    kept = [text for one in clients for text in one.kept]
    lost = sum(text not in stored for text in kept)
    doubled = sum(count - 1 for count in stored.values())
    return lost, doubled, len(verify(out).problems)


def main() -> None:
    """Prints the report; fails if a correction is lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--corrections", type=int, default=2000)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--pause", type=float, default=0.0, help="mean seconds before each correction")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        fill(out, given.documents, _BATCH)
        clients, seconds = measure(out, given.people, given.corrections, given.kills, given.pause)
        lost, doubled, problems = check(out, clients)
    rows = []
    for what in ("correct", "accept", "state", "claim", "next", "rows", "list"):
        times = sorted(1000 * one for client in clients for one in client.took.get(what, ()))
        if times:
            cuts = [times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.9, 0.99)]
            rows.append((what, f"{len(times):,}", *(f"{one:.0f}" for one in (*cuts, times[-1]))))
    print(table(("request", "times", "median ms", "90%", "99%", "most"), rows))
    late, unanswered = sum(one.late for one in clients), sum(one.unanswered for one in clients)
    print(
        f"\n{given.people} people, {given.corrections:,} corrections in {given.documents:,} documents, {seconds:.0f} s,"
        f" {given.kills} kills; {unanswered} requests without an answer, {late} overtaken\n"
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n"
        f"lost {lost}, doubled {doubled}, problems that `verify` finds {problems}"
    )
    raise SystemExit(bool(lost or doubled or problems))


if __name__ == "__main__":
    main()
