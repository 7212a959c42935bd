"""Finds the sink of an address. What a sink needs beyond the core installation is imported when one is named."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from cinnabar.extraction.store.sinks.sink import Sink
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.extras import check_extra

# The schemes of object stores; `file` is a folder, of a network disk for example.
_STORES = ("s3://", "gs://", "az://", "file://")
# The extra, the module and the class of each beginning of an address.
_SINKS = {
    **dict.fromkeys(_STORES, ("stores", "publishing", "PublishedCopy")),
    **dict.fromkeys(("postgresql://", "postgres://"), ("sinks", "postgresql", "PostgresqlSink")),
    **dict.fromkeys(("delta:", *(f"delta+{scheme}" for scheme in _STORES)), ("sinks", "delta", "DeltaSink")),
}


def is_published(address: str) -> bool:
    """Returns True if this is the address of an object store, which a folder is published to."""
    return address.startswith(_STORES)


def is_sink(text: str) -> bool:
    """Returns True if this is the address of a sink, and no path."""
    return text.startswith(tuple(_SINKS))


def sink_of(address: str, out: Path | None = None) -> Sink:
    """Returns the sink of this address, which is not asked yet; `out` is the folder that is to be brought there.

    Raises UsageError if there is none, if its packages are missing, or if it lies in the folder itself.
    """
    beginning = next((one for one in _SINKS if address.startswith(one)), None)
    if beginning is None:
        raise UsageError(f"--sink: expected an address that begins with one of {', '.join(_SINKS)}")
    extra, module, name = _SINKS[beginning]
    check_extra(extra, beginning)
    local = address.removeprefix("delta:").removeprefix("delta+").removeprefix("file://")
    if out is not None and "://" not in local and Path(local).resolve().is_relative_to(out.resolve()):
        raise UsageError(f"--sink {address}: lies in the output folder {out}; name another place")
    # Extra: sinks, stores.
    sink: Sink = getattr(import_module(f"cinnabar.extraction.store.sinks.{module}"), name)(address)
    return sink
