"""A login to a mailbox by OAuth, as it is kept: in the keyring, or in a file that only its owner can read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from cinnabar.extraction.documents.mailboxes.address import (
    FILE_VARIABLE,
    PASSWORD_VARIABLE,
    ImapAddress,
    KeptSecret,
    password_of_environment,
)
from cinnabar.schemas.errors import UsageError

_SERVICE = "cinnabar"


@dataclass(frozen=True, slots=True)
class Login:
    """What asks a provider for access tokens: the client, its token endpoint and scope, and the refresh token."""

    client_id: str
    token_endpoint: str
    scope: str
    refresh_token: str = field(repr=False)
    client_secret: str = field(default="", repr=False)

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Returns the login in a kept text; None if it is a password. Raises UsageError if the login is not whole."""
        try:
            fields = json.loads(text)
        except ValueError:
            return None
        if not isinstance(fields, dict) or "refresh_token" not in fields:
            return None
        try:
            return cls(**{name: str(value) for name, value in fields.items()})
        except TypeError:
            raise UsageError("expected a login as `cinnabar mailbox login` writes it, got one with other fields") from None

    def text(self) -> str:
        """Returns the login as it is kept, with the refresh token."""
        return json.dumps(asdict(self))

    def renewed(self, refresh_token: str) -> Login:
        """Returns the login with another refresh token."""
        return replace(self, refresh_token=refresh_token)


def in_file(path: Path) -> KeptSecret:
    """Returns the place of a secret in a file, which is written for its owner alone."""
    return KeptSecret(str(path), lambda: _read(path), lambda text: _write(path, text))


def place_of(address: ImapAddress) -> Callable[[], str]:
    """Returns what the secret of an address is read from; without one named, the place of its account's login."""
    if address.password is not password_of_environment or os.environ.get(PASSWORD_VARIABLE):
        return address.password
    named = os.environ.get(FILE_VARIABLE)
    return in_file(Path(named)) if named else kept_login(address)


def kept_login(address: ImapAddress) -> KeptSecret:
    """Returns the place of an account's login: the user's file if it is there or there is no keyring, else the keyring.

    It reads as "" before the first login.
    """
    name = quote(f"{address.user}@{address.host}:{address.port}", safe="@")
    base = os.environ.get("XDG_CONFIG_HOME")
    path = (Path(base) if base else Path.home() / ".config") / "cinnabar" / "mailboxes" / f"{name}.json"
    if path.is_file() or (keyring := _keyring()) is None:
        return KeptSecret(str(path), lambda: _read(path) if path.is_file() else "", lambda text: _write(path, text))
    return KeptSecret(
        f"the keyring, as {name} of the service {_SERVICE}",
        lambda: keyring.get_password(_SERVICE, name) or "",
        lambda text: keyring.set_password(_SERVICE, name, text),
    )


def _keyring() -> Any:
    """Returns the user's keyring; None if the package `keyring` is not installed, or finds no keyring here."""
    try:
        import keyring  # Optional: used if it is there.
    except ImportError:
        return None
    found = keyring.get_keyring()
    return found if found.priority > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
