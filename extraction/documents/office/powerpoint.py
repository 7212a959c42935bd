"""PowerPoint presentations (`.pptx`): a part for each slide, its title first, then its notes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from cinnabar.extraction.documents.content.limits import MAX_SLIDE_ROWS, MAX_SLIDES
from cinnabar.extraction.documents.content.marked_text import add_notes, join_runs, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import (
    InnerFiles,
    Package,
    below,
    child,
    chosen,
    local,
    value_at,
    value_of,
)
from cinnabar.extraction.documents.plain.rows import table_lines

_TITLES = ("title", "ctrTitle")
# Numbers, dates and footers that the master repeats on each slide's notes.
_REPEATED = ("sldNum", "dt", "hdr", "ftr", "sldImg")


def add_powerpoint(reading: ParseContext, data: bytes) -> None:
    """Appends a presentation. Raises DocumentError: broken if it has no slides' list."""
    package = Package(reading, data)
    main, root = package.main("ppt/presentation.xml", "the PowerPoint file has no presentation part")
    relations = package.relations(main)
    inner = InnerFiles(reading, package)
    for number, entry in enumerate(below(root, "sldId"), 1):
        if number > MAX_SLIDES or reading.builder.full:
            reading.builder.flags.add("truncated")
            break
        # The entry has an id of its own beside that of the relation, which has a namespace.
        relation = next((relations[value] for value in entry.attrib.values() if value in relations), None)
        slide = None if relation is None or relation.outside else package.tree(relation.target)
        if relation is None or slide is None:
            reading.builder.flags.add("repaired")
            continue
        hidden = slide.get("show") in ("0", "false")
        if reading.leaves_out(hidden):
            continue
        _Slide(reading, package, inner, relation.target, number).add(slide, hidden)
    inner.add()


class _Slide:
    """One slide of a presentation."""

    def __init__(self, reading: ParseContext, package: Package, inner: InnerFiles, member: str, number: int) -> None:
        self._reading, self._package, self._inner, self._number = reading, package, inner, number
        self._member = member
        self._relations = package.relations(member)

    def add(self, root: Any, hidden: bool) -> None:
        """Appends the slide with its notes and comments, without struck text."""
        for run in [*below(root, "r")]:
            struck = value_at(run, "rPr", name="strike") not in ("", "noStrike") and "".join(run.itertext()).strip()
            if struck and self._reading.leaves_out(flag="struck_text"):
                run.clear()
        shapes = list(_shapes(root))
        titles = [one for one in shapes if _placeholder(one) in _TITLES]
        title = " ".join(" ".join(_paragraphs(one)) for one in titles).strip()
        with part_text(self._reading, "hidden" if hidden else "slide", title[:200]) as self._text:
            for shape in [*titles, *(one for one in shapes if one not in titles)]:
                self._shape(shape)
            self._text.flush()
            notes: list[tuple[str, str]] = []
            for relation in self._relations.values():
                if not relation.outside and relation.kind in ("notesSlide", "comments"):
                    notes += self._notes(relation.target)
            add_notes(self._reading, "Notes", notes)

    def _line(self, text: str) -> None:
        if text.strip():
            self._text.line(text, f"slide {self._number}")

    def _shape(self, shape: Any) -> None:
        self._text.blank()
        for table in below(shape, "tbl"):
            rows = [one for one in table if local(one) == "tr"][:MAX_SLIDE_ROWS]
            cells = [["\n".join(_paragraphs(cell)) for cell in row if local(cell) == "tc"] for row in rows]
            for line in chain.from_iterable(table_lines(cells)):
                self._line(line)
            return
        for text in _paragraphs(shape):
            self._line(text)
        for one in below(shape, "blip", "relIds", "chart", "oleObj"):
            for value in one.attrib.values():
                if (relation := self._relations.get(value)) is None:
                    continue
                if relation.kind in ("diagramData", "chart") and not relation.outside:
                    self._graphic(relation.target)
                elif relation.kind in ("image", "package", "oleObject"):
                    self._inner.mention(relation)

    def _graphic(self, member: str) -> None:
        """Appends the text of a diagram or a chart; a chart's series are lines of values."""
        root = self._package.tree(member)
        if root is None:
            return
        for text in _paragraphs(root):
            self._line(text)
        for series in below(root, "ser"):
            for name in ("tx", "cat", "xVal", "val", "yVal"):
                held = child(series, name)
                values = [] if held is None else [one.text or "" for one in below(held, "v")]
                self._line("  ".join(value for value in values[:MAX_SLIDE_ROWS] if value))

    def _notes(self, member: str) -> list[tuple[str, str]]:
        root = self._package.tree(member)
        if root is None:
            return []
        label = f"slide {self._number}"
        comments = ["".join(one.itertext()) for one in below(root, "text")]
        shapes = [one for one in _shapes(root) if _placeholder(one) not in _REPEATED]
        return [(label, text) for text in [*comments, *("\n".join(_paragraphs(one)) for one in shapes)]]


def _shapes(container: Any) -> Iterator[Any]:
    """Yields the shapes of a slide, also those within groups."""
    for element in container:
        name = local(element)
        if name in ("sp", "graphicFrame", "pic", "cxnSp"):
            yield element
        elif name == "AlternateContent":
            yield from _shapes(chosen(element))
        elif name in ("cSld", "spTree", "grpSp"):
            yield from _shapes(element)


def _placeholder(shape: Any) -> str:
    for one in shape:
        if local(one).startswith("nv") and (place := child(one, "nvPr", "ph")) is not None:
            return value_of(place, "type") or "body"
    return ""


def _paragraphs(element: Any) -> Iterator[str]:
    """Yields the lines of text with any letters, in order."""
    for paragraph in below(element, "p"):
        pieces: list[tuple[str, int]] = []
        for one in paragraph.iter():
            name = local(one)
            if name == "t":
                shift = value_at(one.getparent(), "rPr", name="baseline")
                pieces.append((one.text or "", -1 if shift[:1] == "-" else int(shift.strip("0%") != "")))
            elif name in ("br", "tab"):
                pieces.append(("\n" if name == "br" else "\t", 0))
        for line in join_runs(pieces).split("\n"):
            if line.strip():
                yield line.strip()
