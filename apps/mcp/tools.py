"""The tools that an agent may ask for, and the folders whose files it may name.

Answers are JSON values of a bounded size, and an error tells what to do.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field

from cinnabar.apps.server.bodies import check_parameters
from cinnabar.apps.server.documents import FILES, FileReading
from cinnabar.apps.server.parameters import ExtractBody
from cinnabar.engine.child_process import python_command
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerPool, WorkerProcess, WorkerTimedOut
from cinnabar.extraction.store.reading import plain, record_named, show
from cinnabar.schemas import SchemaSource
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.wording import harmless

#: The bytes of an answer.
MOST = 64 << 10
#: The rows that are read of a query, the seconds that it may take, and the bytes of address space.
ROWS, SECONDS, MEMORY = 10_000, 20.0, 3 << 30
#: How many times the bytes of a file those of one call may have together.
_TOGETHER = 4
#: The characters of an error.
LONGEST = 2000
#: Queries at a time.
_QUERIES = 2
#: The characters of an evidence in an answer.
_EVIDENCE = 200


#: The files that an error names, and those that are looked at for it.
_NAMED, _LOOKED_AT = 20, 1000

#: The parameters of several tools, as agents are told of them.
SchemaGiven = Annotated[
    dict[str, Any] | str,
    Field(description="A JSON Schema of an object, or the name of a schema: of the library, or of this server."),
]
Document = Annotated[str, Field(description="Its path, the end of it, or the first digits of its SHA-256.")]
Strings = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders of documents. most: bytes of a file.

    Raises UsageError for what is no folder.
    """

    roots: Sequence[Path]
    most: int

    def __post_init__(self) -> None:
        for root in self.roots:
            if not root.is_dir():
                raise UsageError(f"{root}: expected a folder of documents, found none")

    def read(self, name: str) -> bytes:
        """Returns the bytes of a file. Raises UsageError if none of the folders holds it, or if it is too large."""
        path = self._place(name)
        # A pipe or a device may never end, and one of them may have come to this place meanwhile.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(f"{harmless(name)}: expected a file, got something else")
            if found.st_size > self.most:
                raise UsageError(f"{harmless(name)}: expected at most {self.most} bytes, got {found.st_size}")
            return file.read(self.most)

    def _place(self, name: str) -> Path:
        for root in self.roots:
            own = root.resolve()
            try:
                path = (own / name).resolve(strict=True)
            except (OSError, ValueError, RuntimeError):
                continue
            # Where links lead out of the folder the file is not the owner's to show.
            if path.is_relative_to(own) and path.is_file():
                return path
        there = ", ".join(islice(self.names(), _NAMED)) or "none"
        raise UsageError(f"{harmless(name[:200])}: no such file in the folders of this server; files there: {there}")

    def names(self) -> Iterator[str]:
        """Yields names of files, those of the first folders first."""
        for root in self.roots:
            for folder, below, files in islice(os.walk(root), _LOOKED_AT):
                below.sort()
                paths = (Path(folder, one) for one in sorted(files))
                own = (path for path in paths if path.is_file() and not path.is_symlink())
                yield from (harmless(str(path.relative_to(root))) for path in own)


