"""Notifications reach webhooks (Standard Webhooks) and mailboxes, at an address or in a variable of the environment.

A notification is an event for one address: a file in a folder of results, which goes once the event is taken. They are
delivered in their order for each address, again and again within a time that is bounded. An event that goes
twice has the same id.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import http.client
import os
import random
import smtplib
import socket
import ssl
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

import orjson

from cinnabar.errors import InUse, UsageError
from cinnabar.extraction.run.notifications.run_events import KINDS, Event, kind_of
from cinnabar.extraction.store.files import FolderLock, write_bytes
from cinnabar.extraction.store.path_safety import check_links

#: The variable with the secrets of webhooks; with several, a blank between them, events are signed by each.
SECRETS = "CINNABAR_WEBHOOK_SECRET"
#: The variables with the server of mails (smtps://USER@HOST or smtp://USER@HOST), its password and the sender.
SERVER, PASSWORD, SENDER = "CINNABAR_SMTP", "CINNABAR_SMTP_PASSWORD", "CINNABAR_SMTP_FROM"
# It follows no redirection, which would turn the POST into a GET, and may lead anywhere.
_OPENER = urllib.request.OpenerDirector()
for _handler in (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    _OPENER.add_handler(_handler())


class NotDelivered(Exception):
    """A receiver did not take an event. It may after so many seconds; with None there is no use in asking again now."""

    def __init__(self, why: str, after: float | None = 0.0) -> None:
        self.after = after
        super().__init__(why)


def check_addresses(addresses: Sequence[str]) -> None:
    """Raises UsageError for what is no address, or cannot be reached with this environment."""
    for address in addresses:
        if unknown := [one for one in kinds_of(address) if one not in KINDS]:
            raise UsageError(f"--notify: expected kinds of events ({', '.join(KINDS)}), got {unknown[0]!r}")
        if _found_at(address).scheme == "mailto":
            _server()
        else:
            _signing_keys()


def kinds_of(address: str) -> list[str]:
    """Returns the kinds of events that go to the address; [] for all."""
    return [one for one in address.partition("#")[2].split(",") if one]


def public_address(address: str) -> str:
    """Returns the address without path and query, which may hold a token."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname}/…" if parts.hostname else address


def send_event(address: str, event: Event, timeout: float) -> None:
    """Hands an event to this address; each wait for it lasts at most `timeout` seconds. Raises NotDelivered."""
    place = _found_at(address)
    (_mail if place.scheme == "mailto" else _post)(place, event, timeout)


def _found_at(address: str) -> SplitResult:
    """Returns the address itself, without kinds. Raises UsageError, which does not show it, if it is none."""
    place = address.partition("#")[0]
    if (name := place.removeprefix("env:")) != place:
        place = os.environ.get(name, "")
        if not place:
            raise UsageError(f"--notify env:{name}: expected an address in the variable {name}, which is not set")
    with contextlib.suppress(ValueError):  # brackets or a port that are wrong
        parts = urlsplit(place)
        mail = parts.scheme == "mailto" and parts.path.count("@") == 1 and not parts.query
        known = mail or (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0)
        if known and parts.password is None and all("!" <= one <= "~" for one in place):
            return parts
    raise UsageError(
        "--notify: expected https://HOST/PATH, mailto:NAME@HOST or env:NAME, in ASCII without a password or a blank,"
        " and #KIND,KIND behind it for some kinds of events only, got another text"
    )


def _signing_keys() -> list[bytes]:
    """Returns the keys in the environment. Raises UsageError, without showing them, if they are none."""
    try:
        secrets = os.environ.get(SECRETS, "").split()
        keys = [base64.b64decode(one.removeprefix("whsec_"), validate=True) for one in secrets]
    except binascii.Error:
        keys = [b""]
    # The standard has 24 to 64 bytes; other lengths are taken for secrets that exist.
    if any(len(key) < 16 for key in keys):
        raise UsageError(f"{SECRETS}: expected whsec_ and 24 to 64 bytes in base64 (at least 16), got another text")
    return keys


def signature(keys: list[bytes], event_id: str, timestamp: int, body: bytes) -> str:
    """Returns the header `webhook-signature`: `v1,` and HMAC-SHA256 in base64, for each key."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    digests = (hmac.digest(key, signed, hashlib.sha256) for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def _post(place: SplitResult, event: Event, timeout: float) -> None:
    body, now = orjson.dumps(event), int(time.time())
    headers = {"Content-Type": "application/cloudevents+json", "User-Agent": "cinnabar"}
    headers |= {"webhook-id": event["id"], "webhook-timestamp": str(now)}
    if keys := _signing_keys():
        headers["webhook-signature"] = signature(keys, event["id"], now, body)
    request = urllib.request.Request(place.geturl(), body, headers, method="POST")
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            status, after = answer.status, answer.headers.get("Retry-After", "")
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", error)
        raise NotDelivered(f"no answer ({type(why).__name__}: {why})") from None
    if status >= 300:
        again = status >= 500 or status in (408, 425, 429)  # a timeout, too early, too many
        raise NotDelivered(f"it answered {status}", (float(after) if after.isdecimal() else 0.0) if again else None)


def _server() -> SplitResult:
    """Returns the server of mails. Raises UsageError, without showing it, if the environment names none."""
    parts = urlsplit(os.environ.get(SERVER, ""))
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.password is not None:
        raise UsageError(
            f"{SERVER}: expected the server of mails, smtps://USER@HOST or smtp://USER@HOST (the password in"
            f" {PASSWORD}), got {'another text' if parts.geturl() else 'nothing'}"
        )
    return parts


def message_of(to: str, event: Event) -> EmailMessage:
    """Returns the mail; its Message-ID follows from the event's id, so that a repeated one is known."""
    message = EmailMessage()
    message["From"], message["To"] = os.environ.get(SENDER) or f"cinnabar@{socket.getfqdn()}", to
    message["Subject"], message["Message-ID"] = event["data"]["title"], f"<{event['id']}@cinnabar.invalid>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence answers it
    message.set_content(event["data"]["text"] + "\n")
    return message


