"""Parses files into documents: `parse` in this process, `sandbox.ParserPool` for untrusted files."""

from __future__ import annotations

from cinnabar.extraction.ingest.codes import CODES, FLAGS
from cinnabar.extraction.ingest.dispatch import SUFFIXES, parse

__all__ = ["CODES", "FLAGS", "SUFFIXES", "parse"]
