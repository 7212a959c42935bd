"""Names of members of archives: data that is shown, and never a path on a disk."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"^[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST = 800


def member_name(name: str) -> str:
    """Returns a member's name as a relative path without steps upwards, drives and control codes."""
    parts = _CONTROL.sub("�", _DRIVE.sub("", name).replace("\\", "/")).split("/")
    kept = "/".join(part for part in parts if part.strip() not in ("", ".", ".."))
    # The end of a name tells the format.
    return kept[-_LONGEST:].lstrip("/") or "member"


def is_hidden(name: str) -> bool:
    """Returns True for the names that are left out as in folders, and for the forks that macOS adds."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


class DistinctNames:
    """Gives each file a name that no earlier one has: a name that occurs again gets a number."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def distinct(self, name: str) -> str:
        """Returns the name, with a number before its suffix if it was there before."""
        while name in self._seen:
            self._seen[name] += 1
            stem, dot, suffix = name.rpartition(".")
            if not stem or "/" in suffix:
                stem, dot, suffix = name, "", ""
            numbered = f"{stem} ({self._seen[name]}){dot}{suffix}"
            if numbered not in self._seen:
                name = numbered
        self._seen[name] = 1
        return name
