"""Opens the object store of an address, with credentials by the store's own ways."""

from __future__ import annotations

import re
import secrets
from functools import cached_property

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore, from_url

from cinnabar.extraction.documents.stores.object_backend import NO_STORE, open_object_store
from cinnabar.schemas.errors import UsageError

# An address without credentials: those would stand before an @, or in parameters.
_ADDRESS = re.compile(r"(?:s3|gs|az)://[^/?#@:\s]+(?:/[^?#]*)?|file:///[^?#]+")


class InStore:
    """A sink at this place in a store, or in a folder, which is made once it is needed.

    Raises UsageError if the address or the settings of a store are wrong.
    """

    def __init__(self, address: str, place: str) -> None:
        self.address, self._place = address, place
        check_address(place)
        if not place.startswith("file:"):
            _ = self._store

    @cached_property
    def _store(self) -> ObjectStore:
        return open_store(self._place, make=True)

    def check(self) -> None:
        """Raises UsageError if the place cannot be written to, or if a store has no create-if-absent."""
        check_store(self._store, self.address)


def check_address(address: str) -> None:
    """Raises UsageError if this is no address of a store, or if it holds credentials."""
    if _ADDRESS.fullmatch(address) is None:
        raise UsageError(
            "expected s3://BUCKET/PREFIX, gs://…, az://… or file:///FOLDER, without credentials and without ? or #; set"
            " them as environment variables, such as AWS_ACCESS_KEY_ID"
        )


def open_store(address: str, make: bool = False) -> ObjectStore:
    """Returns the store at this address, with the address as prefix; it is not asked yet. With `make` a folder is made.

    Credentials come from the environment and the machine (`AWS_…`, `GOOGLE_…`, `AZURE_…`). Raises UsageError if the
    address is wrong or holds credentials.
    """
    check_address(address)
    try:
        return from_url(address, mkdir=make) if address.startswith("file:") else open_object_store(address)
    except (BaseError, OSError, ValueError) as error:
        raise UsageError(f"{address}: could not be opened: {store_error_text(error)}") from error


def store_error_text(error: Exception) -> str:
    """Returns the first line of an error of a store, without what may be a password or a signature in an address."""
    if NO_STORE.search(str(error)):
        return "no such bucket or container"
    line = re.sub(r"(?<=//)[^\s/@]+@", "…@", str(error).partition("\n")[0])
    return re.sub(r"\?[^\s\"')]+", "?…", line)[:300]


def check_store(store: ObjectStore, address: str) -> None:
    """Raises UsageError if the store cannot be reached, or does not create an object only if there is none.
    """
    name = f"cinnabar-probe-{secrets.token_hex(8)}"
    try:
        obstore.put(store, name, b"", mode="create")
        try:
            obstore.put(store, name, b"", mode="create")
        except AlreadyExistsError:
            return
        finally:
            obstore.delete(store, name)
    except (BaseError, OSError) as error:
        raise UsageError(f"{address}: could not be written to: {store_error_text(error)}") from error
    raise UsageError(
        f"{address}: expected a store that creates an object only if there is none (If-None-Match), got one that"
        " replaces it; without that two writers could undo each other's work"
    )
