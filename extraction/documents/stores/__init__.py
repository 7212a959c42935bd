"""Reads documents from object stores, SFTP servers and SharePoint."""

from __future__ import annotations
