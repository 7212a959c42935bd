"""Parses files into documents: `parse` in this process, `sandbox.ParserPool` for untrusted files."""

from __future__ import annotations

from cinnabar.extraction.documents.content.formats import SUFFIXES
from cinnabar.extraction.documents.content.parse_context import FLAGS, ParserSettings
from cinnabar.extraction.documents.ingest.dispatch import parse

__all__ = ["FLAGS", "SUFFIXES", "ParserSettings", "parse"]
