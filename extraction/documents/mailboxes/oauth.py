"""OAuth 2.0 for mailboxes: the device grant (RFC 8628), refreshed access tokens (RFC 6749, 6), and the providers.

Each endpoint is asked by HTTPS, whose certificate is checked; no redirect is followed. No token reaches a message.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
# Fields of a request that no message may repeat.
_SECRET = ("refresh_token", "client_secret", "device_code", "code", "code_verifier")
# Scopes that ask for the login itself, and that a provider need not name as granted.
_ASIDE = frozenset(("offline_access", "openid", "profile", "email"))


@dataclass(frozen=True, slots=True)
class Provider:
    """The endpoints of an authorization server and the scope of IMAP there; "" for an endpoint that it lacks."""

    token: str
    scope: str
    device: str = ""
    authorization: str = ""


def provider_of(host: str, tenant: str) -> Provider | None:
    """Returns the provider of the mailboxes of this server; None if it is not known."""
    if host in ("outlook.office365.com", "outlook.office.com", "imap-mail.outlook.com"):
        root = f"https://login.microsoftonline.com/{tenant}/oauth2/v2.0"
        scope = "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"
        return Provider(f"{root}/token", scope, f"{root}/devicecode", f"{root}/authorize")
    if host in ("imap.gmail.com", "imap.googlemail.com"):
        # Google's device grant refuses the scope of mail.
        page = "https://accounts.google.com/o/oauth2/v2/auth"
        return Provider("https://oauth2.googleapis.com/token", "https://mail.google.com/", authorization=page)
    return None


def discovered(issuer: str, scope: str) -> Provider:
    """Returns the provider that this issuer describes (OpenID Connect Discovery 1.0). Raises UsageError without one."""
    url = issuer.rstrip("/") + "/.well-known/openid-configuration"
    told = _answer(url)
    if told.get("issuer") != issuer or "token_endpoint" not in told:
        raise UsageError(f"{url}: expected a description of the issuer {issuer} with its token_endpoint, got none")
    token, *pages = (str(told.get(f"{one}_endpoint", "")) for one in ("token", "device_authorization", "authorization"))
    return Provider(token, scope, *pages)


def log_in_by_device(provider: Provider, client: Login, show: Callable[[str], None]) -> Login:
    """Returns the login that a person confirms on any device, and shows them the page and the code.

    Raises UsageError if they refuse, the code expires, or the provider does not grant what is asked for.
    """
    begun = _answer(provider.device, {"client_id": client.client_id, "scope": client.scope})
    page, code, device = (begun.get(one) for one in ("verification_uri", "user_code", "device_code"))
    if not (page and code and device):
        raise refusal("no code for a login", begun)
    show(f"visit {page} and enter the code {code}")
    interval, rest = _seconds(begun.get("interval"), _INTERVAL), _seconds(begun.get("expires_in"), 900.0)
    deadline = time.monotonic() + rest
    while time.monotonic() + interval < deadline:
        sleep(interval)
        answer = _asked(client, {"grant_type": _DEVICE, "device_code": str(device)})
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
                return _granted(client, answer)[1]
    raise UsageError(f"the code expired before it was entered at {page}; run the same command again")


def exchanged(client: Login, fields: Mapping[str, str]) -> Login:
    """Returns the login for an authorization code (RFC 6749, 4.1.3). Raises UsageError if it is refused."""
    return _granted(client, _asked(client, {"grant_type": "authorization_code", **fields}))[1]


def refreshed(login: Login) -> tuple[str, Login]:
    """Returns a fresh access token, and the login that asks for the next one: some providers change it each time.

    Raises UsageError if the provider refuses or does not answer.
    """
    fields = {"grant_type": "refresh_token", "refresh_token": login.refresh_token, "scope": login.scope}
    return _granted(login, _asked(login, fields))


def _granted(login: Login, answer: Mapping[str, Any]) -> tuple[str, Login]:
    token, fresh = answer.get("access_token"), answer.get("refresh_token") or login.refresh_token
    if "error" in answer or not token:
        raise refusal("no access token", answer)
    scopes = str(answer.get("scope") or login.scope).lower().split()
    if missing := [one for one in login.scope.split() if one.lower() not in {*scopes, *_ASIDE}]:
        raise UsageError(f"the provider did not grant {' '.join(missing)}; your client needs that permission there")
    if not fresh:
        raise UsageError("the provider gave no refresh token, so no run could read; some give one for offline_access")
    return str(token), replace(login, refresh_token=str(fresh))


def refusal(what: str, answer: Mapping[str, Any]) -> UsageError:
    """Returns the error for a provider's answer without what was asked for."""
    told = (str(answer.get(name, "")).partition("\n")[0].strip() for name in ("error", "error_description"))
    reason = ": ".join(harmless(part)[:200] for part in told if part) or "an answer without it"
    again = answer.get("error") in ("invalid_grant", "interaction_required")
    return UsageError(f"the provider gave {what} ({reason})" + ("; log in again" if again else ""))


def _asked(client: Login, fields: Mapping[str, str]) -> dict[str, Any]:
    secret = {"client_secret": client.client_secret} if client.client_secret else {}
    return _answer(client.token_endpoint, {**fields, "client_id": client.client_id, **secret})


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follows nothing: an address that nobody named gets no token."""


def _answer(url: str, fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the JSON object of an endpoint; of one without such an answer the error temporarily_unavailable."""
    host = urlsplit(url).netloc
    if urlsplit(url).scheme != "https" or not host:
        raise UsageError(f"expected an https:// address of the provider, got {harmless(url)[:200] or 'none'}")
    request = Request(url, urlencode(fields).encode() if fields else None, {"Accept": "application/json"})
    opener = build_opener(HTTPSHandler(context=ssl.create_default_context()), _NoRedirects)
    try:
        with opener.open(request, timeout=_TIMEOUT) as response:
            text = response.read(_MOST)
    except HTTPError as error:
        with error:
            text = error.read(_MOST)
        for secret in ((fields or {}).get(name) for name in _SECRET):
            text = text.replace(secret.encode(), b"...") if secret else text
    except OSError as error:
        return {"error": "temporarily_unavailable", "error_description": f"{host}: {getattr(error, 'reason', error)}"}
    try:
        if isinstance(answer := json.loads(text), dict):
            return answer
    except ValueError:
        pass
    return {"error": "temporarily_unavailable", "error_description": f"{host}: expected a JSON object, got other text"}


def _seconds(given: object, otherwise: float) -> float:
    """Returns a provider's number of seconds, from 1 to 3,600."""
    return min(max(float(given), 1.0), 3600.0) if isinstance(given, int | float) else otherwise
