"""A real server of S3 in this process: moto, behind a proxy with faults."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

SECRET = "s3cret-key"
KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is no news."""


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Yield the address of a server with this handler."""
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@dataclass
class Bucket:
    """A bucket of a real S3 server with a proxy before it, which counts requests and lets some of them fail.

    `faults` maps a kind to its share: `503`, `reset` (hangs up), `cut` (half of an answer), `slow`, `hang`.
    """

    client: Any
    server: str
    name: str = "bucket"
    url: str = ""
    faults: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    #: Numbers of requests by kind: `list`, `get`, `head`, `other`, and faults by theirs.
    count: Counter[str] = field(default_factory=Counter)
    #: Is called with the kind and the key before a request goes on.
    before: Callable[[str, str], object] = lambda _kind, _key: None

    def put(self, **objects: bytes | str) -> None:
        for key, data in objects.items():
            self.put_at(key, data)

    def put_at(self, key: str, data: bytes | str) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=data if isinstance(data, bytes) else data.encode())

    def fault(self) -> str:
        drawn = self.chance.random()
        for kind, share in self.faults.items():
            if drawn < share:
                return kind
            drawn -= share
        return ""


@contextmanager
def bucket() -> Iterator[Bucket]:
    """Yield an empty bucket; `url` is the endpoint of the proxy."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        session = boto3.Session(KEYS["AWS_ACCESS_KEY_ID"], SECRET, region_name="us-east-1")
        client = session.client("s3", endpoint_url=f"http://{host}:{port}")
        client.create_bucket(Bucket="bucket")
        found = Bucket(client, f"{host}:{port}")
        with served(_proxy(found)) as found.url:
            yield found
        client.close()
    finally:
        server.stop()


def _proxy(found: Bucket) -> type[BaseHTTPRequestHandler]:
    own = threading.local()

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            key = unquote(urlsplit(self.path).path).removeprefix(f"/{found.name}").lstrip("/")
            kind = "list" if "list-type" in self.path else "head" if self.command == "HEAD" else "get"
            found.before(kind, key)
            found.count[kind] += 1
            if found.seconds:
                time.sleep(found.seconds)
            fault = found.fault()
            found.count[fault] += bool(fault)
            if fault == "503":
                self._answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
                return
            if fault == "reset":
                self.connection.close()
                self.close_connection = True
                return
            time.sleep({"slow": 0.5, "hang": 40.0}.get(fault, 0.0))
            status, headers, data = self._asked()
            self._answer(status, headers, data, len(data) // 2 if fault == "cut" else None)

        do_HEAD = do_GET

        def _asked(self) -> tuple[int, dict[str, str], bytes]:
            connection = getattr(own, "connection", None)
            if connection is None:
                connection = own.connection = http.client.HTTPConnection(found.server, timeout=60)
            connection.request(self.command, self.path, headers=dict(self.headers))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

        def _answer(self, status: int, headers: Mapping[str, str], data: bytes, cut: int | None = None) -> None:
            self.send_response(status)
            dropped = ("content-length", "connection", "date", "server", "transfer-encoding")
            for name, value in headers.items():
                if name.lower() not in dropped:
                    self.send_header(name, value)
            length = headers.get("Content-Length", str(len(data))) if self.command == "HEAD" else str(len(data))
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data if cut is None else data[:cut])
            self.wfile.flush()
            if cut is not None:
                self.connection.close()
                self.close_connection = True

    return Proxy
