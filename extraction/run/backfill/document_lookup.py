"""Finds documents that were read before: at their old path, else by the hash of their bytes.

A mail moves: in an mbox its number changes, in a Maildir the name of its file, behind IMAP the UIDVALIDITY. Within its
mailbox it is therefore found by the hash of its bytes. An object in a store is found at its path.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from cinnabar.closing import Closing
from cinnabar.errors import NoMailbox, UsageError
from cinnabar.extraction.documents.addresses import is_address, parse_address
from cinnabar.extraction.documents.buckets.address import StoreAddress, is_store_address, parse_store_address
from cinnabar.extraction.documents.buckets.object_store import StoreItem
from cinnabar.extraction.documents.content.inputs import Content, content_of, drop_number, file_path
from cinnabar.extraction.documents.inputs import (
    Input,
    Location,
    OpenSources,
    archive_around,
    check_account,
    examine,
    gather,
    source_of,
)
from cinnabar.extraction.documents.mailboxes.address import (
    ImapAddress,
    parse_mail_path,
    password_of_environment,
)
from cinnabar.extraction.documents.mailboxes.files import (
    MaildirMessage,
    is_mbox,
    maildir_name,
    maildir_of,
    mbox_messages,
)
from cinnabar.extraction.documents.packets.part import PacketPart, named_part
from cinnabar.extraction.store.packets import packets_of
from cinnabar.extraction.store.spelling import known_folders

#: Advice for a document that is not found.
ELSEWHERE = "if it has moved, or lies behind IMAP, name its place with --from"

_IN_MBOX = re.compile(r"(.+)#([1-9]\d*)", re.DOTALL)


class DocumentLookup(Closing):
    """Finds documents by their paths in an output folder and by the hash of their bytes.

    Relative paths are searched from the working folder, and from the start folders of the runs that wrote to `out`;
    then the `others` are searched: files, folders, mailboxes and stores. `password` returns the password of mailboxes
    behind IMAP. A connection to mailboxes and stores is made only for a document that is found nowhere else. Mailboxes
    must be those of the `others` and of `source`, which a person named: a folder from elsewhere may name any server,
    which would get the password. The servers of stores are those of the environment.

    A context manager: contents must be read before its exit. Raises UsageError if one of the `others` is missing,
    RunError if a server stops answering.
    """

    def __init__(
        self,
        out: Path,
        others: Sequence[Location] = (),
        password: Callable[[], str] = password_of_environment,
        source: str | None = None,
    ) -> None:
        here, self._out = Path.cwd(), out
        self._folders = [Path(), *(folder for folder in known_folders(out) if folder != here)]
        self._password = password
        self._connections = ExitStack()
        self._mailboxes: dict[Location, _Holding] = {}
        named = [*others, *([parse_address(source)] if source is not None and is_address(source) else [])]
        self._accounts = {source_of(one).account for one in named}
        with self._connections as stack:
            self._others = _Holding(gather(others, out, stack) if others else (), others)
            self._connections = stack.pop_all()
        self._opened = OpenSources(out, self._connections)

    def close(self) -> None:
        """Ends the connections to sources."""
        self._connections.close()

    def find(self, paths: Sequence[str], digest: str, size: int | None) -> Path | Content | None:
        """Returns the file or mail with these bytes that had one of these paths; None if there is none.

        A mail behind IMAP with the same UIDVALIDITY, UID and size is not fetched to hash it, so its reader must check
        the hash again. `size` in bytes, None if unknown.
        """
        paths = [drop_number(path) for path in paths]
        return (
            self._here(paths, digest, size)
            or self._others.find(digest, size)
            or self._behind_imap(paths, digest, size)
            or next((one for path in paths for one in self._in_store(path) if _digest(one) == digest), None)
            or self._part(paths, digest, size)
        )

    def _part(self, paths: Sequence[str], digest: str, size: int | None) -> PacketPart | None:
        """Returns the part of a packet with this digest; `size` is that of the packet."""
        for path in paths:
            if (part := named_part(path)) and (packets := packets_of(self._out, [path], [digest])):
                content = self.find([part[0]], packets[0], size)
                return None if content is None else PacketPart(content, part[0], packets[0], part[1])
        return None

    def _here(self, paths: Sequence[str], digest: str, size: int | None) -> Path | Content | None:
        near = [path for path in paths if not is_address(path)]
        named = (content for path in near for content in self._contents_named(path))
        if (content := next((one for one in named if _digest(one) == digest), None)) is not None:
            return content
        mailboxes = (mailbox for path in near for mailbox in self._local_mailboxes(path))
        contents = (self._look_into(mailbox).find(digest, size) for mailbox in mailboxes)
        return next((content for content in contents if content is not None), None)

    def _behind_imap(self, paths: Sequence[str], digest: str, size: int | None) -> Path | Content | None:
        for path in paths:
            if (mailbox := self._mailbox_of(path)) is not None:
                holding = self._look_into(mailbox)
                content = holding.named.get(path)
                if content is None or (content_of(content).size != size and _digest(content) != digest):
                    content = holding.find(digest, size)
                if content is not None:
                    return content
        return None

    def lying_at(self, path: str) -> Path | Content | None:
        """Returns the content at this path now, with any bytes; None if there is none."""
        path = drop_number(path)
        if (mailbox := self._mailbox_of(path)) is not None:
            return self._look_into(mailbox).named.get(path)
        return next(self._in_store(path) if is_store_address(path) else self._contents_named(path), None)

    def file_at(self, path: str) -> Path | Content | None:
        """Returns the file of this name, with any bytes; None if there is none, as for a number in an mbox."""
        path = drop_number(path)
        return next(self._in_store(path) if is_store_address(path) else self._files(path), None)

    def explain_missing(self, path: str) -> str:
        """Returns what to say of a path at which nothing was found."""
        if is_store_address(path) and self._store_of(path) is None:
            return f"{path} was not looked for: name a mount of its server by --from (docs/recipes.md)"
        return f"{path} is not there any more"

    def inside(self, file: Path | Content) -> list[tuple[str, Content]]:
        """Returns the files in an archive with the ends of their paths, none if the file is no archive."""
        content = content_of(file)
        members = content.inside() if content.local is None else self._opened.members(content.local)
        return [(one.inner_path, one) for one in members or ()]

    def _in_store(self, path: str) -> Iterator[StoreItem]:
        """Yields what lies at this address in a store that may be asked."""
        if (address := self._store_of(path)) is None:
            return
        yield from self._opened.store(StoreAddress(address.scheme, address.place)).at(address.key)

    def _store_of(self, path: str) -> StoreAddress | None:
        """Returns the address of a document in a store that may be asked."""
        if is_store_address(path):
            with suppress(UsageError):  # a strange path in a folder from elsewhere
                return parse_store_address(path)
        return None

    def _mailbox_of(self, path: str) -> ImapAddress | None:
        """Returns the mailbox of a mail behind IMAP, if its server may get the password."""
        if (mail := parse_mail_path(path, self._password)) is None:
            return None
        return mail[0] if mail[0].account in self._accounts else None

    def _places_of(self, path: str) -> list[Path]:
        """Returns the places where a file of this name may be."""
        folders = [Path()] if Path(path).is_absolute() else self._folders
        return [folder / text for text in dict.fromkeys((file_path(path), path)) for folder in folders]

    def _files(self, path: str) -> Iterator[Path | Content]:
        for file in () if is_address(path) else filter(_is_file, self._places_of(path)):
            yield MaildirMessage(file) if maildir_of(file) is not None else file

    def _contents_named(self, path: str) -> Iterator[Path | Content]:
        """Yields files and mails of this name, in each of the folders."""
        yield from self._files(path)
        for mailbox in self._local_mailboxes(path):
            holding = self._look_into(mailbox)
            number = _IN_MBOX.fullmatch(path)
            called = (
                [f"{mailbox}#{number[2]}"] if number else [maildir_name(Path(path)), *map(str, self._places_of(path))]
            )
            yield from (holding.named[name] for name in called if name in holding.named)

    def _local_mailboxes(self, path: str) -> Iterator[Path]:
        """Yields the mbox files, Maildirs and archives that may have held the mail or file of this path."""
        if is_address(path):
            return
        if number := _IN_MBOX.fullmatch(path):
            yield from filter(is_mbox, self._places_of(number[1]))
        yield from filter(None, map(maildir_of, self._places_of(path)))
        yield from filter(None, map(archive_around, self._places_of(path)))

    def _look_into(self, mailbox: Path | ImapAddress) -> _Holding:
        if mailbox not in self._mailboxes:
            file = source_of(mailbox).file
            if file is None:
                check_account([*self._mailboxes, mailbox])
            items: Iterable[Path | Content | Input] = ()
            if file is not None and file.is_file() and is_mbox(file):
                items = mbox_messages(file)
            else:
                with suppress(NoMailbox):
                    items = gather([mailbox], None, self._connections)
            self._mailboxes[mailbox] = _Holding(items, [mailbox])
        return self._mailboxes[mailbox]


class _Holding:
    """Files and mails of one location, by name and by their bytes.

    Bytes are read once, and only those of requested sizes. `roots` as for `examine`.
    """

    def __init__(self, items: Iterable[Path | Content | Input], roots: Sequence[Location]) -> None:
        self._roots = roots
        self.named: dict[str, Path | Content] = {}
        self._unread: dict[int | None, list[Path | Content]] = defaultdict(list)
        self._found: dict[str, Path | Content] = {}
        for item in (one for one in items if not isinstance(one, Input)):
            self.named[content_of(item).lookup_name] = item
            self._unread[content_of(item).size].append(item)

    def find(self, digest: str, size: int | None) -> Path | Content | None:
        """Returns the content with this hash; `size` in bytes, None if unknown."""
        for known in {size, None} if size is not None else [*self._unread]:
            for item in self._unread.pop(known, ()):
                self._found.setdefault(examine(item, self._roots).digest, item)
        return self._found.get(digest)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # for example in a folder without permission, or too long a name
        return False


def _digest(item: Path | Content) -> str:
    return examine(item, None).digest
