"""What an agent may ask for: its answers are JSON values of a bounded size, and an error tells what to do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from cinnabar.apps.mcp.folders import Folders
from cinnabar.apps.server.bodies import checked
from cinnabar.apps.server.documents import FileReading
from cinnabar.apps.server.parameters import ExtractBody
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.store.reading import as_objects, plain, query, record_of, show
from cinnabar.extraction.store.stored_records import names
from cinnabar.extraction.store.stored_schemas import latest_source
from cinnabar.schemas import SchemaSource
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.reading.texts import schema_text

#: The rows that are read of a query, and the seconds that it may take.
ROWS, SECONDS = 10_000, 20.0
#: The characters of an evidence in an answer.
_EVIDENCE = 200


@dataclass(frozen=True)
class Tools:
    """The tools of a server over one results folder, None if there is none, and folders of documents.

    reading: reads files, once a model is loaded, which the first call of it does. report: says what a schema asks for.
    who: in whose name values are corrected. most: bytes of an answer. seconds: that an extraction may take.
    """

    out: Path | None
    folders: Folders
    reading: Callable[[], FileReading]
    report: Callable[[SchemaSource, CompiledSchema], dict[str, Any]]
    who: str
    most: int
    seconds: float

    async def extract(
        self, schema: dict[str, Any] | str, files: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Returns a record for each file and each text, with its least sure fields and their evidence.

        Raises UsageError for a file outside of the folders, ApiError for a schema that cannot be enforced.
        """
        if not files and not texts:
            raise UsageError("extract: expected files or texts, got none")
        body = checked(ExtractBody, {"schema": schema, "files": [{"content": ""}]})
        if sum(map(len, texts)) > self.folders.most:
            raise UsageError(f"texts: expected at most {self.folders.most} characters")
        given = [(name, await asyncio.to_thread(self.folders.read, name)) for name in files]
        given += [(f"text {at}.txt", text.encode("utf-8", "replace")) for at, text in enumerate(texts, 1)]
        reading = await asyncio.to_thread(self.reading)
        gone = asyncio.get_running_loop().create_future()
        answers = await reading.answers(body, given, gone, time.monotonic() + self.seconds)
        results = orjson.loads(orjson.dumps(answers))
        return {"results": [_told(one, self.most // len(results)) for one in results]}

    def query(self, sql: str) -> dict[str, Any]:
        """Returns the rows of a query over the results folder's views, as many as an answer has room for.

        Raises UsageError for anything but one query that reads them.
        """
        rows = as_objects(query(self._results(), sql, ROWS + 1, SECONDS))
        kept = _within(rows[:ROWS], self.most)
        if len(kept) == len(rows):
            return {"rows": kept}
        return {"rows": kept, "left_out": "more rows; ask for less, with LIMIT, fewer columns or an aggregate"}

    async def schema_check(self, schema: dict[str, Any] | str) -> dict[str, Any]:
        """Returns the fields that a schema asks for, and what is not promised.

        Raises ApiError, with the pointer of the keyword, if it cannot be enforced.
        """
        prepared = await (await asyncio.to_thread(self.reading)).prepared(schema)
        await asyncio.to_thread(prepared.judges)
        told = await asyncio.to_thread(self.report, prepared.source, prepared.compiled)
        fields = _within(told["fields"], self.most)
        left = len(told["fields"]) - len(fields)
        about = {"name": told["name"], "fields": fields, "not_promised": _within(told["not_promised"], self.most // 4)}
        return about | ({"left_out": f"{left} fields"} if left else {})

    def show(self, document: str) -> dict[str, Any]:
        """Returns the stored records of a document with the evidence of each value, or why it was held back.

        Raises UsageError if no document or several documents match.
        """
        shown = [plain(asdict(one) | {"record": one.record}) for one in show(self._results(), document)]
        return {"records": [_told(one, self.most // len(shown)) for one in shown]}

    def correct(
        self,
        document: str,
        set_values: dict[str, Any],
        absent: Sequence[str],
        accept: Sequence[str],
        schema: str | None = None,
    ) -> dict[str, Any]:
        """Corrects a stored record, and returns what it is then.

        Raises UsageError for a change that the schema refuses; then none of the changes counts.
        """
        if not set_values and not absent and not accept:
            raise UsageError("correct: expected values to set, places that are absent, or places to accept; got none")
        changes = [
            Change(Action.LIST if isinstance(value, list) else Action.VALUE, pointer, json.dumps(value))
            for pointer, value in set_values.items()
        ]
        changes += [Change(Action.ABSENT, pointer) for pointer in absent]
        changes += [Change(Action.ACCEPT, pointer.rstrip("/")) for pointer in accept]
        digest, name = record_of(self._results(), document, schema)
        return _told(Corrector(self._results()).correct(digest, name, changes, self.who).as_json, self.most)

    def schemas(self) -> list[str]:
        """Returns the names of the results folder's schemas."""
        return [] if self.out is None or not self.out.is_dir() else names(self.out)

    def schema(self, name: str) -> str:
        """Returns a schema of the results folder as JSON text. Raises UsageError for another name."""
        source = latest_source(self._results(), name) if name in self.schemas() else None
        if source is None:
            raise UsageError(f"{name[:80]}: expected one of {', '.join(self.schemas()) or 'no schemas'}")
        return schema_text(source.schema)

    def _results(self) -> Path:
        if self.out is None:
            raise UsageError("this server was started without a results folder; --out names one")
        return self.out


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


def _told(result: dict[str, Any], most: int) -> dict[str, Any]:
    """Returns what an agent is told of a document in so many bytes: its record, then the fields that are least sure."""
    fields = result.pop("fields", [])
    told = {key: value for key, value in result.items() if value not in (None, "", [], {}) and key != "record_json"}
    if _size(told) > most:
        size, told = _size(told), {key: value for key, value in told.items() if isinstance(value, str)}
        told = {key: value[:_EVIDENCE] for key, value in told.items()}
        told["left_out"] = (
            f"the record: it takes {size} bytes, and an answer at most {most}; `cinnabar extract` writes it into "
            "tables, of which `query` reads parts"
        )
        return told
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
