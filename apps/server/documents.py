"""The route /v1/extract: files of every format in, a record with its evidence for each of them out."""

from __future__ import annotations

import asyncio
import binascii
import logging
import time
import uuid
from base64 import b64decode
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import PurePath
from typing import Any

import orjson
from fastapi import Request, Response
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from cinnabar.apps.server.bodies import check_parameters, parse_object, read_bytes, read_json
from cinnabar.apps.server.completions import Completions
from cinnabar.apps.server.errors import ApiError, invalid, json_response, of_schema
from cinnabar.apps.server.gate import Gate
from cinnabar.apps.server.parameters import ExtractBody
from cinnabar.apps.server.request_events import first_of, wait_for_disconnect
from cinnabar.apps.server.schema_cache import Prepared, SchemaCache
from cinnabar.apps.server.two_tiers import TwoTiers
from cinnabar.engine.chat.shared_engine import SharedEngine
from cinnabar.errors import CinnabarError, DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Sent
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.filling.time_estimate import TimeEstimate
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.store.records import LeafRow, Outcome
from cinnabar.schemas import SchemaSource

#: Threads that plan documents, wait for the model and judge records: so many documents share batches.
_THREADS = 64
#: Files of one request.
FILES = 256
_log = logging.getLogger(__name__)


class FileReading:
    """Reads files. named: the schemas that clients may name. seconds: what a document takes, None if nobody knows."""

    def __init__(
        self,
        engine: SharedEngine | TwoTiers,
        pool: ParserPool,
        completions: Completions,
        schemas: SchemaCache,
        gate: Gate,
        limits: RunOptions,
        named: Mapping[str, SchemaSource],
        seconds: float | None = None,
    ) -> None:
        self.seconds = seconds
        self._engine, self._pool, self._completions, self._schemas = engine, pool, completions, schemas
        self._gate, self._limits, self._named = gate, limits, named
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="documents")

    async def extract(self, request: Request) -> Response:
        """Answers POST /v1/extract, as a form with files or as JSON."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "multipart/form-data":
            parameters, files = await self._form(request)
        else:
            body = check_parameters(ExtractBody, await read_json(request, self._gate))
            parameters, files = body, [(one.name, _bytes(one.content, at)) for at, one in enumerate(body.files)]
        gone = asyncio.ensure_future(wait_for_disconnect(request))
        try:
            results = await self.answers(parameters, files, gone, request.state.deadline)
        finally:
            gone.cancel()
        return json_response(
            {
                "id": f"extract-{uuid.uuid4().hex}",
                "object": "extraction",
                "created": int(time.time()),
                "model": self._completions.name,
                "results": results,
            }
        )

    async def answers(
        self, asked: ExtractBody, files: Sequence[tuple[str, bytes]], gone: asyncio.Future[None], deadline: float
    ) -> list[dict[str, Any]]:
        """Returns what a client is told of each file, which has a name and bytes.

        gone: is done when the client has left. Raises ApiError for wrong parameters, and if the time is up.
        """
        if len(files) > FILES:
            raise invalid(f"files: expected {FILES} or fewer entries, got {len(files)}", "files")
        self._completions.check_model(asked.model or self._completions.name)
        prepared = await self.prepare(asked.schema_)
        try:
            validator, checks = await asyncio.to_thread(lambda: prepared.judges)
        except CinnabarError as problem:
            raise of_schema(problem, "schema") from None
        effort = self._completions.effort_of(asked.reasoning_effort)
        fillers, tier = [self._engine.filler(effort)], None
        if isinstance(self._engine, TwoTiers):
            upper = self._engine.upper.filler(effort)
            fillers, tier = [*fillers, upper], self._engine.tier(upper, effort)
        job = Job(
            prepared.compiled,
            fillers[0],
            validator,
            asked.on_missing,
            min_confidence=asked.min_confidence,
            tier=tier,
            max_tokens=self._limits.max_tokens,
            max_seconds=self._limits.max_seconds,
            checks=checks,
            on_check=asked.on_check,
            on_empty=asked.on_empty,
            on_list_incomplete=asked.on_list_incomplete,
        )
        work = [asyncio.wrap_future(self._threads.submit(self._outcome, name, data, job)) for name, data in files]
        every, begun = asyncio.ensure_future(asyncio.gather(*work)), time.monotonic()
        if self.seconds is not None and (told := TimeEstimate(self.seconds, len(files))).is_long:
            _log.info("%s", told)
        try:
            await first_of(every, gone, deadline)
            outcomes = every.result()
            self.seconds = (time.monotonic() - begun) / max(1, len(files))
        finally:
            if not every.done():
                every.cancel()
                for one in fillers:
                    one.give_up()
                # What they end with is no error of ours.
                await asyncio.gather(*work, return_exceptions=True)
        return [_result(name, outcome) for (name, _), outcome in zip(files, outcomes, strict=True)]

    def close(self) -> None:
        """Ends the threads after what they work on."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def prepare(self, schema: dict[str, Any] | bool | str) -> Prepared:
        """Returns a schema, or the one that the server knows by this name. Raises ApiError if it cannot be filled."""
        if not isinstance(schema, str):
            return await self._schemas.prepare(schema, "schema")
        # A name never becomes a path or a module.
        if schema not in self._named:
            message = f"schema: expected a JSON Schema, or one of {', '.join(self._named)}; got {schema[:80]!r}"
            raise invalid(message, "schema")
        return await self._schemas.prepared_source(self._named[schema], "schema")

    def _outcome(self, name: str, data: bytes, job: Job) -> Outcome:
        digest = sha256(data).hexdigest()
        parsing: Future[Document | DocumentError] = self._pool.submit(Sent(PurePath(_safe(name)), data))
        (outcome,) = run_batch([OpenedInput(name, digest, parsing.result())], job).outcomes
        return outcome

    async def _form(self, request: Request) -> tuple[ExtractBody, list[tuple[str, bytes]]]:
        data = await read_bytes(request, self._gate)

        async def stream() -> Any:
            yield data

        parser = MultiPartParser(request.headers, stream(), max_files=FILES, max_fields=32, max_part_size=len(data))
        # Nothing that a client sends is written to a disk.
        parser.spool_max_size = len(data) + 1
        try:
            form = await parser.parse()
        except (MultiPartException, KeyError) as problem:
            reason = getattr(problem, "message", "the form cannot be read")
            raise ApiError(400, "invalid_form", f"multipart/form-data: {reason}") from None
        files: list[tuple[str, bytes]] = []
        fields: dict[str, Any] = {}
        for key, value in form.multi_items():
            if isinstance(value, UploadFile) and key in ("file", "files", "files[]"):
                files.append((value.filename or "document", await value.read()))
                continue
            text = value if isinstance(value, str) else (await value.read()).decode("utf-8", "replace")
            if key in fields:
                raise invalid(f"{key}: expected it once", key)
            fields[key] = text
        if not files:
            raise invalid("files: expected at least one file in the form, got none", "files", "missing_parameter")
        return check_parameters(ExtractBody, {**_values(fields), "files": [{"content": ""}]}), files


