"""A real IMAP server (pymap) in its own process, and the actions of a mail client on it."""

from __future__ import annotations

import imaplib
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.support import ROOT
from tests.support.certificates import Certificates

USER, PASSWORD = "anna@example.org", "pass word"


#: The server encrypts never, from the first byte, or once the client asks for it.
Encryption = Literal["", "TLS", "STARTTLS"]


@dataclass(frozen=True)
class Server:
    """A running server, empty at first, with the kind of its encryption and its own certificates."""

    port: int
    encryption: Encryption = ""
    certificates: Certificates | None = None

    def address(self, mailbox: str = "INBOX", user: str = USER, host: str = "127.0.0.1") -> str:
        scheme = "imaps" if self.encryption == "TLS" else "imap"
        return f"{scheme}://{user.replace('@', '%40')}@{host}:{self.port}/{mailbox}"

    @contextmanager
    def client(self) -> Iterator[imaplib.IMAP4]:
        trusted = ssl.create_default_context(cafile=self.certificates and self.certificates.authority)
        connection = (
            imaplib.IMAP4_SSL("127.0.0.1", self.port, ssl_context=trusted, timeout=20)
            if self.encryption == "TLS"
            else imaplib.IMAP4("127.0.0.1", self.port, timeout=20)
        )
        try:
            if self.encryption == "STARTTLS":
                connection.starttls(trusted)
            connection.login(f'"{USER}"', PASSWORD)
            yield connection
        finally:
            connection.logout()

    def deliver(self, *mails: bytes, mailbox: str = "INBOX") -> None:
        with self.client() as client:
            for mail in mails:
                assert client.append(mailbox, None, None, mail)[0] == "OK"

    def renumber(self, mailbox: str, *mails: bytes) -> None:
        """Make the mailbox anew with these mails, so that it has another UIDVALIDITY."""
        with self.client() as client:
            client.delete(mailbox)
            assert client.create(mailbox)[0] == "OK"
        self.deliver(*mails, mailbox=mailbox)

    def flags(self, mailbox: str = "INBOX") -> list[bytes]:
        with self.client() as client:
            client.select(mailbox, readonly=True)
            return [re.sub(rb".*FLAGS ", b"", line) for line in client.fetch("1:*", "(FLAGS)")[1]]


@contextmanager
def running(
    encryption: Encryption = "",
    certificates: Certificates | None = None,
    tokens: Path | None = None,
) -> Iterator[Server]:
    """Runs a server; with the file `tokens` it takes the access tokens in it, too (imap_tokens)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # pymap hashes half a million rounds at every login; these tests need not wait for that.
    start = "import functools, pymap.config as c; c.BuiltinHash = functools.partial(c.BuiltinHash, rounds=9);"
    secured = ["--no-tls"]
    if certificates is not None and encryption == "TLS":
        # pymap itself encrypts only on request; asyncio encrypts from the first byte.
        start += (
            "import asyncio, ssl; t = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH);"
            f"t.load_cert_chain({str(certificates.chain)!r});"
            "asyncio.start_server = functools.partial(asyncio.start_server, ssl=t);"
        )
    elif certificates is not None:
        secured = ["--cert", str(certificates.chain)]
    if tokens is not None:
        start += "from tests.support import imap_tokens;"
        start += f"imap_tokens.install({str(tokens)!r}, {PASSWORD!r});"
    start += "import pymap.main; pymap.main.main()"
    command = [sys.executable, "-c", start, "--host", "127.0.0.1", "--port", str(port), *secured]
    account = ["dict", "--demo-user", USER, "--demo-password", PASSWORD]
    null = subprocess.DEVNULL
    with subprocess.Popen([*command, *account], cwd=ROOT, stdout=null, stderr=null) as process:
        try:
            _wait(process, port)
            yield Server(port, encryption, certificates)
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], port: int, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"the IMAP server did not start (exit status {process.poll()})")


def mail(number: int, text: str = "") -> bytes:
    body = text or f"name=N{number}\r\ntotal={number}.50\r\n"
    return f"From: Anna <{USER}>\r\nSubject: Mail {number}\r\n\r\n{body}".encode()
