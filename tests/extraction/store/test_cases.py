"""Tests for the cases of a folder: documents that belong together, and the checks between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.reading_model import ReadingModel

from cinnabar.apps.cli.main import run as command
from cinnabar.errors import UnsupportedSchema, UsageError
from cinnabar.extraction.filling.checks.checks import KEYWORD, Checks
from cinnabar.extraction.filling.checks.judgement import check_results
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.review.listing import Listing, ListSelection
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.cases import CASES, case_key
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.compiling.loading import SchemaSource

NUMBER, TEXT = {"type": ["number", "null"]}, {"type": ["string", "null"]}


def schema(title: str, checks: dict[str, Any] | None = None, **fields: Any) -> SchemaSource:
    stated = {} if checks is None else {KEYWORD: checks}
    return load_schema({"title": title, "type": "object", "properties": fields, "required": [*fields], **stated})


ORDER = schema("order", number=TEXT, total=NUMBER)
INVOICE = schema(
    "invoice",
    {"as_ordered": "invoice.total = order.total", "positive": "total > 0"},
    order=TEXT,
    total=NUMBER,
)


def run(folder: Path, name: str, source: SchemaSource, case: str | None = "folder") -> None:
    paths = sorted(folder.glob(f"in/*/{name}*"))
    options = RunOptions(workers=1, case=case)
    extract(paths, source, folder / "out", ModelSource("reading", ReadingModel), options)


def put(folder: Path, case: str, **texts: str) -> None:
    (folder / "in" / case).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / "in" / case / f"{name}.txt").write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three cases: one that agrees, one that does not, one without an order."""
    put(tmp_path, "a", order="number=PO-1\ntotal=0.3\n", invoice="order=PO 1\ntotal=0.3\n")
    put(tmp_path, "b", order="number=PO-2\ntotal=7\n", invoice="order=po2\ntotal=8\n")
    put(tmp_path, "c", invoice="order=PO-3\ntotal=9\n")
    run(tmp_path, "order", ORDER)
    run(tmp_path, "invoice", INVOICE)
    return tmp_path


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    return query(folder / "out", sql).rows


def test_a_case_is_a_row_with_the_documents_of_each_schema(folder: Path) -> None:
    found = rows(folder, 'SELECT right(case_name, 1), documents, missing, "order".total, invoice.total FROM cases')
    assert found == [("a", 2, [], 0.3, 0.3), ("b", 2, [], 7.0, 8.0), ("c", 1, ["order"], None, 9.0)]


