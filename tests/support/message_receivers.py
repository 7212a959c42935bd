"""Receivers of messages on this machine: a webhook, and a server of mail (SMTP)."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
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


class _Mail(socketserver.StreamRequestHandler):
    got: list[str]

    def handle(self) -> None:
        """Take one mail, as RFC 5321 has it, without any extension."""
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                data = b""
                while (row := self.rfile.readline()) not in (b".\r\n", b""):
                    data += row.removeprefix(b".") if row.startswith(b"..") else row
                mail = message_from_bytes(data, policy=policy.default)
                body = mail.get_body(("plain", "html"))
                assert body is not None
                self.got.append(f"{mail['To']}\n{mail['Subject']}\n{body.get_content()}")
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 yes\r\n")
            if verb == b"QUIT":
                return


@contextmanager
def receiving() -> Iterator[tuple[str, str, list[str], list[str]]]:
    """The addresses of a webhook and of a mailbox in Apprise's form, and what each got so far."""
    hooks: list[str] = []
    mails: list[str] = []
    hook = ThreadingHTTPServer(("127.0.0.1", 0), type("Hook", (_Hook,), {"got": hooks}))
    post = socketserver.ThreadingTCPServer(("127.0.0.1", 0), type("Mail", (_Mail,), {"got": mails}))
    with hook, post:
        for server in (hook, post):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            mail = f"mailto://127.0.0.1:{post.server_address[1]}?from=night@example.org&to=anna@example.org"
            yield (
                f"json://127.0.0.1:{hook.server_address[1]}/night",
                f"{mail}&mode=insecure&format=text",
                hooks,
                mails,
            )
        finally:
            hook.shutdown()
            post.shutdown()