def _values(fields: Mapping[str, str]) -> dict[str, Any]:
    """Returns the fields of a form as JSON values: a schema as JSON or a name, numbers as numbers."""
    values: dict[str, Any] = dict(fields)
    schema = fields.get("schema", "").strip()
    if schema.startswith(("{", "[")):
        values["schema"] = parse_object(schema.encode(), "schema")
    elif schema in ("true", "false"):
        values["schema"] = schema == "true"
    if "min_confidence" in fields:
        # What is no number is refused with the other parameters.
        with suppress(ValueError):
            values["min_confidence"] = float(fields["min_confidence"])
    return values


def _safe(name: str) -> str:
    """Returns a name without folders for the parser, which looks at its suffix alone."""
    return PurePath(name.replace("\\", "/").replace("\0", "")).name[-200:] or "document"


def _bytes(content: str, at: int) -> bytes:
    try:
        return b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        param = f"files[{at}].content"
        raise invalid(f"{param}: expected base64, got other text", param) from None


def _result(name: str, outcome: Outcome) -> dict[str, Any]:
    """Returns what a client is told of a file: its record, or why it was held back, and the evidence of each value."""
    record, document = outcome.record, outcome.document
    return {
        "name": name,
        "document": outcome.digest or None,
        "status": outcome.status,
        "code": outcome.code or None,
        "detail": outcome.detail or None,
        "pointers": outcome.pointers,
        "media_type": None if document is None else document.media_type,
        "pages": None if document is None else document.pages,
        "record": None if record is None else orjson.Fragment(record.text),
        "confidence": None if record is None else record.confidence,
        "flags": [] if record is None else record.flags,
        "checks": {} if record is None else dict(record.checks),
        "rows": {} if record is None else dict(record.rows),
        "lists": {} if record is None else dict(record.lists),
        "lengths": {at: note.sentence for at, note in record.lengths.items() if note.sentence} if record else {},
        "fields": [] if record is None else [_field(leaf) for leaf in record.leaves],
    }


def _field(leaf: LeafRow) -> dict[str, Any]:
    evidence = leaf.evidence
    return {
        "pointer": leaf.pointer,
        "value": None if leaf.value is None else orjson.Fragment(leaf.value),
        "absent": leaf.value is None,
        "confidence": leaf.confidence,
        "origin": leaf.origin,
        "missing": leaf.missing,
        "flags": leaf.flags,
        "page": leaf.page or None,
        "place": None if evidence is None else evidence.place or None,
        "text": None if evidence is None else evidence.text,
        "spans": [] if evidence is None else [[span.start, span.end] for span in evidence.spans],
        "boxes": []
        if evidence is None
        else [{"page": b.page, "x0": b.x0, "top": b.top, "x1": b.x1, "bottom": b.bottom} for b in evidence.boxes],
    }
