"""Counts the walks of three calls through the rooms of the product.

    python -m bench walks

A walk is the way of a reader who follows a call three calls deep: the functions of the product, each where it is called
first. A room is a folder of the product. A stay is a run of functions in one room, a return is a stay in a room where
the reader was before, and a climb is a call from a room to one that stands on a higher floor. The floor of a room is
the number of rooms below it, one upon the other, by what they import.
"""

from __future__ import annotations

import base64
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

from fastapi import Request, Response
from starlette.testclient import TestClient
from tests.support.corrected_folder import SCHEMA, digest_of, outcome_of, run
from tests.support.import_graph import floors, folder_of, folders, modules
from tests.support.server_process import INVOICE, NAME, invoice

from bench.reporting import table
from cinnabar.apps.server.app import assemble
from cinnabar.apps.server.documents import FileReading
from cinnabar.apps.server.settings import ServerSettings
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema

#: Calls below the first one that a reader follows.
DEPTH = 3


@dataclass(frozen=True, slots=True)
class Walk:
    """The counts of a walk."""

    stays: int
    returns: int
    climbs: int


@dataclass(slots=True)
class _Trace:
    """The functions of a walk in the order of their first calls.

    A thread that starts meanwhile works for the first function, and is followed as one of its calls.
    """

    rooms: dict[CodeType, str] = field(default_factory=dict)
    climbs: int = 0
    _ways: defaultdict[int, list[str | None]] = field(default_factory=lambda: defaultdict(list))
    _first: int = field(default_factory=threading.get_ident)

    def follow(self, frame: FrameType, event: str, _: Any) -> None:
        """Follows a call or its end, as `sys.setprofile` tells it."""
        way = self._ways[threading.get_ident()]
        if event == "return" and way:
            way.pop()
        elif event == "call":
            code = frame.f_code
            # Comprehensions and what stands in no function are parts of the code around them.
            room = None if code.co_name.startswith("<") else _rooms().get(code.co_filename)
            above = [one for one in way if one is not None]
            depth = len(above) + (threading.get_ident() != self._first)
            if room is not None and depth <= DEPTH and code not in self.rooms:
                self.rooms[code] = room
                self.climbs += bool(above) and _floors()[room] > _floors()[above[-1]]
            way.append(room)

    def walk(self) -> Walk:
        """The counts."""
        rooms = [*self.rooms.values()]
        stays = [room for place, room in enumerate(rooms) if not place or rooms[place - 1] != room]
        return Walk(len(stays), len(stays) - len(set(stays)), self.climbs)


@cache
def _rooms() -> dict[str, str]:
    """The rooms of the product by the names of files, as code has them."""
    loaded = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules()}
    return {file: folder_of(name) for name, file in loaded.items() if file is not None}


@cache
def _floors() -> dict[str, int]:
    """The floors of the rooms."""
    return floors(folders())


@contextmanager
def traced() -> Iterator[_Trace]:
    """Follows what this thread calls, and threads that start meanwhile."""
    trace = _Trace()
    threading.setprofile(trace.follow)
    sys.setprofile(trace.follow)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walk_of(call: Callable[[], object]) -> Walk:
    """The walk of a call."""
    with traced() as trace:
        call()
    return trace.walk()


def correction_and_batch() -> tuple[Walk, Walk]:
    """The walk of one corrected value, and that of the batch of a later run that reads the document again.

    A correction of another document waits for that batch.
    """
    with TemporaryDirectory(prefix="cinnabar-") as place:
        out = Path(place) / "out"
        run(out)
        changes = [Change(Action.VALUE, "/total", "3.00")]
        correction = walk_of(partial(Corrector(out).correct, digest_of("a.txt"), "bill", changes, "a person"))
        source = load_schema(SCHEMA)
        with Store.open(out) as store:
            begun = Run(store, source, compile_schema(source.schema), "e2", {"effort": "low"}, inputs=("a.txt",))
            Corrector(out).correct(digest_of("b.txt"), "bill", changes, "a person")
            return correction, walk_of(partial(begun.commit_batch, [outcome_of("a.txt", "e2")]))


def request() -> Walk:
    """The walk of the first request to a server, with a file and a schema of its own."""
    own, found = FileReading.extract, list[Walk]()

    async def followed(self: FileReading, request: Request) -> Response:
        with traced() as trace:
            answer = await own(self, request)
        found.append(trace.walk())
        return answer

    FileReading.extract = followed  # type: ignore[method-assign]
    try:
        served = assemble(model_source("default"), NAME, RunOptions(workers=1), ServerSettings())
        try:
            client = TestClient(served.gate, "http://127.0.0.1")
            files = [{"name": "a.txt", "content": base64.b64encode(invoice().encode()).decode()}]
            client.post("/v1/extract", json={"files": files, "schema": INVOICE}).raise_for_status()
        finally:
            served.close()
    finally:
        FileReading.extract = own  # type: ignore[method-assign]
    return found[0]


def measured() -> dict[str, Walk]:
    """The walks by their names; each call is made once before it is followed, as a first one imports and prepares."""
    for _ in range(2):
        _rooms.cache_clear()
        correction, batch = correction_and_batch()
        asked = request()
    return {"a batch into the store": batch, "a correction": correction, "a request": asked}


def main() -> None:
    """Prints the walks."""
    rows = [(name, str(one.stays), str(one.returns), str(one.climbs)) for name, one in measured().items()]
    print(table(("walk of", "stays", "returns", "climbs"), rows))


if __name__ == "__main__":
    main()
