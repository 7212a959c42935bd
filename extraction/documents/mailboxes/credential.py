"""A connection shows a mail server a password or a fresh access token of a login; here is where both are kept."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.mailboxes.address import PASSWORD_VARIABLE, ImapAddress, password_of_environment
from cinnabar.extraction.documents.mailboxes.oauth import Login, provider_of, refresh_login

_FILE_VARIABLE = "CINNABAR_IMAP_PASSWORD_FILE"
_SERVICE = "cinnabar"


@dataclass(frozen=True, slots=True)
class Credential:
    """A password or an access token, and what `mechanism`, one of SASL's, sends of it."""

    mechanism: str
    secret: str = field(repr=False)
    sent: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeptSecret:
    """A password or a login in a place where it can be replaced; called, it returns the present one, "" for none."""

    place: str
    read: Callable[[], str]
    write: Callable[[str], None]

    def __call__(self) -> str:
        return self.read()


def credential_of(address: ImapAddress) -> Credential:
    """Returns what a connection to this mailbox shows; of a login it is a fresh access token.

    A refresh token that the provider changes is kept where the old one was. Raises UsageError if there is neither a
    password nor a login, or the provider refuses.
    """
    place, user = _place_of(address), address.user
    try:
        secret = place()
        if (login := Login.of(secret)) is not None:
            secret, renewed = refresh_login(provider_of(address.host), login)
            if renewed != login and isinstance(place, KeptSecret):
                _keep(renewed, place)
    except UsageError as error:
        raise UsageError(f"{address}: {error}") from None
    if not secret:
        raise UsageError(
            f"expected the mailbox's password in {PASSWORD_VARIABLE}, which is not set, or a login by OAuth:"
            f" `cinnabar flows login {address}`"
        )
    if re.search(r"[\x00-\x1f\x7f]", secret):
        raise UsageError(f"{address}: expected a password without line breaks or other control characters")
    if login is None:
        return Credential("PLAIN", secret, f"\0{user}\0{secret}".encode())
    return Credential("XOAUTH2", secret, f"user={user}\x01auth=Bearer {secret}\x01\x01".encode())


def in_file(path: Path) -> KeptSecret:
    """Returns the place of a secret in a file, which is written for its owner alone."""
    return KeptSecret(str(path), lambda: _read(path), lambda text: _write(path, text))


def check_writable(path: Path) -> None:
    """Raises UsageError if a secret cannot be written to this file."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
    if path.is_dir():
        raise UsageError(f"{path}: cannot be written (it is a folder)")


def stored_login(address: ImapAddress) -> KeptSecret:
    """Returns the place of an account's login: the keyring, or where there is none a file of the user."""
    name = quote(f"{address.user}@{address.host}:{address.port}", safe="@")
    with suppress(ImportError):
        import keyring  # Optional: used if it is there.

        if keyring.get_keyring().priority > 0:
            return KeptSecret(
                f"the keyring, as {name} of the service {_SERVICE}",
                lambda: keyring.get_password(_SERVICE, name) or "",
                lambda text: keyring.set_password(_SERVICE, name, text),
            )
    path = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / _SERVICE / "mailboxes" / name
    return KeptSecret(str(path), lambda: _read(path) if path.exists() else "", lambda text: _write(path, text))


def _place_of(address: ImapAddress) -> Callable[[], str]:
    """Returns what the secret of an address is read from; without one named, the place of its account's login."""
    if address.password is not password_of_environment or os.environ.get(PASSWORD_VARIABLE):
        return address.password
    named = os.environ.get(_FILE_VARIABLE)
    return in_file(Path(named)) if named else stored_login(address)


def _keep(login: Login, place: KeptSecret) -> None:
    try:
        place.write(login.text())
    except Exception as error:
        # Files of containers may be read-only, keyrings locked; most providers take the old refresh token again.
        logging.getLogger(__name__).warning("%s: cannot be written (%s)", place.place, type(error).__name__)


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
