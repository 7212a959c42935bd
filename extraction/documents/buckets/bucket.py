"""A bucket or container behind obstore: Amazon S3 and what speaks its protocol, Google Cloud Storage, Azure.

Credentials and endpoints are those of the environment; obstore's documentation lists the variables.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from cinnabar.errors import DocumentError, RunError, UsageError
from cinnabar.extraction.documents.buckets.address import StoreAddress
from cinnabar.extraction.documents.content.limits import MAX_FILE

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Obstore

_T = TypeVar("_T")
# Seconds before each further try, about: half of it to one and a half times as much.
_WAITS = (0.2, 0.8, 3.2, 12.8)
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
_NO_STORE = re.compile(r"NoSuchBucket|ContainerNotFound|The specified bucket does not exist")
_METADATA = re.compile(r"169\.254\.|metadata\.google|/token\b|credential", re.IGNORECASE)
_STRANGE = "has an empty part, . or .., or a control character; rename it, or read the folders beside it"
_INVALID = re.compile(r'Path "(.*)"(?:: Encountered illegal| contained empty)', re.DOTALL)


class _Fault(Exception):
    """The store did not answer, or said that it cannot just now."""


class _Denied(Exception):
    """The store knows the user, who lacks a permission; the message names it."""


class _Refused(Exception):
    """The store will give the same answer again: no such bucket, no credentials, credentials that have expired."""


class _StrangeKey(_Refused):
    """A key that obstore cannot hold."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as it was listed: its size in bytes, and the time of its last change in seconds since 1970.

    Other bytes under the same key have another `version`; "" if the store does not tell.
    """

    key: str
    size: int
    version: str
    modified: float | None


class Bucket:
    """A bucket or a container; threads may share it. Raises UsageError if its settings are not usable."""

    def __init__(self, address: StoreAddress) -> None:
        self._address, self._scheme = address, address.scheme
        try:
            self._store = _open(address.root)
        except UsageError as error:
            raise UsageError(f"{address}: {error}") from None
        except Exception as error:  # of obstore and boto3, whose texts may quote a setting
            what = f"the settings in the environment are not usable ({type(error).__name__})"
            raise UsageError(f"{address}: {what}; {_ADVICE[address.scheme]}") from None

    def path_of(self, key: str) -> str:
        """Returns the address of an object."""
        return f"{self._address.root}/{key}" if key else self._address.root

    def objects(self, key: str) -> list[StoredObject]:
        """Returns the objects at and below a key by their keys, without hidden ones and markers of empty folders.

        Raises UsageError if the store refuses, RunError if it does not answer.
        """
        found = self._ask_bucket(key, lambda: {one.key: one for one in self._entries(key)})
        hidden = (name for name in found if name != key and "/." in f"/{name[len(key) :].lstrip('/')}")
        return [found[name] for name in sorted(found.keys() - {*hidden})]

    def single(self, key: str) -> StoredObject | None:
        """Returns the object with this key, None if there is none. Raises the errors of `objects`."""
        return next(iter(self._ask_bucket(key, lambda: self._at(key))), None)

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of an object now, and their version.

        Raises DocumentError if this object cannot be read, RunError if none can.
        """
        _check_size(one.size)
        where = self.path_of(one.key)
        try:
            return _patiently(lambda: self._get(one.key), where)
        except FileNotFoundError:
            raise DocumentError("unreadable", "the object is gone from its store") from None
        except (_Denied, _StrangeKey) as error:
            raise DocumentError("unreadable", str(error)) from None
        except _Refused as error:
            raise RunError(f"{where}: {error}; then run the same command again") from None

    def _ask_bucket(self, key: str, call: Callable[[], _T]) -> _T:
        where = self.path_of(key)
        try:
            return _patiently(call, where)
        except (_Denied, _Refused) as error:
            raise UsageError(f"{where}: {error}") from None

    def _entries(self, key: str) -> list[StoredObject]:
        try:
            with self._explain_failures():
                pages = self._store.list(f"{key}/" if key else None, chunk_size=_PAGE)
                below = [_object_of(meta) for meta in chain.from_iterable(pages)]
        except _StrangeKey:
            if self._scheme != "s3":
                raise
            return [*self._listed_whole(key)]
        return [one for one in (*self._at(key), *below) if _is_object(one.key, one.size)]

    def _listed_whole(self, key: str) -> Iterator[StoredObject]:
        """Yields the objects below a key, those too whose keys obstore cannot hold; no version is known of any."""
        # Cold start: .1 s, and few buckets have such keys.
        from pyarrow import fs

        try:
            endpoints = map(os.environ.get, ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"))
            store = fs.S3FileSystem(endpoint_override=next(filter(None, endpoints), None))
            place = f"{self._address.place}/{key}".rstrip("/")
            found = store.get_file_info(fs.FileSelector(place, recursive=True, allow_not_found=True))
        except OSError:  # its text may quote a setting
            raise _Refused(f"a key {_STRANGE}") from None
        for one in found:
            name = one.path.removeprefix(f"{self._address.place}/")
            if one.is_file and _is_object(name, one.size):
                yield StoredObject(name, one.size, "", one.mtime_ns and one.mtime_ns / 1e9)

    def _at(self, key: str) -> list[StoredObject]:
        with suppress(FileNotFoundError), self._explain_failures():
            return [_object_of(self._store.head(key))] if key else []
        return []

    def _get(self, key: str) -> tuple[bytes, str]:
        with self._explain_failures():
            answer = self._store.get(key)
            _check_size(answer.meta["size"])
            return bytes(answer.bytes()), _object_of(answer.meta).version

    @contextmanager
    def _explain_failures(self) -> Iterator[None]:
        try:
            yield
        except DocumentError:
            raise
        except Exception as error:
            raise _our_error(error, self._scheme) from None


def _patiently(call: Callable[[], _T], where: str) -> _T:
    """Returns the result of a call that is tried again after faults. Raises RunError if they do not end."""
    waits = iter(_WAITS)
    while True:
        try:
            return call()
        except _Fault as fault:
            if (wait := next(waits, None)) is None:
                raise RunError(f"{where}: the store does not answer ({fault}); run the same command again") from None
            time.sleep(wait * random.uniform(0.5, 1.5))


def _check_size(size: int) -> None:
    """Raises DocumentError if an object of so many bytes is too large to be read."""
    if size > MAX_FILE:
        raise DocumentError("too_large", f"{size} bytes, at most {MAX_FILE} are read")


def _our_error(error: Exception, scheme: str) -> Exception:
    """Returns our error for one of obstore, whose text may hold a signed URL: only its codes are told."""
    text = str(error).partition("\n\nDebug")[0]
    status = int(found[1]) if (found := _STATUS.search(text)) else 0
    code = found[1] if (found := _CODE.search(text)) else ""
    said = " ".join(filter(None, (str(status or ""), code))) or "no answer"
    if _NO_STORE.search(text):
        return _Refused("no such bucket or container")
    if isinstance(error, FileNotFoundError):
        return error
    if "invalid path" in text or "parse path" in text:
        named = found[1] if (found := _INVALID.search(text)) else ""
        return _StrangeKey(f"the key {named!r} {_STRANGE}")
    if _METADATA.search(text.partition("<")[0]) and not code:
        return _Refused(f"no credentials; {_ADVICE[scheme]}")
    if status == 401 or (status == 403 and _WRONG.search(code)):
        return _Refused(f"the credentials are not accepted ({said}); {_ADVICE[scheme]}")
    if status == 403:
        return _Denied(f"access is denied ({said}); needed: {_PERMISSIONS[scheme]}")
    if 300 <= status < 500 and status not in (408, 429):
        return _Refused(f"the store refuses ({said}); check region and endpoint in the environment")
    return _Fault(said)


def _is_object(key: str, size: int) -> bool:
    # A marker `x/` is listed as `x`, like an empty object; names of folders have no suffix.
    name = key.rpartition("/")[2]
    return bool(size) or ("." in name and not name.endswith("_$folder$"))


def _open(url: str) -> Obstore:
    """Returns the store at s3://, gs:// or az://, with the rest of the path as prefix; it is not asked yet.

    Raises UsageError, without its value, for a setting that cannot be used, and what obstore and boto3 raise, whose
    texts may quote a setting.
    """
    scheme = url.partition(":")[0]
    for name in filter(os.environ.__contains__, _ENDPOINTS[scheme]):
        if os.environ[name]:
            _endpoint(name)
        else:  # no address, as other programs have it
            del os.environ[name]
    for name in _LINES.get(scheme, "").split():
        if re.search(r"[\x00-\x1f\x7f]", os.environ.get(name, "")):
            raise UsageError(f"{name}: expected one line without control characters, got another text")
    # Extra: stores.
    from obstore.store import from_url

    settings: dict[str, Any] = {"client_options": _CLIENT, "retry_config": _RETRY}
    if scheme == "az":
        settings["authority_host"] = _endpoint("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com", "https://")
    if scheme == "s3" and "AWS_PROFILE" in os.environ:
        # Extra: stores; boto3 is no part of it, only profiles need it, which may lead to a single sign-on.
        from obstore.auth.boto3 import Boto3CredentialProvider

        settings["credential_provider"] = Boto3CredentialProvider()
    return from_url(url, **settings)


def _object_of(meta: Any) -> StoredObject:
    modified, tag = meta["last_modified"].timestamp(), meta["version"] or meta["e_tag"]
    return StoredObject(meta["path"], meta["size"], f"{tag} {meta['size']}" if tag else "", modified)


def _endpoint(name: str, default: str = "", scheme: str = "") -> str:
    """Returns the address in this variable, behind `scheme` if it has none; an empty variable counts as not set.

    Raises UsageError, which does not show the text, if it is no address: obstore panics, or waits for an answer.
    """
    text = os.environ.get(name) or default
    text = text if "://" in text else scheme + text
    with suppress(ValueError):  # brackets or a port that are wrong
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if known and all("!" <= one <= "~" for one in text):
            return text.rstrip("/")
    raise UsageError(f"{name}: expected an address as https://HOST, in ASCII without a blank, got another text")
