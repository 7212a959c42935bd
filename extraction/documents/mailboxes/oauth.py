"""OAuth 2.0 for mailboxes: the device grant (RFC 8628), a code from a browser with PKCE (RFC 7636), refreshed tokens.

Providers are asked by HTTPS, whose certificate is checked; no redirect is followed. No token reaches a message.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from http.client import HTTPException, HTTPSConnection
from time import sleep
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from cinnabar.errors import UsageError
from cinnabar.wording import harmless

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
