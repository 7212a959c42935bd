"""The address of a mailbox behind IMAP, as RFC 5092 writes it; the password is no part of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from cinnabar.schemas.errors import UsageError

# Where the password is read from.
_VARIABLE = "CINNABAR_IMAP_PASSWORD"
_PORTS = {"imaps": 993, "imap": 143}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAIL = re.compile(r"(imaps?://.+);UIDVALIDITY=(\d+)/;UID=(\d+)", re.IGNORECASE)


def password_of_environment() -> str:
    """The password of the environment. Raises UsageError where there is none."""
    if not (found := os.environ.get(_VARIABLE, "")):
        raise UsageError(f"expected the mailbox's password in {_VARIABLE}, which is not set")
    return found


@dataclass(frozen=True, slots=True)
class ImapAddress:
    """A mailbox of a user on a server; `encrypted` from the first byte, else as soon as the server offers it.

    `password` is asked when a connection is made, and what it gives is kept nowhere.
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
        """What a password belongs to: the user on the server."""
        return self.host, self.port, self.user

    def path(self, validity: int, uid: int) -> str:
        """Names a mail in it: a number of UIDVALIDITY and a UID name the same bytes for ever."""
        return f"{self.prefix}{validity}/;UID={uid}"

    @property
    def prefix(self) -> str:
        """What the paths of its mails begin with."""
        return f"{self};UIDVALIDITY="


def is_address(text: str) -> bool:
    """Whether this names a mailbox behind IMAP rather than a path."""
    return re.match(r"imaps?://", text, re.IGNORECASE) is not None


def parse_mail_path(
    path: str, password: Callable[[], str] = password_of_environment
) -> tuple[ImapAddress, int, int] | None:
    """The mailbox, UIDVALIDITY and UID in the path of a mail behind IMAP; None for any other path."""
    found = _MAIL.fullmatch(path)
    return None if found is None else (parse_address(found[1], password), int(found[2]), int(found[3]))


def parse_address(text: str, password: Callable[[], str] = password_of_environment) -> ImapAddress:
    """The address in `imaps://USER@HOST[:PORT]/MAILBOX`; without a mailbox the INBOX.

    Raises UsageError, which never repeats what may be a password.
    """
    scheme = text.partition(":")[0].lower()
    expected = f"expected {scheme}://USER@HOST/MAILBOX"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{expected}, got a host or a port that cannot be read") from error
    if parts.password is not None:
        raise UsageError(f"{scheme}://…@{host}: a password has no place in an address; put it in {_VARIABLE}")
    if not host or not parts.username or parts.query or parts.fragment:
        raise UsageError(f"{expected}, with @ of the user as %40 and ? and # as %3F and %23, got {text}")
    user, mailbox = unquote(parts.username), unquote(parts.path.strip("/")) or "INBOX"
    if _CONTROL.search(user + mailbox):
        raise UsageError(f"{expected}, got control characters in it")
    return ImapAddress(host, port or _PORTS[scheme], user, mailbox, scheme == "imaps", password)
