"""Reads mails that have no file of their own: mbox files, Maildir folders and mailboxes behind IMAP."""

from __future__ import annotations
