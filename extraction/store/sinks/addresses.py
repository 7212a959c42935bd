"""Finds the sink of an address. What a sink needs beyond the core installation is imported when one is named."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path, PurePath
from urllib.parse import unquote

from cinnabar.extraction.documents.inputs import Location, source_of
from cinnabar.extraction.store.sinks.sink import Sink
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.extras import check_extra

# The schemes of object stores; `file` is a folder, of a network disk for example.
_STORES = ("s3://", "gs://", "az://", "file:")
# The module and the class of each beginning of an address.
_SINKS = {
    **dict.fromkeys(("postgresql://", "postgres://"), ("postgresql", "PostgresqlSink")),
    **dict.fromkeys(("delta:", *(f"delta+{scheme}" for scheme in _STORES)), ("delta", "DeltaSink")),
}


def is_sink(text: str) -> bool:
    """Returns True if this is the address of a sink, and no path."""
    return text.startswith(tuple(_SINKS))


def sink_of(address: str, out: Path | None = None) -> Sink:
    """Returns the sink of this address, which is not asked yet; `out` is the folder that is to be brought there.

    Raises UsageError if there is none, if its packages are missing, or if it lies in the folder itself.
    """
    beginning = next((one for one in _SINKS if address.startswith(one)), None)
    if beginning is None:
        raise UsageError(f"expected an address of a sink that begins with one of {', '.join(_SINKS)}")
    module, name = _SINKS[beginning]
    check_extra("sinks", beginning)
    if out is not None and _place(address).is_relative_to(out.resolve()):
        raise UsageError(f"{address}: lies in the output folder {out}; name another place")
    # Extra: sinks.
    sink: Sink = getattr(import_module(f"cinnabar.extraction.store.sinks.{module}"), name)(address)
    return sink


def check_apart(sinks: Iterable[Sink], locations: Iterable[Location]) -> None:
    """Raises UsageError if a sink lies in one of these locations of a run, which would read it the next time."""
    read = [place for one in locations if (place := source_of(one).place) is not None]
    for sink in sinks:
        if any(_place(sink.address).is_relative_to(one) for one in read):
            raise UsageError(f"{sink.address}: lies where documents are read, so it would be read; name another place")


def _place(address: str) -> PurePath:
    """Returns where a sink lies: a path of this machine, or `s3:/BUCKET/PREFIX` and the like."""
    place = address.removeprefix("delta:").removeprefix("delta+")
    if "://" in place:
        place = unquote(place).removeprefix("file://")
    return PurePath(place) if "://" in place else Path(os.path.realpath(place))
