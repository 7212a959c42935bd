"""Models behind an OpenAI-compatible server: their names, their addresses, and the settings for asking them.

`mercury-…` is a model of Inception; `openai:NAME` is the model NAME of any other server.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from cinnabar.engine.remote.ledger import Prices
from cinnabar.errors import UsageError

MERCURY, _OTHER = "mercury-", "openai:"


@dataclass(frozen=True, slots=True)
class Served:
    """A model behind a server.

    `model` is its name for the server, `key_name` the environment variable with the key. `context` counts the server's
    tokens, 0 if they are not known. `effort`: its `reasoning_effort` takes our names. `prices` are None if they are not
    known.
    """

    model: str
    base_url: str
    key_name: str
    context: int = 128_000
    effort: bool = False
    prices: Prices | None = None

    @property
    def where(self) -> str:
        """The model and its address, for messages."""
        return f"{self.model} at {self.base_url}"

    @property
    def fingerprint(self) -> str:
        """The model's fingerprint: Mercury is the same on every host, another server's NAME is not."""
        where = "" if self.model in MODELS else self.base_url
        return hashlib.sha256(repr((self.model, where)).encode()).hexdigest()[:16]


def _mercury(model: str, context: int = 0, prices: str = "") -> Served:
    address, key = "https://api.inceptionlabs.ai/v1", "INCEPTION_API_KEY"
    return Served(model, address, key, context, effort=True, prices=Prices.parse(prices) if prices else None)


#: The models that are known by their names: window, and dollars for a million tokens (in, cached, out). Of those behind
#: the first the prices are those that resellers list.
MODELS = {
    "mercury-2": _mercury("mercury-2", 128_000, "0.25,0.025,0.75"),
    "mercury-2.5": _mercury("mercury-2.5", 128_000, "0.25,0.25,0.9375"),
    "mercury-3": _mercury("mercury-3", 1_000_000, "0.10,0.01,0.35"),
}


def is_remote(name: str) -> bool:
    """Returns whether this name means a model behind a server, not a folder."""
    return name.startswith(_OTHER) or name in MODELS or (name.startswith(MERCURY) and not Path(name).exists())


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """The settings for asking a server: the row of the model, and those of a run.

    Raises UsageError if one is out of range.

    base_url: its address. window: the tokens that the model reads and writes. prices: of its tokens. concurrency:
    requests under way at a time. timeout: seconds for one whole answer. context: the most tokens of a document in one
    request. budget: the most dollars of a run; None for no bound.
    attempts: how often one request is sent before the service counts as unavailable. asks: how often a document is
    asked about, each time with the problems of the last answer. first_wait, longest_wait: seconds of back-off.
    patience: the most seconds that a Retry-After may ask for.
    """

    base_url: str | None = None
    window: int | None = None
    context: int | None = None
    prices: Prices | None = None
    budget: Decimal | None = None
    concurrency: int = 16
    timeout: float = 120.0
    attempts: int = 8
    asks: int = 3
    first_wait: float = 1.0
    longest_wait: float = 60.0
    patience: float = 300.0

    def __post_init__(self) -> None:
        for name in ("concurrency", "attempts", "asks"):
            value = getattr(self, name)
            if value < 1:
                raise UsageError(f"{name} of a model behind a server: expected at least 1, got {value}")
        if self.budget is not None and not (self.budget.is_finite() and self.budget >= 0):
            raise UsageError(f"--budget: expected dollars, 0 or more, got {self.budget}")
        if not 0 < self.timeout < 86_400:
            raise UsageError(
                f"timeout of a model behind a server: expected seconds, less than a day, got {self.timeout}"
            )


def find_served(name: str, settings: RemoteSettings) -> Served:
    """Returns the model of this name, with the address, the window and the prices of the settings.

    Raises UsageError for an unusable address or an empty name.
    """
    if name.startswith(MERCURY):
        chosen = MODELS.get(name) or _mercury(name)
    else:
        chosen = Served(name.removeprefix(_OTHER), "https://api.openai.com/v1", "OPENAI_API_KEY", 0)
        if not chosen.model.isprintable() or not chosen.model.strip():
            raise UsageError(f"--model {name}: expected openai:NAME with the model's name at the server")
    chosen = replace(chosen, prices=settings.prices or chosen.prices, context=settings.window or chosen.context)
    if settings.base_url is not None:
        chosen = replace(chosen, base_url=_check_url(settings.base_url))
    return chosen


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if not url.isprintable() or " " in url:
        raise UsageError("base_url: expected an address without blanks and line ends, such as https://host/v1")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("base_url: expected an address such as https://host/v1")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError("base_url: expected no user, password or query in the address")
    return url.rstrip("/")


def is_this_machine(host: str) -> bool:
    """Returns whether a host is this machine, which others cannot listen to or reach under that name."""
    with suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def is_plain(url: str) -> bool:
    """Returns whether documents and the key would travel to another machine unencrypted."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")


def api_key(served: Served) -> str:
    """Returns the key from the environment. Raises UsageError, without showing the key, if it is unusable."""
    key = os.environ.get(served.key_name, "")
    if not key:
        raise UsageError(f"{served.model}: expected a key in the environment variable {served.key_name}")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"{served.key_name}: expected printable ASCII without blanks, got something else")
    return key
