"""Hands an event to a webhook, signed as the standard Standard Webhooks has it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import http.client
import os
import time
import urllib.error
import urllib.request
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from cinnabar.extraction.run.events.answers import Later, Refusal
from cinnabar.extraction.run.events.event import CONTENT_TYPE, Event
from cinnabar.schemas.errors import UsageError

#: The variable with the secrets of webhooks; with several, a blank between them, events are signed by each.
SECRETS = "CINNABAR_WEBHOOK_SECRET"
# Answers below 500 after which the same request may succeed: a timeout, too early, too many.
_AGAIN = (408, 425, 429)


def signing_keys() -> list[bytes]:
    """Returns the keys in the environment; [] if events go unsigned. Raises UsageError, without showing them."""
    keys = []
    for secret in os.environ.get(SECRETS, "").split():
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            key = b""
        if len(key) < 16:
            raise UsageError(f"{SECRETS}: expected whsec_ and at least 16 bytes in base64, got another text")
        keys.append(key)
    return keys


def signature(keys: list[bytes], event_id: str, timestamp: int, body: bytes) -> str:
    """Returns the header `webhook-signature`: `v1,` and HMAC-SHA256 in base64, for each key."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it would turn the POST into a GET, and may lead anywhere."""

    def redirect_request(self, *_: Any) -> None:
        """Returns None, so that the answer counts as it is."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(url: str, event: Event, timeout: float) -> None:
    """Posts the event; each wait for the receiver lasts at most `timeout` seconds. Raises Later or Refusal."""
    body, now = event.json(), int(time.time())
    headers = {"Content-Type": CONTENT_TYPE, "webhook-id": event.id, "webhook-timestamp": str(now)}
    if keys := signing_keys():
        headers["webhook-signature"] = signature(keys, event.id, now, body)
    request = urllib.request.Request(url, body, headers | {"User-Agent": "cinnabar"}, method="POST")
    try:
        _OPENER.open(request, timeout=timeout).close()
    except urllib.error.HTTPError as error:
        with error:
            if error.code in _AGAIN or error.code >= 500:
                raise Later(f"it answered {error.code}", _retry_after(error.headers)) from None
            raise Refusal(f"it answered {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", error)
        raise Later(f"no answer ({type(why).__name__}: {why})") from None


def _retry_after(headers: Message) -> float:
    """Returns the seconds of the header Retry-After, which holds seconds or a date; 0.0 without one."""
    value = headers.get("Retry-After", "")
    try:
        return float(value) if value.isdigit() else max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
