"""A receiver of messages on this machine: a webhook."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Hook(BaseHTTPRequestHandler):
    got: list[str]

    def do_POST(self) -> None:
        """Keep a message of Apprise's form."""
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.got.append(f"{said['title']}\n{said['message']}")
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def receiving() -> Iterator[tuple[str, list[str]]]:
    """The address of a webhook in Apprise's form, and what it got so far."""
    told: list[str] = []
    hook = ThreadingHTTPServer(("127.0.0.1", 0), type("Hook", (_Hook,), {"got": told}))
    with hook:
        threading.Thread(target=hook.serve_forever, daemon=True).start()
        try:
            yield f"json://127.0.0.1:{hook.server_address[1]}/night", told
        finally:
            hook.shutdown()
