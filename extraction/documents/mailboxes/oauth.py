"""OAuth 2.0 for mailboxes: the device grant (RFC 8628), refreshed access tokens (RFC 6749, 6), and the providers.

Each endpoint is asked by HTTPS, whose certificate is checked; no redirect is followed. No token reaches a message.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import sleep
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from cinnabar.extraction.documents.mailboxes.login import Login
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import harmless

# Seconds for an answer; bytes of one that are read.
_TIMEOUT, _MOST = 30.0, 1 << 20
# Seconds between two questions if the provider says nothing (RFC 8628, 3.2), and how many more once it says slow_down.
_INTERVAL, _SLOWER = 5.0, 5.0
# The error of RFC 6749, 4.1.2.1, which also stands for a provider that does not answer.
_UNAVAILABLE = "temporarily_unavailable"
_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
# Fields of a request that no message may repeat.
_SECRET = ("refresh_token", "client_secret", "device_code", "code", "code_verifier")
# Scopes that ask for something about the login itself, and that a provider need not name as granted.
_ASIDE = frozenset(("offline_access", "openid", "profile", "email"))


@dataclass(frozen=True, slots=True)
class Provider:
    """The endpoints of an authorization server and the scope of IMAP there; "" for an endpoint that it lacks."""

    token: str
    scope: str
    device: str = ""
    authorization: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """What the owner registered at a provider, and what logs in there."""

    provider: Provider
    id: str
    secret: str = field(default="", repr=False)


def provider_of(host: str, tenant: str) -> Provider | None:
    """Returns the provider of the mailboxes of this server; None if it is not known."""
    if host in ("outlook.office365.com", "outlook.office.com", "imap-mail.outlook.com"):
        root = f"https://login.microsoftonline.com/{tenant}/oauth2/v2.0"
        scope = "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"
        return Provider(f"{root}/token", scope, f"{root}/devicecode", f"{root}/authorize")
    if host in ("imap.gmail.com", "imap.googlemail.com"):
        # Google's device grant refuses the scope of mail.
        asked = "https://accounts.google.com/o/oauth2/v2/auth"
        return Provider("https://oauth2.googleapis.com/token", "https://mail.google.com/", authorization=asked)
    return None


def discovered(issuer: str, scope: str) -> Provider:
    """Returns the provider that this issuer describes (OpenID Connect Discovery 1.0). Raises UsageError without one."""
    url = issuer.rstrip("/") + "/.well-known/openid-configuration"
    told = answer_of(url)
    if told.get("issuer") != issuer or not isinstance(told.get("token_endpoint"), str):
        raise UsageError(f"{url}: expected a description of the issuer {issuer} with its token_endpoint, got none")
    others = (str(told.get(f"{name}_endpoint", "")) for name in ("device_authorization", "authorization"))
    return Provider(told["token_endpoint"], scope, *others)


def log_in_by_device(client: Client, show: Callable[[str], None]) -> Login:
    """Returns the login that a person confirms on any device, and shows them the page and the code.

    Raises UsageError if they refuse, the code expires, or the provider does not grant what is asked for.
    """
    begun = _asked(client, client.provider.device, {"scope": client.provider.scope})
    page = begun.get("verification_uri") or begun.get("verification_url")
    if "error" in begun or not (page and begun.get("user_code") and begun.get("device_code")):
        raise refusal("no code for a login", begun)
    show(f"visit {page} and enter the code {begun['user_code']}")
    interval, rest = _seconds(begun.get("interval"), _INTERVAL), _seconds(begun.get("expires_in"), 900.0)
    deadline = time.monotonic() + rest
    while time.monotonic() + interval < deadline:
        sleep(interval)
        fields = {"grant_type": _GRANT, "device_code": str(begun["device_code"])}
        answer = _asked(client, client.provider.token, fields)
        match answer.get("error"):
            case "authorization_pending":
                pass
            case "slow_down":
                interval += _SLOWER
            case "temporarily_unavailable":
                interval *= 2
            case "expired_token":
                break
            case _:
                return login_from(client, answer)
    raise UsageError(f"the code expired before it was entered at {page}; run the same command again")


def exchanged(client: Client, fields: Mapping[str, str]) -> Login:
    """Returns the login for an authorization code (RFC 6749, 4.1.3). Raises UsageError if it is refused."""
    return login_from(client, _asked(client, client.provider.token, {"grant_type": "authorization_code", **fields}))


def login_from(client: Client, answer: Mapping[str, Any]) -> Login:
    """Returns the login in a token endpoint's answer. Raises UsageError if it is refused or lacks what is needed."""
    provider = client.provider
    _access_token(provider.scope, answer)
    if not isinstance(token := answer.get("refresh_token"), str) or not token:
        raise UsageError("the provider gave no refresh token, so no later run could read; ask for one by --scope")
    return Login(client.id, provider.token, provider.scope, token, client.secret)


