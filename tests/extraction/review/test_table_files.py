"""Tables without a schema: their files, typed columns, and what an earlier list leaves."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.apps.cli.main import run
from cinnabar.engine.readings.locale import Locale
from cinnabar.errors import UsageError
from cinnabar.extraction.review.table_files import LISTED, DocumentTable, write_tables

HEAD = f"{'Code':8}{'Name':16}{'Since':14}{'Rent':>10}{'Share':>8}\n"
ROWS = [(f"A{n}", ("Ida Wynn", "Gus Hill", "Ana Silva")[n % 3], f"{n + 1:02}.04.2023", f"{900 + 111 * n:,}", f"{n}.5")
        for n in range(12)]  # fmt: skip


def page(title: str) -> str:
    rows = "".join(f"{a:8}{b:16}{c:14}{d:>10}{e:>8}\n" for a, b, c, d, e in ROWS)
    return f"{title}\n\n{HEAD}{rows}\nEnd of the list.\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two lists of one form, a mail without tables and a file that cannot be read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "north.txt").write_text(page("Tenants of the north"))
    (tmp_path / "docs" / "south.txt").write_text(page("Tenants of the south"))
    (tmp_path / "docs" / "mail.txt").write_text("Dear Ida,\n\nthank you.\n")
    return tmp_path


def test_each_table_is_a_file_with_typed_columns(place: Path) -> None:
    assert run(["text", "docs", "--tables", "--out", "out"]) == 0
    listed = pq.read_table(place / "out" / "tables.parquet").to_pylist()
    assert [(one["document"], one["heading"], one["rows"]) for one in listed] == [
        ("docs/north.txt", "Tenants of the north", 12), ("docs/south.txt", "Tenants of the south", 12)
    ]  # fmt: skip
    own = pq.read_table(place / "out" / "north-1.parquet").to_pylist()
    assert own[2] == {
        "_document": "docs/north.txt", "_table": 1, "_page": 0, "Code": "A2", "Name": "Ana Silva",
        "Since": datetime.date(2023, 4, 3), "Rent": 1122, "Share": 2.5,
    }  # fmt: skip


def test_a_second_run_replaces_the_first_and_other_files_are_not_touched(place: Path) -> None:
    assert run(["text", "docs", "--tables", "--out", "out"]) == 0
    assert run(["text", "docs/south.txt", "--tables", "--out", "out"]) == 0
    there = sorted(path.name for path in (place / "out").iterdir())
    assert there == ["south-1.parquet", "tables.parquet"]
    (place / "docs" / "notes.md").write_text("mine")
    with pytest.raises(UsageError, match=r"found mail\.txt"):
        write_tables(place / "docs", [])
    assert (place / "docs" / "notes.md").read_text() == "mine"
    assert run(["text", "docs/south.txt", "--out", "out"]) == 2


def one(cells: list[str], locale: Locale | None = None) -> list[object]:
    table = DocumentTable("a", 1, 0, "", (), ("x",), tuple((0, (cell,)) for cell in cells), locale or Locale())
    return table.to_typed().column("x").to_pylist()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["37,140", "223", "-"], [37140, 223, None]),
        (["1.234,50", "7,25"], [1234.5, 7.25]),
        (["1,234", "5,678"], ["1,234", "5,678"]),
        (["007", "123"], ["007", "123"]),
        (["12", "n/a"], ["12", "n/a"]),
        (["3 April 2023", "5 May 2024"], [datetime.date(2023, 4, 3), datetime.date(2024, 5, 5)]),
        (["3/4/2023", "5/6/2023"], ["3/4/2023", "5/6/2023"]),
        (["", ""], [None, None]),
    ],
)
def test_a_column_is_typed_where_nothing_else_could_be_meant(cells: list[str], values: list[object]) -> None:
    assert one(cells) == values


def test_what_the_document_tells_of_its_numbers_decides() -> None:
    assert one(["1,234", "5,678"], Locale(decimal_comma=True)) == [1.234, 5.678]
    assert one(["1,234", "5,678"], Locale(decimal_comma=False)) == [1234, 5678]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_any_cells_make_a_column(cells: list[str]) -> None:
    assert len(one(cells)) == len(cells)


def test_an_interrupted_run_leaves_a_list_of_no_strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = DocumentTable("a.txt", 1, 1, "", (), ("A",), ((1, ("x",)),), Locale())
    write_tables(tmp_path, [one, one, one])
    removed, remove = list[str](), Path.unlink

    def noted(path: Path, **how: bool) -> None:
        removed.append(path.name)
        remove(path, **how)

    monkeypatch.setattr(Path, "unlink", noted)
    write_tables(tmp_path, [])
    assert removed[-1] == LISTED and len(removed) == 4
