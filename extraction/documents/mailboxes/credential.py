"""What a connection shows to a mail server: a password, or a fresh access token of a login."""

from __future__ import annotations

import base64
import imaplib
import re
from contextlib import suppress
from dataclasses import dataclass, field

from cinnabar.extraction.documents.mailboxes.address import PASSWORD_VARIABLE, ImapAddress, KeptSecret
from cinnabar.extraction.documents.mailboxes.login import Login, place_of
from cinnabar.extraction.documents.mailboxes.oauth import refreshed
from cinnabar.schemas.errors import UsageError


@dataclass(frozen=True, slots=True)
class Credential:
    """The password or the access token of a user."""

    secret: str = field(repr=False)
    is_token: bool = False

    def hidden_in(self, text: str, address: ImapAddress) -> str:
        """Returns a server's message without the secret, which it may repeat as it is or as it was sent."""
        sent = (base64.b64encode(first).decode() for first, *_ in self._mechanisms(address).values())
        for form in (self.secret, *sent):
            text = text.replace(form, "…")
        return text

    def log_in(self, connection: imaplib.IMAP4, address: ImapAddress) -> None:
        """Logs in by the best mechanism that the server offers. Raises UsageError if it offers none that fits."""
        offered = connection.capabilities
        mechanism = next((one for one in self._mechanisms(address) if f"AUTH={one}" in offered), None)
        if mechanism is not None:
            # After a refusal the server of a token tells the reason first, and goes on once it has an answer.
            answers = iter(self._mechanisms(address)[mechanism])
            connection.authenticate(mechanism, lambda _: next(answers, None))
        elif self.is_token:
            raise UsageError(f"{address}: the server offers no login by OAuth (OAUTHBEARER, XOAUTH2)")
        elif not self.secret.isascii():
            raise UsageError(f"{address}: the server accepts only passwords of ASCII characters")
        else:
            connection.login(quoted(address.user), self.secret)

    def _mechanisms(self, address: ImapAddress) -> dict[str, tuple[bytes, ...]]:
        """Returns the SASL mechanisms, the best first, each with what it sends."""
        user, bearer = address.user, f"auth=Bearer {self.secret}\x01\x01"
        if not self.is_token:
            return {"PLAIN": (f"\0{user}\0{self.secret}".encode(),)}
        name = user.replace("=", "=3D").replace(",", "=2C")
        first = f"n,a={name},\x01host={address.host}\x01port={address.port}\x01{bearer}"
        return {"OAUTHBEARER": (first.encode(), b"\x01"), "XOAUTH2": (f"user={user}\x01{bearer}".encode(), b"")}


def credential_of(address: ImapAddress) -> Credential:
    """Returns what a connection to this mailbox shows; of a login it is a fresh access token.

    A refresh token that the provider changes is kept where the old one was. Raises UsageError if there is neither a
    password nor a login, or the provider refuses.
    """
    place = place_of(address)
    if not (text := place()):
        raise UsageError(
            f"expected the mailbox's password in {PASSWORD_VARIABLE}, which is not set, or a login by OAuth:"
            f" `cinnabar mailbox login {address}`"
        )
    try:
        if (login := Login.of(text)) is None:
            found = Credential(text)
        else:
            token, renewed = refreshed(login)
            found = Credential(token, is_token=True)
            if renewed != login and isinstance(place, KeptSecret):
                # A secret of a container may be read-only; most providers take the old refresh token again.
                with suppress(OSError):
                    place.write(renewed.text())
    except UsageError as error:
        raise UsageError(f"{address}: {error}") from None
    if re.search(r"[\x00-\x1f\x7f]", found.secret):
        raise UsageError(f"{address}: expected a password without line breaks or other control characters")
    return found


def quoted(text: str) -> str:
    """Returns a text as a quoted string of RFC 3501."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
