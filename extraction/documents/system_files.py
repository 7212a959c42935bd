"""The files that operating systems and office programs leave beside documents; nobody means them as input."""

from __future__ import annotations

from pathlib import PurePath

#: The code of a path that is skipped for it.
SYSTEM_FILE = "system_file"
_NAMES = frozenset(
    ("thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "iconcache.db", "icon\r", ".ds_store")
)
# Lock files of Word, Excel and PowerPoint, their unsaved parts, those of LibreOffice, and the forks of macOS.
_BEGINNINGS = ("~$", "~wrl", "~wrd", "~wra", ".~lock.", "._")
# Windows keeps in such a stream where a file came from; copied to another system it is a file.
_ENDINGS = (":zone.identifier",)
_FOLDERS = frozenset(("__macosx", "$recycle.bin", "system volume information", "@eadir"))


def is_system_file(path: str) -> bool:
    """Returns whether a path names such a file, or lies in a folder of such files."""
    *folders, name = [part.casefold() for part in PurePath(path).parts] or [""]
    return (
        name in _NAMES
        or name.startswith(_BEGINNINGS)
        or name.endswith(_ENDINGS)
        or not _FOLDERS.isdisjoint(folders)
    )