@dataclass(frozen=True)
class Tools:
    """The tools of a server over one results folder, None if there is none, and folders of documents.

    Agents are told what the methods' docstrings and parameters say. Mistakes of an agent raise UsageError or ApiError.

    reading: reads files, once a model is loaded, which the first call of it does. report: says what a schema asks for.
    who: in whose name values are corrected. most: bytes of an answer. seconds: that an extraction may take.
    """

    out: Path | None
    folders: Folders
    reading: Callable[[], FileReading]
    report: Callable[[SchemaSource, CompiledSchema], dict[str, Any]]
    who: str
    seconds: float
    most: int = MOST
    queries: WorkerPool[WorkerProcess] = field(default_factory=lambda: WorkerPool[WorkerProcess](_QUERIES, "queries"))

    async def extract(
        self,
        schema: SchemaGiven,
        files: Annotated[Strings | str, Field(description="Files within the server's folders: PDF, mail, office")] = (),
        texts: Annotated[Strings, Field(description="Texts of documents, in place of files or beside them.")] = (),
    ) -> dict[str, Any]:
        """Read documents now: a record for each, with confidence and evidence. Nothing is stored."""
        if not files and not texts:
            raise UsageError("extract: expected files or texts, got none")
        body = check_parameters(ExtractBody, {"schema": schema, "files": [{"content": ""}]})
        names = (files,) if isinstance(files, str) else files
        if len(names) + len(texts) > FILES:
            raise UsageError(f"extract: expected at most {FILES} files and texts, got {len(names) + len(texts)}")
        left, given = _TOGETHER * self.folders.most, list[tuple[str, bytes]]()
        for name in names:
            given.append((name, await asyncio.to_thread(self.folders.read, name)))
            left -= len(given[-1][1])
            if left < 0:
                most = _TOGETHER * self.folders.most
                raise UsageError(f"files: expected at most {most} bytes together; read fewer files at a time")
        if sum(map(len, texts)) > self.folders.most:
            raise UsageError(f"texts: expected at most {self.folders.most} characters")
        given += [(f"text {at}.txt", text.encode("utf-8", "replace")) for at, text in enumerate(texts, 1)]
        reading = await asyncio.to_thread(self.reading)
        gone = asyncio.get_running_loop().create_future()
        answers = await reading.answers(body, given, gone, time.monotonic() + self.seconds)
        results = orjson.loads(orjson.dumps(answers))
        told = [_shortened(one, self.most // len(results)) for one in results]
        kept = _within(told, self.most)
        if len(kept) == len(told):
            return {"results": kept}
        return {"results": kept, "left_out": f"results from {len(kept) + 1} on; ask for fewer at a time"}

    def query(
        self,
        sql: Annotated[str, Field(description="One SELECT in DuckDB's SQL; `select view_name from duckdb_views()`.")],
    ) -> dict[str, Any]:
        """Query the tables of the results folder: a view for each schema, and fields, documents, quarantine, runs."""
        # A text of another program may have halves of letters.
        whole = sql.encode("utf-8", "replace").decode()
        text = orjson.dumps({"out": str(self._results().absolute()), "sql": whole, "rows": ROWS, "bytes": self.most})
        try:
            told = self.queries.ask_json(_query_process, text, 2 * self.most + (1 << 20))
        except (WorkerDied, WorkerTimedOut) as error:
            why = f"more than {SECONDS:g} s" if isinstance(error, WorkerTimedOut) else "too much memory"
            raise UsageError(f"sql: the query took {why}; ask for less") from error
        if "problem" in told:
            raise UsageError(told["problem"])
        return {"rows": told["rows"]} | ({"left_out": told["cut"]} if "cut" in told else {})

    async def schema_check(self, schema: SchemaGiven) -> dict[str, Any]:
        """Tell the fields that a schema asks for, or where and why it cannot be enforced."""
        prepared = await (await asyncio.to_thread(self.reading)).prepare(schema)
        await asyncio.to_thread(lambda: prepared.judges)
        told = await asyncio.to_thread(self.report, prepared.source, prepared.compiled)
        fields = _within(told["fields"], self.most)
        left = len(told["fields"]) - len(fields)
        about = {"name": told["name"][:_EVIDENCE], "fields": fields}
        about["not_promised"] = _within(told["not_promised"], self.most // 4)
        return about | ({"left_out": f"{left} fields"} if left else {})

    def show(self, document: Document) -> dict[str, Any]:
        """Show a stored record with the evidence of its values, or why the document was held back."""
        shown = [plain(asdict(one) | {"record": one.record}) for one in show(self._results(), document)]
        return {"records": [_shortened(one, self.most // len(shown)) for one in shown]}

    def correct(
        self,
        document: Document,
        set_values: Annotated[
            dict[str, Any] | None, Field(description="Values by JSON pointer: {'/total': 12.5}")
        ] = None,
        absent: Annotated[Strings, Field(description="JSON pointers of values that the document lacks.")] = (),
        accept: Annotated[Strings, Field(description="JSON pointers of values that are right as they are.")] = (),
        schema: Annotated[str | None, Field(description="Its schema's name, if it has records of several.")] = None,
    ) -> dict[str, Any]:
        """Correct a stored record, as a person has said; later runs keep it. All changes count or none."""
        values = set_values or {}
        if not values and not absent and not accept:
            raise UsageError("correct: expected values to set, places that are absent, or places to accept; got none")
        twice = [one for one, times in Counter([*values, *absent, *accept]).items() if times > 1]
        if twice:
            raise UsageError(f"correct: expected one change of a place, got several of {twice[0]}")
        changes = [
            Change(Action.LIST if isinstance(value, list) else Action.VALUE, pointer, json.dumps(value))
            for pointer, value in values.items()
        ]
        changes += [Change(Action.ABSENT, pointer) for pointer in absent]
        changes += [Change(Action.ACCEPT, "" if pointer == "/" else pointer) for pointer in accept]
        digest, name = record_named(self._results(), document, schema)
        return _shortened(Corrector(self._results()).correct(digest, name, changes, self.who).as_json, self.most)

    def _results(self) -> Path:
        if self.out is None:
            raise UsageError("this server was started without a results folder; `cinnabar serve --out` names one")
        return self.out


def _query_process() -> WorkerProcess:
    command = python_command("-m", "cinnabar.apps.mcp.query_worker", str(SECONDS), str(MEMORY))
    return WorkerProcess(command, b"", SECONDS + 2, "query")


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace"))


def _within(rows: Sequence[Any], most: int) -> list[Any]:
    """Returns the first rows, as many as have room in so many bytes."""
    kept = list[Any]()
    for row in rows:
        most -= _size(row) + 2
        if most < 0:
            break
        kept.append(row)
    return kept


def _shortened(result: dict[str, Any], most: int) -> dict[str, Any]:
    """Returns what an agent is told of a document in so many bytes: its record, then the fields that are least sure."""
    fields = result.pop("fields", [])
    told = {key: value for key, value in result.items() if value not in (None, "", [], {}) and key != "record_json"}
    if _size(told) > most:
        why = f"the record: {_size(told)} bytes of {most}; write it with `cinnabar extract`, and `query` parts of it"
        kept_names = [key for key in ("name", "path", "status", "code") if key in told]
        return {key: told[key][:_EVIDENCE] for key in kept_names} | {"left_out": why}
    fields = sorted((_field(one) for one in fields), key=lambda one: (one.get("confidence") or 0.0))
    kept = _within(fields, most - _size(told))
    told |= {"fields": kept} if kept else {}
    return told | ({"fields_left_out": len(fields) - len(kept)} if len(kept) < len(fields) else {})


def _field(field: dict[str, Any]) -> dict[str, Any]:
    """Returns what an agent is told of a field, in the words of `extract` and of the view `fields`."""
    text = field.get("text") or field.get("evidence_text")
    value = json.loads(field["value_json"]) if field.get("value_json") else field.get("value")
    about = {"pointer": field["pointer"], "value": value, "confidence": field.get("confidence")}
    more = {key: field.get(key) for key in ("page", "place", "flags") if field.get(key)}
    return about | more | ({"text": text[:_EVIDENCE]} if text else {})
