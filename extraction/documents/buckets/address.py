"""The address of documents in an object store, without any credential: `s3://bucket/prefix`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cinnabar.errors import UsageError

# By scheme: the form of an address for its error.
_FORMS = {"s3": "s3://BUCKET/PREFIX", "gs": "gs://BUCKET/PREFIX", "az": "az://CONTAINER/PREFIX"}
# What is read by a mount.
_MOUNTED = ("sftp", "sharepoint", "onedrive")
_ADDRESS = re.compile(rf"({'|'.join((*_FORMS, *_MOUNTED))})://(.*)", re.IGNORECASE | re.DOTALL)
_PARTS = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:/+(.*))?", re.DOTALL)
_SIGNED = re.compile(r"[?&](?:sig|signature|[a-z-]*-signature|awsaccesskeyid)=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A store (`place`: its bucket or container), and a key or prefix in it."""

    scheme: str
    place: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root

    @property
    def root(self) -> str:
        """Returns the address of the whole store."""
        return f"{self.scheme}://{self.place}"


def is_store_address(text: str) -> bool:
    """Returns True if this names a place in a store, or on a server that a mount reads, rather than a path."""
    return _ADDRESS.match(text) is not None


def parse_store_address(text: str) -> StoreAddress:
    """Returns the place in a store. A key is written as it is, without percent escapes, and needs no `/` at its end.

    Raises UsageError, whose message never repeats a possible password or signature.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UsageError(f"expected an address like {', '.join(_FORMS.values())}")
    scheme, rest = match[1].lower(), match[2]
    if scheme in _MOUNTED:
        raise UsageError(f"{scheme}://…: expected a folder: mount the server, for example by rclone (docs/recipes.md)")
    form = _FORMS[scheme]
    if rest.partition("/")[0].rpartition("@")[1] or _SIGNED.search(rest):
        advice = "an address may hold no password, key or signature: they come from the environment (docs/formats.md)"
        raise UsageError(f"{scheme}://…: expected {form}; {advice}")
    parts = _PARTS.fullmatch(rest)
    key = (parts[2] or "").rstrip("/") if parts else ""
    if parts is None or (key and not {"", ".", ".."}.isdisjoint(key.split("/"))):
        # What is no address of a store may hold a password in any place.
        shown = f"{scheme}://{rest}" if parts else f"another form of {scheme}://"
        raise UsageError(f"expected {form} without empty parts, . and .. in it, got {shown}")
    return StoreAddress(scheme, parts[1], key)
