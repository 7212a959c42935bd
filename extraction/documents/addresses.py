"""Tells an address of a mailbox or a store from a path of this machine."""

from __future__ import annotations

from collections.abc import Callable

from cinnabar.extraction.documents.buckets.address import StoreAddress, is_store_address, parse_store_address
from cinnabar.extraction.documents.mailboxes import address as imap
from cinnabar.extraction.documents.mailboxes.address import ImapAddress, password_of_environment


def is_address(text: str) -> bool:
    """Returns True if this names a mailbox behind IMAP or a place in a store rather than a path."""
    return imap.is_address(text) or is_store_address(text)


def parse_address(text: str, password: Callable[[], str] = password_of_environment) -> ImapAddress | StoreAddress:
    """Returns the mailbox or the place in a store. Raises UsageError if the address is malformed."""
    return parse_store_address(text) if is_store_address(text) else imap.parse_address(text, password)
