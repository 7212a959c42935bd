"""What a server's list of models tells of one: the window and the prices that no row of `cinnabar.toml` has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

from cinnabar.engine.remote.exchange import Transient, client_of, scrub
from cinnabar.engine.remote.ledger import Prices
from cinnabar.engine.remote.serving import RemoteSettings, Served
from cinnabar.errors import UsageError

#: The names that servers have for a model's window, in tokens.
WINDOWS = ("context_length", "context_window", "max_model_len")


def described(name: str, served: Served, settings: RemoteSettings, key: str) -> Served:
    """Returns the model with what its server's `/models` tells, asked only where its window, or under a budget its
    prices, are not known.

    Raises UsageError, which names the row that sets them, if the server does not tell them or has no such model.
    """
    if served.context and (served.prices is not None or settings.budget is None):
        return served
    row = f'set window and prices in [models."{name}"] of cinnabar.toml'
    try:
        listed = asyncio.run(_listed(served, settings, key))
    except (OSError, ValueError, TypeError, KeyError, Transient) as error:
        raise UsageError(f"{served.where}: no list of models ({scrub(str(error), key)}); {row}") from None
    if served.model not in listed:
        raise UsageError(f"{served.where}: the server has {', '.join(sorted(listed)[:9])}; name one of them, or {row}")
    told = listed[served.model]
    windows = [told[one] for one in WINDOWS if type(told.get(one)) is int and told[one] > 0]
    window, prices = served.context or next(iter(windows), 0), served.prices or _prices(told.get("pricing"))
    if not window or (prices is None and settings.budget is not None):
        raise UsageError(f"{served.where}: the server does not tell its {'prices' if window else 'window'}; {row}")
    return replace(served, context=window, prices=prices)


async def _listed(served: Served, settings: RemoteSettings, key: str) -> dict[str, Mapping[str, Any]]:
    # Extra: mercury.
    from httpx2 import Response
    from openai import OpenAIError

    try:
        async with client_of(served, settings, key) as client:
            content = (await client.get("/models", cast_to=Response)).content
    except OpenAIError as error:
        raise ValueError(error) from None
    return {str(one["id"]): one for one in json.loads(content)["data"]}


def _prices(told: Any) -> Prices | None:
    """Returns prices that are told in dollars for one token; None for anything else."""
    with suppress(KeyError, TypeError, AttributeError, InvalidOperation, UsageError):
        given = (told["prompt"], told.get("input_cache_read") or told["prompt"], told["completion"])
        return Prices(*((Decimal(str(one)) * 1_000_000).normalize() for one in given))
    return None
