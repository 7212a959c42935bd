"""The inputs of a run: files and mails of folders, mailboxes and stores, each with the hash of its bytes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePath

from cinnabar.extraction.documents.addresses import is_address, parse_address
from cinnabar.extraction.documents.archives.archive_process import ArchiveMember, Unpacker, may_be_archive
from cinnabar.extraction.documents.content.formats import ARCHIVE_SUFFIXES, MBOX_SUFFIXES, SUFFIXES
from cinnabar.extraction.documents.content.inputs import MailMessage, Sent
from cinnabar.extraction.documents.content.made_names import own_path
from cinnabar.extraction.documents.ingest.sandbox import MAX_FILE
from cinnabar.extraction.documents.mailboxes.address import ImapAddress, password_of_environment
from cinnabar.extraction.documents.mailboxes.files import (
    MaildirMessage,
    is_delivered,
    is_mbox,
    maildir_of,
    mbox_messages,
)
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox
from cinnabar.extraction.documents.packets.part import PacketPart
from cinnabar.extraction.documents.stores.address import StoreAddress
from cinnabar.extraction.documents.stores.store import ObjectStore, StoreItem
from cinnabar.schemas.errors import DocumentError, UsageError

_PIECE = 1 << 20
# A commit of an output folder, below the folder.
_COMMIT = re.compile(r"(?s)\A(.*/|)manifest/batch-\d{10}\.json\Z")
_NOTHING, _NO_BYTES = hashlib.sha256().hexdigest(), "the file has zero bytes"


@dataclass(frozen=True, slots=True)
class Input:
    """A path that ends in one outcome: the SHA-256 of its bytes, or the problem that keeps it from being read.

    A parser reads `content`: a file, a mail that has no file of its own, or bytes of the caller. `instead_of` is the
    path of an input with the same bytes and another suffix; this one is read only if that one cannot be.
    """

    path: str
    content: Path | MailMessage | Sent
    digest: str = ""
    problem: DocumentError | None = None
    instead_of: str = ""


#: A location that a run is given: a file, a folder (also a Maildir), an mbox, a mailbox behind IMAP, a place in a
#: store, or an input of an earlier run, which keeps its path even if its content has moved.
Location = Path | ImapAddress | StoreAddress | Input


def located(texts: Sequence[str], password: Callable[[], str] = password_of_environment) -> list[Location]:
    """Returns the locations that these paths and addresses name. Raises UsageError if an address is malformed.

    `password` returns the password of the mailboxes.
    """
    places: list[Location] = [parse_address(text, password) if is_address(text) else Path(text) for text in texts]
    check_account(one for one in places if isinstance(one, ImapAddress))
    return places


def check_account(addresses: Iterable[ImapAddress]) -> None:
    """Raises UsageError if these mailboxes belong to more than one user or server."""
    if len({one.account for one in addresses}) > 1:
        # There is one password, and no other server may see it.
        raise UsageError("expected mailboxes of one user on one server in a run, got several")


def gather(
    locations: Sequence[Location],
    out: Path | None,
    connections: ExitStack,
    passwords: Sequence[str] = (),
    note: Callable[[str], object] = lambda _: None,
) -> list[Path | MailMessage | Input]:
    """Returns the files and mails at these locations, sorted by path, each once; archives stand for their files.

    Connections to servers, and the process that unpacks archives, stay open until `connections` exits. `passwords` are
    tried on encrypted archives. A folder or a mailbox may be empty. `out` remembers the hashes of objects in stores.
    Folders of results are left out, and told by `note`. Raises UsageError if there is no such file, folder, server,
    user or mailbox.
    """
    unpacker = connections.enter_context(Unpacker(passwords, MAX_FILE))
    # By path, kind and number: texts alone may be equal.
    inputs: dict[tuple[str, str, int], Path | MailMessage | Input] = {}
    # Of the files of a folder the file system is asked once whether they lie in a Maildir, which is most of its work.
    in_maildir: dict[Path, bool] = {}
    stores: dict[str, ObjectStore] = {}
    for location in locations:
        if isinstance(location, Input):
            inputs[location.path, "given", 0] = location
        elif isinstance(location, ImapAddress):
            for message in connections.enter_context(ImapMailbox(location)).messages():
                inputs[str(location), "", message.uid] = message
        elif isinstance(location, StoreAddress):
            if location.root not in stores:
                stores[location.root] = connections.enter_context(store_at(location, out, unpacker))
            inputs |= {(item.path, item.inner, 0): item for item in stores[location.root].items(location.key)}
        else:
            for path in files_at(location, out):
                folder = path.parent
                if folder not in in_maildir:
                    in_maildir[folder] = maildir_of(path) is not None
                items = _items(path, unpacker, path == location, in_maildir[folder])
                inputs |= {(str(path), "", number): item for number, item in enumerate(items)}
    if not locations:
        raise UsageError("expected at least one file, folder, mailbox or store to read, got none")
    return _without_results([inputs[key] for key in sorted(inputs)], note)


def store_at(address: StoreAddress, out: Path | None, unpacker: Unpacker) -> ObjectStore:
    """Returns the store of this address, whose archives the unpacker opens. Raises UsageError if it refuses."""
    return ObjectStore(address, out, lambda path: _items(path, unpacker, given=True, in_maildir=False))


def _items(path: Path, unpacker: Unpacker, given: bool, in_maildir: bool) -> Sequence[Path | MailMessage]:
    """Returns the items of a file: itself, the mails or files in it, or nothing if it only serves a Maildir.

    `given` files were named by the user, others lie in a folder.
    """
    if in_maildir:
        return [MaildirMessage(path)] if is_delivered(path) else []
    suffix = path.suffix.lower()
    if (suffix in MBOX_SUFFIXES or suffix not in SUFFIXES) and is_mbox(path):
        return list(mbox_messages(path))
    # A link in a folder may lead out of it, so its target is not opened here.
    packed = suffix in ARCHIVE_SUFFIXES or suffix not in SUFFIXES
    if packed and (given or not path.is_symlink()) and may_be_archive(path):
        members = unpacker.members(path)
        return [path] if members is None else members
    return [path]


def archive_around(path: Path) -> Path | None:
    """Returns the archive that a path inside an archive leads through, None if there is none."""
    for above in path.parents:
        try:
            status = above.stat()
        except OSError:  # it is not there, or lies below a file
            continue
        return above if stat.S_ISREG(status.st_mode) and may_be_archive(above) else None
    return None


def expand(paths: Sequence[Path], out: Path | None = None) -> list[Path]:
    """Returns the files that these paths name, sorted by path, each once.

    Raises UsageError if a path does not exist, or if a folder or all of them hold no file.
    """
    files: set[Path] = set()
    for path in paths:
        inside = files_at(path, out)
        if not inside:
            raise UsageError(f"{path}: the folder holds no files (hidden ones do not count)")
        files.update(inside)
    if not files:
        raise UsageError("expected at least one file or folder to read, got none")
    return sorted(files, key=str)


def files_at(path: Path, out: Path | None = None) -> list[Path]:
    """Returns the file at this path, or the files in the folder there, which may be empty.

    A folder stands for all files in it at any depth, without hidden files and folders and without the output folder; a
    link counts if it leads to a file within the folder. Raises UsageError if the path does not exist.
    """
    if not os.path.lexists(path):
        raise UsageError(f"{path}: no such file or folder")
    return list(_inside(path, None if out is None else out.resolve())) if _is_folder(path) else [path]


def _inside(folder: Path, out: Path | None) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError as error:
            raise UsageError(f"{here}: the folder cannot be read ({error.strerror})") from error
        for entry in entries:
            path = here / entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if out is None or path.resolve() != out:
                    waiting.append(path)
            # A link that leads nowhere, or to itself, counts as a file; reading it fails later.
            elif not (entry.is_symlink() and _is_folder(path) and _within(path, folder)):
                yield path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # for example a link to itself, or into a folder without permission
        return False


def _within(path: Path, folder: Path) -> bool:
    # Path.resolve would raise on a link that leads to itself.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _without_results(
    items: list[Path | MailMessage | Input], note: Callable[[str], object]
) -> list[Path | MailMessage | Input]:
    """Returns the inputs that lie in no output folder of Cinnabar, which is known by its commits beside outcomes."""
    texts = [path_of(item) for item in items]
    if not any(map(_COMMIT.search, texts)):
        return items
    here = os.path.join(Path.cwd(), "")  # noqa: PTH118 (its end is a slash)
    texts = [text if is_address(text) else f"{'' if text.startswith('/') else here}{text}" for text in texts]
    commits = sorted({found[1] for text in texts if (found := _COMMIT.search(text))})
    folders = tuple(one for one in commits if any(text.startswith(f"{one}outcomes/") for text in texts))
    for folder in folders:
        note(f"{folder}: left out, because it holds results of Cinnabar and no documents")
    return [item for item, text in zip(items, texts, strict=True) if not text.startswith(folders)]


def path_of(item: Path | MailMessage | Input) -> str:
    """Returns the path that the outcome of a file or a mail carries."""
    return own_path(str(item)) if isinstance(item, Path) else item.path


def input_of(name: str, data: bytes) -> Input:
    """Returns bytes that have no file as an input of this name, whose suffix may tell the format."""
    problem = None if data else DocumentError("empty", _NO_BYTES)
    return Input(own_path(name), Sent(PurePath(name), data), hashlib.sha256(data).hexdigest() if data else "", problem)


def examine(
    item: Path | MailMessage | Input, roots: Sequence[Location], known: Mapping[str, str] | None = None
) -> Input:
    """Returns the hash of a file or a mail, or the problem that keeps it from being read.

    `roots` are the locations that the run was given: a link is followed only if it is a root or stays inside one.
    `known` maps paths to earlier hashes; a mail that cannot change keeps its hash unread.
    """
    if isinstance(item, Input):
        return item
    path = path_of(item)
    try:
        if isinstance(item, Path):
            digest = _digest(item, [root for root in roots if isinstance(root, Path)])
        elif isinstance(item, PacketPart):
            digest = item.digest
        elif isinstance(item, ArchiveMember):
            if item.problem is not None:
                raise item.problem
            digest = item.digest
        elif isinstance(item, StoreItem):
            digest = item.hashed()
        else:
            before = (known or {}).get(path, "") if item.lasting else ""
            digest = before or hashlib.sha256(item.read()).hexdigest()
    except DocumentError as problem:
        return Input(path, item, problem=problem)
    except OSError as error:
        return Input(path, item, problem=DocumentError("unreadable", error.strerror or str(error)))
    if digest == _NOTHING:
        # All files without bytes have one hash, so each is a problem of its path and none another's duplicate.
        return Input(path, item, problem=DocumentError("empty", _NO_BYTES))
    return Input(path, item, digest)


def _digest(path: Path, roots: Sequence[Path]) -> str:
    if path.is_symlink() and path not in roots:
        folders = [root for root in roots if path.is_relative_to(root)]
        if not any(_within(path, folder) for folder in folders):
            raise DocumentError("not_a_file", "the link leads out of the folder and was not followed")
    # Without O_NONBLOCK, opening a named pipe would wait for its writer forever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("not_a_file", "expected a regular file, got a folder, a pipe or a device")
        if status.st_size > MAX_FILE:
            raise DocumentError("too_large", f"{status.st_size} bytes, at most {MAX_FILE} are read")
        digest = hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
