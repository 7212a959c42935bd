"""Hostile requests against a real server: no error of its own, bounded memory, and good requests are answered."""

from __future__ import annotations

import errno
import json
import random
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.server_process import FORMAT, NAME, ServerProcess, running

#: Requests in full, and in the quick profile.
MANY, FEW = 300, 12
#: Bytes that the server may take beyond what it had before, and seconds of the next good request. The reader takes 900
#: MB for one schema of 3,000 choices; further ones take that memory again.
GROWTH, PATIENCE = 1400 << 20, 20.0
GOOD: dict[str, Any] = {"model": NAME, "messages": [{"role": "user", "content": "Total: 5"}], "response_format": FORMAT}


@dataclass(frozen=True)
class Hostile:
    """Bytes to send; with `cut` the client says that no more come before it reads an answer."""

    name: str
    sent: bytes
    cut: bool = False


def head(path: str, *lines: str, method: str = "POST", host: str = "127.0.0.1") -> str:
    return "".join([f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n", *(f"{line}\r\n" for line in lines), "\r\n"])


def posted(path: str, body: bytes, *lines: str, kind: str = "application/json") -> bytes:
    told = (f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *lines)
    return head(path, *told).encode("latin-1") + body


def chat(**more: Any) -> bytes:
    return posted("/v1/chat/completions", json.dumps({**GOOD, **more}).encode())


def schema_of(schema: str) -> bytes:
    body = json.dumps({**GOOD, "response_format": None})[:-1].replace('"response_format": null', '"response_format": ')
    return posted(
        "/v1/chat/completions",
        f'{body}{{"type": "json_schema", "json_schema": {{"name": "a", "schema": {schema}}}}}}}'.encode(),
    )


NUMBERS = ("1e309", "-1e309", "1e-400", "9" * 5000, "-" + "9" * 5000, "0." + "1" * 5000, "9223372036854775808", "-0",
           "1e99999999999", "NaN", "Infinity", "-Infinity")  # fmt: skip
TEXTS = ("\0", "a\0b", "\ud800", "\udfff\ud800", "\u202e", "../../etc/passwd", "x" * 300_000, "%00", "\uffff", "é" * 9)
SETTINGS = ("max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "n", "stop", "user", "metadata",
            "messages", "model", "response_format", "tools", "tool_choice", "reasoning_effort", "stream",
            "stream_options", "on_missing", "logit_bias", "presence_penalty")  # fmt: skip
PATHS = ("/v1/chat/completions", "/v1/extract", "/v1/fim/completions", "/v1/edit/completions")
HOSTS = ("[::1].evil", "[::1]evil:80", "[::1", "::1]", "localhost@evil", "127.0.0.1:x", "evil.example", "[", "",
         "localhost:80:80", "localhost/evil", "127.0.0.1\x7f")  # fmt: skip
ORIGINS = ("http://[::1", "http://[::1].evil", "http://localhost@evil", "null", "http://", "://", "[", "http://evil:x",
           "http://127.0.0.1:99999", "file://", "http://\x80")  # fmt: skip
KEYWORDS = ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "pattern", "enum",
            "const", "properties", "required", "$ref", "anyOf", "items", "format", "type", "$defs")  # fmt: skip


def numbers(r: random.Random) -> Hostile:
    number, name = r.choice(NUMBERS), r.choice(SETTINGS)
    body = json.dumps({**GOOD, name: "@"}).replace('"@"', number)
    return Hostile(f"{name}={number[:20]}", posted("/v1/chat/completions", body.encode()))


def texts(r: random.Random) -> Hostile:
    text, name = r.choice(TEXTS), r.choice(SETTINGS)
    return Hostile(f"{name}={text[:10]!a}", chat(**{name: text}))


def documents(r: random.Random) -> Hostile:
    text = "".join(r.choices((*TEXTS[:5], "Total: ", "€", "1e309", "9" * 5000, "\n"), k=r.randrange(1, 40)))
    return Hostile(f"a document {text[:10]!a}", chat(messages=[{"role": "user", "content": text}]))


def deep(r: random.Random) -> Hostile:
    levels, (begin, end) = r.choice((150, 5_000, 100_000)), r.choice((("[", "]"), ('{"a":', "}"), ('{"items":', "}")))
    nested = begin * levels + "1" + end * levels
    if r.random() < 0.5:
        return Hostile(f"{levels} levels", posted(r.choice(PATHS), nested.encode()))
    return Hostile(f"a schema of {levels} levels", schema_of(nested))


def doubled(r: random.Random) -> Hostile:
    body = json.dumps(GOOD)[:-1] + f', "{r.choice(SETTINGS)}": 1, "model": "{NAME}"}}'
    return Hostile("a key twice", posted(r.choice(PATHS), body.encode()))


def kinds(r: random.Random) -> Hostile:
    kind = r.choice(("text/plain", "", "multipart/form-data", "multipart/form-data; boundary=", "application/xml",
                     "application/json; charset=utf-16", "application/x-www-form-urlencoded", "a" * 5000))  # fmt: skip
    body = r.choice((json.dumps(GOOD).encode(), b"--\r\n\r\n", b"\xff\xfe{\0}\0", b""))
    return Hostile(f"the type {kind[:20]!a}", posted(r.choice(PATHS), body, kind=kind))


def schemas(r: random.Random) -> Hostile:
    value = r.choice((*NUMBERS[:9], '"\\u0000"', '"\\ud800"', '"(a+)+$"', '"(?=a)"', "[]", "{}", "null", '"#"',
                      '"#/$defs/a"', '"http://127.0.0.1/x"',
                      '{"a": {"$ref": "#"}}', '["a", "a"]', '"' + "a?" * 200 + '"'))  # fmt: skip
    own = f'"{r.choice(KEYWORDS)}": {value}'
    kind = r.choice(('"string"', '"number"', '"array"', '"object"', '["string", "null"]'))
    if r.random() < 0.5:
        return Hostile(f"a schema with {own[:40]}", schema_of(f'{{"type": {kind}, {own}}}'))
    inner = f'{{"type": {kind}, {own}}}'
    whole = f'{{"type": "object", "properties": {{"a\\u0000": {inner}}}}}'
    return Hostile(f"a field with {own[:40]}", schema_of(whole))


def wide(r: random.Random, counts: Sequence[int]) -> Hostile:
    count = r.choice(counts)
    form = r.choice(('{"type": "object", "properties": {%s}}', '{"enum": [%s]}', '{"$defs": {%s}}', '{"anyOf": [%s]}'))
    keyed = "{%s" in form
    parts = (f'"key{at}": {{"type": "string"}}' if keyed else f'"key{at}"' for at in range(count))
    if r.random() < 0.3:
        parts = (f'"key{at}": "x"' for at in range(count))
        return Hostile(f"{count} keys", posted(r.choice(PATHS), ("{" + ", ".join(parts) + "}").encode()))
    return Hostile(f"{count} entries of {form[:12]}", schema_of(form % ", ".join(parts)))


def files(r: random.Random) -> Hostile:
    name = r.choice(("a\0.pdf", "../../x.pdf", "--help", "a" * 5000 + ".eml", "\u202e.txt", "con", "", "/etc/passwd"))
    content = r.choice(("", "AAAA", "====", "JVBERi0xLjcK", "UEsDBA==", "no base64", "/9j/4AAQ"))
    schema = r.choice(("invoice", "../invoice", "os:path", "a\0", {"type": "object", "properties": {"a": {}}}, True))
    more = r.choice(({}, {"min_confidence": 2}, {"min_confidence": "x"}, {"on_check": "\0"}, {"model": "\0"}))
    body = {"schema": schema, "files": [{"name": name, "content": content}], **more}
    return Hostile(f"the file {name[:12]!a}", posted("/v1/extract", json.dumps(body).encode()))


def forms(r: random.Random) -> Hostile:
    name = r.choice(("a\0.txt", 'a".txt', "../a", "", "%00", "\xff"))
    parts = [f'Content-Disposition: form-data; name="files"; filename="{name}"\r\n\r\nTotal: 5',
             f'Content-Disposition: form-data; name="{r.choice(("schema", "min_confidence", "model", "chr"))}"\r\n\r\n'
             f"{r.choice(('{}', '1e309', 'NaN', 'invoice', '{', chr(0), '9' * 5000))}"]  # fmt: skip
    r.shuffle(parts)
    text = "".join(f"--b\r\n{part}\r\n" for part in parts[: r.randrange(1, 3)]) + r.choice(("--b--\r\n", ""))
    kind = "multipart/form-data; boundary=b"
    return Hostile(f"a form with {name!a}", posted("/v1/extract", text.encode("latin-1"), kind=kind))


def hosts(r: random.Random) -> Hostile:
    path = r.choice(("/v1/models", "/health"))
    if r.random() < 0.5:
        host = r.choice(HOSTS)
        return Hostile(f"the host {host!a}", head(path, "Connection: close", method="GET", host=host).encode("latin-1"))
    origin = r.choice(ORIGINS)
    lines = (f"Origin: {origin}", "Connection: close")
    return Hostile(f"the origin {origin!a}", head(path, *lines, method="GET").encode("latin-1"))


def lengths(r: random.Random) -> Hostile:
    body = json.dumps(GOOD).encode()
    told = r.choice((
        ("Content-Length: 5", "Transfer-Encoding: chunked"), ("Transfer-Encoding: gzip, chunked",),
        ("Content-Length: -1",), ("Content-Length: 99999999999999999999",), ("Content-Length: 1, 2",),
        ("Content-Length: 5", "Content-Length: 6"), ("Transfer-Encoding: identity",), ("Content-Length: 0x10",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), ("Expect: 100-continue", "Content-Length: 3"),
    ))  # fmt: skip
    pieces = r.choice((b"5\r\nabcde\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\n", b"-1\r\n", b"zz\r\n", body))
    lines = ("Content-Type: application/json", "Connection: close", *told)
    return Hostile(f"lengths {told}", head(r.choice(PATHS), *lines).encode() + pieces, cut=True)


def broken(r: random.Random) -> Hostile:
    path = r.choice(("/v1/models/%00", "/v1/models/" + "a" * 9000, "/%ff%fe", "/v1/../health", "//", "*",
                     "/v1/models/..%2f", "http://evil/v1/models", "/v1/models?" + "a=b&" * 2000))  # fmt: skip
    sent = r.choice((
        head(path, "Connection: close", method="GET").encode(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\r\n", b"\0" * 100,
        b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        head("/v1/models", "X-Request-Id: a\tb\x7f", "Authorization: \xff", method="GET").encode("latin-1"),
        head("/v1/models", *(f"X-{at}: {at}" for at in range(500)), method="GET").encode(),
        head("/v1/chat/completions", method=r.choice(("TRACE", "CONNECT", "BREW", "a" * 500))).encode(),
    ))  # fmt: skip
    return Hostile(f"broken {sent[:20]!a}", sent, cut=True)


def half(r: random.Random) -> Hostile:
    whole = chat()
    return Hostile("half of a request", whole[: r.randrange(1, len(whole))], cut=True)


SORTS: tuple[Callable[[random.Random], Hostile], ...] = (
    numbers, texts, documents, deep, doubled, kinds, schemas, files, forms, hosts, lengths, broken, half,
)  # fmt: skip


def corpus(count: int) -> Iterator[Hostile]:
    r = random.Random(33)
    counts = (3_000, 60_000, 250_000) if count > FEW else (200, 150_000)
    sorts = (*SORTS, lambda r: wide(r, counts))
    for at in range(count):
        yield sorts[at % len(sorts)](r)


def answered(server: ServerProcess, hostile: Hostile) -> bytes:
    """Returns what the server answers; one that only closes the connection answers nothing."""
    host, port = server.root.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        found = b""
        try:
            connection.sendall(hostile.sent)
            if hostile.cut:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                found += piece
                if hostile.cut and b"\r\n\r\n" in found:
                    break
        except OSError as error:
            # Refused before all was sent: the server has closed the connection.
            if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                raise
        return found


def memory(server: ServerProcess) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) << 10


def withstands(server: ServerProcess, count: int) -> None:
    """Sends so many hostile requests, with good ones between them."""
    assert server.chat().status_code == 200
    before, begun, slowest, wrong = memory(server), len(server.log), 0.0, list[str]()
    for at, hostile in enumerate(corpus(count)):
        found = answered(server, hostile)
        line = found.split(b"\r\n")[0].decode("latin-1")
        if found and not line.startswith(("HTTP/1.1 1", "HTTP/1.1 2", "HTTP/1.1 4", "HTTP/1.1 504")):
            wrong.append(f"{at} {hostile.name}: {line}")
        if at % 10 == 9:
            since = time.monotonic()
            assert server.chat("Total: 5").status_code == 200, hostile.name
            slowest = max(slowest, time.monotonic() - since)
    told = "".join(server.log[begun:])
    assert not wrong and "failed" not in told and "Exception" not in told, (wrong, told[-3000:])
    assert slowest < PATIENCE, slowest
    assert memory(server) - before < GROWTH, (memory(server) - before) >> 20


def test_no_hostile_request_is_an_error_of_the_server_or_keeps_others_waiting(served: ServerProcess) -> None:
    withstands(served, FEW)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_server_withstands_hundreds_of_hostile_requests() -> None:
    with running("--timeout", "30") as server:
        withstands(server, MANY)
