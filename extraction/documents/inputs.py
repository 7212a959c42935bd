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

from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.addresses import is_address, parse_address
from cinnabar.extraction.documents.archives.archive_process import ArchiveMember, Unpacker, may_be_archive
from cinnabar.extraction.documents.buckets.address import StoreAddress
from cinnabar.extraction.documents.buckets.object_store import ObjectStore
from cinnabar.extraction.documents.content.formats import ARCHIVE_SUFFIXES, MBOX_SUFFIXES, SUFFIXES
from cinnabar.extraction.documents.content.inputs import NO_FILE, Content, Sent, content_of, own_path
from cinnabar.extraction.documents.mailboxes.address import ImapAddress, password_of_environment
from cinnabar.extraction.documents.mailboxes.files import (
    MaildirMessage,
    is_mbox,
    maildir_of,
    mbox_messages,
)
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox

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
    content: Path | Content
    digest: str = ""
    problem: DocumentError | None = None
    instead_of: str = ""


#: A location that a run is given: a file, a folder (also a Maildir), an mbox, a mailbox behind IMAP, a place in a
#: store, or an input of an earlier run, which keeps its path even if its content has moved.
Location = Path | ImapAddress | StoreAddress | Input


# By path, kind and number: texts alone may be equal.
_Items = dict[tuple[str, str, int], Path | Content | Input]


@dataclass(frozen=True, slots=True)
class InputSource:
    """What a run knows of a location; of what a kind of place has not, it is None.

    file: the file or folder of this machine. account: the user and server that a password belongs to. prefix: what the
    paths of lasting contents begin with.
    """

    name: str
    file: Path | None = None
    account: tuple[str, int, str] | None = None
    prefix: str | None = None


def source_of(location: Location) -> InputSource:
    """Returns what is known of a location."""
    match location:
        case Path():
            return InputSource(str(location), file=location)
        case ImapAddress():
            return InputSource(str(location), account=location.account, prefix=location.prefix)
        case StoreAddress():
            return InputSource(str(location))
        case Input():
            return InputSource(location.path)


class OpenSources:
    """The connections to sources and the process that unpacks archives, open until `connections` exits.

    `passwords` are tried on encrypted archives. `out` remembers the hashes of objects in stores.
    """

    def __init__(self, out: Path | None, connections: ExitStack, passwords: Sequence[str] = ()) -> None:
        self.out, self._connections = out, connections
        self._unpacker = connections.enter_context(Unpacker(passwords))
        self._stores: dict[str, ObjectStore] = {}
        # Of the files of a folder the file system is asked once whether they lie in a Maildir, which is most of its
        # work.
        self._in_maildir: dict[Path, bool] = {}

    def mailbox(self, address: ImapAddress) -> ImapMailbox:
        """Returns a connection to a mailbox. Raises UsageError as `ImapMailbox`."""
        return self._connections.enter_context(ImapMailbox(address))

    def store(self, address: StoreAddress) -> ObjectStore:
        """Returns the store of this address, opened once. Raises UsageError if it refuses."""
        if address.root not in self._stores:
            store = ObjectStore(address, self.out, lambda path: self._items(path, given=True))
            self._stores[address.root] = self._connections.enter_context(store)
        return self._stores[address.root]

    def items_at(self, location: Location) -> _Items:
        """Returns what lies at a location, by path, kind and number."""
        match location:
            case Path():
                return {
                    (str(path), "", number): item
                    for path in files_at(location, self.out)
                    for number, item in enumerate(self.items_in(path, path == location))
                }
            case ImapAddress():
                return {(str(location), "", one.uid): one for one in self.mailbox(location).messages()}
            case StoreAddress():
                return {(one.path, one.inner, 0): one for one in self.store(location).items(location.key)}
            case Input():
                return {(location.path, "given", 0): location}

    def items_in(self, path: Path, given: bool) -> Sequence[Path | Content]:
        """Returns the items of a file: itself, the mails or files in it, or nothing if it only serves a Maildir.

        `given` files were named by the user, others lie in a folder.
        """
        if path.parent not in self._in_maildir:
            self._in_maildir[path.parent] = maildir_of(path) is not None
        if self._in_maildir[path.parent]:
            # Other files in it are in delivery, or a server's own.
            return [MaildirMessage(path)] if path.parent.name in ("cur", "new") else []
        return self._items(path, given)

    def _items(self, path: Path, given: bool) -> Sequence[Path | Content]:
        suffix = path.suffix.lower()
        if (suffix in MBOX_SUFFIXES or suffix not in SUFFIXES) and is_mbox(path):
            return list(mbox_messages(path))
        # A link in a folder may lead out of it, so its target is not opened here.
        members = self.members(path) if given or not path.is_symlink() else None
        return [path] if members is None else members

    def members(self, path: Path) -> list[ArchiveMember] | None:
        """Returns the files of an archive, or the archive with its problem; None if the file is no archive."""
        suffix = path.suffix.lower()
        packed = suffix in ARCHIVE_SUFFIXES or suffix not in SUFFIXES
        return self._unpacker.members(path) if packed and may_be_archive(path) else None


