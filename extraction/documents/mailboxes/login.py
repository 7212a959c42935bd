"""A login to a mailbox by OAuth, as it is kept: in the keyring, or in a file that only its owner can read."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
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
    """What asks a provider for access tokens: the client and its scope there, and once it is let in a refresh token."""

    client_id: str
    token_endpoint: str
    scope: str
    refresh_token: str = field(default="", repr=False)
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
            raise UsageError("expected a login of `cinnabar mailbox login`, got one with other fields") from None

    def text(self) -> str:
        """Returns the login as it is kept, with the refresh token."""
        return json.dumps(asdict(self))


def place_of(address: ImapAddress) -> Callable[[], str]:
    """Returns what the secret of an address is read from; without one named, the place of its account's login."""
    if address.password is not password_of_environment or os.environ.get(PASSWORD_VARIABLE):
        return address.password
    named = os.environ.get(FILE_VARIABLE)
    return in_file(Path(named)) if named else kept_login(address)


def in_file(path: Path) -> KeptSecret:
    """Returns the place of a secret in a file, which is written for its owner alone."""
    return KeptSecret(str(path), lambda: _read(path), lambda text: _write(path, text))


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
    # A temporary file has the mode 0600.
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
        file.write(f"{text}\n")
    Path(file.name).replace(path)
