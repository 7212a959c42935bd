"""Hands an event to a mailbox by the SMTP server that the environment names."""

from __future__ import annotations

import os
import smtplib
import socket
import ssl
from email.message import EmailMessage
from urllib.parse import SplitResult, unquote, urlsplit

from cinnabar.extraction.run.events.answers import Later, Refusal
from cinnabar.extraction.run.events.event import Event
from cinnabar.schemas.errors import UsageError

#: The variables with the server (smtps://USER@HOST or smtp://USER@HOST), the password and the sender.
SERVER, PASSWORD, SENDER = "CINNABAR_SMTP", "CINNABAR_SMTP_PASSWORD", "CINNABAR_SMTP_FROM"
_HERE = ("localhost", "127.0.0.1", "::1")


def check_mail() -> SplitResult:
    """Returns the server of mails. Raises UsageError, without showing it, if the environment names none."""
    parts = urlsplit(os.environ.get(SERVER, ""))
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.password is not None:
        raise UsageError(
            f"{SERVER}: expected the server of mails, smtps://USER@HOST or smtp://USER@HOST (the password in"
            f" {PASSWORD}), got {'another text' if parts.geturl() else 'nothing'}"
        )
    return parts


def message_of(address: str, event: Event, sender: str) -> EmailMessage:
    """Returns the mail; its Message-ID follows from the event's id, so that a repeated one is known."""
    message = EmailMessage()
    message["From"], message["To"] = sender, unquote(urlsplit(address).path)
    message["Subject"], message["Message-ID"] = event.subject, f"<{event.id}@cinnabar.invalid>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence answers it
    message.set_content(event.text)
    message.add_attachment(event.json(), maintype="application", subtype="cloudevents+json", filename="event.json")
    return message


def send(address: str, event: Event, timeout: float) -> None:
    """Sends the event, over TLS except to this machine; each wait lasts at most `timeout` seconds.

    Raises Later or Refusal.
    """
    server = check_mail()
    host, user = server.hostname or "", unquote(server.username or "")
    sender = os.environ.get(SENDER) or (user if "@" in user else f"cinnabar@{socket.getfqdn()}")
    tls = ssl.create_default_context()
    try:
        with (
            smtplib.SMTP_SSL(host, server.port or 465, timeout=timeout, context=tls)
            if server.scheme == "smtps"
            else smtplib.SMTP(host, server.port or 587, timeout=timeout)
        ) as smtp:
            if server.scheme == "smtp" and host not in _HERE:
                smtp.starttls(context=tls)
            if user:
                smtp.login(user, os.environ.get(PASSWORD, ""))
            smtp.send_message(message_of(address, event, sender))
    except smtplib.SMTPRecipientsRefused as error:
        raise _answered(*next(iter(error.recipients.values()))) from None
    except smtplib.SMTPResponseException as error:
        raise _answered(error.smtp_code, error.smtp_error) from None
    except smtplib.SMTPNotSupportedError as error:  # no TLS, or no login
        raise Refusal(f"the mail server says: {error}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise Later(f"no mail server ({type(error).__name__}: {error})") from None


def _answered(code: int, text: bytes | str) -> Later | Refusal:
    """Returns what an answer of SMTP means: with 4xx the same mail may be taken later (RFC 5321)."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    why = f"the mail server answered {code} {said[:200]}"
    return Later(why) if code < 500 else Refusal(why)
