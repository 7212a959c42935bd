"""Encodings of mail bodies, written out so that each message keeps the habits of its mail program."""

from __future__ import annotations

import base64
import quopri
from typing import Any


def b64(data: bytes) -> str:
    """Base64 in lines of 76 characters."""
    text = base64.b64encode(data).decode()
    return "\n".join(text[i : i + 76] for i in range(0, len(text), 76))


def qp(text: str, charset: str = "utf-8") -> str:
    """Quoted-printable."""
    return quopri.encodestring(text.encode(charset)).decode()


def word(text: str, charset: str = "utf-8") -> str:
    """An encoded word of RFC 2047 for a header."""
    return f"=?{charset}?B?{base64.b64encode(text.encode(charset)).decode()}?="


def message(head: str, body: str, charset: str = "utf-8", crlf: bool = False) -> bytes:
    """A message as a mail server stores it; Windows programs keep the line ends of the wire."""
    text = head.strip("\n") + "\n\n" + body.strip("\n") + "\n"
    return (text.replace("\n", "\r\n") if crlf else text).encode(charset)


def facts(intent: str, sender: str | None, summary: str | None, *, policy: str | None = None,
          claim: str | None = None,
          day: str | None = None, amount: float | int | None = None,
          currency: str | None = None) -> dict[str, Any]:
    """The record that a careful person reads from a message to an insurance company."""
    return {"intent": intent, "sender_name": sender, "policy_number": policy, "claim_number": claim,
            "incident_date": day,
            "amount_claimed": amount, "currency": currency, "summary": summary}
