"""Compiled schemas of clients: each is compiled once, first in a process of its own; the latest are kept."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cinnabar.apps.server.errors import ApiError, of_schema
from cinnabar.engine.child_process import python_command
from cinnabar.engine.models.language.memory import give_back_memory
from cinnabar.errors import CinnabarError, SchemaError
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerPool, WorkerProcess, WorkerTimedOut
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.schemas import SchemaSource, compile_schema, load_schema
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.parsing.texts import schema_text

#: Bytes of the schemas that are kept, or so, the share of them that each takes at least, also one that is refused, and
#: threads that wait for the processes that compile first.
_KEPT_BYTES, _SHARE, _THREADS = 48 << 20, 1 / 128, 32
#: Processes that compile: one with a slow schema stops no other client. The address space of each, and the largest
#: answer, in bytes.
_PROCESSES, _MEMORY, _ANSWER = 4, 2 << 30, 1 << 20
#: Bytes of a compiled schema for each of its text (34 to 85 of three with thousands of fields or options), and for each
#: of an automaton's table: of four bytes there come a pointer in a list and a number (5 to 9 of schemas of 6 kB).
_TEXT, _TABLE = 80, 11
#: Bytes for each part of its form, with all that is kept by form, and for each option (1.0 to 2.6 kB, and 180).
_PART, _OPTION = 2_600, 250


@dataclass(frozen=True)
class Prepared:
    """A schema that is ready: its form is laid out. `judges` are made when they are needed."""

    source: SchemaSource
    compiled: CompiledSchema

    @cached_property
    def size(self) -> int:
        """The bytes that the schema takes, or so."""
        form = self.compiled.form
        tables = {id(slot.automaton): slot.automaton.transitions.nbytes for slot in form.slots}
        parts = sum(map(len, (form.slots, form.arrays, form.objects, form.choices)))
        options = sum(len(slot.options) for slot in form.slots)
        told = _TEXT * len(schema_text(self.source.schema)) + _TABLE * sum(tables.values())
        return told + _PART * parts + _OPTION * options

    @cached_property
    def judges(self) -> tuple[Validator, Checks]:
        """The validator of records and the checks between fields; CinnabarError if they cannot take the schema."""
        return Validator(self.source), Checks(self.source, self.compiled)


class SchemaCache:
    """Compiles the schemas of clients, each at most once at a time; `seconds` is how long a client waits for one."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._processes = WorkerPool[WorkerProcess](_PROCESSES, "schemas")
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="schemas")
        self._lock = threading.Lock()
        # One at a time has Python's lock beside the clients' requests.
        self._compiling = threading.Lock()
        self._kept: dict[str, Future[Prepared]] = {}

    async def prepare(self, schema: dict[str, Any] | bool, param: str) -> Prepared:
        """Returns the schema, ready to fill. Raises ApiError, with the pointer of a keyword that cannot be enforced."""
        try:
            # Exact decimals and the order of properties, which decides that of a record's, are part of the key.
            text = schema_text(schema).encode()
        except (RecursionError, ValueError):
            raise ApiError(400, "invalid_schema", "the schema nests too deeply or holds no JSON", param) from None

        def make() -> Prepared:
            self.check(text, param)
            with self._compiling:
                prepared = _prepare(load_schema(schema))
                _ = prepared.size
                return prepared

        return await self._kept_or_new(hashlib.sha256(text).hexdigest(), make, param)

    async def prepared_source(self, source: SchemaSource, param: str) -> Prepared:
        """Returns a schema that the server was started with. Raises ApiError as `prepare`."""
        return await self._kept_or_new(f"{source.name} {source.fingerprint}", lambda: _prepare(source), param)

    async def _kept_or_new(self, key: str, make: Callable[[], Prepared], param: str) -> Prepared:
        with self._lock:
            # The latest one comes last.
            kept = self._kept.pop(key, None)
            pending = self._kept[key] = kept or self._threads.submit(make)
        waiting = asyncio.wrap_future(pending)
        # A client that left does not hear of a failure, which else would be logged.
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), self._seconds)
        except TimeoutError:
            message = f"the schema waits for others that take long to compile, more than {self._seconds:g} s; ask again"
            raise ApiError(429, "overloaded", message, param, headers={"retry-after": "5"}) from None
        except ApiError as problem:
            # The same schema may be another parameter of another client.
            raise replace(problem, param=param) from None
        except CinnabarError as problem:
            raise of_schema(problem, param) from None
        finally:
            self._keep_within(_KEPT_BYTES)

    def _keep_within(self, most: int) -> None:
        """Drops the schemas that were used longest ago, as long as all together take more bytes."""
        with self._lock:
            done = {key: one for key, one in self._kept.items() if one.done() and not one.cancelled()}
            least = _SHARE * most
            sizes = {key: least if one.exception() else max(one.result().size, least) for key, one in done.items()}
            over = sum(sizes.values()) - most
            if over > 0:
                for key, size in sizes.items():
                    if over > 0:
                        del self._kept[key]
                        over -= size
                _forget_schemas()

    def check(self, text: bytes, param: str) -> None:
        """Compiles a schema in a process; the calling thread waits. Raises ApiError if it does not compile there."""
        try:
            problem = self._processes.ask_json(self._start_process, text, _ANSWER)
        except (WorkerDied, WorkerTimedOut) as error:
            much = f"more than {self._seconds:g} s" if isinstance(error, WorkerTimedOut) else "too much memory"
            message = f"the schema takes {much} to compile; make it smaller"
            raise ApiError(400, "invalid_schema", message, param) from None
        if problem is not None:
            raise ApiError(400, "invalid_schema", str(problem["message"]), param, problem["pointer"])

    def warm(self) -> None:
        """Starts a process, so that no client waits for that."""
        self.check(b"{}", "schema")

    def close(self) -> None:
        """Ends the processes, and the threads after what they compile."""
        self._processes.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _start_process(self) -> WorkerProcess:
        limits = [str(self._seconds), str(_MEMORY)]
        command = python_command("-m", "cinnabar.apps.server.schema_worker", *limits)
        return WorkerProcess(command, b"", self._seconds, "schema")


def _forget_schemas() -> None:
    """Empties the caches of automata and those by form, which hold what was dropped; who still needs one makes it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cinnabar."):
            for one in list(vars(module).values()):
                if hasattr(one, "cache_clear") and (
                    name.startswith("cinnabar.schemas.") or "Form" in one.__annotations__.values()
                ):
                    one.cache_clear()
    # Without it a server that filled forms of 1,000 fields, 4 kB each, kept .5 GB more of what it had freed.
    give_back_memory()


def _prepare(source: SchemaSource) -> Prepared:
    try:
        compiled = compile_schema(source.schema)
        _ = compiled.form
        return Prepared(source, compiled)
    except (RecursionError, MemoryError) as error:
        raise SchemaError(f"the schema is too large ({type(error).__name__})") from None
