"""A mailbox behind IMAP (RFC 3501), opened read-only: nothing in it is marked, moved or deleted."""

from __future__ import annotations

import base64
import contextlib
import imaplib
import os
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from cinnabar.closing import Closing
from cinnabar.engine.remote.serving import is_this_machine
from cinnabar.errors import CinnabarError, DocumentError, NoMailbox, RunError, UsageError
from cinnabar.extraction.documents.content.inputs import Content
from cinnabar.extraction.documents.content.limits import MAX_FILE
from cinnabar.extraction.documents.mailboxes.address import ImapAddress
from cinnabar.extraction.documents.mailboxes.credential import Credential, credential_of

# Seconds that the server may take for an answer.
_TIMEOUT = 60.0
# Bytes of mails that are kept between hashing and parsing; mails beyond this are fetched twice.
_KEPT = 64 << 20

# OpenSSL's codes of a certificate for another host, and for another IP address.
_OTHER_NAME = (62, 64)

_UID = re.compile(rb"\bUID (\d+)")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d+)")
_QUOTED = re.compile(rb'BODY\[\] (?:NIL|"((?:[^"\\]|\\.)*)")')


@dataclass(frozen=True, slots=True)
class ImapMessage(Content):
    """A mail in a mailbox: its UID, and its size in bytes."""

    mailbox: ImapMailbox
    # With `field` these are fields without a default; otherwise properties of the base would be their defaults.
    path: str = field()
    uid: int
    size: int = field()
    lasting: ClassVar[bool] = True

    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if it is too large or gone, RunError without an answer."""
        if self.size > MAX_FILE:
            raise DocumentError("too_large", f"{self.size} bytes, at most {MAX_FILE} are read")
        return self.mailbox.fetch(self.uid)


class ImapMailbox(Closing):
    """A connection to a mailbox; a context manager. Threads may share it.

    Raises UsageError if the server or user does not exist, or the server offers no encryption for the password. Raises
    NoMailbox if the mailbox does not exist.
    """

    def __init__(self, address: ImapAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._kept: dict[int, bytes] = {}
        self._room = _KEPT
        self._connection = self._connect()
        self._validity = self._select()

    def close(self) -> None:
        """Hangs up."""
        _close(self._connection)

    def messages(self) -> list[ImapMessage]:
        """Returns its present mails, sorted by UID. Raises RunError if the server does not answer."""
        with self._lock:
            # FETCH answers with a line for each mail; SEARCH would put all on one line, whose length is limited.
            answer = self._ask(lambda: self._connection.uid("FETCH", "1:*", "(UID RFC822.SIZE)"))
        sizes: dict[int, int] = {}
        for line in answer:
            uid, size = (pattern.search(_head(line)) for pattern in (_UID, _SIZE))
            if uid and size:
                sizes[int(uid[1])] = int(size[1])
        path = self._address.path
        return [ImapMessage(self, path(self._validity, uid), uid, sizes[uid]) for uid in sorted(sizes)]

    def fetch(self, uid: int) -> bytes:
        """Returns the bytes of a mail. Raises DocumentError if it is gone, RunError if the server does not answer.

        A mail is read twice, to hash it and to parse it; it is fetched only once if there is room to keep it.
        """
        with self._lock:
            if (kept := self._kept.pop(uid, None)) is not None:
                self._room += len(kept)
                return kept
            # PEEK, so that the mail does not count as seen.
            answer = self._ask(lambda: self._connection.uid("FETCH", str(uid), "(UID BODY.PEEK[])"))
            data = _body(answer)
            if data is None:
                raise DocumentError("unreadable", "the mail is gone from its mailbox")
            if len(data) <= self._room:
                self._kept[uid] = data
                self._room -= len(data)
            return data

    def _ask(self, command: Callable[[], tuple[str, list[Any]]]) -> list[Any]:
        """Returns the answer to a command; it renews a broken connection once."""
        try:
            try:
                return self._lines_of(command())
            except (OSError, imaplib.IMAP4.abort):
                self.close()
                self._connection = self._connect()
                if self._select() != self._validity:
                    raise RunError(
                        f"{self._address}: was renumbered while it was read; run the same command again"
                    ) from None
                return self._lines_of(command())
        except RunError:
            raise
        except (OSError, imaplib.IMAP4.error, CinnabarError) as error:
            reason = str(error).removeprefix(f"{self._address}: ")
            raise RunError(f"{self._address}: {reason}; run the same command again") from error

    @staticmethod
    def _lines_of(answer: tuple[str, list[Any]]) -> list[Any]:
        status, lines = answer
        if status != "OK":
            raise RunError(f"the server said {status} {_text(lines)}; run the same command again")
        return lines

    def _connect(self) -> imaplib.IMAP4:
        address = self._address
        credential = credential_of(address)
        context = ssl.create_default_context()
        try:
            connection = (
                imaplib.IMAP4_SSL(address.host, address.port, ssl_context=context, timeout=_TIMEOUT)
                if address.encrypted
                else imaplib.IMAP4(address.host, address.port, timeout=_TIMEOUT)
            )
        except ssl.SSLError as error:
            raise UsageError(f"{address}: {_refusal(error)}") from error
        except (OSError, imaplib.IMAP4.error) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            where = f"{address.host}:{address.port}"
            raise UsageError(f"{address}: no mail server answers at {where} ({reason})") from error
        try:
            self._log_in(connection, context, credential)
        except BaseException:
            _close(connection)
            raise
        return connection

    def _log_in(self, connection: imaplib.IMAP4, context: ssl.SSLContext, credential: Credential) -> None:
        address = self._address
        try:
            if not address.encrypted and "STARTTLS" in connection.capabilities:
                connection.starttls(context)
            elif not address.encrypted and not is_this_machine(address.host):
                raise UsageError(f"{address}: the server offers no encryption for the password; try imaps://")
            if f"AUTH={credential.mechanism}" in connection.capabilities:
                # A server that refuses a token tells the reason first, and goes on once it has an answer.
                answers = iter((credential.sent,))
                connection.authenticate(credential.mechanism, lambda _: next(answers, b""))
            elif credential.mechanism == "XOAUTH2":
                raise UsageError(f"{address}: the server offers no login by OAuth (XOAUTH2)")
            elif not credential.secret.isascii():
                raise UsageError(f"{address}: the server accepts only passwords of ASCII characters")
            else:
                connection.login(_quote(address.user), credential.secret)
        except ssl.SSLError as error:
            raise UsageError(f"{address}: {_refusal(error)}") from error
        except (OSError, imaplib.IMAP4.error) as error:
            sent = base64.b64encode(credential.sent).decode()
            reason = str(error).replace(credential.secret, "…").replace(sent, "…")
            advice = "; is it the password or login of this user, and is IMAP on for the mailbox?"
            raise UsageError(f"{address}: the server did not let {address.user} in ({reason}){advice}") from None

    def _select(self) -> int:
        """Opens the mailbox read-only and returns its UIDVALIDITY."""
        try:
            name = _quote(_utf7(self._address.mailbox))
            status, lines = self._connection.select(name, readonly=True)
            if status == "OK":
                _, validity = self._connection.response("UIDVALIDITY")
                if validity and validity[0]:
                    return int(validity[0])
                raise UsageError(f"{self._address}: the server gives the mailbox no UIDVALIDITY")
            reason = f"{self._address}: cannot be opened ({_text(lines)}); is there such a mailbox?"
            # Of all reasons for the refusal, only a missing mailbox means that its mails are gone.
            listed, names = self._connection.list('""', name)
            raise (NoMailbox if listed == "OK" and names in ([], [None]) else UsageError)(reason)
        except (OSError, imaplib.IMAP4.error) as error:
            self.close()
            raise UsageError(f"{self._address}: cannot be opened ({error})") from error
        except UsageError:
            self.close()
            raise


def _refusal(error: ssl.SSLError) -> str:
    """Returns the reason of a failed TLS connection, with advice."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return f"no TLS at this port ({error.reason}); is it imap://?"
    advice = "SSL_CERT_FILE names the certificates to trust"
    if error.verify_code in _OTHER_NAME:
        advice = "name the server as its certificate does"
    elif (named := os.environ.get("SSL_CERT_FILE")) and not Path(named).is_file():
        advice = f"SSL_CERT_FILE is {named}, which is not a file"
    return f"its certificate is not trusted ({error.verify_message.rstrip('.')}); {advice}"


def _close(connection: imaplib.IMAP4) -> None:
    with contextlib.suppress(OSError, imaplib.IMAP4.error):
        connection.logout()
    with contextlib.suppress(OSError):
        connection.shutdown()


def _body(answer: list[Any]) -> bytes | None:
    for part in answer:
        if isinstance(part, tuple) and b"BODY[]" in part[0].upper():
            return bytes(part[1])
        if quoted := _QUOTED.search(_head(part)):
            return re.sub(rb"\\(.)", rb"\1", quoted[1] or b"")
    return None


def _head(part: Any) -> bytes:
    head = part[0] if isinstance(part, tuple) else part
    return head if isinstance(head, bytes) else b""


def _text(lines: list[Any]) -> str:
    return " ".join(line.decode("utf-8", "replace") for line in lines if isinstance(line, bytes))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _utf7(name: str) -> str:
    """Returns a mailbox's name in the modified UTF-7 of RFC 3501, 5.1.3."""

    def shift(match: re.Match[str]) -> str:
        text = base64.b64encode(match[0].encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
        return f"&{text}-"

    return re.sub(r"[^\x20-\x7e]+", shift, name.replace("&", "&-"))
