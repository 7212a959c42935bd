"""A reverse proxy as people have it: it takes away what the browser says of a person, and says who it is itself."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: What the proxy shares with the review.
KEY = "the key of the proxy"
_OWN = ("x-forwarded-user", "x-cinnabar-key", "x-forwarded-host", "x-forwarded-proto", "host", "connection")


@contextmanager
def proxied(address: str, name: str) -> Iterator[str]:
    """Yields the address at which a person of this name reaches the review behind `address`."""
    target = address.split("/")[2]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {key: value for key, value in self.headers.items() if key.lower() not in _OWN}
            headers |= {"X-Forwarded-User": name, "X-Cinnabar-Key": KEY, "X-Forwarded-Proto": "http"}
            connection = http.client.HTTPConnection(target, timeout=30)
            connection.request(self.command, self.path, body, headers | {"X-Forwarded-Host": self.headers["host"]})
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(key, value)
            if answer.status not in (204, 304):
                self.send_header("Content-Length", str(len(content)))
            # A window that is closed does not wait for its answers.
            with contextlib.suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
