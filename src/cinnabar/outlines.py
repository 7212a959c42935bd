"""Cinnabar's engine as a model of the package outlines.

    import outlines
    import cinnabar

    model = cinnabar.outlines.from_cinnabar()
    text = outlines.Generator(model, Invoice)("Invoice 17 of 3 May 2026 …")
    invoice = Invoice.model_validate_json(text)

The prompt is the document that is read. The answer is text of the form that outlines defines for the output type.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Any, Literal, get_origin, overload

from outlines.inputs import Chat
from outlines.models.base import ModelTypeAdapter
from outlines.models.dottxt import AsyncDottxt, Dottxt
from outlines.types import CFG, JsonSchema
from outlines.types.dsl import python_types_to_terms, to_regex

from cinnabar.engine.settings import effort_of
from cinnabar.errors import DocumentError, SchemaError, UsageError
from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.filling.planned_models import sources_of
from cinnabar.extraction.filling.records.validation import Validator, exact
from cinnabar.extraction.plan.run_options import Device, EffortName, RunPlan
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import SchemaSource, compile_schema, load_schema

__all__ = ["AsyncCinnabar", "Cinnabar", "OnMissing", "from_cinnabar"]

OnMissing = Literal["error", "guess", "none"]
# The property that an answer which is no object is read as, if its type has no name of its own.
_ANSWER = "answer"


@overload
def from_cinnabar(
    model: str = "default", *, device: Device = "auto", effort: EffortName = "medium", on_missing: OnMissing = "error",
    asynchronous: Literal[False] = False,
) -> Cinnabar: ...  # fmt: skip
@overload
def from_cinnabar(
    model: str = "default", *, device: Device = "auto", effort: EffortName = "medium", on_missing: OnMissing = "error",
    asynchronous: Literal[True],
) -> AsyncCinnabar: ...  # fmt: skip


def from_cinnabar(
    model: str = "default",
    *,
    device: Device = "auto",
    effort: EffortName = "medium",
    on_missing: OnMissing = "error",
    asynchronous: bool = False,
) -> Cinnabar | AsyncCinnabar:
    """Returns a model for `outlines.Generator`; with `asynchronous` one whose generators are awaited.

    `model` is `default`, the folder of a model, or of a language model, or one behind a server (`mercury-2`,
    `openai:NAME`). `on_missing` decides about a document without a value that the type demands: `error` raises
    DocumentError, `guess` answers with a guess, `none` answers None. Raises UsageError if there is no such model.
    """
    made = Cinnabar(model, device, effort, on_missing)
    return AsyncCinnabar(made) if asynchronous else made


@dataclass(frozen=True)
class OutputForm:
    """A schema to fill for an output type of outlines.

    `root` is the property that holds the answer, None if the record is the answer. `pattern` is the regular expression
    that outlines demands of the answer's text, None if that is JSON.
    """

    source: SchemaSource
    root: str | None
    pattern: str | None

    def text(self, record: str) -> str:
        """Returns the answer's text. Raises DocumentError if the type has no text for this record."""
        if self.pattern is None:
            return record
        value = exact(record)
        answer = value if self.root is None else value[self.root]
        for text in _spellings(answer):
            if re.fullmatch(self.pattern, text):
                return text
        raise DocumentError("invalid", f"expected a text of {self.pattern!r:.200}, read {record:.200}")


class CinnabarTypeAdapter(ModelTypeAdapter):
    """Turns inputs of outlines into documents, and output types into forms."""

    def format_input(self, model_input: Any) -> str:
        """Returns the text of the document: the prompt, or the user's messages of a chat before its first answer."""
        if isinstance(model_input, str):
            return model_input
        if isinstance(model_input, Chat):
            roles = [one["role"] for one in model_input.messages]
            if "assistant" in roles and "user" in roles[roles.index("assistant") :]:
                raise TypeError(
                    "expected no user's message behind an answer in a Chat, whether an error or a second document: the"
                    " document is what the chat first brought; give each document in a call of its own"
                )
            contents = [one["content"] for one in model_input.messages if one["role"] == "user"]
            if contents and all(isinstance(one, str) for one in contents):
                return "\n\n".join(contents)
        raise TypeError(
            f"expected a document as text, or a Chat whose user messages are text, got {type(model_input).__name__};"
            " cinnabar.extract reads files, also images"
        )

    def format_output_type(self, output_type: Any | None = None, question: str = "") -> OutputForm:
        """Returns the form of an output type; `question` is the title of an answer that is no object."""
        if output_type is None:
            raise TypeError(
                "expected an output type: Cinnabar fills schemas and writes no free text; give a Pydantic class, a JSON"
                " Schema, a dataclass, a TypedDict, Literal, Enum, a union, a regular expression or a Python type"
            )
        try:
            return _form(output_type, question)
        except TypeError:  # it cannot be hashed
            return _form.__wrapped__(output_type, question)


