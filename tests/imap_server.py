"""A real IMAP server (pymap) in a process of its own, and what a mail client does with it."""

from __future__ import annotations

import imaplib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

USER, PASSWORD = "anna@example.org", "pass word"


@dataclass(frozen=True)
class Server:
    """A server that is running, empty at first."""

    port: int

    def address(self, mailbox: str = "INBOX", user: str = USER) -> str:
        return f"imap://{user.replace('@', '%40')}@127.0.0.1:{self.port}/{mailbox}"

    @contextmanager
    def client(self) -> Iterator[imaplib.IMAP4]:
        connection = imaplib.IMAP4("127.0.0.1", self.port, timeout=20)
        try:
            connection.login(f'"{USER}"', PASSWORD)
            yield connection
        finally:
            connection.logout()

    def deliver(self, *mails: bytes, mailbox: str = "INBOX") -> None:
        with self.client() as client:
            for mail in mails:
                assert client.append(mailbox, None, None, mail)[0] == "OK"

    def renumber(self, mailbox: str, *mails: bytes) -> None:
        """The mailbox with these mails, made anew: with another UIDVALIDITY."""
        with self.client() as client:
            client.delete(mailbox)
            assert client.create(mailbox)[0] == "OK"
        self.deliver(*mails, mailbox=mailbox)

    def flags(self, mailbox: str = "INBOX") -> list[bytes]:
        with self.client() as client:
            client.select(mailbox, readonly=True)
            return [re.sub(rb".*FLAGS ", b"", line) for line in client.fetch("1:*", "(FLAGS)")[1]]


@contextmanager
def running() -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # It makes half a million rounds of a hash at every login, which these tests need not wait for.
    start = (
        "import functools, pymap.config as c; c.BuiltinHash = functools.partial(c.BuiltinHash, rounds=9);"
        "import pymap.main; pymap.main.main()"
    )
    command = [sys.executable, "-c", start, "--host", "127.0.0.1", "--port", str(port), "--no-tls"]
    account = ["dict", "--demo-user", USER, "--demo-password", PASSWORD]
    null = subprocess.DEVNULL
    with subprocess.Popen([*command, *account], stdout=null, stderr=null) as process:
        try:
            _wait(process, port)
            yield Server(port)
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
