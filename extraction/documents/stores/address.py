"""The address of documents in a store, without any credential: `s3://bucket/prefix`, `sftp://user@host/path`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cinnabar.schemas.errors import UsageError

_BUCKET = r"[A-Za-z0-9][A-Za-z0-9._-]*"
# By scheme: the form of an address for its error, and of the part that names the store.
_FORMS = {
    "s3": ("s3://BUCKET/PREFIX", _BUCKET),
    "gs": ("gs://BUCKET/PREFIX", _BUCKET),
    "az": ("az://CONTAINER/PREFIX", _BUCKET),
    "sftp": ("sftp://USER@HOST[:PORT]/PATH", r"[^\s:@/]+@(?:\[[0-9A-Fa-f:.]+\]|[^\s:@\[\]/]+)(?::\d{1,5})?"),
    "sharepoint": ("sharepoint://SITE/DRIVE/PATH", r"[^:@/\x00-\x1f\x7f]+/[^/\x00-\x1f\x7f]+"),
    "onedrive": ("onedrive://USER/PATH", r"[^:/\s]+"),
}
_ADDRESS = re.compile(rf"({'|'.join(_FORMS)})://(.*)", re.IGNORECASE | re.DOTALL)
_SIGNED = re.compile(r"[?&](?:sig|signature|[a-z-]*-signature|awsaccesskeyid)=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A store (`place`: its bucket, container, user and host, site and drive, or user), and a key or folder in it."""

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
    """Returns True if this names a place in a store rather than a path."""
    return _ADDRESS.match(text) is not None


def parse_store_address(text: str) -> StoreAddress:
    """Returns the place in a store. A key is written as it is, without percent escapes, and needs no `/` at its end.

    Raises UsageError, whose message never repeats a possible password or signature.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UsageError(f"expected an address like {', '.join(form for form, _ in _FORMS.values())}")
    scheme, rest = match[1].lower(), match[2]
    form, place = _FORMS[scheme]
    user = rest.partition("/")[0].rpartition("@")[0]
    if ":" in user or (user and scheme not in ("sftp", "onedrive")) or _SIGNED.search(rest):
        advice = "an address may not hold a password, key or signature: they come from the environment (docs/stores.md)"
        raise UsageError(f"{scheme}://…: expected {form}; {advice}")
    parts = re.fullmatch(rf"({place})(?:/+(.*))?", rest, re.DOTALL)
    key = (parts[2] or "").rstrip("/") if parts else ""
    if parts is None or (key and not {"", ".", ".."}.isdisjoint(key.split("/"))):
        # What is no address of a store may hold a password in any place.
        shown = f"{scheme}://{rest}" if parts else f"another form of {scheme}://"
        raise UsageError(f"expected {form} without empty parts, . and .. in it, got {shown}")
    port = re.search(r":(\d+)$", parts[1])
    if port and not 0 < int(port[1]) < 1 << 16:
        raise UsageError(f"expected {form} with a port from 1 to 65535, got {scheme}://{rest}")
    return StoreAddress(scheme, parts[1], key)
