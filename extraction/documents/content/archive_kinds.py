"""Tells the formats of archives by their content, and of ZIP files by the names in them."""

from __future__ import annotations

import zipfile

from cinnabar.extraction.documents.content.seven_zip import SEVEN_ZIP
from cinnabar.extraction.documents.content.zipped import open_zip
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


def archive_kind(data: bytes) -> str:
    """Returns the name of the format of an archive, "" for anything else."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        kind = zip_format(data)
        return kind if kind == "ZIP archive" else ""
    return packed_kind(data)


def packed_kind(data: bytes) -> str:
    """Returns the name of the format of an archive other than ZIP, of which the beginning is enough."""
    if data.startswith(b"\x1f\x8b\x08"):
        return "gzip archive"
    if data.startswith(b"BZh") and data[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2 archive"
    if data.startswith(b"\xfd7zXZ\x00"):
        return "xz archive"
    if data.startswith(SEVEN_ZIP):
        return "7z archive"
    return "tar archive" if data[257:262] == b"ustar" else ""


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
        declared = _declared_type(archive)
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


def _declared_type(archive: zipfile.ZipFile) -> str:
    name = next(one for one in archive.namelist() if _plain(one) == "mimetype")
    try:
        with archive.open(name) as file:
            return file.read(_MAX_TYPE).decode("ascii", "replace").strip()
    # The library fails in several ways on damaged members.
    except Exception:
        return ""


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()
