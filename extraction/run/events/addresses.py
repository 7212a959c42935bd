"""The addresses that events go to: webhooks and mailboxes, or a variable of the environment that holds one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import urlsplit

from cinnabar.extraction.run.events.event import KINDS
from cinnabar.extraction.run.events.mail import check_mail
from cinnabar.extraction.run.events.webhook import signing_keys
from cinnabar.schemas.errors import UsageError

_FORMS = "https://HOST/PATH, mailto:NAME@HOST or env:NAME, and #KIND,KIND behind it for some kinds of events only"


def check_addresses(addresses: Sequence[str]) -> None:
    """Raises UsageError for what is no address, or cannot be reached with this environment."""
    for address in addresses:
        unknown = [one for one in _kinds(address) if one not in KINDS]
        if unknown:
            raise UsageError(f"--tell: expected kinds of events ({', '.join(KINDS)}), got {unknown[0]!r}")
        scheme = urlsplit(found_at(address)).scheme
        if scheme == "mailto":
            check_mail()
        else:
            signing_keys()


def found_at(address: str) -> str:
    """Returns the address itself, without kinds. Raises UsageError, which does not show it, if it is none."""
    place = address.partition("#")[0]
    name = place.removeprefix("env:")
    if name != place:
        place = os.environ.get(name, "")
        if not place:
            raise UsageError(f"--tell env:{name}: expected an address in the variable {name}, which is not set")
    parts = urlsplit(place)
    mail = parts.scheme == "mailto" and parts.path.count("@") == 1 and not parts.query
    if not mail and not (parts.scheme in ("http", "https") and parts.hostname):
        raise UsageError(f"--tell: expected {_FORMS}, got another text")
    if parts.password is not None or any(one.isspace() for one in place):
        raise UsageError(f"--tell: expected {_FORMS}, got one with a password or a blank in it")
    return place


def wants(address: str, kind: str) -> bool:
    """Returns whether events of this kind go to the address."""
    return kind in (_kinds(address) or KINDS)


def _kinds(address: str) -> list[str]:
    return [one for one in address.partition("#")[2].split(",") if one]
