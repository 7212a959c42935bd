"""Two lanes of processes that compile schemas first: one for those that take a moment, one for all others.

A schema that takes longer than a moment is given to the second lane, so that it stops no other client. Neither takes
the server's own processor time beyond that of schemas that are known to compile.
"""

from __future__ import annotations

import sys

import orjson

from cinnabar.apps.server.errors import ApiError
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerPool, WorkerProcess, WorkerTimedOut

#: Seconds of the first lane. Of 150 schemas, the largest of a public collection among them, one takes 850 ms.
MOMENT = 1.0
#: Address space of a process, in bytes.
_MEMORY = 2 << 30
#: The largest answer, in bytes.
_ANSWER = 1 << 20


class _Compiler(WorkerProcess):
    """One process that compiles one schema at a time."""

    def ask(self, text: bytes) -> dict[str, str | None] | None:
        """Returns what is wrong with a schema, None if it compiles. Raises WorkerDied or WorkerTimedOut."""
        self.send(len(text).to_bytes(8, "little"), text)
        deadline = self.deadline()
        size = int.from_bytes(self.receive(8, deadline), "little")
        if size > _ANSWER:
            raise WorkerDied("a malformed answer")
        problem: dict[str, str | None] | None = orjson.loads(self.receive(size, deadline))
        return problem


class SchemaLanes:
    """Compiles schemas in processes. seconds: the most for one."""

    def __init__(self, seconds: float) -> None:
        self._lanes = [(limit, WorkerPool[_Compiler](1, f"schemas {limit:g} s")) for limit in (MOMENT, seconds)]

    def check(self, text: bytes, param: str) -> bool:
        """Returns whether the schema compiles in a moment; the calling thread waits. Raises ApiError if it does not.

        A schema that compiles, but takes longer, gives False.
        """
        for limit, lane in self._lanes:
            worker = lane.take()
            try:
                worker = worker or lane.start(lambda limit=limit: _started(limit))  # type: ignore[misc]
                problem = worker.ask(text)
            except (WorkerDied, WorkerTimedOut) as error:
                if worker is not None:
                    lane.end(worker)
                    worker = None
                dead = isinstance(error, WorkerDied)
                continue
            finally:
                lane.give(worker)
            if problem is not None:
                raise ApiError(400, "invalid_schema", str(problem["message"]), param, problem["pointer"])
            return limit == MOMENT
        reason = "takes too much memory" if dead else f"takes more than {self._lanes[-1][0]:g} s"
        raise ApiError(400, "invalid_schema", f"the schema {reason} to compile; make it smaller", param)

    def warm(self) -> None:
        """Starts the process of the first lane, so that no client waits for it."""
        self.check(b"{}", "schema")

    def close(self) -> None:
        """Ends the processes."""
        for _, lane in self._lanes:
            lane.close()


def _started(limit: float) -> _Compiler:
    command = [sys.executable, "-P", "-m", "cinnabar.apps.server.schema_worker", str(limit), str(_MEMORY)]
    return _Compiler(command, b"", limit, "schema")
