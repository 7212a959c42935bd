"""Object stores by obstore: Amazon S3 and what speaks its protocol, Google Cloud Storage, Azure Blob Storage.

Credentials and endpoints are those of the environment; obstore's documentation lists the variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.stores.backend import (
    LOGIN,
    Denied,
    Fault,
    Folder,
    StoreAddress,
    StoredObject,
    StoreRefused,
    check_size,
    endpoint,
)

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_PAGE = 1000
# obstore's own limit for a whole answer is 30 s, too short for a large object. An endpoint without encryption is a
# choice that its setting in the environment already made.
_CLIENT = {"connect_timeout": "5s", "read_timeout": "30s", "timeout": "15m", "allow_http": True}
_RETRY = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
# The permissions that an answer may lack, and what gives credentials, by scheme.
_PERMISSIONS = {
    "s3": "s3:ListBucket and s3:GetObject",
    "gs": "storage.objects.list and storage.objects.get",
    "az": "the role Storage Blob Data Reader",
}
_ADVICE = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE (which needs boto3)",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
}
# The variables with addresses and with texts of one line, by scheme; on wrong ones obstore panics.
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT", "AWS_METADATA_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
_LINES = {
    "s3": "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION",
    "az": "AZURE_STORAGE_ACCOUNT_NAME AZURE_STORAGE_ACCOUNT_KEY AZURE_STORAGE_SAS_TOKEN AZURE_STORAGE_TOKEN"
    " AZURE_TENANT_ID AZURE_CLIENT_ID AZURE_CLIENT_SECRET",
}
_STATUS, _CODE = re.compile(r"status code: (\d{3})"), re.compile(r"<Code>(\w+)</Code>")
# Codes of a 403 that say that the credentials are wrong or old; others say what they may not do.
_WRONG = re.compile(r"Expired|Invalid|Signature|Authentication|Skewed|Malformed")
#: An error that says so, of any store.
NO_STORE = re.compile(r"NoSuchBucket|ContainerNotFound|The specified bucket does not exist")
_METADATA = re.compile(r"169\.254\.|metadata\.google|/token\b|credential", re.IGNORECASE)
_STRANGE = "has an empty part, . or .., or a control character; rename it, or read the folders beside it"
_INVALID = re.compile(r'Path "(.*)"(?:: Encountered illegal| contained empty)', re.DOTALL)


class _StrangeKey(StoreRefused):
    """A key that obstore cannot hold."""


class ObjectBackend:
    """A bucket or a container. Raises UsageError if its settings are not usable."""

    threads = 16

    def __init__(self, address: StoreAddress) -> None:
        self._scheme, self._place = address.scheme, address.place
        # Azure's folders and Amazon's directory buckets are not listed by key.
        self.in_order = address.scheme == "gs" or (address.scheme == "s3" and not address.place.endswith("--x-s3"))
        try:
            self._store = open_object_store(address.root)
        except UsageError as error:
            raise UsageError(f"{address}: {error}") from None
        except Exception as error:  # of obstore and boto3, whose texts may quote a setting
            what = f"the settings in the environment are not usable ({type(error).__name__})"
            raise UsageError(f"{address}: {what}; {_ADVICE[address.scheme]}") from None

    def entries(self, folder: Folder, after: str) -> Iterator[StoredObject]:
        """Yields the object with this key and all below it, without markers of empty folders."""
        try:
            yield from self._list(folder, after)
        except _StrangeKey:
            if self._scheme != "s3":
                raise
            yield from self._listed_whole(folder)

    def _list(self, folder: Folder, after: str) -> Iterator[StoredObject]:
        with self._told():
            pages = self._store.list(f"{folder.key}/" if folder.key else None, offset=after or None, chunk_size=_PAGE)
            for meta in chain([] if after else self._at(folder.key), chain.from_iterable(pages)):
                if _is_object(meta["path"], meta["size"]):
                    yield _object_of(meta)

    def _listed_whole(self, folder: Folder) -> Iterator[StoredObject]:
        """Yields the objects below a key, those too whose keys obstore cannot hold; no version is known of any."""
        # Cold start: .1 s, and few buckets have such keys.
        from pyarrow import fs

        try:
            endpoints = map(os.environ.get, ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"))
            store = fs.S3FileSystem(endpoint_override=next(filter(None, endpoints), None))
            place = f"{self._place}/{folder.key}".rstrip("/")
            found = store.get_file_info(fs.FileSelector(place, recursive=True, allow_not_found=True))
        except OSError:  # its text may quote a setting
            raise StoreRefused(f"a key {_STRANGE}") from None
        for one in found:
            key = one.path.removeprefix(f"{self._place}/")
            if one.is_file and _is_object(key, one.size):
                yield StoredObject(key, one.size, "", one.mtime_ns and one.mtime_ns / 1e9)

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of an object now, and their version."""
        try:
            with self._told():
                answer = self._store.get(one.key)
                check_size(answer.meta["size"])
                return bytes(answer.bytes()), _object_of(answer.meta).version
        except _StrangeKey as error:
            raise DocumentError("unreadable", str(error)) from None

    def close(self) -> None:
        """Does nothing: obstore closes its connections."""

    def _at(self, key: str) -> list[Any]:
        with suppress(FileNotFoundError):
            return [self._store.head(key)] if key else []
        return []

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DocumentError:
            raise
        except Exception as error:
            raise _our_error(error, self._scheme) from None


