"""Object stores by obstore: Amazon S3 and what speaks its protocol, Google Cloud Storage, Azure Blob Storage.

Credentials and endpoints are those of the environment; obstore's documentation lists the variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from cinnabar.extraction.documents.stores.address import StoreAddress
from cinnabar.extraction.documents.stores.backend import Denied, Fault, Refused, StoredObject, check_size
from cinnabar.schemas.errors import DocumentError, UsageError

_PAGE = 1000
_ENDPOINTS = re.compile(r"(AWS_ENDPOINT.*|AZURE_.*ENDPOINT|GOOGLE_BASE_URL)", re.IGNORECASE)
_CLIENT = {"connect_timeout": "5s", "read_timeout": "30s", "timeout": "15m"}
_RETRY = {
    "max_retries": 4,
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
    "retry_timeout": timedelta(seconds=60),
}
# The permissions that an answer may lack, by scheme.
_PERMISSIONS = {
    "s3": "s3:ListBucket and s3:GetObject",
    "gs": "storage.objects.list and storage.objects.get",
    "az": "the role Storage Blob Data Reader",
}
_ADVICE = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; AWS_SKIP_SIGNATURE=true for a public one",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS; GOOGLE_SKIP_SIGNATURE=true for a public one",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
}
_STATUS, _CODE = re.compile(r"status code: (\d{3})"), re.compile(r"<Code>(\w+)</Code>")
# Codes of a 403 that say that the credentials are wrong or old; others say what they may not do.
_WRONG = re.compile(r"Expired|Invalid|Signature|Authentication|Skewed|Malformed")
_NO_STORE = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
_METADATA = re.compile(r"169\.254\.|metadata\.google|/token\b|credential", re.IGNORECASE)
_TEMPORARY = (408, 429)


class ObjectBackend:
    """A bucket or a container. Raises UsageError if its settings are not usable."""

    threads = 16

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        # Azure's folders and Amazon's directory buckets are not listed by key.
        self.in_order = address.scheme == "gs" or (address.scheme == "s3" and not address.place.endswith("--x-s3"))
        try:
            self._store = _opened(address)
        except Exception as error:  # of obstore and boto3, whose texts may quote a setting
            what = f"the settings in the environment are not usable ({type(error).__name__})"
            raise UsageError(f"{address}: {what}; {_ADVICE[address.scheme]}") from None

    def objects(self, key: str, after: str | None) -> Iterator[StoredObject]:
        """Yields the object with this key and all below it, without markers of empty folders."""
        try:
            if key and after is None and (one := self._at(key)) is not None and not _is_marker(one):
                yield one
            for page in self._store.list(f"{key}/" if key else None, offset=after, chunk_size=_PAGE):
                # A marker `x/` is listed as `x`, like an empty file.
                yield from (one for one in map(_stored, page) if not _is_marker(one))
        except Exception as error:
            raise self._told(error) from None

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        """Returns the bytes of an object now, and their version."""
        try:
            answer = self._store.get(one.key)
            check_size(answer.meta["size"])
            return bytes(answer.bytes()), _stored(answer.meta).version
        except DocumentError:
            raise
        except Exception as error:
            raise self._told(error) from None

    def close(self) -> None:
        """Does nothing: obstore closes its connections."""

    def _at(self, key: str) -> StoredObject | None:
        try:
            return _stored(self._store.head(key))
        except FileNotFoundError:
            return None

    def _told(self, error: Exception) -> Exception:
        """Returns our error for one of obstore, whose text may hold a signed URL: only its codes are told."""
        text, scheme = str(error).partition("\n\nDebug")[0], self._address.scheme
        status = int(found[1]) if (found := _STATUS.search(text)) else 0
        code = found[1] if (found := _CODE.search(text)) else ""
        said = " ".join(filter(None, (str(status or ""), code))) or "no answer"
        if any(name in text for name in _NO_STORE):
            return Refused("no such bucket or container")
        if isinstance(error, FileNotFoundError):
            return error
        if "invalid path" in text:
            named = found[1] if (found := re.search(r'Error parsing Path "(.*?)"', text)) else ""
            return Refused(f"the key {named} has an empty part, . or ..; rename it, or read the folders beside it")
        if _METADATA.search(text.partition("<")[0]) and not code:
            return Refused(f"no credentials; {_ADVICE[scheme]}")
        if status == 401 or (status == 403 and _WRONG.search(code)):
            return Refused(f"the credentials are not accepted ({said}); {_ADVICE[scheme]}")
        if status == 403:
            return Denied(f"access is denied ({said}); needed: {_PERMISSIONS[scheme]}")
        if 300 <= status < 500 and status not in _TEMPORARY:
            return Refused(f"the store refuses ({said}); check region and endpoint in the environment")
        return Fault(said)


def _opened(address: StoreAddress) -> Any:
    # Extra: stores.
    from obstore.store import AzureStore, GCSStore, S3Store

    # An endpoint without encryption is a choice that its setting already made.
    plain = any(_ENDPOINTS.fullmatch(name) and text.startswith("http://") for name, text in os.environ.items())
    client: Any = {**_CLIENT, **({"allow_http": True} if plain else {})}
    retry: Any = _RETRY
    if address.scheme == "gs":
        return GCSStore(address.place, client_options=client, retry_config=retry)
    if address.scheme == "az":
        return AzureStore(address.place, client_options=client, retry_config=retry)
    return S3Store(address.place, client_options=client, retry_config=retry, **_profile(address))


def _profile(address: StoreAddress) -> dict[str, Any]:
    """Returns the credentials of an AWS profile by boto3, {} where obstore finds them itself."""
    file = Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")).expanduser()
    named = "AWS_PROFILE" in os.environ
    if "AWS_ACCESS_KEY_ID" in os.environ or not (named or file.is_file()):
        return {}
    try:
        # Extra: stores; boto3 is no part of it, and only profiles need it, which may lead to a single sign-on.
        from boto3 import Session
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        if not named:
            return {}
        raise UsageError(f"{address}: AWS_PROFILE needs the package boto3: pip install boto3") from None
    session = Session()
    region = {"region": session.region_name} if session.region_name else {}
    return {"credential_provider": Boto3CredentialProvider(session), **region}


def _stored(meta: Any) -> StoredObject:
    modified, tag = meta["last_modified"].timestamp(), meta["version"] or meta["e_tag"]
    return StoredObject(meta["path"], meta["size"], f"{tag} {meta['size']}" if tag else "", modified)


def _is_marker(one: StoredObject) -> bool:
    """Returns True for an empty object that stands for a folder; such names have no suffix."""
    return not one.size and ("." not in one.key.rpartition("/")[2] or one.key.endswith("_$folder$"))
