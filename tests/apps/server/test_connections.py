"""Connections of clients that send or read too slowly, or send what is no HTTP."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from cinnabar.apps.server import connections


class Endless:
    """An application whose answer never ends; `left` is set when its client is gone."""

    def __init__(self) -> None:
        self.left = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/short":
            await send({"type": "http.response.body", "body": b"x"})
            return
        await receive()
        for _ in range(2000):
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        event = await receive()
        assert event["type"] == "http.disconnect"
        self.left.set()


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Endless:
    for name in ("_HEAD", "_BODY", "_READ"):
        monkeypatch.setattr(connections, name, 0.3)
    return Endless()


@pytest.fixture
def port(app: Endless) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=connections.Connection, lifespan="off", ws="none", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = server.force_exit = True
    thread.join(10)


@pytest.mark.parametrize("sent", [b"", b"GET / HTT", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_a_connection_without_a_whole_head_is_closed(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(sent)
        assert connection.recv(100) == b""


def test_a_body_that_comes_too_slowly_ends_its_connection(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
        begun = time.monotonic()
        with pytest.raises(OSError):  # the connection is reset, or takes no more bytes
            while time.monotonic() < begun + 60:
                connection.sendall(b"a")
                time.sleep(0.1)


@pytest.mark.slow
def test_half_sent_heads_keep_no_other_client_out(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD", 60.0)
    monkeypatch.setattr(connections, "_MOST", 4)
    held = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(6)]
    try:
        for one in held[4:]:
            one.sendall(b"GET / HTTP/1.1\r\n")
        assert held[0].recv(1) == b""  # the oldest one made room
        with socket.create_connection(("127.0.0.1", port), timeout=60) as good:
            good.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert good.recv(15) == b"HTTP/1.1 200 OK"
    finally:
        for one in held:
            one.close()


def test_answered_requests_whose_body_never_comes_keep_no_other_client_out(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_BODY", 60.0)
    monkeypatch.setattr(connections, "_MOST", 4)
    held = []
    try:
        for _ in range(6):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=60))
            held[-1].sendall(b"POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
            assert held[-1].recv(15) == b"HTTP/1.1 200 OK"
    finally:
        for one in held:
            one.close()


def test_a_client_that_reads_nothing_is_cut_off(port: int, app: Endless) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert app.left.wait(60)


def test_a_client_that_reads_slowly_is_not_cut_off(port: int, app: Endless) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        begun, read = time.monotonic(), 0
        while time.monotonic() < begun + 1:
            read += len(connection.recv(1 << 20))
            time.sleep(0.02)
        assert read > 1 << 20 and connection.recv(100) and not app.left.is_set()


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"])
def test_what_is_no_http_is_refused_in_the_form_of_the_api(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(sent)
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and b"content-type: application/json" in head
    assert json.loads(body)["error"]["code"] == "invalid_http"
