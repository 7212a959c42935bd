"""Sends one request over HTTP and sorts the outcome: a whole answer, a passing failure, or the end of the run."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from cinnabar.engine.remote.ledger import Tokens
from cinnabar.engine.remote.serving import RemoteSettings, Served
from cinnabar.errors import EngineFailure, NoEngine

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

#: Characters of a server's message that are kept.
KEPT_MESSAGE = 300
#: The most bytes of a body, packed or not: an answer of 32,000 tokens has some 130,000.
MOST = 4 << 20
#: A key with fewer characters is a placeholder; it is hidden as a whole word only, not within other words.
SHORT = 8


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A whole answer: its text, why it ended, and the tokens that the server counted (None if unusable)."""

    text: str
    finish: str
    refusal: str
    tokens: Tokens | None


class Transient(Exception):
    """A passing failure: the request may be sent again, after `wait` seconds if that is given.

    `sent`: the server received the request and may have worked on it. `reached`: there is a server.
    """

    def __init__(self, reason: str, *, wait: float | None = None, sent: bool, reached: bool = True) -> None:
        self.reason, self.wait, self.sent, self.reached = reason, wait, sent, reached
        super().__init__(reason)


def client_of(served: Served, settings: RemoteSettings, key: str) -> AsyncOpenAI:
    """Returns the official client; it tries once, follows no redirect and sends nothing about this machine.

    It reads no more than `MOST` bytes of a body.
    """
    # Extra: mercury.
    from httpx2 import AsyncByteStream, Limits, Timeout
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    async def reticent(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name.startswith(("x-stainless", "openai-"))]:
            del request.headers[name]
        request.headers["user-agent"] = "cinnabar"
        request.headers["accept-encoding"] = "gzip"

    class Bounded(AsyncByteStream):
        """The unpacked body of a response, which ends with an error behind `MOST` bytes."""

        def __init__(self, response: httpx2.Response) -> None:
            self._packing = response.headers.pop("content-encoding", "identity").strip().lower()
            self._raw = cast(AsyncByteStream, response.stream)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if self._packing not in ("identity", "gzip", "deflate"):
                raise Transient(f"an answer packed as {self._packing[:40]}, expected gzip or none", sent=True)
            unpack = None if self._packing == "identity" else zlib.decompressobj(47)
            raw = unpacked = 0
            async for packed in self._raw:
                part = packed if unpack is None else unpack.decompress(packed, MOST + 1)
                raw, unpacked = raw + len(packed), unpacked + len(part)
                if max(raw, unpacked) > MOST:
                    raise Transient(f"an answer of more than {MOST >> 20} MB", sent=True)
                yield part

        async def aclose(self) -> None:
            await self._raw.aclose()

    async def bound(response: httpx2.Response) -> None:
        response.stream = Bounded(response)

    return AsyncOpenAI(
        api_key=key,
        base_url=served.base_url,
        max_retries=0,
        timeout=Timeout(settings.timeout, connect=min(10.0, settings.timeout)),
        http_client=DefaultAsyncHttpxClient(
            follow_redirects=False,
            limits=Limits(max_connections=settings.concurrency, max_keepalive_connections=settings.concurrency),
            event_hooks={"request": [reticent], "response": [bound]},
        ),
    )


