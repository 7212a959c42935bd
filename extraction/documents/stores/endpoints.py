"""The addresses of servers in the environment: on a wrong one obstore panics, and others wait for an answer."""

from __future__ import annotations

import os
from contextlib import suppress
from urllib.parse import urlsplit

from cinnabar.schemas.errors import UsageError

#: Azure's login for `endpoint`; its variable may leave the scheme out.
LOGIN = ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com", "https://")


def endpoint(name: str, default: str = "", scheme: str = "") -> str:
    """Returns the address in this variable, behind `scheme` if it has none; an empty variable counts as not set.

    Raises UsageError, which does not show the text, if it is no address.
    """
    text = os.environ.get(name) or default
    text = text if "://" in text else scheme + text
    with suppress(ValueError):  # brackets or a port that are wrong
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if known and all("!" <= one <= "~" for one in text):
            return text.rstrip("/")
    raise UsageError(f"{name}: expected an address as https://HOST, in ASCII without a blank, got another text")
