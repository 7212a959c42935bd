"""Keeps Delta tables equal to the views of a folder, a table for each view.

Opens the object store of an address, with credentials by the store's own ways.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import obstore
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore, from_url

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.stores.object_backend import NO_STORE, open_object_store
from cinnabar.extraction.store.sinks.sink import DIGEST, GONE, Delivered, Position, View, Views, check_follows, views_of

# The name of our transactions in the logs of our tables; their version is the folder's newest commit.
_APP = "cinnabar"
# How often the work is begun again after somebody else has changed a table meanwhile.
_TRIES = 10
# Commits to S3 are objects that are created if they are absent. An endpoint without encryption is a choice that its
# setting in the environment already made.
_OPTIONS = {"aws_conditional_put": "etag", "allow_http": "true"}
# Names that the package decodes on one of its ways and not on the others, and colours in its errors.
_DECODED, _COLOUR = re.compile(r"%[0-9A-Fa-f]{2}|\\"), re.compile(r"\x1b\[[\d;]*m")


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


class DeltaSink(InStore):
    """Delta tables in a folder, `delta:FOLDER`, or in a store, `delta+s3://BUCKET/PREFIX`.

    A table is its old state or its new one, and all tables follow one after the other. Raises UsageError if the
    address is wrong.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        place = address.removeprefix("delta:").removeprefix("delta+")
        self._root = place.rstrip("/") if "://" in place else str(Path(place).absolute())
        if not place or _DECODED.search(self._root):
            raise UsageError(f"{address}: expected delta:FOLDER, without a percent escape (%20) or backslash in it")
        super().__init__(address, place if "://" in place else Path(place).absolute().as_uri())

    def bring(self, out: Path) -> Delivered:
        """Has the tables hold the rows of the folder's views; see `Sink`."""
        sent, last = 0, ""
        for _ in range(_TRIES):
            try:
                for rows in self._sync_tables(out):
                    sent += rows
                return Delivered(self.address, sent, "row")
            except (DeltaError, BaseError, OSError) as error:
                last = store_error_text(OSError(" ".join(_COLOUR.sub("", str(error)).split())))
                # A commit of somebody else, or a table that somebody else has just made.
                if not isinstance(error, CommitFailedError) and "already exists" not in last:
                    raise RunError(f"{self.address}: {last}") from error
        raise RunError(f"{self.address}: others changed the tables {_TRIES} times meanwhile: {last}")

    def _sync_tables(self, out: Path) -> Iterator[int]:
        """Brings the tables to what the folder holds, and yields the number of rows sent to each."""
        # The tables first and the folder afterwards: a commit fails if somebody else's came in between, so the folder
        # is read as it is at least after the last one.
        tables: dict[str, DeltaTable] = {}
        for name in obstore.list_with_delimiter(self._store)["common_prefixes"]:
            with suppress(TableNotFoundError):
                tables[name] = DeltaTable(f"{self._root}/{name}", storage_options=_OPTIONS)
        ours = {name: table for name, table in tables.items() if table.transaction_version(_APP) is not None}
        with views_of(out) as views:
            check_follows(self.address, _position(ours), views.position, views.runs)
            there = {view.name: view for view in views.all()}
            if taken := tables.keys() & there.keys() - ours.keys():
                said = f"there is a table {min(taken)} already, which Cinnabar has not made; name another place"
                raise UsageError(f"{self.address}: {said}")
            for name, view in there.items():
                yield self._sync(ours.get(name), views, view)
            for name in ours.keys() - there.keys():
                if ours[name].count():
                    ours[name].delete(commit_properties=_properties(views.position))

    def _sync(self, table: DeltaTable | None, views: Views, view: View) -> int:
        """Has a table hold the rows of a view, and returns how many were sent.

        Raises CommitFailedError if somebody else has changed it since it was read, DeltaError if it is to be new and
        is not.
        """
        if table is not None and table.transaction_version(_APP) == views.position.batch:
            return 0
        properties = _properties(views.position)
        # A merge reads the names of columns as SQL, where a backtick has no escape: such a table is written whole.
        mergeable = not any("`" in name for name in view.types)
        alike = table and mergeable and table.schema() == Schema.from_arrow(views.schema(view))
        held = table.to_pyarrow_dataset().to_table(columns=[*view.keys, DIGEST]) if table and alike else None
        keys, rows = views.count_changed(view, held)
        if table is None:
            place, new = f"{self._root}/{view.name}", views.rows(view)
            write_deltalake(place, new, mode="error", storage_options=_OPTIONS, commit_properties=properties)
        elif not alike:
            new = views.rows(view)
            write_deltalake(table, new, mode="overwrite", schema_mode="overwrite", commit_properties=properties)
        elif keys:
            (
                table.merge(
                    views.rows(view, gone=True),
                    predicate=f"{view.key('t')} = s.{GONE}",
                    source_alias="s",
                    target_alias="t",
                    commit_properties=properties,
                )
                .when_matched_delete()
                .when_not_matched_insert_all(f"s.{GONE} IS NULL", except_cols=[GONE])
                .execute()
            )
        return rows


def _position(tables: dict[str, DeltaTable]) -> Position | None:
    """Returns where the tables stand: the one that is farthest, and their newest run."""
    batch = max((table.transaction_version(_APP) or 0 for table in tables.values()), default=0)
    runs = tables.get("runs")
    ids = [] if runs is None else runs.to_pyarrow_dataset().to_table(columns=["run_id"])["run_id"].to_pylist()
    return Position(batch, max(map(str, ids), default="")) if tables else None


def _properties(position: Position) -> CommitProperties:
    return CommitProperties({"cinnabar_run": position.run}, app_transactions=[Transaction(_APP, position.batch)])
