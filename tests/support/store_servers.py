"""Real servers of stores in this process: S3 (moto, behind a proxy with faults), SFTP (asyncssh), Graph (ours)."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import threading
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

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


@dataclass
class Sftp:
    """An SFTP server of one user over a folder; `known` is the line of its key for a file of known hosts."""

    folder: Path
    port: int
    known: str
    opened: list[str]

    def address(self, path: str = "") -> str:
        return f"sftp://anna@127.0.0.1:{self.port}/{path}"


@contextmanager
def sftp_server(folder: Path) -> Iterator[Sftp]:
    """Yield a server over this folder whose password is SECRET."""
    import asyncssh

    opened: list[str] = []
    connections: list[asyncssh.SSHServerConnection] = []

    class User(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            connections.append(conn)

        def begin_auth(self, username: str) -> bool:  # noqa: ARG002
            return True

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == ("anna", SECRET)

    class Files(asyncssh.SFTPServer):
        def __init__(self, channel: Any) -> None:
            super().__init__(channel, chroot=str(folder).encode())

        def open(self, path: bytes, pflags: int, attrs: Any) -> Any:
            opened.append(path.decode())
            return super().open(path, pflags, attrs)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    key = asyncssh.generate_private_key("ssh-ed25519")

    async def begin() -> asyncssh.SSHAcceptor:
        return await asyncssh.create_server(User, "127.0.0.1", 0, server_host_keys=[key], sftp_factory=Files)

    server = asyncio.run_coroutine_threadsafe(begin(), loop).result(20)
    try:
        port = server.get_port()
        yield Sftp(folder, port, f"[127.0.0.1]:{port} {key.export_public_key().decode()}", opened)
    finally:

        async def end() -> None:
            server.close()
            for connection in connections:
                connection.abort()
            await server.wait_closed()
            await asyncio.gather(*(connection.wait_closed() for connection in connections), return_exceptions=True)
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass
class Graph:
    """A drive behind Microsoft Graph: files by path, each with the number of its changes."""

    url: str = ""
    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    busy: int = 0

    def put(self, path: str, data: bytes) -> None:
        self.files[path] = data, self.files.get(path, (b"", 0))[1] + 1

    def children(self, folder: str) -> list[str]:
        below = f"{folder}/" if folder else ""
        return sorted({below + path[len(below) :].split("/")[0] for path in self.files if path.startswith(below)})

    def item(self, path: str) -> dict[str, Any] | None:
        parent = {"path": f"/drives/d1/root:/{path.rpartition('/')[0]}"}
        name = path.rpartition("/")[2] or "root"
        about = {"id": path.encode().hex() or "root", "name": name, "parentReference": parent}
        if path in self.files:
            data, change = self.files[path]
            times = {"createdDateTime": "2024-05-01T10:00:00Z", "lastModifiedDateTime": "2024-05-01T10:00:00Z"}
            return about | times | {"size": len(data), "file": {}, "cTag": f"c{change}"}
        return about | {"size": 0, "folder": {}} if not path or self.children(path) else None


@contextmanager
def graph() -> Iterator[Graph]:
    """Yield a server that speaks as much of Microsoft Graph as reading a drive takes, two items a page."""
    found = Graph()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            basic = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
            if asked.get("client_secret") != [SECRET] and not basic.endswith(f":{SECRET}"):
                self._json(401, {"error": "invalid_client"})
            else:
                self._json(200, {"access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600})

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            path = unquote(parts.path).removeprefix("/v1.0")
            if path.startswith("/download/"):
                self._bytes(200, found.files[bytes.fromhex(path[10:]).decode()][0])
            elif self.headers.get("Authorization") != "Bearer t0ken":
                self._json(401, {"error": {"code": "InvalidAuthenticationToken"}})
            elif found.busy:
                found.busy -= 1
                self._json(429, {"error": {"code": "TooManyRequests"}})
            elif path == "/sites":
                self._json(200, {"value": [{"id": "s0", "name": "Team Old"}, {"id": "s1", "name": "Team"}]})
            elif path == "/sites/s1/drives":
                self._json(200, {"value": [{"id": "d1", "name": "Documents"}]})
            else:
                self._item(path.removeprefix("/drives/d1"), int(parse_qs(parts.query).get("skip", ["0"])[0]))

        def _item(self, path: str, skip: int) -> None:
            if path.startswith("/root"):
                name, action = path.removeprefix("/root").strip(":/").partition(":/")[::2]
            else:
                number, _, action = path.removeprefix("/items/").partition("/")
                name = "" if number == "root" else bytes.fromhex(number).decode()
            item = found.item(name)
            if item is None:
                self._json(404, {"error": {"code": "itemNotFound"}})
            elif action == "children":
                every = found.children(name)
                page: dict[str, Any] = {"value": [found.item(one) for one in every[skip : skip + 2]]}
                if len(every) > skip + 2:
                    page["@odata.nextLink"] = f"{found.url}/v1.0/drives/d1/items/{item['id']}/children?skip={skip + 2}"
                self._json(200, page)
            elif action == "content":
                found.reads.append(name)
                self._bytes(302, b"", {"Location": f"{found.url}/download/{item['id']}"})
            else:
                self._json(200, item)

        def _json(self, status: int, answer: Any) -> None:
            self._bytes(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})

        def _bytes(self, status: int, data: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    with served(Handler) as found.url:
        yield found
