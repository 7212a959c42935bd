"""Draws contents as a PDF: what stands around the list, its table over many pages, and sums at their edges."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth

from bench.list_layouts.columns import FACES, MARGIN, bands, cells_of, fit, wrapped
from bench.list_layouts.contents import Contents, Group, legend, summary, sums
from bench.list_layouts.sheet import Sheet
from bench.list_layouts.values import Row
from bench.list_layouts.wording import Wording

# The space above and below the text of a row, by the rules between rows, in points.
_ROOM = {"grid": 3.0, "lines": 2.5, "zebra": 2.0, "none": 0.5}


class Drawing(Sheet):
    """The pages of a document with a list."""

    def __init__(self, contents: Contents, wording: Wording, rng: Random) -> None:
        layout = contents.layout
        self.contents, self.layout, self.wording, self.rng = contents, layout, wording, rng
        super().__init__(fit(contents, float(rng.randint(*layout.sizes))), *FACES[layout.font])
        self.printed: list[Row] = []
        self.striped = False
        self.dated = f"{rng.randint(1, 28):02}-{rng.randint(1, 12):02}-2024 {rng.randint(8, 18)}:{rng.randint(10, 59)}"

    @property
    def bottom(self) -> float:
        """The end of the place for rows."""
        return self.columns.height - MARGIN - 2 * self.leading

    def pdf(self) -> bytes:
        """Returns the document."""
        facts = self._opening()
        if before := self.layout.side and self.rng.random() < 0.5:
            self._side_table()
        self._tables()
        if self.layout.count == "end":
            self._count(self.contents.count)
        if not before and self.layout.side:
            self._side_table()
        self._closing()
        return self._written(facts)

    def _opening(self) -> list[tuple[str, str]]:
        """Draws firm, title and facts; returns those that later pages repeat."""
        contents, subject = self.contents, self.layout.subject
        self.line(contents.firm, bold=True)
        self.line(f"{self.rng.randint(1, 900)} Market Square, Suite {self.rng.randint(1, 40)}")
        self.y += self.leading
        self.line(contents.title, bold=True, size=self.size + 5)
        self.y += 0.5 * self.leading
        page = contents.facts(subject.page, contents.page)
        facts = contents.facts(subject.root, contents.root) + page
        self.rng.shuffle(facts)
        if self.layout.count == "top":
            facts.append((contents.things, str(contents.count)))
        if self.rng.random() < 0.5:
            for label, value in facts:
                self.line(f"{label}: {value}")
        else:
            for at, (label, value) in enumerate(facts):
                x = MARGIN + (at % 2) * 0.5 * (self.columns.width - 2 * MARGIN)
                self.text(x, label, bold=True)
                self.text(x + max(90.0, stringWidth(label, self.bold, self.size) + 8), value)
                self.y += self.leading if at % 2 or at == len(facts) - 1 else 0.0
        self.y += self.leading
        return page

    def _tables(self) -> None:
        """Draws the list."""
        layout, contents = self.layout, self.contents
        headed = layout.group in ("heading", "section") and bool(layout.subject.group)
        if not headed or layout.group == "heading":
            self._header()
        for group in contents.groups:
            heading = contents.heading(group) if headed else ""
            if headed:
                self._heading(heading)
            for at, row in enumerate(group.rows):
                self._row(group, row, at == 0, heading)
            if layout.subtotals and layout.subject.group:
                name = contents.heading(group)
                self._sums(self.wording.subtotal.format(name), group.rows)
            if layout.count == "group":
                self._count(len(group.rows))
        if layout.total:
            self._sums(self.wording.total, self.printed)

    def _heading(self, heading: str, again: bool = False) -> None:
        """Draws the line above a group, with the header below it if each group is a table."""
        section = self.layout.group == "section"
        if not again:
            self._need((6 + section * 3) * self.leading, "")
        if section and not again:
            self.y += 0.8 * self.leading
        text = self.wording.continued.format(heading) if again else heading
        self.line(text, bold=True, size=self.size + 2 * section)
        if self.layout.rules == "grid":
            self.rule(self.y + 1)
        self.y += 2
        self.striped = False
        if section and (not again or self.layout.repeat):
            self._header()

    def _row(self, group: Group, row: Row, first: bool, heading: str) -> None:
        """Draws a row; `first`: of its group."""
        columns, room = self.columns, _ROOM[self.layout.rules]
        cells = cells_of(self.contents, columns.fields, group, row, first or self.layout.group == "column")
        lines = self._wrapped(cells)
        tall = max(map(len, lines)) * self.leading + room
        if self._need(tall, heading) and self.layout.continued:
            cells = cells_of(self.contents, columns.fields, group, row, True)
            lines = self._wrapped(cells)
            tall = max(map(len, lines)) * self.leading + room
        if self.layout.rules == "zebra" and self.striped:
            self.fill(self.y, tall)
        self.striped = not self.striped
        for at, texts in enumerate(lines):
            for number, text in enumerate(texts):
                self.cell(at, text, self.y + room / 2 + number * self.leading)
        if self.layout.rules in ("grid", "lines"):
            self.rule(self.y + tall)
        if self.layout.rules == "grid":
            self.uprights(self.y, self.y + tall)
        self.y += tall
        self.printed.append(row)

    def _header(self) -> None:
        """Draws the headers, with those that span columns above them."""
        columns, top = self.columns, self.y
        if self.layout.band and (spans := bands(columns.fields)):
            for first, last in spans:
                left, right = columns.lefts[first], columns.lefts[last] + columns.widths[last]
                band = columns.banner(first, self.layout.capitals)
                self.text((left + right) / 2, band, bold=True, align="centre")
                self.rule(self.y + self.leading, left, right)
            self.y += self.leading + 1.5
        tall = max(map(len, columns.heads))
        for at, lines in enumerate(columns.heads):
            for number, line in enumerate(lines):
                # A header of fewer lines stands at the bottom.
                self.cell(at, line, self.y + (tall - len(lines) + number) * self.leading, bold=True)
        self.y += tall * self.leading + 2
        self.rule(self.y)
        if self.layout.rules == "grid":
            self.rule(top)
            self.uprights(self.y - tall * self.leading - 2, self.y)
        self.y += 1.5 * (self.layout.rules != "grid")
        self.striped = False

    def _sums(self, label: str, rows: Sequence[Row], edge: bool = False) -> None:
        """Draws a line of sums, or their label alone where nothing adds up; `edge`: at the edge of a page."""
        if not edge:
            self._need(self.leading + 4, "")
        columns, found = self.columns, sums(self.contents, rows)
        keys = [one.key for one in columns.fields]
        places = {keys.index(key): text for key, text in found.items()}
        ends = {at: columns.lefts[at] + columns.widths[at] for at in places}
        starts = {at: ends[at] - self.width_of(text) for at, text in places.items()}
        if MARGIN + self.width_of(label) + 4 > min(starts.values(), default=columns.width):
            label = label.split()[0]
        if not places:
            label = f"{label}  {len(rows)}"
        self.y += 2
        self.text(MARGIN, label, bold=True)
        for at, text in places.items():
            if starts[at] > MARGIN + self.width_of(label) + 4:
                self.cell(at, text, self.y, bold=True)
        self.y += self.leading + 2
        self.striped = False

    def _need(self, tall: float, heading: str) -> bool:
        """Turns the page if so much does not fit on it; returns whether it did; `heading`: of its group."""
        layout = self.layout
        carried = bool(layout.carried and self.printed)
        if self.y + tall + carried * (self.leading + 4) <= self.bottom:
            return False
        if carried:
            self._sums(self.wording.carried, self.printed, edge=True)
        self.pages.append([])
        self.y = MARGIN + (2.5 * self.leading if layout.page_head else 0.0)
        if layout.repeat and layout.group != "section":
            self._header()
        if carried:
            self._sums(self.wording.brought, self.printed, edge=True)
        if heading and layout.continued:
            self._heading(heading, again=True)
        elif heading and layout.group == "section" and layout.repeat:
            self._header()
        return True

    def _count(self, number: int) -> None:
        """Draws the number of rows."""
        self._need(2 * self.leading, "")
        self.y += 0.3 * self.leading
        self.line(self.wording.count.format(self.contents.things, number))
        self.y += 0.3 * self.leading

    def _side_table(self) -> None:
        """Draws a small table about something else."""
        rows = summary(self.contents, self.rng) if self.layout.side == "summary" else legend(self.contents)
        if self.y + (len(rows) + 3) * self.leading > self.bottom:
            self.pages.append([])
            self.y = MARGIN + 3 * self.leading
        self.y += self.leading
        if self.layout.side == "legend":
            self.line(self.wording.legend, bold=True)
        for number, row in enumerate(rows):
            for at, text in enumerate(row):
                self.text(MARGIN + 90 * at, text, bold=number == 0 and self.layout.side == "summary")
            self.y += self.leading
        self.y += self.leading

    def _closing(self) -> None:
        """Draws what printed codes mean, if no table does, and a few notes."""
        notes = self.rng.sample(self.wording.notes, self.rng.randint(0, len(self.wording.notes)))
        codes = legend(self.contents)
        if codes and self.layout.side != "legend":
            notes.insert(0, f"{self.wording.legend}: {', '.join(' = '.join(one) for one in codes)}")
        width = self.columns.width - 2 * MARGIN
        lines = [line for note in notes for line in simpleSplit(note, self.face, self.size, width)]
        if self.y + (len(lines) + 1) * self.leading > self.bottom:
            self.pages.append([])
            self.y = MARGIN + 3 * self.leading
        self.y += self.leading
        for line in lines:
            self.line(line)

    def _written(self, facts: Sequence[tuple[str, str]]) -> bytes:
        """Returns the PDF of the pages, each with its foot, and from the second on with a head."""
        head = "   ".join([self.contents.title, *(f"{label}: {value}" for label, value in facts)])
        heads = [head if number and self.layout.page_head else "" for number in range(len(self.pages))]
        feet = [self.wording.page.format(number, len(self.pages)) for number in range(1, len(self.pages) + 1)]
        return self.written(heads, [self.dated] * len(self.pages), feet)

    def _wrapped(self, cells: Sequence[str]) -> list[tuple[str, ...]]:
        """Returns the lines of each cell."""
        columns = self.columns
        return [
            wrapped(text, self.face, self.size, width) if one.kind.wraps else (text,)
            for text, width, one in zip(cells, columns.widths, columns.fields, strict=True)
        ]