def _our_error(error: Exception, scheme: str) -> Exception:
    """Returns our error for one of obstore, whose text may hold a signed URL: only its codes are told."""
    text = str(error).partition("\n\nDebug")[0]
    status = int(found[1]) if (found := _STATUS.search(text)) else 0
    code = found[1] if (found := _CODE.search(text)) else ""
    said = " ".join(filter(None, (str(status or ""), code))) or "no answer"
    if NO_STORE.search(text):
        return StoreRefused("no such bucket or container")
    if isinstance(error, FileNotFoundError):
        return error
    if "invalid path" in text or "parse path" in text:
        named = found[1] if (found := _INVALID.search(text)) else ""
        return _StrangeKey(f"the key {named!r} {_STRANGE}")
    if _METADATA.search(text.partition("<")[0]) and not code:
        return StoreRefused(f"no credentials; {_ADVICE[scheme]}")
    if status == 401 or (status == 403 and _WRONG.search(code)):
        return StoreRefused(f"the credentials are not accepted ({said}); {_ADVICE[scheme]}")
    if status == 403:
        return Denied(f"access is denied ({said}); needed: {_PERMISSIONS[scheme]}")
    if 300 <= status < 500 and status not in (408, 429):
        return StoreRefused(f"the store refuses ({said}); check region and endpoint in the environment")
    return Fault(said)


def _is_object(key: str, size: int) -> bool:
    # A marker `x/` is listed as `x`, like an empty object; names of folders have no suffix.
    name = key.rpartition("/")[2]
    return bool(size) or ("." in name and not name.endswith("_$folder$"))


def open_object_store(url: str) -> ObjectStore:
    """Returns the store at s3://, gs:// or az://, with the rest of the path as prefix; it is not asked yet.

    Raises UsageError, without its value, for a setting that cannot be used, and what obstore and boto3 raise, whose
    texts may quote a setting.
    """
    scheme = url.partition(":")[0]
    for name in filter(os.environ.__contains__, _ENDPOINTS[scheme]):
        if os.environ[name]:
            endpoint(name)
        else:  # no address, as other programs have it
            del os.environ[name]
    for name in _LINES.get(scheme, "").split():
        if re.search(r"[\x00-\x1f\x7f]", os.environ.get(name, "")):
            raise UsageError(f"{name}: expected one line without control characters, got another text")
    # Extra: stores.
    from obstore.store import from_url

    settings: dict[str, Any] = {"client_options": _CLIENT, "retry_config": _RETRY}
    if scheme == "az":
        settings["authority_host"] = endpoint(*LOGIN)
    if scheme == "s3" and "AWS_PROFILE" in os.environ:
        # Extra: stores; boto3 is no part of it, only profiles need it, which may lead to a single sign-on.
        from obstore.auth.boto3 import Boto3CredentialProvider

        settings["credential_provider"] = Boto3CredentialProvider()
    return from_url(url, **settings)


def _object_of(meta: Any) -> StoredObject:
    modified, tag = meta["last_modified"].timestamp(), meta["version"] or meta["e_tag"]
    return StoredObject(meta["path"], meta["size"], f"{tag} {meta['size']}" if tag else "", modified)