def _mail(place: SplitResult, event: Event, timeout: float) -> None:
    """Sends the event as a mail, over TLS except to this machine."""
    server, tls = _server(), ssl.create_default_context()
    host = server.hostname or ""
    try:
        with (
            smtplib.SMTP_SSL(host, server.port or 465, timeout=timeout, context=tls)
            if server.scheme == "smtps"
            else smtplib.SMTP(host, server.port or 587, timeout=timeout)
        ) as smtp:
            if server.scheme == "smtp" and host not in ("localhost", "127.0.0.1", "::1"):
                smtp.starttls(context=tls)
            if server.username:
                smtp.login(unquote(server.username), os.environ.get(PASSWORD, ""))
            smtp.send_message(message_of(unquote(place.path), event))
    except (OSError, smtplib.SMTPException) as error:
        refused = [code for code, _ in getattr(error, "recipients", {}).values()]
        code = refused[0] if refused else getattr(error, "smtp_code", 0)
        # With 4xx the same mail may be taken later (RFC 5321), and so it may if nobody answered.
        raise NotDelivered(
            f"no mail sent ({type(error).__name__}: {error})"[:300], None if code >= 500 else 0.0
        ) from None


#: The folder within the results.
NOTIFICATIONS_FOLDER = "outbox"
# Seconds that a receiver has for an answer, as Standard Webhooks has it; of the pauses the first and the longest.
_ANSWER, _PAUSES = 15.0, (0.2, 60.0)


@dataclass(frozen=True, slots=True)
class WaitingNotification:
    """An event that waits for one receiver; `to` is its address as it is shown."""

    path: Path
    address: str
    event: Event
    id: str
    to: str

    def taken(self) -> None:
        """Removes the event, whose receiver has it."""
        self.path.unlink(missing_ok=True)


def notifications_folder(out: Path) -> Path:
    """Returns where events of this folder of results wait. Raises StrangeName if a link leads out of the folder."""
    check_links(out, everything=True)
    return out / NOTIFICATIONS_FOLDER


def waiting_notifications(out: Path) -> list[WaitingNotification]:
    """Returns the events that wait in this folder of results, those of the oldest run first."""
    entries = []
    for path in sorted(notifications_folder(out).glob("[0-9]*.json")):
        # What is gone was delivered meanwhile; what is no event of ours is left alone.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if not path.is_symlink():
                content = orjson.loads(path.read_bytes())
                address, event = content["address"], content["event"]
                entries.append(WaitingNotification(path, address, event, event["id"], public_address(address)))
    return entries


def write_notifications(out: Path, events: Sequence[Event], addresses: Sequence[str]) -> None:
    """Has these events wait for the addresses that want them, each once, on disk before it returns."""
    folder = notifications_folder(out)
    for event in events:
        kind = kind_of(event)
        for address in (one for one in addresses if kind in (kinds_of(one) or KINDS)):
            # Names sort by run, then by kind.
            digest = hashlib.sha256(address.encode()).hexdigest()[:16]
            path = folder / f"{event['subject']}-{KINDS.index(kind)}-{digest}.json"
            write_bytes(path, orjson.dumps({"address": address, "event": event}) + b"\n")


def deliver_notifications(out: Path, addresses: Collection[str] | None, seconds: float) -> list[str]:
    """Delivers the events that wait for these addresses, or for all, for so many seconds at most.

    Returns what a person should know, in sentences. If another process delivers events of this folder, it does nothing.
    """
    queues, late = defaultdict[str, list[WaitingNotification]](list), dict[str, str]()
    deadline = time.monotonic() + seconds
    try:
        lock = FolderLock(notifications_folder(out))
    except (InUse, OSError):
        return []
    for entry in waiting_notifications(out):
        if addresses is None or entry.address in addresses:
            queues[entry.address].append(entry)
    # Daemons: a receiver that sends its answer byte by byte holds up neither the run nor the end of its process.
    senders = [threading.Thread(target=_send_all, args=(*one, deadline, late), daemon=True) for one in queues.items()]
    for one in senders:
        one.start()
    for one in senders:
        one.join(max(0.0, deadline + 1.0 - time.monotonic()))
    lock.release()
    send_them = "the next run, or `cinnabar status events --send`, sends them"
    return [f"{public_address(address)}: events wait ({why}); {send_them}" for address, why in late.items()]


def _send_all(address: str, queue: Sequence[WaitingNotification], deadline: float, late: dict[str, str]) -> None:
    """Sends these events; `late` holds why some of them wait, and has nothing of the address once all are taken."""
    late[address], refused = "no answer yet", False
    for entry in queue:
        pause = _PAUSES[0]
        while (left := deadline - time.monotonic()) > 0:
            try:
                send_event(address, entry.event, min(_ANSWER, left))
                entry.taken()
                break
            except (NotDelivered, UsageError, OSError) as error:
                late[address] = str(error)
                # A wrong setting stays as it is.
                after = None if isinstance(error, UsageError) else getattr(error, "after", 0.0)
            if after is None:
                refused = True
                break
            # Full jitter: receivers that come back are not met by all senders at once.
            wait = max(after, random.uniform(0.0, pause))
            if wait >= left:
                return
            time.sleep(wait)
            pause = min(2 * pause, _PAUSES[1])
        else:
            return
    if not refused:
        late.pop(address)
