"""Archives within other files, such as mails: each member becomes a part with its own content."""

from __future__ import annotations

from pathlib import PurePath

from cinnabar.extraction.documents.archives.members import UnpackedBytes, members
from cinnabar.extraction.documents.content.inner_files import add_content
from cinnabar.extraction.documents.content.parse_context import MAX_UNPACKED, ParseContext
from cinnabar.schemas.errors import DocumentError


def add_archive(reading: ParseContext, data: bytes) -> None:
    """Appends the files of an archive. Raises DocumentError: broken, truncated, password, unpacked."""
    builder = reading.builder
    bound = UnpackedBytes(len(data), MAX_UNPACKED)

    def count(size: int) -> None:
        reading.count(size)
        bound.count(size)

    for member in members(data, PurePath(reading.name).name, count, reading.settings.passwords):
        if builder.full:
            builder.flags.add("truncated")
            break
        builder.open("attachment", member.name)
        if member.problem is not None:
            builder.flags.add(f"attachment_{member.problem.code}")
        else:
            add_content(reading, member.data, member.name)
        builder.close()
    if reading.is_top and not builder.part_count:
        raise DocumentError("empty", "the archive holds no files")
