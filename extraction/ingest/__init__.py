"""Parses files into documents: `parse` in this process, `sandbox.ParserPool` for untrusted files."""

from __future__ import annotations

from cinnabar.extraction.ingest.codes import CODES, FLAGS
from cinnabar.extraction.ingest.dispatch import parse
from cinnabar.extraction.ingest.formats import SUFFIXES
from cinnabar.extraction.ingest.settings import ParserSettings

__all__ = ["CODES", "FLAGS", "SUFFIXES", "ParserSettings", "parse"]