async def exchange(
    client: AsyncOpenAI, served: Served, settings: RemoteSettings, key: str, body: dict[str, Any]
) -> ServerAnswer:
    """Sends the body once and returns the whole answer.

    Raises Transient for a passing failure, EngineFailure for a fault of this request, and RunError for a fault that
    stops every request (key, address, account). None of their messages contains the key.
    """
    # Extra: mercury.
    import openai
    from httpx2 import Response

    try:
        async with asyncio.timeout(settings.timeout):
            response = await client.post("/chat/completions", cast_to=Response, body=body)
    except openai.APIStatusError as error:
        raise _refusal(error, served, key) from None
    except (TimeoutError, openai.APIConnectionError) as error:
        raise _broken(error, settings) from None
    except openai.OpenAIError as error:
        raise Transient(f"an unreadable answer ({type(error).__name__})", sent=True) from None
    return _read(response.content)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Returns the seconds of a Retry-After header, a number or an HTTP date (RFC 9110); None if it is neither."""
    value = headers.get("retry-after", "")
    with suppress(ValueError):
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - (now or time.time()))
    return None


def scrub(text: str, key: str) -> str:
    """Returns a server's message on one line, cut to KEPT_MESSAGE characters, and without the key."""
    hidden = re.escape(key)
    if len(key) < SHORT:
        hidden = rf"(?<!\w){hidden}(?!\w)"
    line = " ".join((re.sub(hidden, "***", text) if key else text).split())
    return line.encode("utf-8", "backslashreplace").decode()[:KEPT_MESSAGE]


def _broken(error: Exception, settings: RemoteSettings) -> Transient:
    """Returns the exception for a connection that failed, was cut or took too long."""
    # Extra: mercury.
    from httpx2 import ConnectError, ConnectTimeout, PoolTimeout
    from openai import APITimeoutError

    cause = error.__cause__
    if isinstance(cause, (ConnectError, ConnectTimeout)):
        reason = f"no connection ({str(cause) or type(cause).__name__})"
        return Transient(reason, sent=False, reached=False)
    if isinstance(error, (TimeoutError, APITimeoutError)):
        sent = not isinstance(cause, PoolTimeout)
        return Transient(f"no whole answer within {settings.timeout:g} s", sent=sent)
    if isinstance(cause, Transient):
        return cause
    name = type(cause).__name__ if cause else "connection error"
    return Transient(f"a connection that was cut ({name})", sent=True)


def _refusal(error: Any, served: Served, key: str) -> Exception:
    """Returns the exception for the status of a response."""
    status, headers = int(error.status_code), error.response.headers
    message = scrub(str(error.message), key)
    code = error.code if isinstance(error.code, str) else ""
    where = served.where
    if code == "insufficient_quota" or status == 402:
        return NoEngine(f"{where}: the account has no credit left (HTTP {status}); what was committed stands")
    if status == 429 or status in (408, 409, 425) or status >= 500:
        # After a gateway's timeout the service behind it may still have worked on the request.
        sent = status in (408, 502, 504) or status >= 520
        return Transient(f"HTTP {status}: {message}", wait=retry_after(headers), sent=sent)
    if status in (401, 403):
        return NoEngine(f"{where}: the server refused the key in {served.key_name} (HTTP {status})")
    if status == 404 or status < 400:
        return NoEngine(f"{where}: not found (HTTP {status}); check its address and the model's name")
    if code == "context_length_exceeded" or status == 413:
        return EngineFailure("too_long", f"HTTP {status}: {message}; try a smaller context")
    return EngineFailure("request_refused", f"HTTP {status}: {message}")


def _read(content: bytes) -> ServerAnswer:
    """Returns the answer in the body of a response. Raises Transient if there is none."""
    try:
        body = json.loads(content)
        (choice, *_) = body["choices"]
        message = choice["message"]
        text, refusal = _text(message.get("content")), message.get("refusal")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Transient("the answer is no chat completion", sent=True) from None
    # A lone surrogate cannot be encoded. Its JSON escape can, and the reader of the answer reports it as a problem.
    return ServerAnswer(
        text.encode("utf-8", "backslashreplace").decode(),
        str(choice.get("finish_reason") or ""),
        refusal if isinstance(refusal, str) else "",
        _tokens(body.get("usage")),
    )


def _text(content: Any) -> str:
    """Returns the text of a message, which some servers give in parts; "" if there is none."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _tokens(usage: Any) -> Tokens | None:
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    counts = [usage.get("prompt_tokens"), cached or 0, usage.get("completion_tokens")]
    valid = [count for count in counts if type(count) is int and count >= 0]
    if len(valid) < len(counts) or valid[1] > valid[0]:
        return None
    return Tokens(*valid)
