"""A login in this machine's browser: an authorization code by a loopback address (RFC 8252) with PKCE (RFC 7636)."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

from cinnabar.extraction.documents.mailboxes.login import Login
from cinnabar.extraction.documents.mailboxes.oauth import Provider, exchanged, refusal
from cinnabar.schemas.errors import UsageError

# Seconds for the person in the browser; for a browser's request.
_PATIENCE, _REQUEST = 900.0, 5.0
_PAGE = b"<!doctype html><title>Cinnabar</title><p>Cinnabar has the answer. You may close this page.\n"


class _Listener(HTTPServer):
    timeout = 1.0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state, self.answer = secrets.token_urlsafe(24), dict[str, str]()


class _Handler(BaseHTTPRequestHandler):
    timeout = _REQUEST
    server: _Listener

    def do_GET(self) -> None:
        answer = dict(parse_qsl(urlsplit(self.path).query))
        # Any program of this machine may ask here; only the provider's answer knows the state.
        known = secrets.compare_digest(answer.get("state", "").encode(), self.server.state.encode())
        self.server.answer = answer if known else self.server.answer
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(_PAGE if known else b"")

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: the request holds the code."""


def log_in_by_browser(provider: Provider, client: Login, show: Callable[[str], None]) -> Login:
    """Returns the login that a person confirms in a browser on this machine, and shows them the page.

    Raises UsageError if they refuse, do not answer in time, or the provider does not grant what is asked for.
    """
    verifier = secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    with _Listener() as listener:
        redirect = f"http://127.0.0.1:{listener.server_port}"
        asked = {"response_type": "code", "client_id": client.client_id, "redirect_uri": redirect}
        asked |= {"scope": client.scope, "state": listener.state}
        asked |= {"code_challenge": challenge, "code_challenge_method": "S256"}
        # Google gives a refresh token only to who asks for it so.
        asked |= {"access_type": "offline", "prompt": "consent"}
        show(f"visit {provider.authorization}?{urlencode(asked)} in a browser on this machine")
        deadline = time.monotonic() + _PATIENCE
        while not listener.answer and time.monotonic() < deadline:
            listener.handle_request()
    if not listener.answer:
        raise UsageError("nobody logged in within 15 minutes; run the same command again")
    if not (code := listener.answer.get("code")):
        raise refusal("no code for a login", listener.answer)
    return exchanged(client, {"code": code, "code_verifier": verifier, "redirect_uri": redirect})
