"""Measures how many cells of tables `cinnabar text --tables` gets right, on labelled sets with lists.

    python -m bench.table_cells SET... [--documents 60]

Of each true row its values are counted that the document prints. The table's row that has the most of them is theirs;
a cell is right if it is one of those values, alone in its cell, as a number or a text without case and blanks.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from bench.reporting import table
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import numbers_of
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.review.table_files import document_tables
from cinnabar.extraction.run.batch.labelled_sets import load_set

_NUMBER = re.compile(r"[-+]?\d[\d.,' ]*")


def plain(value: Any) -> str:
    """Returns a value as it is compared: a number in its shortest form, a text without case, blanks and signs."""
    try:
        return f"{Decimal(str(value)).normalize():f}"
    except InvalidOperation:
        return re.sub(r"[^\w]", "", str(value).casefold())


def forms(cell: str, locale: Locale) -> set[str]:
    """Returns what a cell may say: its text, and the numbers that it may mean."""
    return {plain(cell), *(plain(one) for one in numbers_of(cell, locale))}


def true_rows(value: Any) -> Iterator[list[str]]:
    """Yields the values of each row of the lists of objects in a record."""
    for own in value.values() if isinstance(value, dict) else ():
        for row in own if isinstance(own, list) else ():
            if isinstance(row, dict):
                yield [plain(one) for one in row.values() if type(one) in (str, int, float)]
                yield from true_rows(row)


def counted(document: Document, truth: Any) -> tuple[int, int]:
    """Returns the right cells and all cells of a document."""
    tables = document_tables("a", document)
    rows = [[forms(cell, one.locale) for cell in cells] for one in tables for _, cells in one.rows]
    text, right, cells = document.text, 0, 0
    locale = tables[0].locale if tables else Locale()
    printed = {form for word in re.split(r"\s{2,}|\n|\t", text) for form in forms(word.strip(), locale)}
    printed |= {form for word in [*_NUMBER.findall(text), *text.split()] for form in forms(word.strip(), locale)}
    for values in true_rows(truth):
        wanted = [one for one in values if one in printed]
        cells += len(wanted)
        right += max((sum(any(one in cell for cell in row) for one in wanted) for row in rows), default=0)
    return right, cells


def main() -> None:
    """Prints the share of right cells of each set and of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--documents", type=int, default=60)
    asked = parser.parse_args()
    shown, total, left = [], [0, 0], asked.documents
    for folder in asked.sets:
        labelled = load_set(folder).select(limit=left)
        truths = {labelled.folder / line["file"]: line["truth"] for line in labelled.truths}
        own, read = [0, 0], 0
        with ParserPool(2) as pool:
            for path, found in pool.parse_many([*truths]):
                if isinstance(found, Document):
                    right, cells = counted(found, truths[path])
                    own, read = [own[0] + right, own[1] + cells], read + 1
                    if cells and right < 0.9 * cells:
                        print(f"{path.name}: {right} of {cells}", flush=True)
        left -= read
        total = [total[0] + own[0], total[1] + own[1]]
        shown.append((folder.name, str(read), f"{own[1]:,}", f"{own[0] / max(own[1], 1):.3f}"))
    shown.append(("all", str(asked.documents - left), f"{total[1]:,}", f"{total[0] / max(total[1], 1):.3f}"))
    print(table(("set", "documents", "cells", "right"), shown))


if __name__ == "__main__":
    main()
