"""A server that speaks the documented contract of Mercury's API, keeps its own ledger, and misbehaves.

It reads a document as `name=value` lines and `- name=value …` rows. It answers the request's schema as a model that can
read would. A request may meet a fault, drawn from a seed or set by the test.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from email.utils import formatdate
from time import time
from typing import Any

KEY = "sk-cinnabar-CANARY-7f3a91"
PRICES = {"input": Decimal("0.25"), "cached": Decimal("0.025"), "output": Decimal("0.75")}
#: Every kind of fault that replaces or surrounds an answer.
FAULTS = (
    "429 seconds",
    "429 date",
    "429 bare",
    "500",
    "503",
    "cut before",
    "cut within",
    "slow bytes",
    "no answer",
    "no json body",
    "no completion",
    "no json",
    "wrong schema",
    "wrong value",
    "late",
)
#: Faults that give no whole answer although the server worked, and may charge.
DOUBTFUL = {"cut within", "slow bytes", "no answer", "no json body", "no completion", "cut before"}
#: Answers that are far larger than they look: their status, and how they are packed.
BOMBS = {"bomb": (200, "gzip"), "bomb in a bomb": (200, "gzip, gzip"), "error bomb": (500, "gzip"), "odd": (200, "br")}


def bomb(times: int) -> bytes:
    """A JSON text of 128 MB of blanks, packed so many times."""
    packed = b" " * (1 << 20)
    for once in range(times):
        packer = zlib.compressobj(9, wbits=31)
        packed = b"".join(packer.compress(packed) for _ in range(1 if once else 128)) + packer.flush()
    return packed


@dataclass
class Entry:
    """One charge for an answer that the server gave whole."""

    input: int
    cached: int
    output: int

    @property
    def cost(self) -> Decimal:
        fresh = (self.input - self.cached) * PRICES["input"]
        return (fresh + self.cached * PRICES["cached"] + self.output * PRICES["output"]) / 1_000_000


@dataclass
class Server:
    """`fault` names the fault of the n-th request, "" for none; `answer` replaces the content of a good answer. Its
    list of models is `listed`."""

    fault: Callable[[int, dict[str, Any]], str] = lambda _n, _body: ""
    answer: Callable[[dict[str, Any], dict[str, Any]], Any] | None = None
    pause: float = 0.0
    listed: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    charged: list[Entry] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    breaches: list[str] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0

    @property
    def cost(self) -> Decimal:
        return sum((entry.cost for entry in self.charged), Decimal(0))

    @property
    def doubtful(self) -> int:
        return sum(count for fault, count in self.faults.items() if fault in DOUBTFUL)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, kept alive between requests."""
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        if first.startswith("GET /v1/models "):
            return await send(writer, 200, {"data": self.listed})
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._answer(first, headers, body, reader, writer)
        finally:
            self.under_way -= 1

    async def _answer(
        self,
        first: str,
        headers: dict[str, str],
        body: dict[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        number = len(self.bodies)
        self.bodies.append(body)
        self.headers.append(headers)
        self.times.append(time())
        if headers.get("authorization") != f"Bearer {KEY}":
            told = {"message": f"wrong key {headers.get('authorization')}", "code": "invalid_api_key"}
            return await send(writer, 401, {"error": told})
        problem = breach(first, body)
        if problem:
            self.breaches.append(problem)
            return await send(writer, 400, {"error": {"message": problem, "code": "invalid_request"}})
        await asyncio.sleep(self.pause)
        fault = self.fault(number, body)
        self.faults[fault or "none"] += 1
        if fault[:3] in ("400", "429", "500", "503", "504"):
            after = {"429 seconds": "1", "429 date": formatdate(time() + 1, usegmt=True)}.get(fault, "")
            more = {"retry-after": after} if after else {}
            return await send(
                writer,
                int(fault[:3]),
                {"error": {"message": f"{fault} for {headers['authorization']}"}},
                more,
            )
        if fault == "endless":
            writer.write(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n")
            while True:
                writer.write(b" " * 65_536)
                await writer.drain()
        if fault in BOMBS:
            status, encoding = BOMBS[fault]
            return await send(writer, status, bomb(encoding.count("gzip")), {"content-encoding": encoding})
        if fault == "redirect":
            return await send(writer, 307, b"", {"location": f"{self.url}/chat/completions"})
        if fault == "cut before":
            return False
        if fault == "no answer":
            await asyncio.sleep(5)
            return False
        if fault == "no json body":
            return await send(writer, 200, b"<html>gateway</html>")
        if fault == "no completion":
            return await send(writer, 200, {"object": "list", "data": []})
        if fault == "late":
            await asyncio.sleep(random.Random(number).uniform(0.02, 0.1))
        completion, more = self._completion(body, fault), dict[str, str]()
        raw = json.dumps(completion).encode()
        if fault == "in gzip":
            raw, more = gzip.compress(raw), {"content-encoding": "gzip"}
        if fault == "cut within":
            writer.write(top(200, len(raw)) + raw[: len(raw) // 2])
            await writer.drain()
            return False
        if fault == "slow bytes":
            writer.write(top(200, len(raw)))
            for byte in raw:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.2)
            return True
        if reader.at_eof():  # the client has hung up
            self.faults["no answer"] += 1
            return False
        if usage := completion["usage"]:
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            self.charged.append(Entry(usage["prompt_tokens"], cached, usage["completion_tokens"]))
        return await send(writer, 200, raw, more)

    def _completion(self, body: dict[str, Any], fault: str) -> dict[str, Any]:
        schema = body["response_format"]["json_schema"]["schema"]
        asked = [m["content"] for m in body["messages"] if m["role"] == "user" and "<document>" in m["content"]]
        text = asked[-1]  # those before it are examples
        found = read(schema, text[text.index("<document>") :])
        if self.answer is not None:
            found = self.answer(body, found)
        said = found if isinstance(found, str) else json.dumps(found)
        if fault == "no json":
            said = "Here is the record you asked for:"
        elif fault == "wrong schema":
            said = json.dumps({"surprise": [1, 2]})
        elif fault == "wrong value":
            said = json.dumps({name: {"of": "no type"} for name in schema["properties"]})
        sent = len(json.dumps(body["messages"])) // 4
        usage = {
            "prompt_tokens": sent,
            "completion_tokens": len(said) // 4 + 1,
            "total_tokens": sent + len(said) // 4 + 1,
            "prompt_tokens_details": {"cached_tokens": sent // 3},
        }
        parts = [{"type": "text", "text": part} for part in (said[:5], said[5:])]
        message = {"role": "assistant", "content": parts if fault == "in parts" else said}
        return {
            "id": f"chatcmpl-{len(self.bodies)}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }


def breach(first: str, body: dict[str, Any]) -> str:
    """The point at which a request breaks the documented contract, or an empty text."""
    if first != "POST /v1/chat/completions HTTP/1.1":
        return f"expected POST /v1/chat/completions, got {first}"
    effort = body.get("reasoning_effort")
    if body["model"] == "mercury-2" and effort not in ("instant", "low", "medium", "high"):
        return f"reasoning_effort: {effort}"
    if len(json.dumps(body)) > 128_000 * 4:
        return "longer than the context"
    wanted = body["response_format"]
    if wanted["type"] != "json_schema" or wanted["json_schema"]["schema"]["type"] != "object":
        return "response_format: expected a json_schema with an object"
    return strict_problem(wanted["json_schema"]["schema"]) if wanted["json_schema"]["strict"] else ""


def strict_problem(schema: Any) -> str:
    """The first part of this schema that strict modes refuse."""
    if isinstance(schema, list):
        return next(filter(None, map(strict_problem, schema)), "")
    if not isinstance(schema, dict):
        return ""
    unknown = schema.keys() - {
        "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"
    }  # fmt: skip
    if unknown:
        return f"keywords {sorted(unknown)}"
    if "properties" in schema and (
        schema["required"] != list(schema["properties"]) or schema["additionalProperties"] is not False
    ):
        return "every property has to be required, and no other allowed"
    parts = [*schema.get("properties", {}).values(), schema.get("items"), *schema.get("anyOf", [])]
    return strict_problem(parts)


def read(schema: dict[str, Any], text: str) -> Any:
    """The values that this schema asks for, read from the text."""
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "object" in kinds:
        return {name: _property(name, part, text) for name, part in schema["properties"].items()}
    return None


def _property(name: str, schema: dict[str, Any], text: str) -> Any:
    if schema.get("type") == "array":
        return [read(schema["items"], row) for row in _rows(text)]
    if "properties" in schema and name.isdecimal():
        rows = _rows(text)
        return read(schema, rows[int(name)]) if int(name) < len(rows) else None
    if "properties" in schema:
        return read(schema, text)
    match = re.search(rf"(?<![\w]){re.escape(name)}=([^\n;]+)", text)
    if match is None:
        return None
    said = match[1].strip()
    kinds = schema["type"]
    if "number" in kinds or "integer" in kinds:
        return json.loads(said)
    return said == "true" if "boolean" in kinds else said


def _rows(text: str) -> list[str]:
    return re.findall(r"^- (.*)$", text, re.MULTILINE)


def top(status: int, length: int, more: dict[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {length}", "content-type: application/json"]
    lines += [f"{name}: {value}" for name, value in (more or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def send(writer: asyncio.StreamWriter, status: int, body: Any, more: dict[str, str] | None = None) -> bool:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    writer.write(top(status, len(raw), more) + raw)
    await writer.drain()
    return True


def drawn(share: float, seed: int, faults: tuple[str, ...] = FAULTS) -> Callable[[int, dict[str, Any]], str]:
    """A fault for this share of requests: each kind in turn, and then by chance.

    Faults that make all requests wait for a second are rarer.
    """
    chance = random.Random(seed)
    left = list(faults)
    weights = [0.2 if fault in ("429 seconds", "429 date") else 1.0 for fault in faults]

    def fault(_number: int, _body: dict[str, Any]) -> str:
        if chance.random() >= share:
            return ""
        return left.pop() if left else chance.choices(faults, weights)[0]

    return fault


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run the server on a port of this machine, in a thread of its own."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def begin() -> asyncio.Server:
        return await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 24)

    def work() -> None:
        asyncio.set_event_loop(loop)
        listening = loop.run_until_complete(begin())
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        ready.set()
        loop.run_forever()
        listening.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
