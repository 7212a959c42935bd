"""The commits of an output folder: each is one small JSON file that names its Parquet files."""

from __future__ import annotations

import contextlib
import hashlib
import re
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from cinnabar.errors import IncompleteFolder, RunError, UsageError
from cinnabar.extraction.store.files import TEMPORARY, make_folder, sync, waiting_files, write_bytes
from cinnabar.extraction.store.path_safety import check_batch_path, check_links, own_name
from cinnabar.wording import with_noun

_FORMAT = 1
# A file's bytes and a batch's number are below 10**15.
_Number = Annotated[int, Field(strict=True, ge=0, lt=10**15)]
_Text = Annotated[str, Field(min_length=1)]
_Digest = Annotated[str, AfterValidator(partial(own_name, "digest"))]
_Time = Annotated[datetime, AfterValidator(lambda time: time if time.tzinfo else time.replace(tzinfo=UTC))]
#: Numbers of batches, which have ten digits in names, are below this.
MOST_BATCHES = 10**10
FOLDER = "manifest"
#: The folder within it for the commits that others have replaced; only the writer needs them.
REPLACED = f"{FOLDER}/replaced"
_MEND = "restore it, or run `cinnabar verify` to set its batch aside; the next run fills it again"
#: The folders that hold Parquet files, by table.
TABLES = ("data", "fields", "documents", "outcomes", "runs", "checks", "corrections", "uncorrected")
#: The folder with a report of each run (extraction/run/report/reports.py).
REPORTS = "reports"
# The numbers that manifests of earlier versions lack.
_LATER = ("without", "behind", "after", "counting")
# The letters of the entry of a correction, a file in `waiting/`, in its identity.
_ENTRY = len("00000000T000000000000Z-00000000")
# What the last snapshot shows.
_PUBLISHED = "snapshot.json"
_NAME = re.compile(r"batch-(\d{10})\.json")
# Cleanup removes only file names that this package writes.
_BATCH = re.compile(r"batch-\d{10}\.parquet")
_UNFINISHED = re.compile(
    rf"{re.escape(TEMPORARY)}\d+-(batch-\d{{10}}\.(parquet|json)|([0-9a-f]+|folders|snapshot)\.json"
    r"|[0-9TZ]+-[0-9a-f]+\.(json|html)|cinnabar\.duckdb(\.\w+)?)"
)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A Parquet file: its table, its path within the output folder (posix), its rows, bytes and SHA-256."""

    table: str
    path: str
    rows: _Number
    bytes: _Number
    sha256: _Digest


@dataclass(frozen=True, slots=True)
class Manifest:
    """One commit.

    `level` is 0 for a new batch; a merge of batches has the next higher level. `replaces` holds the numbers of the
    manifests that this one replaces. `created` is in UTC. `without` is 0, except for a copy of a batch without the rows
    of a forgotten document: it is the number of that batch. The copy keeps its place in the order, and the replaced
    files are removed at once. `behind` is 0, except for a batch that brings no newer version of its schema, such as a
    merge or a correction: it stands behind the commit with this place. `after` is the number of the commit before it,
    and `counting` how many commits count with it, lost ones among them; both are 0 if an earlier version wrote it.
    """

    number: _Number
    level: _Number
    created: _Time
    schema_name: _Text
    schema_fingerprint: _Digest
    files: tuple[StoredFile, ...]
    replaces: tuple[_Number, ...]
    without: _Number = 0
    behind: _Number = 0
    after: _Number = 0
    counting: _Number = 0

    @property
    def place(self) -> int:
        """Returns the number by which commits are in order; those with the same one are in order of their numbers."""
        return self.without or self.behind or self.number

    @property
    def name(self) -> str:
        """Returns the file name of this commit and its Parquet files, without a suffix."""
        return batch_name(self.number)

    @property
    def records(self) -> int:
        """Returns the number of records that this commit wrote."""
        return sum(file.rows for file in self.files if file.table == "data")

    def successor(self, number: int, files: tuple[StoredFile, ...], **other: Any) -> Manifest:
        """Returns a commit of now with these files in the place of this one; `other` are fields that differ."""
        new = Manifest(number, self.level, now(), self.schema_name, self.schema_fingerprint, files, (self.number,))
        return replace(new, **other)


_MANIFEST = TypeAdapter(Manifest)
_NUMBERS = TypeAdapter(tuple[_Number, _Number])


class BrokenManifest(RunError):
    """A malformed manifest; `detail` describes the fault without the path."""

    def __init__(self, path: Path, why: str) -> None:
        self.detail = f"expected a manifest of Cinnabar, found something else ({why})"
        super().__init__(f"{path}: {self.detail}; {_MEND}")


def batch_name(number: int) -> str:
    """Returns the name of the commit with this number; names sort like numbers."""
    return f"batch-{number:010d}"


def number_of(path: Path) -> int | None:
    """Returns the number in a manifest's file name; None if it is not a manifest."""
    match = _NAME.fullmatch(path.name)
    return None if match is None else int(match[1])


