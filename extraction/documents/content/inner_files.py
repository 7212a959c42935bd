"""Files within files: each is read like a file of its own, and its faults stay its own."""

from __future__ import annotations

from cinnabar.extraction.documents.content.formats import content_format
from cinnabar.extraction.documents.content.parse_context import MAX_DEPTH, ParseContext
from cinnabar.schemas.errors import DocumentError


def add_content(reading: ParseContext, data: bytes, name: str, media_type: str = "") -> None:
    """Appends a file that lies within another to the open part, if its format is known.

    name, media_type: as the file around it says; the content decides first. A file that cannot be read leaves a flag
    `attachment_` with the code, and the document stays valid.
    """
    builder = reading.builder
    if reading.settings.careful:
        builder.flags.add("attachment_skipped")
        return
    if reading.depth >= MAX_DEPTH:
        builder.flags.add("depth_limit")
        return
    mark, outer = builder.open_count, reading.name
    reading.depth, reading.name = reading.depth + 1, name
    try:
        reading.read(content_format(data, name, media_type).reader(), data)
    except DocumentError as error:
        builder.flags.add(f"attachment_{error.code}")
    except MemoryError:
        builder.flags.add("attachment_memory")
    except RecursionError:
        builder.flags.add("attachment_depth")
    # No error of a hostile content may lose the file around it.
    except Exception:
        builder.flags.add("attachment_parser_error")
    finally:
        reading.depth, reading.name = reading.depth - 1, outer
        builder.close_down_to(mark)
        # A reader that gave up names the place of its last line.
        builder.mark("")
