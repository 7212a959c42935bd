"""Finds the sink of an address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cinnabar.extraction.store.sinks.delta import DeltaSink
from cinnabar.extraction.store.sinks.object_store import SCHEMES
from cinnabar.extraction.store.sinks.postgresql import PostgresqlSink
from cinnabar.extraction.store.sinks.publishing import PublishedCopy
from cinnabar.extraction.store.sinks.sink import Sink
from cinnabar.schemas.errors import UsageError

#: The sink of each beginning of an address.
SINKS: dict[str, Callable[[str], Sink]] = {
    **{f"{scheme}://": PublishedCopy for scheme in SCHEMES},
    "postgresql://": PostgresqlSink,
    "postgres://": PostgresqlSink,
    **{f"delta+{scheme}://": DeltaSink for scheme in SCHEMES},
    "delta:": DeltaSink,
}


def is_sink(text: str) -> bool:
    """Returns True if this is the address of a sink, and no path."""
    return any(text.startswith(beginning) for beginning in SINKS)


def sink_of(address: str, out: Path | None = None) -> Sink:
    """Returns the sink of this address, which is not asked yet; `out` is the folder that is to be brought there.

    Raises UsageError if there is none, if its packages are missing, or if it lies in the folder itself.
    """
    make = next((make for beginning, make in SINKS.items() if address.startswith(beginning)), None)
    if make is None:
        raise UsageError(f"--sink {address}: expected an address that begins with one of {', '.join(SINKS)}")
    sink = make(address)
    local = Path(address.removeprefix("delta:").removeprefix("file://"))
    if out is not None and "://" not in str(local) and local.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"--sink {address}: lies in the output folder {out}; name another place")
    return sink
