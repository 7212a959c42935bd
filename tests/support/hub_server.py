"""A small hub on loopback: one model, the endpoints that huggingface_hub calls, byte ranges, and broken connections."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """The files of the model ORG/NAME, and what was asked for.

    cut: the file that is given up to this number of bytes, after which the connection breaks; None for none. gated: the
    files are for named users only. damaged: the file that arrives as zeros. ranges: the first byte asked for, by
    request of a file. sent: bytes by file. paths: of all requests. tokens: what requests of files show as their user's.
    """

    name: str
    files: dict[str, bytes]
    cut: tuple[str, int] | None = None
    gated: bool = False
    damaged: str = ""
    ranges: list[tuple[str, int]] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    url: str = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""

    def _answer(self, body: bool) -> None:
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.paths.append(path)
        api = f"/api/models/{hub.name}"
        if path in (api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
            siblings = [self._sibling(name, data) for name, data in hub.files.items()]
            return self._json(200, {"id": hub.name, "sha": COMMIT, "siblings": siblings})
        prefix = f"/{hub.name}/resolve/{COMMIT}/"
        if not path.startswith(prefix) or path.removeprefix(prefix) not in hub.files:
            return self._json(404, {"error": "no such thing"}, {"X-Error-Code": "RepoNotFound"})
        if hub.gated:
            return self._json(403, {"error": "for named users"}, {"X-Error-Code": "GatedRepo"})
        return self._file(path.removeprefix(prefix), body)

    def _sibling(self, name: str, data: bytes) -> dict[str, object]:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        told: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": blob}
        if name.endswith(".safetensors"):
            told["lfs"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "pointerSize": 134}
        return told

    def _file(self, name: str, body: bool) -> None:
        hub, data = self.hub, self.hub.files[name]
        asked = self.headers.get("Range", "")
        first = int(asked.removeprefix("bytes=").split("-")[0] or 0) if asked.startswith("bytes=") else 0
        self.send_response(206 if asked else 200)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data) - first))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if not body:
            return
        hub.ranges.append((name, first))
        hub.tokens.add(self.headers.get("Authorization", ""))
        end = len(data)
        if hub.cut is not None and hub.cut[0] == name:
            end = min(end, max(first, hub.cut[1]))
        self.wfile.write(data[first:end] if name != hub.damaged else bytes(end - first))
        hub.sent[name] = hub.sent.get(name, 0) + end - first
        if end < len(data):
            self.close_connection = True

    def _json(self, status: int, said: object, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(said).encode()
        self.send_response(status)
        own = {"Content-Type": "application/json", "Content-Length": str(len(text))}
        for key, value in (own | (headers or {})).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    """Serves a hub on loopback, at `hub.url`."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
