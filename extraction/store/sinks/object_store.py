"""Opens the object store of an address, with credentials by the store's own ways."""

from __future__ import annotations

import secrets
from datetime import datetime
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore, from_url

from cinnabar.schemas.errors import UsageError

#: The schemes of object stores; `file` is a folder, of a network disk for example.
SCHEMES = ("s3", "gs", "az", "file")


def open_store(address: str) -> ObjectStore:
    """Returns the store at this address, with the address as prefix; it is not asked yet.

    Credentials come from the environment and the machine (`AWS_…`, `GOOGLE_…`, `AZURE_…`). Raises UsageError if the
    address is wrong or holds credentials.
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise UsageError(f"expected an address such as s3://bucket/prefix, got another ({error})") from None
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"{shown}: expected an address without credentials and without ? or #; set them as environment variables,"
            " such as AWS_ACCESS_KEY_ID"
        )
    if parts.scheme not in SCHEMES or not (parts.netloc or (parts.scheme == "file" and len(parts.path) > 1)):
        raise UsageError(f"{shown}: expected s3://BUCKET/PREFIX, gs://…, az://… or file:///FOLDER")
    try:
        return from_url(address, mkdir=True) if parts.scheme == "file" else from_url(address)
    except (BaseError, ValueError) as error:
        raise UsageError(f"{shown}: {told(error)}") from error


def told(error: Exception) -> str:
    """Returns the first line of a store's error, without its inner representation."""
    return str(error).partition("\n")[0][:300]


def check_store(store: ObjectStore, address: str) -> datetime:
    """Returns the store's own time after it has shown that it creates an object only if there is none.

    Raises UsageError if it cannot be reached, or cannot do that.
    """
    name = f"probes/{secrets.token_hex(8)}"
    try:
        obstore.put(store, name, b"", mode="create")
        made = obstore.head(store, name)["last_modified"]
        try:
            obstore.put(store, name, b"", mode="create")
        except AlreadyExistsError:
            return made
        finally:
            obstore.delete(store, name)
    except (BaseError, OSError) as error:
        raise UsageError(f"{address}: could not be written to: {told(error)}") from error
    raise UsageError(
        f"{address}: expected a store that creates an object only if there is none (If-None-Match), got one that"
        " replaces it; without that two writers could undo each other's work"
    )
