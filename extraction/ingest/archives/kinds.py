"""Tells the format of a ZIP file by the names in it."""

from __future__ import annotations

import zipfile

from cinnabar.extraction.ingest.archives.zipped import open_zip
from cinnabar.schemas.errors import DocumentError

# A folder that only files of this format have, and the format's name.
_FOLDERS = (("word/", "Word document"), ("xl/", "Excel workbook"), ("ppt/", "PowerPoint presentation"))
# The beginning of the first member of OpenDocument and EPUB files.
_DECLARED = (
    ("application/vnd.oasis.opendocument.text", "OpenDocument text"),
    ("application/vnd.oasis.opendocument.spreadsheet", "OpenDocument spreadsheet"),
    ("application/vnd.oasis.opendocument.presentation", "OpenDocument presentation"),
    ("application/epub+zip", "EPUB"),
)
_MAX_TYPE = 200


def zip_format(data: bytes) -> str:
    """Returns the name of the format of a ZIP file: an office file, or an archive."""
    try:
        archive = open_zip(data)
    except DocumentError as error:
        if error.code == "unpacked":
            raise
        return "ZIP archive"
    names = {_plain(name) for name in archive.namelist()}
    if "mimetype" in names:
        declared = _declared(archive)
        for kind, name in _DECLARED:
            if declared.startswith(kind):
                return name
    if "[content_types].xml" in names:
        for folder, name in _FOLDERS:
            if any(one.startswith(folder) for one in names):
                return "binary Excel workbook" if "xl/workbook.bin" in names else name
    if "content.xml" in names and "meta-inf/manifest.xml" in names:
        return "OpenDocument text"
    if "meta-inf/container.xml" in names:
        return "EPUB"
    return "ZIP archive"


def _declared(archive: zipfile.ZipFile) -> str:
    name = next(one for one in archive.namelist() if _plain(one) == "mimetype")
    try:
        with archive.open(name) as file:
            return file.read(_MAX_TYPE).decode("ascii", "replace").strip()
    # The library fails in several ways on damaged members.
    except Exception:
        return ""


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()
