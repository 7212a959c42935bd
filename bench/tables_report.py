"""F1 of documents with tables, read with tables as rows and in plain order, side by side.

    python -m bench.tables_report SET... [--limit 12]

In plain order the words of a page come as its content stream has them, with their boxes; the cells of an HTML table
come one below the other; and CSV, JSON and XML are their own text. Sets of other formats are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
from lxml import html  # type: ignore[import-untyped]

from bench.labelled_sets import figures_of, read_sets, report_arguments
from bench.reporting import table
from cinnabar.engine.models.loading import load_model
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest import parse
from cinnabar.extraction.ingest.pdf.glyphs import PageWords
from cinnabar.extraction.ingest.plain.charsets import decode, known_charset, markup_charset
from cinnabar.extraction.pipeline import Read
from cinnabar.extraction.quality.evaluation import EvaluationSet


def streamed(page: PageWords) -> tuple[list[int], list[str]]:
    """The words of a page in the order of its content stream; a word below or above the one before begins a line."""
    box = page.box
    apart = np.minimum(box[1:, 3], box[:-1, 3]) <= np.maximum(box[1:, 1], box[:-1, 1])
    return list(range(len(page.text))), ["", *("\n" if one else " " for one in apart)][: len(page.text)]


def plain_pdf(data: bytes, name: str) -> Document:
    """A PDF in the order of its content streams."""
    with patch("cinnabar.extraction.ingest.pdf.page_content.linearise", streamed):
        return parse(data, name)


def plain_html(data: bytes, name: str) -> Document:
    """The texts of an HTML page, one below the other."""
    text, _ = decode(data, known_charset(markup_charset(data)))
    tree = html.fromstring(text.encode(), parser=html.HTMLParser(encoding="utf-8"))
    for hidden in tree.xpath("//script|//style|//head"):
        hidden.drop_tree()
    lines = (" ".join(text.split()) for text in tree.itertext())
    return parse("\n".join(filter(None, lines)).encode(), f"{name}.txt")


def as_it_is(data: bytes, name: str) -> Document:
    """The text of a file."""
    return parse(data, f"{name}.txt")


#: The ways to read formats with tables in plain order, by suffix.
PLAIN: dict[str, Callable[[bytes, str], Document]] = {
    ".pdf": plain_pdf, ".html": plain_html, ".csv": as_it_is, ".json": as_it_is, ".xml": as_it_is,
}  # fmt: skip


def has_tables(labelled: EvaluationSet) -> bool:
    """Returns whether the documents of a set are of formats that hold tables, and its records hold lists."""
    suffixes = {Path(line["file"]).suffix for line in labelled.truths}
    return suffixes <= PLAIN.keys() and '"array"' in str(labelled.schema).replace("'", '"')


def in_plain_order(labelled: EvaluationSet, reads: Sequence[Read]) -> Iterator[Read]:
    """Yields the documents of a set in plain order."""
    for read in reads:
        path = labelled.folder / read.path
        found = PLAIN[path.suffix](path.read_bytes(), read.path)
        yield Read(read.path, found.digest, found)


def main() -> None:
    """Prints a row for each set."""
    asked = report_arguments(__doc__)
    model = load_model(asked.model, asked.device)
    rows = []
    for labelled, reads in read_sets(asked.sets, asked.limit, has_tables):
        both = [figures_of(labelled, one, model) for one in (reads, list(in_plain_order(labelled, reads)))]
        cells = [f"{both[at][name]:.3f}" for name in ("f1", "lists") for at in (0, 1)]
        rows.append([labelled.name, f"{len(labelled.truths)}", *cells])
    head = ["set", "documents", "F1, rows", "F1, plain", "lists, rows", "lists, plain"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
