"""Reads the bodies of requests, within bounds."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import ClientDisconnect

from cinnabar.apps.server.errors import ApiError, invalid, of_failure
from cinnabar.apps.server.gate import Gate
from cinnabar.engine.chat.requests import FailedRequest
from cinnabar.errors import UnsupportedSchema, shorten
from cinnabar.schemas.parsing.texts import read_schema

#: Bytes of JSON above which a thread parses it, so that the loop serves others.
_LARGE = 1 << 16
#: The most values of a body, the bytes of memory that a value takes at most, or so, and the most quotation marks.
#: A million keys held Python's one lock for 40 s, so that others waited; a hundred thousand take half a second.
_VALUES, _VALUE, _QUOTES = 100_000, 100, 2_000_000
#: Seconds that a client may take to send its request.
_SECONDS = 60.0
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

B = TypeVar("B", bound=BaseModel)


async def read_bytes(request: Request, gate: Gate) -> bytes:
    """Returns the body of a request. Raises ApiError if it is too large, packed, or slow."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise ApiError(415, "unsupported_encoding", "expected a request without Content-Encoding")
    # Told before a byte is read.
    length = request.headers.get("content-length", "")
    claimed = int(length) if length.isdecimal() and len(length) < 19 else 0
    gate.reserve(request.scope["state"], claimed)
    pieces, size = [], 0
    left = min(_SECONDS, request.state.deadline - time.monotonic())
    try:
        async with asyncio.timeout(max(left, 0.1)):
            async for piece in request.stream():
                size += len(piece)
                if size > claimed:
                    gate.reserve(request.scope["state"], size - claimed)
                    claimed = size
                pieces.append(piece)
    except ClientDisconnect:
        raise of_failure(FailedRequest("cancelled", "the client closed the connection")) from None
    except TimeoutError:
        raise ApiError(408, "request_timeout", f"expected the whole request within {_SECONDS:g} s") from None
    return b"".join(pieces)


async def read_json(request: Request, gate: Gate) -> dict[str, Any]:
    """Returns the JSON object in the body of a request, with exact numbers. Raises ApiError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        # A form of a page of another host cannot send this type without asking first.
        raise ApiError(415, "unsupported_media_type", f"expected Content-Type: application/json, got {kind[:80]!r}")
    data = await read_bytes(request, gate)
    values = values_of(data)
    gate.hold(request.scope["state"], values * _VALUE)
    return await asyncio.to_thread(parse_object, data) if len(data) > _LARGE else parse_object(data)


def values_of(data: bytes) -> int:
    """Returns about how many values a JSON text has, before it is parsed. Raises ApiError if there are too many."""
    values = _marks(data)
    if values > _VALUES and data.count(b'"') <= _QUOTES:
        values = _marks(_STRING.sub(b"", data))  # a long document has as many commas
    if values > _VALUES:
        raise ApiError(413, "request_too_large", f"expected JSON of at most {_VALUES} values")
    return values


def _marks(data: bytes) -> int:
    return sum(map(data.count, (b",", b"[", b"{")))


def parse_object(data: bytes, param: str | None = None) -> dict[str, Any]:
    """Returns the JSON object in these bytes. Raises ApiError if there is none; param: what they are, if not all."""
    place = param or "the body of the request"
    try:
        text = data.decode("utf-8")
        value = read_schema(text)
    except UnsupportedSchema as error:
        raise ApiError(400, "invalid_json", f"{place}: {shorten(error.pointer)}: {error.reason}", param) from None
    except ValueError as error:
        wanted = f"JSON, got {str(error)[:200]}"
        if isinstance(error, UnicodeDecodeError):
            wanted = f"text in UTF-8, got other bytes at {error.start}"
        elif isinstance(error, json.JSONDecodeError):
            wanted = f"JSON, got other text at line {error.lineno}, column {error.colno}"
        raise ApiError(400, "invalid_json", f"{place}: expected {wanted}", param) from None
    if not isinstance(value, dict):
        raise ApiError(400, "invalid_json", f"{place}: expected a JSON object, got {_shown(value)}", param)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            message = f"{place}: expected valid Unicode, got a lone surrogate"
            raise ApiError(400, "invalid_json", message, param) from None
    return value


def check_parameters(model: type[B], value: dict[str, Any]) -> B:
    """Returns the parameters of a request. Raises ApiError, which names the first one that is wrong."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _error_of(error.errors(include_url=False)[0]) from None


def _error_of(wrong: ErrorDetails) -> ApiError:
    param = ""
    for step in wrong["loc"]:
        if isinstance(step, int):
            param += f"[{step}]"
        elif not step.startswith("<"):
            param += f".{step}" if param else step
    param = shorten(param)
    if wrong["type"] == "extra_forbidden":
        message = f"{param or 'the request'}: this server knows no such parameter; docs/server.md lists them"
        return invalid(message, param, "unknown_parameter")
    if wrong["type"] == "missing":
        return invalid(f"{param}: expected a value, got none", param, "missing_parameter")
    wanted = wrong["msg"].partition(" should ")[2] or f"be {wrong['msg']}"
    return invalid(f"{param or 'the request'}: should {wanted}, got {_shown(wrong['input'])}", param or None)


def _shown(value: Any) -> str:
    """Returns a JSON value for a message: a short one itself, else what kind it is."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 62 else f"{text[:60]}…"
