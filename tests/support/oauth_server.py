"""An authorization server by TLS on loopback: device grant, authorization codes with PKCE, refreshed tokens."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.certificates import Certificates

CLIENT, SCOPE, CODE = "owners-client", "mail.read offline_access", "WDJB-MJHT"


@dataclass
class Authority:
    """What the server does, and what it was asked.

    tokens: a file with the access tokens that are valid now, one a line, which the IMAP server reads. pending: the
    errors that come before the person has entered the code. granted: the scope that it gives. rotating: each refresh
    token is taken once. denied: the error of the page in the browser. echoing: it repeats what it refuses.
    """

    tokens: Path
    pending: list[str] = field(default_factory=list)
    granted: str | None = "mail.read"
    secret: str = ""
    rotating: bool = False
    revoked: bool = False
    denied: str = ""
    echoing: bool = False
    broken: int = 0
    asked: list[dict[str, str]] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    given: int = 0
    challenges: dict[str, str] = field(default_factory=dict)
    url: str = ""

    def expire(self) -> None:
        """Makes all access tokens invalid."""
        self.tokens.write_text("")

    def _give(self, refresh: bool) -> dict[str, object]:
        self.given += 1
        access = f"access-{self.given}-{'x' * 40}"
        with self.tokens.open("a") as file:
            file.write(access + "\n")
        answer: dict[str, object] = {"access_token": access, "token_type": "Bearer", "expires_in": 3600}
        if self.granted is not None:
            answer["scope"] = self.granted
        if refresh:
            self.known.add(token := f"refresh-{self.given}-{'y' * 40}")
            answer["refresh_token"] = token
        return answer

    def answer(self, path: str, asked: dict[str, str]) -> dict[str, object] | str:
        self.asked.append(asked)
        path = path.removeprefix("/home").removeprefix("/organizations")
        if path == "/authorize":
            self.challenges["a-code"] = asked["code_challenge"]
            answer = {"error": self.denied} if self.denied else {"code": "a-code"}
            return f"{asked['redirect_uri']}?{urlencode({'state': asked['state']} | answer)}"
        if asked.get("client_id") != CLIENT or (path == "/token" and asked.get("client_secret", "") != self.secret):
            return {"error": "invalid_client", "error_description": "AADSTS7000215: who is this?\nTrace ID: 1"}
        if path == "/device":
            code = {"device_code": "d" * 40, "user_code": CODE, "verification_uri": f"{self.url}/enter"}
            return code | {"interval": 2, "expires_in": 60}
        return self._token(asked)

    def _token(self, asked: dict[str, str]) -> dict[str, object]:
        if asked["grant_type"] == "refresh_token":
            if self.revoked or asked["refresh_token"] not in self.known:
                said = json.dumps(asked) if self.echoing else "it was revoked"
                return {"error": "invalid_grant", "error_description": said}
            if self.rotating:
                self.known.remove(asked["refresh_token"])
            return self._give(self.rotating)
        if asked["grant_type"] == "authorization_code":
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != self.challenges.pop(asked["code"]):
                return {"error": "invalid_grant"}
            return self._give(True)
        if self.pending and (error := self.pending.pop(0)):
            return {"error": error}
        return self._give(True)


class _Handler(BaseHTTPRequestHandler):
    authority: Authority

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._say(self.authority.answer(parts.path, dict(parse_qsl(parts.query))))

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.authority.broken:
            self.authority.broken -= 1
            self.send_error(503)
            return
        self._say(self.authority.answer(self.path, dict(parse_qsl(text))))

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""

    def _say(self, answer: dict[str, object] | str) -> None:
        if isinstance(answer, str):
            self.send_response(302)
            self.send_header("Location", answer)
            self.end_headers()
            return
        self.send_response(400 if "error" in answer else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


@contextmanager
def running(certificates: Certificates, tokens: Path) -> Iterator[Authority]:
    """Serves an authority on loopback, at `authority.url`."""
    authority = Authority(tokens)
    handler = type("Handler", (_Handler,), {"authority": authority})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.chain)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.daemon_threads = True
    # A client that does not trust the certificate breaks off.
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    authority.url = f"https://127.0.0.1:{server.server_address[1]}"
    authority.expire()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield authority
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
