"""The address of a mailbox behind IMAP in the form of RFC 5092, without the password."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from cinnabar.errors import UsageError

#: The environment variable with the password or login.
PASSWORD_VARIABLE = "CINNABAR_IMAP_PASSWORD"
_PORTS = {"imaps": 993, "imap": 143}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAIL = re.compile(r"(imaps?://.+);UIDVALIDITY=(\d+)/;UID=(\d+)", re.IGNORECASE)


def password_of_environment() -> str:
    """Returns the password in the environment; "" if it has none, and a file or the account's login stands for it."""
    return os.environ.get(PASSWORD_VARIABLE, "")


@dataclass(frozen=True, slots=True)
class ImapAddress:
    """A mailbox of a user on a server; `encrypted` from the first byte, else as soon as the server offers it.

    `password` is called for each connection and gives a password or a login by OAuth; its result is never stored.
    """

    host: str
    port: int
    user: str
    mailbox: str
    encrypted: bool
    password: Callable[[], str] = field(default=password_of_environment, repr=False, compare=False)

    def __str__(self) -> str:
        scheme = "imaps" if self.encrypted else "imap"
        port = "" if self.port == _PORTS[scheme] else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{quote(self.user, safe='')}@{host}{port}/{quote(self.mailbox, safe='/')}"

    @property
    def account(self) -> tuple[str, int, str]:
        """Returns the user and server that a password belongs to."""
        return self.host, self.port, self.user

    def path(self, validity: int, uid: int) -> str:
        """Returns the path of a mail in it: a UIDVALIDITY and a UID name the same bytes forever."""
        return f"{self.prefix}{validity}/;UID={uid}"

    @property
    def prefix(self) -> str:
        """Returns the prefix of its mails' paths."""
        return f"{self};UIDVALIDITY="


def is_address(text: str) -> bool:
    """Returns True if this names a mailbox behind IMAP rather than a path."""
    return re.match(r"imaps?://", text, re.IGNORECASE) is not None


def parse_mail_path(
    path: str, password: Callable[[], str] = password_of_environment
) -> tuple[ImapAddress, int, int] | None:
    """Returns the mailbox, UIDVALIDITY and UID in the path of a mail behind IMAP; None for any other path."""
    match = _MAIL.fullmatch(path)
    return None if match is None else (parse_address(match[1], password), int(match[2]), int(match[3]))


def parse_address(text: str, password: Callable[[], str] = password_of_environment) -> ImapAddress:
    """Returns the address in `imaps://USER@HOST[:PORT]/MAILBOX`; without a mailbox the INBOX.

    Raises UsageError, whose message never repeats a possible password.
    """
    scheme = text.partition(":")[0].lower()
    expected = f"expected {scheme}://USER@HOST/MAILBOX"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{expected}, got a malformed host or port") from error
    if parts.password is not None:
        raise UsageError(f"{scheme}://…@{host}: an address may not hold a password; set {PASSWORD_VARIABLE}")
    if not host or not parts.username or parts.query or parts.fragment:
        raise UsageError(f"{expected}, with @ of the user as %40 and ? and # as %3F and %23, got {text}")
    user, mailbox = unquote(parts.username), unquote(parts.path.strip("/")) or "INBOX"
    if _CONTROL.search(user + mailbox):
        raise UsageError(f"{expected}, got control characters")
    return ImapAddress(host, port or _PORTS[scheme], user, mailbox, scheme == "imaps", password)
