"""Document libraries of SharePoint and OneDrive, read by msgraphfs through Microsoft Graph as an application.

Items are addressed by their ids: msgraphfs does not escape `#` and `%` in a path, and takes the first site that a
search finds.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from cinnabar.extraction.documents.stores.backend import (
    LOGIN,
    Denied,
    Fault,
    Folder,
    StoreAddress,
    StoredObject,
    StoreRefused,
    endpoint,
    with_retries,
)

_T = TypeVar("_T")
#: The environment variable with another root of Graph, for example that of a national cloud.
GRAPH = "CINNABAR_GRAPH_URL"
_NAMES = ("CLIENT_ID", "CLIENT_SECRET", "TENANT_ID")
_TEMPORARY = (408, 409, 423, 429, 509)


class SharePointBackend:
    """A drive of a site or of a user."""

    threads = 8
    in_order = False

    def __init__(self, address: StoreAddress) -> None:
        self._graph = endpoint(GRAPH, "https://graph.microsoft.com/v1.0")
        self._drive = _open_drive(self._graph)
        drive = with_retries(lambda: self._drive_id(address), str(address))
        self._drive.drive_id, self._drive.drive_url = drive, f"{self._graph}/drives/{drive}"

    def entries(self, folder: Folder, after: str) -> list[StoredObject | Folder]:  # noqa: ARG002 (folders have no order)
        """Returns the file with this key, or the files and folders there."""
        if not folder.id:
            item = _ask(lambda: self._drive.info(quote(f"/{folder.key}"))["item_info"])
            if "file" in item:
                return [_object_of(folder.key, item)]
            folder = Folder(folder.key, item["id"])
        found: list[StoredObject | Folder] = []
        for item in (one["item_info"] for one in _ask(lambda: self._drive.ls("/", item_id=folder.id))):
            key = f"{folder.key}/{item['name']}".lstrip("/")
            if "folder" in item:
                found.append(Folder(key, item["id"]))
            elif "file" in item:
                found.append(_object_of(key, item))
        return found

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of a file now, and their version if it is the one that was listed."""
        data = _ask(lambda: self._drive.cat_file("/", item_id=one.id))
        now = _ask(lambda: self._drive.info("/", item_id=one.id)["item_info"])
        return bytes(data), one.version if _object_of(one.key, now).version == one.version else ""

    def close(self) -> None:
        """Does nothing: msgraphfs closes its connections."""

    def _drive_id(self, address: StoreAddress) -> str:
        if address.scheme == "onedrive":
            return str(self._got(f"/users/{quote(address.place)}/drive")["id"])
        site, _, drive = address.place.partition("/")
        sites = self._got(f"/sites?search={quote(site, safe='')}").get("value", [])
        named = ((one["id"], {str(one.get(name)).casefold() for name in ("name", "displayName")}) for one in sites)
        ids = [number for number, names in named if site.casefold() in names]
        if len(ids) != 1:
            raise StoreRefused(f"expected one site of this name, got {len(ids)}")
        drives = {one["name"]: one["id"] for one in self._got(f"/sites/{ids[0]}/drives").get("value", [])}
        if drive not in drives:
            raise StoreRefused(f"the site has no drive {drive}; it has {', '.join(sorted(drives)) or 'none'}")
        return str(drives[drive])

    def _got(self, path: str) -> Any:
        return _ask(lambda: self._drive.call_msgraph("GET", f"{self._graph}{path}").json())


def _ask(call: Callable[[], _T]) -> _T:
    # Extra: stores. msgraphfs depends on it.
    from authlib.integrations.base_client import OAuthError

    try:
        return call()
    except OAuthError as error:
        raise StoreRefused(f"no token for the application ({error.error})") from None
    except Exception as error:
        # authlib brings httpx or its successor, whose errors msgraphfs does not know.
        if not type(error).__module__.startswith("httpx"):
            raise
        status = getattr(getattr(error, "response", None), "status_code", 0)
        if status == 404:
            raise FileNotFoundError("no such site, user or item") from None
        if status == 403:
            raise Denied("access is denied; the application needs Files.Read.All, and Sites.Read.All") from None
        if not status or status in _TEMPORARY or status >= 500:
            raise Fault(f"HTTP {status}" if status else type(error).__name__) from None
        raise StoreRefused(f"Microsoft Graph refuses (HTTP {status})") from None


def _open_drive(root: str) -> Any:
    # Extra: stores.
    from msgraphfs import MSGDriveFS

    # It logs answers that we report ourselves.
    logging.getLogger("msgraphfs").addHandler(logging.NullHandler())
    found = {name: os.environ.get(f"MSGRAPHFS_{name}") or os.environ.get(f"AZURE_{name}") for name in _NAMES}
    if missing := [f"MSGRAPHFS_{name}" for name, text in found.items() if not text]:
        raise StoreRefused(f"no credentials; set {', '.join(missing)}")
    return MSGDriveFS(
        drive_id="none yet",
        skip_instance_cache=True,
        oauth2_client_params={
            "client_id": found["CLIENT_ID"],
            "client_secret": found["CLIENT_SECRET"],
            "token_endpoint": f"{endpoint(*LOGIN)}/{found['TENANT_ID']}/oauth2/v2.0/token",
            "scope": f"{urlsplit(root)._replace(path='').geturl()}/.default",
            "grant_type": "client_credentials",
            "timeout": 60.0,
        },
    )


def _object_of(key: str, item: Any) -> StoredObject:
    # The cTag changes with the content alone, the eTag with any property.
    tag = item.get("cTag") or item.get("eTag") or ""
    modified = item.get("lastModifiedDateTime")
    modified = modified and datetime.fromisoformat(modified).timestamp()
    return StoredObject(key, item["size"], tag and f"{tag} {item['size']}", modified, item["id"])