def test_a_check_between_documents_holds_fails_or_lacks_one(folder: Path) -> None:
    found = rows(folder, "SELECT right(case_name, 1), check_name, holds FROM case_checks ORDER BY 1")
    assert found == [("a", "as_ordered", True), ("b", "as_ordered", False), ("c", "as_ordered", None)]
    # Other readers open the snapshot.
    with duckdb.connect(str(folder / "out" / "cinnabar.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM case_checks WHERE holds = false").fetchall() == [(1,)]


def test_both_documents_of_a_mismatch_come_first_in_the_review_list(folder: Path) -> None:
    listing = Listing(folder / "out")
    found = listing.page(listing.sort(ListSelection()).name, 0, 9).rows
    listing.close()
    shown = [(Path(row["path"]).parent.name, row["failed"]) for row in found if row]
    assert sorted(shown[:2]) == [("b", ["as_ordered"])] * 2 and not any(failed for _, failed in shown[2:])


def test_the_list_of_checks_counts_cases_and_names_their_documents(folder: Path) -> None:
    results = check_results(folder / "out")
    counted = {one.check_name: (one.holds, one.fails, one.open) for one in results.checks}
    assert counted == {"as_ordered": (1, 1, 1), "positive": (3, 0, 0)}
    assert [[Path(path).name for path in one.paths] for one in results.cases] == [["invoice.txt", "order.txt"]]


@pytest.mark.parametrize(
    ("by", "names"),
    [("field:order,number", ["PO1", "PO2", "PO3"]), (r"in/(\w)/", ["a", "b", "c"]), (r"in/[ab]", ["in/a", "in/b"])],
)
def test_cases_are_told_by_a_field_or_by_a_part_of_the_path(folder: Path, by: str, names: list[str]) -> None:
    put(folder, "d", order="number=PO-1\n")
    run(folder, "order", ORDER, by)
    assert [name for name in names if (name,) in rows(folder, "SELECT case_name FROM cases")] == names
    if by.startswith("field"):
        # Two orders of one case: neither of them is the one, and the check does not apply.
        sql = 'SELECT "order", len(all_order), holds FROM cases JOIN case_checks USING (case_name)'
        assert rows(folder, f"{sql} WHERE case_name = 'PO1'") == [(None, 2, None)]


def test_a_check_over_a_field_that_is_not_there_is_open_and_says_why(folder: Path) -> None:
    source = schema("invoice", {"odd": "invoice.totl = order.total", "sum": "list_sum([o.total for o in all_order]) = "
                    "invoice.total"}, order=TEXT, total=NUMBER)  # fmt: skip
    run(folder, "invoice", source, None)
    found = rows(folder, "SELECT check_name, right(case_name, 1), holds, problem FROM case_checks ORDER BY 1, 2")
    assert {(name, holds) for name, _, holds, _ in found if name == "odd"} == {("odd", None)}
    assert all("totl" in problem for name, *_, problem in found if name == "odd")
    assert [holds for name, _, holds, _ in found if name == "sum"] == [True, False, None]
    assert any("totl" in one.problem for one in check_results(folder / "out").cases)


def test_a_schema_named_like_a_view_of_cases_keeps_its_name(tmp_path: Path) -> None:
    put(tmp_path, "a", order="number=7\n")
    run(tmp_path, "order", schema("cases", number=TEXT))
    assert rows(tmp_path, "SELECT number FROM cases") == [("7",)]
    assert rows(tmp_path, "SELECT documents FROM cases_") == [(1,)]


@pytest.mark.parametrize("by", ["x(", "field:", "field:a,,b", "field:*", r"(?<=a)b"])
def test_another_word_for_a_case_is_refused(by: str) -> None:
    with duckdb.connect() as connection, pytest.raises(UsageError, match="--case: expected"):
        case_key(connection, by)


@pytest.mark.parametrize(
    "expression",
    ["invoice.total = (SELECT 1)", "invoice.total = getenv('HOME')", "invoice.total =", "invoice.a = 1); SELECT (1"],
)
def test_a_check_between_documents_only_computes(expression: str) -> None:
    source = schema("invoice", {"bad": expression}, total=NUMBER)
    with pytest.raises(UnsupportedSchema, match=KEYWORD):
        Checks(source, compile_schema(source.schema))


def test_a_broken_file_of_cases_says_what_to_do_and_keeps_nobody_from_the_records(folder: Path) -> None:
    (folder / "out" / CASES).write_text("{")
    assert len(rows(folder, "SELECT * FROM invoice")) == 3
    with pytest.raises(UsageError, match="remove it"):
        check_results(folder / "out")
    run(folder, "invoice", INVOICE)
    assert len(rows(folder, "SELECT * FROM cases")) == 3


def test_schemas_whose_names_differ_in_case_or_have_other_letters_stand_apart(tmp_path: Path) -> None:
    put(tmp_path, "a", order="number=1\n", other="number=2\n", third="number=3\n", fourth="number=4\n")
    for name, title in (("order", "order"), ("other", "Order"), ("third", "订单"), ("fourth", "发票")):
        run(tmp_path, name, schema(title, number=TEXT))
    sql = 'SELECT "order".number, "Order_".number, 订单.number, 发票.number FROM cases'
    assert rows(tmp_path, sql) == [("1", "2", "3", "4")]


def test_names_of_tables_in_other_letters_are_the_same_and_a_lacking_document_is_no_mismatch(folder: Path) -> None:
    checks = {"sum": "coalesce(INVOICE.total, 0) = Order.total", "many": "len(all_invoice) = 1"}
    run(folder, "invoice", schema("invoice", checks, order=TEXT, total=NUMBER), None)
    found = {(one.check_name, one.holds, one.fails, one.open) for one in check_results(folder / "out").checks}
    assert {("sum", 1, 1, 1), ("many", 3, 0, 0)} <= found
    assert [len(one.paths) for one in check_results(folder / "out").cases] == [2]


def test_checks_of_schemas_read_before_the_first_case_count_then(tmp_path: Path) -> None:
    put(tmp_path, "a", order="number=1\ntotal=1\n", invoice="order=1\ntotal=2\n")
    run(tmp_path, "invoice", INVOICE, None)
    run(tmp_path, "order", ORDER)
    assert rows(tmp_path, "SELECT check_name, holds FROM case_checks") == [("as_ordered", False)]


def test_numbers_make_cases_with_their_points_and_signs(tmp_path: Path) -> None:
    for name, total in (("a", "12.5"), ("b", "125"), ("c", "-125")):
        put(tmp_path, name, order=f"total={total}\n")
    run(tmp_path, "order", ORDER, "field:total")
    assert rows(tmp_path, "SELECT case_name FROM cases") == [("-125",), ("12.5",), ("125",)]


def test_a_document_of_an_older_version_is_in_its_case(folder: Path) -> None:
    put(folder, "d", order="number=9\ntotal=4\n")
    (folder / "in" / "d" / "order.txt").rename(folder / "in" / "d" / "late.txt")
    run(folder, "late", schema("order", number=TEXT, total=NUMBER, note=TEXT), None)
    found = rows(folder, 'SELECT right(case_name, 1), "order".total FROM cases')
    assert found == [("a", 0.3), ("b", 7.0), ("c", None), ("d", 4.0)]


def test_whatever_makes_a_case_the_records_are_read(folder: Path) -> None:
    file = folder / "out" / CASES
    file.write_text(file.read_text().replace('"folder"', '"["'))
    assert len(rows(folder, "SELECT * FROM invoice")) == 3
    Listing(folder / "out").close()


def test_a_field_that_no_schema_has_makes_no_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("x")
    asked = ["extract", str(tmp_path / "a.txt"), "--schema", "receipt", "--out", str(tmp_path / "out")]
    assert command([*asked, "--case", "field:order_numbr"]) == 2
    assert "no schema of this run has such a field" in capsys.readouterr().err
