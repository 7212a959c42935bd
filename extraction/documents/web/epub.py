"""Books in EPUB: their chapters in reading order."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_CHAPTERS
from cinnabar.extraction.documents.content.marked_text import part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import Package, below, child, local, value_of
from cinnabar.extraction.documents.plain.charsets import decode
from cinnabar.extraction.documents.plain.html import html_to_text


def add_epub(reading: ParseContext, data: bytes) -> None:
    """Appends the chapters of a book. Raises DocumentError: broken, or password for a protected book."""
    package = Package(reading, data)
    if "META-INF/rights.xml" in package or "META-INF/license.lcpl" in package:
        raise DocumentError("password", "the book is protected")
    container = package.tree("META-INF/container.xml")
    roots = [] if container is None else [value_of(one, "full-path") or "" for one in below(container, "rootfile")]
    name = next((one for one in roots if one in package), "")
    root = package.tree(name)
    if root is None:
        raise DocumentError("broken", "the book has no list of its parts")
    manifest, spine, metadata = child(root, "manifest"), child(root, "spine"), child(root, "metadata")
    if reading.is_top and metadata is not None:
        for element in metadata:
            if local(element) in ("title", "creator", "subject") and element.text:
                reading.builder.metadata.setdefault(local(element), element.text.strip()[:1000])
    items = {} if manifest is None else {one.get("id"): one.get("href") or "" for one in manifest if local(one)}
    wanted = [items.get(one.get("idref"), "") for one in (() if spine is None else spine) if local(one)]
    with part_text(reading, media_type="text/html") as text:
        for number, target in enumerate(wanted, 1):
            if number > MAX_CHAPTERS or text.full:
                reading.builder.flags.add("truncated")
                break
            member = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(target.partition("#")[0])))
            if member not in package:
                reading.builder.flags.add("repaired")
                continue
            content, flags = html_to_text(decode(package.read(member))[0], reading.settings.hidden)
            reading.builder.flags |= flags
            text.blank()
            for line in content.split("\n"):
                text.line(line, f"chapter {number}")