def refreshed(login: Login) -> tuple[str, Login]:
    """Returns a fresh access token, and the login that asks for the next one: some providers change it each time.

    Raises UsageError if the provider refuses or does not answer.
    """
    client = Client(Provider(login.token_endpoint, login.scope), login.client_id, login.client_secret)
    fields = {"grant_type": "refresh_token", "refresh_token": login.refresh_token, "scope": login.scope}
    answer = _asked(client, login.token_endpoint, fields)
    token = _access_token(login.scope, answer)
    return token, login.renewed(str(answer.get("refresh_token") or login.refresh_token))


def _access_token(scope: str, answer: Mapping[str, Any]) -> str:
    token = answer.get("access_token")
    if "error" in answer or not isinstance(token, str) or not token:
        raise refusal("no access token", answer)
    granted = str(answer.get("scope") or scope).lower().split()
    if missing := [one for one in scope.split() if one.lower() not in {*granted, *_ASIDE}]:
        raise UsageError(f"the provider did not grant {' '.join(missing)}; the client needs this permission there")
    return token


def refusal(what: str, answer: Mapping[str, Any]) -> UsageError:
    """Returns the error for a provider's answer without what was asked for."""
    code, told = (str(answer.get(name, "")) for name in ("error", "error_description"))
    reason = ": ".join(harmless(part)[:200] for part in (code, told.partition("\n")[0].strip()) if part)
    advice = "; log in again" if code in ("invalid_grant", "interaction_required") else ""
    return UsageError(f"the provider gave {what} ({reason or 'an answer without it'}){advice}")


def _asked(client: Client, url: str, fields: Mapping[str, str]) -> dict[str, Any]:
    secret = {"client_secret": client.secret} if client.secret else {}
    return answer_of(url, {**fields, "client_id": client.id, **secret})


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follows nothing: an address that nobody named gets no token."""


def answer_of(url: str, fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the JSON object of a provider; of one without an answer the error temporarily_unavailable.

    Raises UsageError if the address is not https.
    """
    host = urlsplit(url).netloc
    if urlsplit(url).scheme != "https" or not host:
        raise UsageError(f"expected an https:// address of a provider, got {harmless(url)[:200] or 'none'}")
    data = urlencode(fields).encode() if fields else None
    opener = build_opener(HTTPSHandler(context=ssl.create_default_context()), _NoRedirects)
    try:
        try:
            with opener.open(Request(url, data, {"Accept": "application/json"}), timeout=_TIMEOUT) as response:
                text, status = response.read(_MOST), response.status
        except HTTPError as error:
            with error:
                text, status = error.read(_MOST), error.code
        for name in _SECRET:
            if secret := (fields or {}).get(name):
                text = text if status == 200 else text.replace(secret.encode(), b"...")
        answer = json.loads(text)
    except OSError as error:
        return {"error": _UNAVAILABLE, "error_description": f"{host}: {getattr(error, 'reason', error)}"}
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return {"error": _UNAVAILABLE, "error_description": f"{host}: status {status} without a JSON object"}
    return answer


def _seconds(given: object, otherwise: float) -> float:
    """Returns a number of seconds of a provider, from 1 to 3,600."""
    return min(max(float(given), 1.0), 3600.0) if isinstance(given, int | float) else otherwise
