"""The application: puts a server together of a model, the parsers, the routes before them, and the gate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi import Request as HttpRequest
from starlette.exceptions import HTTPException

from cinnabar.apps.server.completions import Completions
from cinnabar.apps.server.documents import FileReading
from cinnabar.apps.server.errors import ApiError, internal_error, json_response
from cinnabar.apps.server.gate import Gate
from cinnabar.apps.server.schema_cache import SchemaCache
from cinnabar.apps.server.settings import ServerSettings
from cinnabar.apps.server.two_tiers import TwoTiers
from cinnabar.engine.asking.few_shot import Examples
from cinnabar.engine.chat.document_chat import DocumentChat
from cinnabar.engine.chat.shared_engine import SharedEngine
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.language.identity import checkpoint_fingerprint
from cinnabar.engine.models.reader.calibration import load_calibration
from cinnabar.engine.request import Passage, Request
from cinnabar.engine.settings import EFFORTS
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.model_sources import (
    AUTO,
    LanguageSource,
    ModelSource,
    RemoteSource,
    Source,
)
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.filling.time_estimate import usual_seconds
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.schemas import SchemaSource, compile_schema, load_schema
from cinnabar.schemas.library import LIBRARY

#: Seconds that the model's threads may take to leave what they work on, at the end.
_END = 10.0
_FAILED = {404: "not_found", 405: "method_not_allowed"}
_FIRST = compile_schema({"type": "object", "properties": {"total": {"type": ["number", "null"]}}})


@dataclass(frozen=True, slots=True)
class Assembled:
    """A server that can be started: its gate and the routes behind it, the name of its model, what reads files, how to
    end what it holds."""

    gate: Gate
    app: FastAPI
    name: str
    documents: FileReading
    close: Callable[[], None]


def assemble(
    model: Source,
    name: str,
    options: RunOptions,
    settings: ServerSettings,
    schemas: Sequence[SchemaSource] = (),
    examples: Examples | None = None,
    escalation: Escalation | None = None,
) -> Assembled:
    """Returns a server of this model, which is loaded now. schemas: those that clients may name beside the library.

    examples: labelled documents that a language model is shown beside a document of their schema. escalation: the
    language model that reads what the reader is unsure of.

    Raises UsageError if the model cannot be served.
    """
    if isinstance(model, RemoteSource):
        raise UsageError(f"--model {model.served.model}: expected a model on this machine, got one behind a server")
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    gate = Gate(app, settings)
    chat, engine = _models(model, name, options, examples, escalation)
    pool = ParserPool(options.workers, max_tokens=options.max_tokens, settings=parser_settings(options))
    cache = SchemaCache(settings.compile_seconds)
    cache.warm()
    completions = Completions(chat, name, options.effort, cache, gate, examples)
    named = {one: load_schema(one) for one in LIBRARY} | {one.name: one for one in schemas}
    sources = [model] if escalation is None else [model, escalation.source]
    seconds = usual_seconds(sources, options, 1 if escalation is None else escalation.times(options.effort))
    documents = FileReading(engine, pool, completions, cache, gate, options, named, seconds)
    Api(chat, completions, documents, gate, lambda: engine.alive).add_to(app)

    def close() -> None:
        chat.close()
        documents.close()
        cache.close()
        pool.close()
        # Nobody waits for the batch at work any more, so it ends with its pass; Python cannot end beside a pass.
        engine.wait_for_end(_END)

    return Assembled(gate, app, name, documents, close)


def _models(
    source: Source,
    name: str,
    options: RunOptions,
    examples: Examples | None,
    escalation: Escalation | None,
) -> tuple[DocumentChat, SharedEngine | TwoTiers]:
    """Returns the model of a source as one that chats, and the engine that fills forms with it for /v1/extract."""
    if isinstance(source, ModelSource):
        reader = source.load()
        engine: SharedEngine | TwoTiers
        engine = lower = SharedEngine(lambda effort: Engine(reader, effort), options.max_seconds)
        # The first record took twice as long as the next ones.
        lower.submit(Request("first", _FIRST.form, text_passage("Total: 5")), EFFORTS[options.effort]).result.result()
        if escalation is not None:
            assert isinstance(escalation.source, LanguageSource), "--model auto takes a fetched language model"
            upper = _language_engine(escalation.source, False, options.max_seconds, examples)
            engine = TwoTiers(lower, upper, escalation, text_document)
        return DocumentChat(engine, name, reader.context_tokens, text_passage), engine
    if not isinstance(source, LanguageSource):
        raise UsageError("--model: expected `default` or the folder of a model on this machine")
    # Cold start: a server with the reader needs none of this.
    from cinnabar.engine.chat.language_chat import LanguageChat

    shared = _language_engine(source, True, options.max_seconds, examples)
    return LanguageChat(source.load(), shared, name, text_passage), shared


def _language_engine(
    source: LanguageSource, chats: bool, seconds: float | None, examples: Examples | None
) -> SharedEngine:
    """Returns the shared engine of a language model; with `chats` it decodes tasks, too."""
    # Cold start: a server with the reader needs none of this.
    from cinnabar.engine.chat.language_chat import shared_language_engine

    calibration = load_calibration(Path(source.folder), checkpoint_fingerprint(source.folder))
    return shared_language_engine(source.load(), chats, seconds, calibration, examples)


def text_passage(text: str) -> Passage:
    """Returns a text as the passage that it would be in a file of plain text."""
    return passage_of(text_document(text))


def text_document(text: str) -> Document:
    """Returns a text as the document that a file of plain text would be."""
    builder = DocumentBuilder()
    builder.open("body")
    builder.write(text.strip("\r\n"))
    builder.close()
    return builder.build(text.encode(), "", "text/plain")


def model_name(model: str) -> str:
    """Returns the name that clients call a model by, unless the command names another."""
    own = {"default": "cinnabar-reader", AUTO: "cinnabar-auto"}
    return own.get(model) or Path(model).resolve().name


@dataclass(frozen=True)
class Api:
    """The routes of one server. working: whether the model's thread is alive."""

    model: DocumentChat
    completions: Completions
    documents: FileReading
    gate: Gate
    working: Callable[[], bool] = lambda: True
    started: int = field(default_factory=lambda: int(time.time()))

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes and the forms of errors to an application."""
        for kind in (HTTPException, ApiError, Exception):
            app.add_exception_handler(kind, _error_answer)
        routes: list[tuple[str, str, Any]] = [
            ("GET", "/v1/models", self._models),
            ("GET", "/v1/models/{name:path}", self._model),
            ("POST", "/v1/chat/completions", self.completions.chat),
            ("POST", "/v1/fim/completions", self.completions.fim),
            ("POST", "/v1/edit/completions", self.completions.edit),
            ("POST", "/v1/extract", self.documents.extract),
            ("GET", "/health", self._health),
            ("GET", "/health/live", self._live),
            ("GET", "/health/ready", self._health),
        ]
        for method, path, endpoint in routes:
            app.add_api_route(path, endpoint, methods=[method], include_in_schema=False)

    async def _models(self, _: HttpRequest) -> Response:
        return json_response({"object": "list", "data": [self._description()]})

    async def _model(self, request: HttpRequest) -> Response:
        self.completions.check_model(request.path_params["name"])
        return json_response(self._description())

    def _description(self) -> dict[str, Any]:
        return {
            "id": self.completions.name,
            "object": "model",
            "created": self.started,
            "owned_by": "cinnabar",
            "context_length": self.model.context,
            "abilities": sorted(self.model.abilities),
            "reasoning_efforts": [*EFFORTS],
        }

    async def _live(self, _: HttpRequest) -> Response:
        return json_response({"status": "live"})

    async def _health(self, _: HttpRequest) -> Response:
        if self.gate.draining:
            return json_response({"status": "shutting down"}, 503)
        if not self.working():
            return json_response({"status": "the model's thread ended"}, 503)
        return json_response({"status": "ready", "in_flight": self.gate.in_flight})


async def _error_answer(request: HttpRequest, error: Exception) -> Response:
    if isinstance(error, ApiError):
        return error.response()
    if not isinstance(error, HTTPException):
        # One of our own, which the gate then logs.
        return internal_error(request.state.identity).response()
    message = str(error.detail)
    if error.status_code == 404:
        message = "there is no such route; docs/server.md lists them"
        if request.url.path == "/v1/responses":
            message = "there is no /v1/responses; ask /v1/chat/completions with `response_format`, or /v1/extract"
    elif error.status_code == 405:
        message = f"expected another method than {request.method} for this route"
    code = _FAILED.get(error.status_code, "invalid_request")
    headers = dict(error.headers or {})
    return ApiError(error.status_code, code, message, headers=headers).response()
