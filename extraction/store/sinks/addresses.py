"""Finds the sink of an address. What a sink needs beyond the core installation is imported when one is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cinnabar.extraction.store.sinks.sink import Sink
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.extras import check_extra

# The schemes of object stores; `file` is a folder, of a network disk for example.
_STORES = ("s3", "gs", "az", "file")


def _published(address: str) -> Sink:
    check_extra("stores", address.partition(":")[0])
    # Extra: stores.
    from cinnabar.extraction.store.sinks.publishing import PublishedCopy

    return PublishedCopy(address)


def _postgresql(address: str) -> Sink:
    check_extra("sinks", "postgresql")
    # Extra: sinks.
    from cinnabar.extraction.store.sinks.postgresql import PostgresqlSink

    return PostgresqlSink(address)


def _delta(address: str) -> Sink:
    for extra in ("sinks", "stores") if "://" in address else ("sinks",):
        check_extra(extra, "delta")
    # Extra: sinks.
    from cinnabar.extraction.store.sinks.delta import DeltaSink

    return DeltaSink(address)


#: The sink of each beginning of an address.
SINKS: dict[str, Callable[[str], Sink]] = {
    **{f"{scheme}://": _published for scheme in _STORES},
    "postgresql://": _postgresql,
    "postgres://": _postgresql,
    **{f"delta+{scheme}://": _delta for scheme in _STORES},
    "delta:": _delta,
}


def is_published(address: str) -> bool:
    """Returns True if this is the address of an object store, which a folder is published to."""
    return address.startswith(tuple(f"{scheme}://" for scheme in _STORES))


def is_sink(text: str) -> bool:
    """Returns True if this is the address of a sink, and no path."""
    return any(text.startswith(beginning) for beginning in SINKS)


def sink_of(address: str, out: Path | None = None) -> Sink:
    """Returns the sink of this address, which is not asked yet; `out` is the folder that is to be brought there.

    Raises UsageError if there is none, if its packages are missing, or if it lies in the folder itself.
    """
    make = next((make for beginning, make in SINKS.items() if address.startswith(beginning)), None)
    if make is None:
        shown = address.rpartition("@")[2].partition("?")[0]
        raise UsageError(f"--sink {shown}: expected an address that begins with one of {', '.join(SINKS)}")
    sink = make(address)
    local = address.removeprefix("delta:").removeprefix("delta+").removeprefix("file://")
    if out is not None and "://" not in local and Path(local).resolve().is_relative_to(out.resolve()):
        raise UsageError(f"--sink {address}: lies in the output folder {out}; name another place")
    return sink
