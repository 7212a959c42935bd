"""Two people correct one folder, and a server is killed now and then: nothing is lost, each conflict is told."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from bench.review_server import serving
from tests.support import ROOT
from tests.support.corrected_folder import digest_of, run

from cinnabar.apps.review.access import KEY
from cinnabar.extraction.corrections import Action, Corrector
from cinnabar.extraction.corrections.journal import waiting_corrections
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.reading import query

#: Asks the server of a person: method, path, parameters or body. Raises httpx.TransportError if it died meanwhile.
Ask = Callable[[str, str, dict[str, Any]], tuple[int, Any]]


@dataclass
class Person:
    """Makes random changes of what they last saw, which may be old, and remembers what the server said."""

    who: str
    ask: Ask
    documents: list[str]
    dice: random.Random
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Stored corrections, by identity: what this person saw before.
    stored: dict[str, Any] = field(default_factory=dict)
    undone: set[str] = field(default_factory=set)
    last: dict[str, tuple[str, str]] = field(default_factory=dict)
    told: int = 0
    unknown: int = 0

    def work(self, changes: int) -> None:
        """Makes so many changes."""
        for _ in range(changes):
            document = self.documents[int(len(self.documents) * self.dice.random() ** 2)]
            if document not in self.seen or self.dice.random() < 0.2:
                self.look(document)
            try:
                self.change(document)
            except httpx.TransportError:
                # It may be stored or not; whoever looks again sees which.
                self.unknown += 1
                self.look(document)

    def look(self, document: str) -> None:
        """Reads the document as it is now."""
        while True:
            try:
                status, state = self.ask("GET", "/api/state", {"document": document, "schema": "bill"})
            except httpx.TransportError:
                continue
            assert status == 200, state
            self.seen[document] = state
            return

    def change(self, document: str) -> None:
        state = self.seen[document]
        mine = [one for one in state["corrections"] if not one["undone"]]
        if mine and self.dice.random() < 0.1:
            self.undo(document, self.dice.choice(mine)["identity"])
            return
        record = json.loads(state["record"])
        rows = len(record.get("lines") or [])
        word = json.dumps(f"{self.who} {self.dice.randrange(10**6)}")
        action, pointer, place, after = self.dice.choice(
            [
                ("value", "/number", "/number", word),
                ("value", "/number", "/number", word),
                ("value", "/total", "/total", str(self.dice.randrange(100))),
                ("value", "/note", "/note", word),
                ("absent", "/total", "/total", None),
                ("accept", "/number", "/number", None),
                ("accept", "", "", None),
                ("insert", f"/lines/{rows}", "/lines", f'{{"item":{word}}}'),
                ("insert", "/lines/0", "/lines", f'{{"item":{word}}}'),
                ("value", "/lines/0/item", "/lines/0", word) if rows else ("accept", "/lines", "/lines", None),
                ("absent", "/lines/0", "/lines/0", None) if rows else ("accept", "/lines", "/lines", None),
                ("other_kind", "", "", None),
            ]
        )
        seen = state["seen"].get(place, state["seen"]["-"])
        said = {"action": action, "pointer": pointer, "after": after, "seen": seen}
        asked = {"document": document, "schema": "bill", "changes": [said]}
        status, answer = self.ask("POST", "/api/correct", asked)
        if status == 409:
            (late,) = answer["overtaken"]
            assert (late["pointer"], late["mine"]) == (pointer, after) and late["who"], late
            self.look(document)
            # What somebody changed and took back since then stands as it was, with its history.
            now = self.seen[document]
            assert (now["seen"], now["corrections"]) != (state["seen"], state["corrections"]), "nothing had changed"
            self.told += 1
            return
        assert status == 200, answer
        self.noted(document, answer, record, state)

    def undo(self, document: str, identity: str) -> None:
        state = self.seen[document]
        asked = {"document": document, "schema": "bill", "identities": [identity], "seen": state["seen"][""]}
        status, answer = self.ask("POST", "/api/undo", asked)
        if status == 409:
            self.told += 1
            self.look(document)
            return
        assert status == 200, answer
        if "refused" not in answer:
            self.undone.add(identity)
            self.noted(document, answer, None, state)

    def noted(self, document: str, answer: dict[str, Any], record: Any, before: dict[str, Any]) -> None:
        if "refused" in answer:
            return
        known = {one["identity"] for one in before["corrections"]}
        for one in answer["corrections"]:
            if one["who"] == self.who and one["identity"] not in known | self.stored.keys() and record is not None:
                self.stored[one["identity"]] = seen_at(record, one["pointer"])
        self.seen[document] = answer
        latest = max((one["identity"] for one in answer["corrections"]), default="")
        self.last[document] = (latest, answer["record"])


def seen_at(record: Any, pointer: str) -> Any:
    """What a person saw at the place of a correction: the value, or ... for a place that was left out."""
    for step in pointer.split("/")[1:]:
        if isinstance(record, list):
            record = record[int(step)] if int(step) < len(record) else ...
        else:
            record = record.get(step, ...) if isinstance(record, dict) else ...
    return record


def check(out: Path, people: list[Person], documents: list[str]) -> None:
    """Nothing is lost, nothing was replaced unseen, and the folder is sound."""
    states = {one: Corrector(out).state(one, "bill") for one in documents}
    stored = {one.identity: one for state in states.values() for one in state.corrections}
    committed = [row[0] for row in query(out, "SELECT identity FROM corrections").rows]
    assert waiting_corrections(out) == [], "all that waited is committed"
    assert len(committed) == len(set(committed)), "once"
    for person in people:
        own = {identity for identity, one in stored.items() if one.who == person.who}
        assert person.stored.keys() <= own, "lost"
        for identity, before in person.stored.items():
            one = stored[identity]
            # What a person wants and is so already needs not be seen.
            if one.action is not Action.OTHER_KIND and one.before != one.after:
                assert (... if one.before is None else json.loads(one.before)) == before, (one, before)
        assert all(stored[one].undone for one in person.undone), "an undo is lost"
    if not any(person.unknown for person in people):
        # Others may have corrected beside these people.
        theirs = {identity for identity, one in stored.items() if one.who in {person.who for person in people}}
        assert theirs == set().union(*(person.stored for person in people)), "stored, and never answered"
    assert verify(out).problems == []


def folder(root: Path, count: int) -> tuple[Path, list[str]]:
    """A folder of so many documents, and their digests."""
    paths = tuple(f"{number}.txt" for number in range(count))
    run(root / "out", "e1", paths=paths)
    return root / "out", [digest_of(path) for path in paths]


def together(people: list[Person], changes: int) -> None:
    """Lets all of them work at once."""
    failed: list[BaseException] = []

    def work(person: Person) -> None:
        try:
            person.work(changes)
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=work, args=(person,)) for person in people]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if failed:
        raise failed[0]


class Server:
    """The review of one person in a process, which may be killed at any moment and is started again then."""

    def __init__(self, out: Path, who: str) -> None:
        self.out, self.who = out, who
        self.lock = threading.Lock()
        self.start()

    def start(self) -> None:
        self.process, address = serving(self.out, self.who)
        self.base, _, self.key = address.partition("/#")

    def kill(self) -> None:
        with self.lock:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.start()

    def ask(self, method: str, path: str, said: dict[str, Any]) -> tuple[int, Any]:
        with self.lock:
            base, key = self.base, self.key
        more = {"params": said} if method == "GET" else {"json": said}
        answer = httpx.request(method, f"{base}{path}", headers={KEY: key}, timeout=120, **more)  # type: ignore[arg-type]
        return answer.status_code, answer.json()


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_two_people_and_killed_servers_lose_nothing_and_each_conflict_is_told(tmp_path: Path) -> None:
    # REVIEW_CHANGES=500 takes about half an hour on two busy cores.
    changes, seed = int(os.environ.get("REVIEW_CHANGES", "40")), int(os.environ.get("REVIEW_SEED", "7"))
    out, documents = folder(tmp_path, 50 if changes > 100 else 8)
    servers = [Server(out, who) for who in ("Ada", "Bob")]
    people = [Person(one.who, one.ask, documents, random.Random(seed + n)) for n, one in enumerate(servers)]
    ended = threading.Event()

    def disturb() -> None:
        dice = random.Random(seed)
        while not ended.wait(dice.uniform(8, 24)):
            dice.choice(servers).kill()
            # A third person beside the page.
            program = [sys.executable, "-m", "tests.support.corrected_folder"]
            value = f'"{dice.random()}"'
            subprocess.run([*program, str(out), documents[0], "/note", value], cwd=ROOT, check=True)

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        together(people, changes)
    finally:
        ended.set()
        disturber.join()
        for one in servers:
            one.process.terminate()
            one.process.communicate()
    check(out, [*people], documents)
    print({one.who: (len(one.stored), one.told, one.unknown) for one in people})
    assert sum(person.told for person in people) > 0