def commit(out: Path, manifest: Manifest) -> None:
    """Commits a manifest, whose files are on disk already, by one atomic rename."""
    content = {"format": _FORMAT, **{one.name: getattr(manifest, one.name) for one in fields(manifest)}}
    content = {name: value for name, value in content.items() if value or name not in _LATER}
    write_bytes(
        out / FOLDER / f"{manifest.name}.json", orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n"
    )


def read(path: Path) -> Manifest:
    """Returns the commit in this file.

    Raises BrokenManifest if it is malformed, UsageError if another version of Cinnabar wrote it.
    """
    try:
        content = orjson.loads(path.read_bytes())
        if isinstance(content, dict) and content["format"] != _FORMAT:
            raise UsageError(
                f"{path}: written by another version of Cinnabar (format {content['format']}, not {_FORMAT})"
            )
        manifest = _MANIFEST.validate_python(content)
        if manifest.number != number_of(path):
            raise ValueError(f"says that it is number {manifest.number}")
        for file in manifest.files:
            if file.table not in TABLES:
                raise ValueError(f"expected a table of Cinnabar, got {file.table[:80]!r}")
            # A path that the batch cannot have is never followed.
            check_batch_path(file.path, file.table, manifest.name)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        raise BrokenManifest(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (ValueError, KeyError) as error:
        raise BrokenManifest(path, str(error)) from error
    return manifest


def paths(out: Path) -> list[Path]:
    """Returns the files of all commits, including replaced ones, by number.

    Raises StrangeName if a link leads out of the folder.
    """
    check_links(out)
    # In this order, because the writer may move a commit from the first folder into the second one meanwhile.
    by_name = {path.name: path for path in _list_manifests(out / FOLDER)}
    for path in _list_manifests(out / REPLACED):
        if path.name not in by_name or not by_name[path.name].exists():
            by_name[path.name] = path
    return [path for _, path in sorted(by_name.items())]


def _list_manifests(folder: Path) -> list[Path]:
    """Returns the manifests in this folder by name.

    One listing may lack a merge that is committed meanwhile, and its sources that move away. Two equal ones cannot,
    because the merge comes before the moves.
    """
    before, names = None, _names(folder)
    while before != names:
        before, names = names, _names(folder)
    return [folder / name for name in sorted(names)]


def _names(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir() if _NAME.fullmatch(path.name)}
    except FileNotFoundError:
        return set()


def read_all(out: Path) -> list[Manifest]:
    """Returns all commits of this folder in order, including replaced ones; [] without any commit."""
    commits = []
    for path in paths(out):
        with contextlib.suppress(FileNotFoundError):  # replaced, and removed by the writer since the folder was listed
            commits.append(read_moved(path))
    return commits


def read_moved(path: Path) -> Manifest:
    """Returns the commit in this file, also if the writer has moved it among the replaced ones since it was listed.

    Raises FileNotFoundError if the writer has removed it.
    """
    try:
        return read(path)
    except FileNotFoundError:
        return read(path.parent / Path(REPLACED).name / path.name)


def read_live(out: Path) -> list[Manifest]:
    """Returns the commits that count, in order; [] without any commit.

    It reads no more than these: the time does not grow with the number of replaced commits. Raises BrokenManifest if
    one is malformed, StrangeName if a link leads out of the folder.
    """
    check_links(out)
    while True:
        # A manifest that is gone was replaced since the folder was listed, and the next listing has its replacement.
        with contextlib.suppress(FileNotFoundError):
            return live([read(path) for path in _list_manifests(out / FOLDER)])


def write_published(out: Path, counting: Sequence[Manifest], shown: Sequence[str | int]) -> None:
    """Keeps what the snapshot of these commits shows; after a crash before it the snapshot is built once more."""
    last = max(counting, key=lambda entry: entry.number)
    write_bytes(out / _PUBLISHED, orjson.dumps([last.number, max(last.counting, len(counting)), *shown]) + b"\n")


def published(out: Path) -> tuple[int, int, list[Any]]:
    """Returns the last commit in the snapshot, how many counted then, and what tells it apart; (0, 0, []) for none."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        number, counting, *shown = orjson.loads((out / _PUBLISHED).read_bytes())
        if shown[:1] == [str(out.absolute())]:  # a copy may have begun before the snapshot
            return (*_NUMBERS.validate_python((number, counting)), shown)
    return 0, 0, []


def lost(out: Path, counting: Collection[Manifest]) -> int:
    """Returns how many manifests this folder lacks: each says how many counted, and so does the snapshot."""
    newest = max(counting, key=lambda entry: entry.number, default=None)
    shown, expected, _ = published(out)
    if newest is not None and newest.number > shown:
        expected = newest.counting
    return max(0, expected - len(counting))


def about_lost(out: Path, counting: Collection[Manifest], unread: int = 0) -> str:
    """Returns the words on manifests that this folder lacks beside those that cannot be read, "" for none."""
    if (number := lost(out, counting) - unread) <= 0:
        return ""
    there = {0, *(entry.number for entry in counting), *(one for entry in counting for one in entry.replaces)}
    names = [f"{batch_name(one)}.json" for one in sorted({entry.after for entry in counting} - there)]
    named = f" ({', '.join(names)})" if len(names) == number <= 5 else ""
    return (
        f"{with_noun(number, 'manifest')} missing{named}, and with it records or corrections; put it back from a copy,"
        " or go on without it by `cinnabar verify --clean`"
    )


def warn_of_lost(out: Path, counting: Collection[Manifest]) -> None:
    """Warns who reads a folder that lacks manifests."""
    if said := about_lost(out, counting):
        warnings.warn(f"{out / FOLDER}: {said}", IncompleteFolder, stacklevel=1)


def put_away(out: Path, numbers: Iterable[int]) -> None:
    """Moves replaced commits out of the way of readers; a crash in between leaves them where they do not count."""
    numbers = list(numbers)
    if numbers:
        make_folder(out / REPLACED)
    for number in numbers:
        name = f"{batch_name(number)}.json"
        with contextlib.suppress(FileNotFoundError):
            (out / FOLDER / name).replace(out / REPLACED / name)


def sort_out(out: Path, commits: Sequence[Manifest]) -> None:
    """Has the commits that count lie in one folder and the replaced ones in the other.

    They do not after a crash, and once a broken merge was set aside: the commits that it replaced count again. Folders
    of earlier versions have all of them in one.
    """
    counting = {entry.number for entry in live(commits)}
    there = {number_of(path) for path in _list_manifests(out / FOLDER)}
    put_away(out, (entry.number for entry in commits if entry.number in there - counting))
    lost = counting - there
    for number in lost:
        name = f"{batch_name(number)}.json"
        (out / REPLACED / name).replace(out / FOLDER / name)
    if lost:
        sync(out / FOLDER)


def live(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Returns the commits that no other one replaces, in order."""
    manifests = list(manifests)
    dead = {number for manifest in manifests for number in manifest.replaces}
    counting = (entry for entry in manifests if entry.number not in dead)
    return sorted(counting, key=lambda entry: (entry.place, entry.number))


def find_replaced(manifests: Iterable[Manifest], before: datetime | None = None) -> list[Manifest]:
    """Returns the commits that were replaced before this time, in the order in which they must be removed.

    Without a time these are all replaced commits. Those that hold a forgotten document count as replaced long ago. In
    another order a crash could remove a replacement's replacement first, and the oldest commit would count again.
    """
    by_number = {manifest.number: manifest for manifest in manifests}
    dead: set[int] = set()
    waiting = [number for entry in by_number.values() if entry.without for number in entry.replaces]
    while waiting:
        number = waiting.pop()
        dead.add(number)
        waiting += by_number[number].replaces if number in by_number else ()
    for manifest in by_number.values():
        if before is None or manifest.created < before:
            dead.update(manifest.replaces)
    return [manifest for number, manifest in by_number.items() if number in dead]


def remove(out: Path, manifest: Manifest) -> None:
    """Removes a replaced commit: first its files, which would seem those of a lost manifest, then its manifest."""
    for file in manifest.files:
        (out / file.path).unlink(missing_ok=True)
    for folder in (FOLDER, REPLACED):
        (out / folder / f"{manifest.name}.json").unlink(missing_ok=True)


def leftovers(out: Path, manifests: Iterable[Manifest]) -> list[Path]:
    """Returns the files that unfinished batches left in this folder, without the `unnamed` ones that stay."""
    temporary = list(out.glob(f"{TEMPORARY}*"))
    for folder in (*TABLES, FOLDER, "schemas", REPORTS):
        temporary += (out / folder).rglob(f"{TEMPORARY}*")
    left = [path for path in temporary if _UNFINISHED.fullmatch(path.name)]
    return [path for path in left if path.is_file() and not path.is_symlink()] + unnamed(out, manifests)[0]


def unnamed(out: Path, manifests: Iterable[Manifest]) -> tuple[list[Path], list[Path]]:
    """Returns the files of batches that no manifest names: those that dead runs left, and those that stay.

    While a manifest is lost all stay. Without one those of a batch do whose corrections are nowhere else.
    """
    manifests = list(manifests)
    named = {out / file.path for manifest in manifests for file in manifest.files}
    found = (path for table in TABLES for path in (out / table).rglob("batch-*.parquet") if path not in named)
    batches = [one for one in sorted(found) if _BATCH.fullmatch(one.name) and one.is_file() and not one.is_symlink()]
    if lost(out, live(manifests)):
        return [], batches
    told = {path.name: _corrections_in(path) for path in batches if path.is_relative_to(out / "corrections")}
    known = {path.stem for path in waiting_files(out)}
    for path in named if told else ():
        if path.is_relative_to(out / "corrections"):
            known |= _corrections_in(path)
    only = {name for name, identities in told.items() if not identities <= known}
    return [path for path in batches if path.name not in only], [path for path in batches if path.name in only]


def _corrections_in(path: Path) -> set[str]:
    """Returns the entries of the corrections in a file; the path of one that cannot be read, which is none's."""
    import pyarrow.parquet as pq  # Cold start: who reads manifests alone does not need it.

    try:
        return {str(one)[:_ENTRY] for one in pq.read_table(path, columns=["identity"])["identity"].to_pylist()}
    except (OSError, ValueError, KeyError):
        return {str(path)}


def describe_file(out: Path, table: str, path: Path, rows: int) -> StoredFile:
    """Returns the entry of this file in a manifest."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return StoredFile(table, path.relative_to(out).as_posix(), rows, path.stat().st_size, digest)


def file_problem(out: Path, file: StoredFile, *, digest: bool = True) -> str | None:
    """Returns how a file differs from what was committed, None if it does not; without `digest` by its size alone."""
    path = out / file.path
    if not path.is_file():
        return "it is missing"
    size = path.stat().st_size
    if size != file.bytes:
        return f"it has {size} bytes, but was committed with {file.bytes}"
    if digest and (found := describe_file(out, file.table, path, file.rows).sha256) != file.sha256:
        return f"its SHA-256 is {found}, but was committed as {file.sha256}"
    return None


def check_files(out: Path, manifests: Iterable[Manifest], *, digest: bool = True) -> None:
    """Raises RunError if a committed file is missing or has changed (`file_problem`)."""
    for manifest in manifests:
        for file in manifest.files:
            if (problem := file_problem(out, file, digest=digest)) is not None:
                raise RunError(f"{out / file.path}: {problem}; {_MEND}")


def now() -> datetime:
    """Returns the present time in UTC; tests replace it."""
    return datetime.now(UTC)
