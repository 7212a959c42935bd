"""Tells those who look at a folder which corrections wait unread, and which could not be stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from cinnabar.errors import shorten
from cinnabar.extraction.corrections import journal
from cinnabar.extraction.store.files import files_aside


def unread_corrections(out: Path) -> dict[Path, str]:
    """Returns the files of corrections that count nowhere, with the reasons; they stay where they are.

    They wait and cannot be read, or no column could hold their values.
    """
    return journal.broken(out) | {path: _reason(path) for path in files_aside(out)}


def aside_of(path: Path) -> dict[str, Any]:
    """Returns what is told of a correction that could not be stored; {} if its file cannot be read."""
    try:
        content = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _reason(path: Path) -> str:
    content = aside_of(path)
    pointers = content.get("pointers")
    places = ", ".join(shorten(str(one)) or "/" for one in pointers[:5]) if isinstance(pointers, list) else ""
    return (
        f"a correction of {content.get('path') or content.get('document') or 'a document'}"
        f"{f' at {places}' if places else ''} could not be stored ({content.get('why', 'the file cannot be read')}) and"
        " does not count; correct the document again, then remove this file"
    )
