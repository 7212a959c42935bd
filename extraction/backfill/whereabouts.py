"""Where documents that were read before lie now: under the path that they were read by, else by their bytes.

A mail moves: in an mbox its number changes, in a Maildir the name of its file, behind IMAP the UIDVALIDITY.
So within the mailbox that it was read from it is known by the hash of its bytes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from cinnabar.extraction.ingest.message import Message
from cinnabar.extraction.inputs import Input, Location, check_account, examine, gather
from cinnabar.extraction.mailboxes.address import (
    ImapAddress,
    is_address,
    parse_mail_path,
    password_of_environment,
)
from cinnabar.extraction.mailboxes.files import (
    MaildirMessage,
    is_mbox,
    maildir_name,
    maildir_of,
    mbox_messages,
)
from cinnabar.extraction.mailboxes.imap import ImapMailbox, ImapMessage
from cinnabar.extraction.storage.folders import remembered
from cinnabar.schemas.errors import NoMailbox

#: What helps where something is not found.
ELSEWHERE = "if it lies elsewhere now, say where with --from"
#: A file, or a mail that lies in none.
Content = Path | Message

_IN_MBOX = re.compile(r"(.+)#([1-9]\d*)", re.DOTALL)


class Whereabouts:
    """Finds documents by their paths in an output folder and by the hash of their bytes.

    Relative paths are looked for from here, and from where the runs were started that wrote to `out`; what is
    not there, in the `others`: files, folders and mailboxes. `password` gives that of mailboxes behind IMAP,
    to which a connection is made only where a mail is found nowhere else; where an account is among the
    `others`, none but that.
    A context manager: contents are read before it is left. Raises UsageError where one of the `others` is
    not there, RunError where a server ceases to answer.
    """

    def __init__(
        self,
        out: Path,
        others: Sequence[Location] = (),
        password: Callable[[], str] = password_of_environment,
    ) -> None:
        here = Path.cwd()
        self._folders = [Path(), *(folder for folder in remembered(out) if folder != here)]
        self._password = password
        self._connections = ExitStack()
        self._mailboxes: dict[Location, _Holding] = {}
        self._accounts = {one.account for one in others if isinstance(one, ImapAddress)}
        with self._connections as stack:
            self._others = _Holding(gather(others, out, stack) if others else (), others)
            self._connections = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.__exit__(kind, error, trace)

    def find(self, paths: Sequence[str], digest: str, size: int | None) -> Content | None:
        """The file or mail with these bytes, read under one of these paths before; None where there is none.

        A mail behind IMAP whose UIDVALIDITY, UID and size are as they were is not fetched to be hashed, so
        whoever reads it looks at its hash again. `size` in bytes, None where it is not known.
        """
        return (
            self._here(paths, digest, size)
            or self._others.find(digest, size)
            or self._behind_imap(paths, digest, size)
        )

    def _here(self, paths: Sequence[str], digest: str, size: int | None) -> Content | None:
        near = [path for path in paths if not is_address(path)]
        named = (content for path in near for content in self._named(path))
        if (content := next((one for one in named if _digest(one) == digest), None)) is not None:
            return content
        mailboxes = (mailbox for path in near for mailbox in self._local_mailboxes(path))
        found = (self._holding(mailbox).find(digest, size) for mailbox in mailboxes)
        return next((content for content in found if content is not None), None)

    def _behind_imap(self, paths: Sequence[str], digest: str, size: int | None) -> Content | None:
        for path in paths:
            if (mailbox := self._mailbox_of(path)) is not None:
                holding = self._holding(mailbox)
                content = holding.named.get(path)
                if content is None or (_size(content) != size and _digest(content) != digest):
                    content = holding.find(digest, size)
                if content is not None:
                    return content
        return None

    def lying_at(self, path: str) -> Content | None:
        """What lies under this path now, whatever its bytes; None where nothing does."""
        if (mailbox := self._mailbox_of(path)) is not None:
            return self._holding(mailbox).named.get(path)
        return next(self._named(path), None)

    def file_at(self, path: str) -> Content | None:
        """The file of this name, whatever its bytes; None where there is none, as for a number in an mbox."""
        return next(self._files(path), None)

    def _mailbox_of(self, path: str) -> ImapAddress | None:
        """The mailbox of a mail behind IMAP, where its server may be told the password."""
        if (mail := parse_mail_path(path, self._password)) is None:
            return None
        return mail[0] if not self._accounts or mail[0].account in self._accounts else None

    def _lying(self, path: str) -> list[Path]:
        """Where a file of this name may lie."""
        return [Path(path)] if Path(path).is_absolute() else [folder / path for folder in self._folders]

    def _files(self, path: str) -> Iterator[Content]:
        for file in () if is_address(path) else filter(_is_file, self._lying(path)):
            yield MaildirMessage(file) if maildir_of(file) is not None else file

    def _named(self, path: str) -> Iterator[Content]:
        """Files and mails of this name, in each of the folders."""
        yield from self._files(path)
        for mailbox in self._local_mailboxes(path):
            holding = self._holding(mailbox)
            number = _IN_MBOX.fullmatch(path)
            called = f"{mailbox}#{number[2]}" if number else maildir_name(Path(path))
            if called in holding.named:
                yield holding.named[called]

    def _local_mailboxes(self, path: str) -> Iterator[Path]:
        """The mbox files and Maildirs that a mail of this path may have been read from."""
        if is_address(path):
            return
        if number := _IN_MBOX.fullmatch(path):
            yield from filter(is_mbox, self._lying(number[1]))
        yield from filter(None, map(maildir_of, self._lying(path)))

    def _holding(self, mailbox: Path | ImapAddress) -> _Holding:
        if mailbox not in self._mailboxes:
            if isinstance(mailbox, ImapAddress):
                check_account(one for one in [*self._mailboxes, mailbox] if isinstance(one, ImapAddress))
                items: Iterable[Content | Input] = self._messages(mailbox)
            elif mailbox.is_file():
                items = mbox_messages(mailbox)
            else:
                items = gather([mailbox], None, self._connections)
            self._mailboxes[mailbox] = _Holding(items, [mailbox])
        return self._mailboxes[mailbox]

    def _messages(self, address: ImapAddress) -> list[ImapMessage]:
        try:
            return self._connections.enter_context(ImapMailbox(address)).messages()
        except NoMailbox:
            return []


class _Holding:
    """Files and mails at some place, by name, and by their bytes.

    Bytes are read once, and only those of the sizes that are asked for. `roots` as for `examine`.
    """

    def __init__(self, items: Iterable[Content | Input], roots: Sequence[Location]) -> None:
        self._roots = roots
        self.named: dict[str, Content] = {}
        self._unread: dict[int | None, list[Content]] = defaultdict(list)
        self._found: dict[str, Content] = {}
        for item in (one for one in items if not isinstance(one, Input)):
            self.named[_name(item)] = item
            self._unread[_size(item)].append(item)

    def find(self, digest: str, size: int | None) -> Content | None:
        """The one with this hash; `size` in bytes, None where it is not known."""
        for known in {size, None} if size is not None else [*self._unread]:
            for item in self._unread.pop(known, ()):
                self._found.setdefault(examine(item, self._roots).digest, item)
        return self._found.get(digest)


def _name(item: Content) -> str:
    if isinstance(item, MaildirMessage):
        return maildir_name(item.file)
    return str(item) if isinstance(item, Path) else item.path


def _size(item: Content) -> int | None:
    """Its bytes, where these can be told without reading it."""
    if isinstance(item, ImapMessage):
        return item.size
    file = item.file if isinstance(item, MaildirMessage) else item
    try:
        return file.stat().st_size if isinstance(file, Path) else None
    except OSError:
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # in a folder that may not be entered, say, or too long a name
        return False


def _digest(item: Content) -> str:
    return examine(item, [item] if isinstance(item, Path) else []).digest
