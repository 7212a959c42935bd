"""A connection shows a mail server a password or a fresh access token of a login; here is where both are kept.

OAuth 2.0 for mailboxes: the device grant (RFC 8628), a code from a browser with PKCE (RFC 7636), refreshed tokens.

Providers are asked by HTTPS, whose certificate is checked; no redirect is followed. No token reaches a message.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import re
import secrets
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from time import sleep
from typing import Any, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.mailboxes.address import PASSWORD_VARIABLE, ImapAddress, password_of_environment
from cinnabar.wording import harmless

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


# Seconds for an answer; bytes of one that are read.
_TIMEOUT, _MOST = 30.0, 1 << 20
# Where a browser takes a code (RFC 8252, 7.3). Nothing listens there: the person copies the address, also from afar.
_REDIRECT = "http://localhost"


@dataclass(frozen=True, slots=True)
class Login:
    """A client at the provider of a mailbox, and once it is let in the refresh token that asks for access tokens."""

    client_id: str
    tenant: str
    client_secret: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Returns the login in a kept text; None if it is a password. Raises UsageError if the login is not whole."""
        if not text.startswith("client_id="):
            return None
        try:
            return cls(**dict(parse_qsl(text, keep_blank_values=True)))
        except TypeError:
            raise UsageError("expected a login of `cinnabar flows login`, got one with other fields") from None

    def text(self) -> str:
        """Returns the login as it is kept, with its secrets: a query string, which Prefect's blocks leave as it is."""
        return urlencode(asdict(self))


@dataclass(frozen=True, slots=True)
class Provider:
    """The endpoints of an authorization server, and its scope of IMAP; without `device` if that grant lacks it."""

    token: str
    authorization: str
    scope: str
    device: str = ""


_MICROSOFT = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0"
#: Who logs in at which mail server.
PROVIDERS = {
    "outlook.office365.com": Provider(
        f"{_MICROSOFT}/token",
        f"{_MICROSOFT}/authorize",
        "https://outlook.office.com/IMAP.AccessAsUser.All offline_access",
        f"{_MICROSOFT}/devicecode",
    ),
    "imap.gmail.com": Provider(
        "https://oauth2.googleapis.com/token",
        "https://accounts.google.com/o/oauth2/v2/auth",
        "https://mail.google.com/",
    ),
}


def provider_of(host: str) -> Provider:
    """Returns the provider of the mailboxes of this server. Raises UsageError if it is not known."""
    if host not in PROVIDERS:
        raise UsageError(f"{host}: expected a mail server with a login by OAuth, one of {', '.join(PROVIDERS)}")
    return PROVIDERS[host]


def log_in(provider: Provider, client: Login, show: Callable[[str], None], ask: Callable[[], str] | None) -> Login:
    """Returns the login that a person confirms: by a code on any device, or with `ask` by an address of a browser.

    Raises UsageError if they refuse or do not answer in time, or the provider refuses.
    """
    answer = _by_device(provider, client, show) if ask is None else _by_browser(provider, client, show, ask)
    return _read_grant(client, answer)[1]


def refresh_login(provider: Provider, login: Login) -> tuple[str, Login]:
    """Returns a fresh access token, and the login that asks for the next one: some providers change it each time.

    Raises UsageError if the provider refuses or does not answer.
    """
    grant = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    return _read_grant(login, _answer(provider.token, login, **grant, scope=provider.scope))


def _by_device(provider: Provider, client: Login, show: Callable[[str], None]) -> dict[str, Any]:
    begun = _answer(provider.device, client, scope=provider.scope)
    if "device_code" not in begun:
        raise _refusal("no code for a login", begun)
    show(f"visit {begun['verification_uri']} and enter the code {begun['user_code']}")
    # What holds if the provider says nothing, and how much longer to wait after slow_down: RFC 8628, 3.2 and 3.5.
    pause, deadline = float(begun.get("interval", 5)), time.monotonic() + float(begun.get("expires_in", 900))
    grant = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": str(begun["device_code"])}
    while time.monotonic() + pause < deadline:
        sleep(pause)
        answer = _answer(provider.token, client, **grant)
        if answer.get("error") in ("slow_down", "temporarily_unavailable"):
            pause += 5
        elif answer.get("error") != "authorization_pending":
            return answer
    return {"error": "expired_token"}


def _by_browser(
    provider: Provider, client: Login, show: Callable[[str], None], ask: Callable[[], str]
) -> dict[str, Any]:
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {"response_type": "code", "client_id": client.client_id, "redirect_uri": _REDIRECT, "state": state}
    asked |= {"scope": provider.scope, "code_challenge": challenge, "code_challenge_method": "S256"}
    # Google gives a refresh token only to who asks for it so.
    asked |= {"access_type": "offline", "prompt": "consent"}
    show(f"visit {provider.authorization.format(tenant=client.tenant)}?{urlencode(asked)}")
    show(f"then enter the address {_REDIRECT}/… at which your browser ends, with a page or without:")
    told = dict(parse_qsl(urlsplit(ask().strip()).query))
    if "code" not in told or told.get("state") != state:
        raise _refusal("no code for this login", told)
    grant = {"grant_type": "authorization_code", "code": told["code"], "redirect_uri": _REDIRECT}
    return _answer(provider.token, client, **grant, code_verifier=verifier)


def _read_grant(client: Login, answer: Mapping[str, Any]) -> tuple[str, Login]:
    token, refresh = answer.get("access_token"), answer.get("refresh_token") or client.refresh_token
    if not (token and refresh):
        raise _refusal("no refresh token" if token else "no access token", answer)
    return str(token), replace(client, refresh_token=str(refresh))


def _refusal(what: str, answer: Mapping[str, Any]) -> UsageError:
    told = (str(answer.get(name, "")).partition("\n")[0].strip() for name in ("error", "error_description"))
    reason = ": ".join(harmless(part)[:200] for part in told if part) or "an answer without it"
    again = answer.get("error") in ("invalid_grant", "interaction_required", "expired_token")
    return UsageError(f"the provider gave {what} ({reason})" + ("; log in again" if again else ""))


def _answer(endpoint: str, client: Login, **fields: str) -> dict[str, Any]:
    """Returns the JSON object of an endpoint; of one without such an answer the error temporarily_unavailable."""
    fields |= {"client_id": client.client_id}
    if client.client_secret:
        fields["client_secret"] = client.client_secret
    url = urlsplit(endpoint.format(tenant=client.tenant))
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    connection = HTTPSConnection(url.netloc, timeout=_TIMEOUT, context=ssl.create_default_context())
    try:
        connection.request("POST", url.path, urlencode(fields), headers)
        answer = dict(json.loads(connection.getresponse().read(_MOST)))
    except (OSError, HTTPException, TypeError, ValueError) as error:
        return {"error": "temporarily_unavailable", "error_description": f"{url.netloc}: no answer in JSON: {error}"}
    finally:
        connection.close()
    told = str(answer.get("error_description", ""))
    for sent in filter(None, fields.values()):
        told = told.replace(sent, "…")
    return {**answer, "error_description": told}