class Cinnabar(Dottxt):
    """Cinnabar's engine as a synchronous model of outlines.

    outlines.Generator takes instances of its own classes alone. Of these, Dottxt is the one for a model that writes
    nothing but what a schema allows; nothing of its client is used.
    """

    def __init__(self, model: str, device: Device, effort: EffortName, on_missing: OnMissing) -> None:
        if on_missing not in ("error", "guess", "none"):
            raise UsageError(f"on_missing: expected error, guess or none, got {on_missing!r}")
        effort_of(effort, None)
        self.type_adapter = self._types = CinnabarTypeAdapter()
        self.model, self._effort, self._on_missing = model, effort, on_missing
        self._source, _ = sources_of(RunPlan(model=model, device=device), model)
        self._filler: Any = None
        # One fill at a time has the model: threads of an asynchronous program share it.
        self._lock = Lock()

    def generate(self, model_input: Any, output_type: Any | None = None, **inference_kwargs: Any) -> Any:
        """Returns the answer for one document. Raises DocumentError if a value that the type demands is not there."""
        return self.generate_batch([model_input], output_type, **inference_kwargs)[0]

    def generate_batch(
        self, model_input: list[Any], output_type: Any | None = None, **inference_kwargs: Any
    ) -> list[str | None]:
        """Returns the answers for several documents, which share the passes of the model."""
        form = self._types.format_output_type(output_type, _question(inference_kwargs))
        texts = [self._types.format_input(one) for one in model_input]
        job = self._job(form)
        documents = [document_of(text, f"prompt {number}") for number, text in enumerate(texts, 1)]
        read = [OpenedInput(one.path, one.digest, one) for one in documents]
        with self._lock:
            outcomes = run_batch(read, job).outcomes
        return [self._answer(form, outcome) for outcome in outcomes]

    def generate_stream(
        self, model_input: Any, output_type: Any | None = None, **inference_kwargs: Any
    ) -> Iterator[str]:
        """Yields the answer as one piece: all fields are filled at once, so no beginning of it comes early."""
        answer = self.generate(model_input, output_type, **inference_kwargs)
        if answer is not None:
            yield answer

    def _job(self, form: OutputForm) -> Job:
        compiled = compile_schema(form.source.schema)
        with self._lock:
            if self._filler is None:
                self._filler = self._source.filler(self._effort, None)
        on_missing: Literal["guess", "quarantine"] = "guess" if self._on_missing == "guess" else "quarantine"
        checks = Checks(form.source, compiled)
        return Job(compiled, self._filler, Validator(form.source), on_missing, checks=checks)

    def _answer(self, form: OutputForm, outcome: Outcome) -> str | None:
        try:
            if outcome.status != "written" or outcome.record is None:
                raise DocumentError(outcome.code, f"{outcome.path}: {outcome.detail}")
            return form.text(outcome.record.text)
        except DocumentError:
            if self._on_missing == "none":
                return None
            raise


