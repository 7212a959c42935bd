"""Puts a server together: a model, the parsers, and the routes before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI

from cinnabar.engine.chat.reader_chat import ReaderChat
from cinnabar.engine.chat.shared_engine import SharedEngine
from cinnabar.engine.request import Passage
from cinnabar.extraction.ingest.builder import DocumentBuilder
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.parser_settings import parser_settings
from cinnabar.extraction.planning import passage_of
from cinnabar.extraction.run_options import RunOptions
from cinnabar.extraction.sources import ModelSource, Source
from cinnabar.flows.server.app import Api
from cinnabar.flows.server.completions import Completions
from cinnabar.flows.server.documents import FileReading, Limits
from cinnabar.flows.server.gate import Gate
from cinnabar.flows.server.metrics import Metrics
from cinnabar.flows.server.schema_cache import SchemaCache
from cinnabar.flows.server.settings import ServerSettings
from cinnabar.schemas import SchemaSource, load_schema
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.library import LIBRARY


@dataclass(frozen=True, slots=True)
class Assembled:
    """A server that can be started: its gate, the name of its model, and how to end what it holds."""

    gate: Gate
    name: str
    close: Callable[[], None]


def assemble(
    model: Source,
    name: str,
    options: RunOptions,
    settings: ServerSettings,
    schemas: Sequence[SchemaSource] = (),
) -> Assembled:
    """Returns a server of this model, which is loaded now. schemas: those that clients may name beside the library.

    Raises UsageError if the model cannot be served.
    """
    if not isinstance(model, ModelSource):
        raise UsageError("--model: expected `default` or the folder of a model on this machine")
    metrics = Metrics()
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    gate = Gate(app, settings, metrics)
    pool = ParserPool(options.workers, max_tokens=options.max_tokens, settings=parser_settings(options))
    engine = SharedEngine(model.load(), options.max_seconds, metrics.count_batch)
    metrics.watch_queue(lambda: engine.waiting)
    chat = ReaderChat(engine, name, text_passage)
    cache = SchemaCache(settings.compile_seconds, metrics)
    completions = Completions(chat, name, options.effort, cache, gate, metrics)
    named = {one: load_schema(one) for one in LIBRARY} | {one.name: one for one in schemas}
    limits = Limits(options.max_tokens, options.max_seconds)
    documents = FileReading(engine, pool, completions, cache, gate, metrics, limits, named)
    Api(chat, completions, documents, metrics, gate, lambda: engine.alive).add_to(app)

    def close() -> None:
        chat.close()
        documents.close()
        cache.close()
        pool.close()

    return Assembled(gate, name, close)


def text_passage(text: str) -> Passage:
    """Returns a text as the passage that it would be in a file of plain text."""
    builder = DocumentBuilder()
    builder.open("body")
    builder.write(text.strip("\r\n"))
    builder.close()
    return passage_of(builder.build(text.encode(), "", "text/plain"))


def model_name(model: str) -> str:
    """Returns the name that clients call a model by, unless the command names another."""
    return "cinnabar-reader" if model == "default" else Path(model).resolve().name