def parse_locations(texts: Sequence[str], password: Callable[[], str] = password_of_environment) -> list[Location]:
    """Returns the locations that these paths and addresses name. Raises UsageError if an address is malformed.

    `password` returns the password of the mailboxes.
    """
    places: list[Location] = [parse_address(text, password) if is_address(text) else Path(text) for text in texts]
    check_account(places)
    return places


def check_account(locations: Iterable[Location]) -> None:
    """Raises UsageError if the mailboxes among these belong to more than one user or server."""
    if len({account for one in locations if (account := source_of(one).account)}) > 1:
        # There is one password, and no other server may see it.
        raise UsageError("expected mailboxes of one user on one server in a run, got several")


def gather(
    locations: Sequence[Location],
    out: Path | None,
    connections: ExitStack,
    passwords: Sequence[str] = (),
    note: Callable[[str], object] = lambda _: None,
) -> list[Path | Content | Input]:
    """Returns the files and mails at these locations, sorted by path, each once; archives stand for their files.

    `connections`, `out` and `passwords` as for `OpenSources`. A folder or a mailbox may be empty. Folders of results
    are left out, and told by `note`. Raises UsageError if there is no such file, folder, server, user or mailbox.
    """
    opened = OpenSources(out, connections, passwords)
    inputs: _Items = {}
    for location in locations:
        inputs |= opened.items_at(location)
    if not locations:
        raise UsageError("expected at least one file, folder, mailbox or store to read, got none")
    return _without_results([inputs[key] for key in sorted(inputs)], note)


def archive_around(path: Path) -> Path | None:
    """Returns the archive that a path inside an archive leads through, None if there is none."""
    for above in path.parents:
        try:
            status = above.stat()
        except OSError:  # it is not there, or lies below a file
            continue
        return above if stat.S_ISREG(status.st_mode) and may_be_archive(above) else None
    return None


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
    """Returns True if what this path leads to lies in the folder."""
    # Path.resolve would raise on a link that leads to itself.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _without_results(
    items: list[Path | Content | Input], note: Callable[[str], object]
) -> list[Path | Content | Input]:
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


def path_of(item: Path | Content | Input) -> str:
    """Returns the path that the outcome of a file or a mail carries."""
    return item.path if isinstance(item, Input) else content_of(item).path


def input_of(name: str, data: bytes) -> Input:
    """Returns bytes that have no file as an input of this name, whose suffix may tell the format."""
    problem = None if data else DocumentError("empty", _NO_BYTES)
    return Input(own_path(name), Sent(PurePath(name), data), hashlib.sha256(data).hexdigest() if data else "", problem)


def examine(
    item: Path | Content | Input, roots: Sequence[Location] | None, known: Mapping[str, str] | None = None
) -> Input:
    """Returns the hash of a file or a mail, or the problem that keeps it from being read.

    `roots` are the locations that the run was given: a link is followed only if it is a root or stays inside one;
    None if the item itself was named. `known` maps paths to earlier hashes; a mail that cannot change keeps its hash
    unread.
    """
    if isinstance(item, Input):
        return item
    content, path = content_of(item), path_of(item)
    try:
        if roots is not None and content.local is not None:
            _check_link(content.local, roots)
        before = (known or {}).get(path, "") if content.lasting else ""
        digest = before or content.find_digest()
    except DocumentError as problem:
        return Input(path, item, problem=problem)
    except OSError as error:
        code = "not_a_file" if isinstance(error, NO_FILE) else "unreadable"
        return Input(path, item, problem=DocumentError(code, error.strerror or str(error)))
    if digest == _NOTHING:
        # All files without bytes have one hash, so each is a problem of its path and none another's duplicate.
        return Input(path, item, problem=DocumentError("empty", _NO_BYTES))
    return Input(path, item, digest)


def _check_link(path: Path, roots: Sequence[Location]) -> None:
    """Raises DocumentError if this is a link that is none of the roots and leads out of them."""
    if path.is_symlink() and path not in roots:
        folders = [file for root in roots if (file := source_of(root).file) and path.is_relative_to(file)]
        if not any(_within(path, folder) for folder in folders):
            raise DocumentError("not_a_file", "the link leads out of the folder and was not followed")


_NAMES = frozenset(
    ("thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "iconcache.db", "icon\r", ".ds_store")
)
# Lock files of Word, Excel and PowerPoint, their unsaved parts, those of LibreOffice, and the forks of macOS.
_BEGINNINGS = ("~$", "~wrl", "~wrd", "~wra", ".~lock.", "._")
# Windows keeps in such a stream where a file came from; copied to another system it is a file.
_ENDINGS = (":zone.identifier",)
_FOLDERS = frozenset(("__macosx", "$recycle.bin", "system volume information", "@eadir"))


def is_system_file(path: str) -> bool:
    """Returns whether a path names a file that an operating system or an office program leaves beside documents.

    A path in a folder of such files counts, too.
    """
    *folders, name = [part.casefold() for part in PurePath(path).parts] or [""]
    return (
        name in _NAMES
        or name.startswith(_BEGINNINGS)
        or name.endswith(_ENDINGS)
        or not _FOLDERS.isdisjoint(folders)
    )