class AsyncCinnabar(AsyncDottxt):
    """Cinnabar's engine as an asynchronous model of outlines; the work is done in a thread."""

    def __init__(self, model: Cinnabar) -> None:
        self.type_adapter = model.type_adapter
        self.model, self._model = model.model, model

    async def generate(self, model_input: Any, output_type: Any | None = None, **inference_kwargs: Any) -> Any:
        """Returns the answer for one document."""
        return await asyncio.to_thread(self._model.generate, model_input, output_type, **inference_kwargs)

    async def generate_batch(
        self, model_input: list[Any], output_type: Any | None = None, **inference_kwargs: Any
    ) -> list[str | None]:
        """Returns the answers for several documents, which share the passes of the model."""
        return await asyncio.to_thread(self._model.generate_batch, model_input, output_type, **inference_kwargs)

    async def generate_stream(  # type: ignore[override]  # the base declares a coroutine and is iterated over
        self, model_input: Any, output_type: Any | None = None, **inference_kwargs: Any
    ) -> AsyncIterator[str]:
        """Yields the answer as one piece."""
        answer = await self.generate(model_input, output_type, **inference_kwargs)
        if answer is not None:
            yield answer


def _question(arguments: Mapping[str, Any]) -> str:
    """Returns the question of a call. Raises TypeError for other arguments, such as those of sampling."""
    for name in arguments:
        if name != "question":
            raise TypeError(f"{name}: expected no argument but question, the title of an answer that is no object")
    return str(arguments.get("question", ""))


def document_of(text: str, name: str) -> Document:
    """Returns a text as a document of this name."""
    builder = DocumentBuilder()
    builder.open("body")
    builder.write(text)
    builder.close()
    return builder.build(text.encode("utf-8", "surrogatepass"), name, "text/plain")


@lru_cache(maxsize=256)
def _form(output_type: Any, question: str) -> OutputForm:
    term = python_types_to_terms(output_type)
    if isinstance(term, CFG):
        raise TypeError(
            "expected an output type that a JSON Schema can describe, got a grammar (CFG, or dict without types);"
            " Cinnabar fills fields: give a class, a JSON Schema or a regular expression"
        )
    source = load_schema(_spec(output_type))
    if isinstance(term, JsonSchema):
        return _compile(OutputForm(source, None, None))
    schema = source.schema if isinstance(source.schema, dict) else {}
    inner = {name: part for name, part in schema.items() if name not in ("$defs", "$schema")}
    if question:
        inner["title"] = question
    name = source.name if source.name != "schema" else _ANSWER
    wrapped = {"type": "object", "properties": {name: inner}, "required": [name], "additionalProperties": False}
    wrapped |= {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return _compile(OutputForm(load_schema(wrapped), name, to_regex(term)))


def _compile(form: OutputForm) -> OutputForm:
    """Returns a form whose schema can be enforced. Raises UnsupportedSchema, with the place, if it cannot."""
    _ = compile_schema(form.source.schema).form
    return form


def _spec(output_type: Any) -> Any:
    """Returns what `load_schema` reads in place of this type."""
    if output_type is str:
        # outlines writes a string with quotes and none within.
        return {"type": "string", "pattern": '^[^"]*$', "minLength": 1}
    if get_origin(output_type) is list:
        # The regular expression of a list asks for one item at least.
        return {**_dict(output_type), "minItems": 1}
    if isinstance(output_type, (bool, int, float, str)):
        return {"const": output_type}
    return output_type


def _dict(output_type: Any) -> dict[str, Any]:
    schema = load_schema(output_type).schema
    if not isinstance(schema, dict):
        raise SchemaError(f"{output_type}: expected a type with a schema, got {schema}")
    return schema


def _spellings(value: Any) -> Iterator[str]:
    """Yields the texts that outlines may mean by a value: bare, with quotes, as a list or as a tuple."""
    yield _bare(value)
    for quoted in (True, False):
        for brackets in ("[]", "()"):
            yield _inner(value, quoted, brackets)
    if isinstance(value, str):
        try:
            yield datetime.fromisoformat(value).strftime("%Y-%m-%d %H:%M:%S")
        except ValueError:
            yield value[:8]  # a time without its zone


def _bare(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _inner(value: Any, quoted: bool, brackets: str) -> str:
    if isinstance(value, str):
        return f'"{value}"' if quoted else value
    if isinstance(value, list):
        return f"{brackets[0]}{', '.join(_inner(one, quoted, brackets) for one in value)}{brackets[1]}"
    if isinstance(value, dict):
        pairs = (f'"{name}":{_inner(one, quoted, brackets)}' for name, one in value.items())
        return f"{{{', '.join(pairs)}}}"
    return str(value)
