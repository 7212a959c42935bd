"""Rich text files (`.rtf`): their text, with the rows of tables as lines."""

from __future__ import annotations

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_RTF
from cinnabar.extraction.documents.content.marked_text import part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.mail.rtf import rtf_body
from cinnabar.extraction.documents.plain.html import html_to_text
from cinnabar.extraction.documents.plain.rows import table_lines


def add_rich_text(reading: ParseContext, data: bytes) -> None:
    """Appends a rich text file. Raises DocumentError: unpacked if it is very long."""
    if len(data) > MAX_RTF:
        raise DocumentError("unpacked", f"a rich text file of {len(data)} bytes, at most {MAX_RTF} are read")
    plain, html, flags = rtf_body(data, reading.settings.hidden)
    if html:
        plain, flags = html_to_text(html, reading.settings.hidden)
    reading.builder.flags |= flags
    with part_text(reading) as text:
        paragraphs = 0
        table: list[list[str]] = []
        # A cell ends with a tab, and so does a row then.
        for line in [*plain.split("\n"), ""]:
            if line.endswith("\t") and line.strip():
                table.append([" ".join(cell.split()) for cell in line.split("\t")])
                continue
            for row, *_ in table_lines(table):
                paragraphs += 1
                text.line(row, f"paragraph {paragraphs}")
            table = []
            if line.strip():
                paragraphs += 1
                text.line(line.rstrip(), f"paragraph {paragraphs}")
            else:
                text.blank()
