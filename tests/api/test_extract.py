"""`cinnabar.extract`, `aextract` and `read`: typed records, tables and failures."""

from __future__ import annotations

import asyncio
import gc
import io
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pytest
from pydantic import BaseModel, ConfigDict, Field

import cinnabar
from cinnabar.errors import SchemaError, UsageError
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan
from cinnabar.keywords import PLAN_KEYWORDS, Options
from cinnabar.results import Reader, in_pandas

MAIL = """From: Nordkurier <noreply@nordkurier.example>
Subject: Your parcel has arrived

Dear customer,

your parcel NK 7730 {number} was delivered on 14 March 2026.
Received by: M. Albrecht (neighbour)
Weight: 2.4 kg
"""


class Delivery(BaseModel):
    """The hand-over of a parcel."""

    parcel: str | None = Field(description="Number of the parcel, as written.")
    delivered_on: date | None = Field(description="Day of the delivery.")
    weight: float | None = Field(description="Weight in kilograms.")


@dataclass
class Weighed:
    """The weight of a parcel."""

    weight: float | None


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mails")
    for number in (1182, 1183, 1184):
        (folder / f"{number}.txt").write_text(MAIL.format(number=number), "utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    return folder


@pytest.fixture(scope="module")
def out(mails: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "tables"
    cinnabar.extract(mails, Delivery, out=folder)
    return folder


@pytest.fixture(scope="module")
def again(mails: Path, out: Path) -> cinnabar.Table[Delivery]:
    """What a second call returns."""
    return cinnabar.extract(str(mails), Delivery, out=out)


def test_records_are_instances_of_the_class(again: cinnabar.Table[Delivery]) -> None:
    assert len(again) == len(again.records) == 3
    first = again.records[0]
    assert isinstance(first, Delivery)
    assert (first.parcel, first.delivered_on, first.weight) == ("NK 7730 1182", date(2026, 3, 14), 2.4)


def test_a_second_call_reads_nothing_again(again: cinnabar.Table[Delivery]) -> None:
    summary = again.summary
    assert summary is not None
    assert (summary.written, summary.skipped, summary.steps) == (0, 4, 0)


def test_each_value_has_its_confidence_and_the_words_behind_it(out: Path) -> None:
    found = next(iter(cinnabar.read(out, Delivery)))
    value = found.values["/weight"]
    assert (value.value, value.text, value.page) == (2.4, "2.4", 0)
    assert 0 < found.confidence <= value.confidence <= 1
    text = Path(found.path).read_text("utf-8")
    assert [text[start:end] for start, end in value.spans] == ["2.4"]
    assert found.below(1.01)[0].confidence == min(one.confidence for one in found.values.values())


def test_a_file_that_cannot_be_read_is_a_failure_and_no_exception(again: cinnabar.Table[Delivery]) -> None:
    (failure,) = again.failures
    assert (Path(failure.path).name, failure.outcome, failure.rejected) == ("broken.pdf", "quarantined", None)
    assert failure.code and failure.detail


def test_frames_have_typed_columns(out: Path) -> None:
    table = cinnabar.read(out)
    frame = table.to_pandas()
    assert [*frame.columns[:4]] == ["path", "parcel", "delivered_on", "weight"]
    assert frame["weight"].tolist() == [2.4, 2.4, 2.4]
    assert str(table.to_arrow().schema.field("delivered_on").type) == "date32[day]"
    assert table.to_polars()["parcel"].to_list() == ["NK 7730 1182", "NK 7730 1183", "NK 7730 1184"]


def test_a_class_has_its_decimals_in_pandas_and_a_file_is_no_folder(tmp_path: Path) -> None:
    class Weighed(BaseModel):
        weight: Decimal | None

    (tmp_path / "a.txt").write_text("weight 2.40")
    table = cinnabar.Table(tmp_path, "x", Reader(Weighed))
    column = pa.table({"weight": pa.array([Decimal("2.40"), None], pa.decimal128(38, 2))})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cinnabar.Table, "to_arrow", lambda _: column)
        assert table.to_pandas()["weight"].tolist() == [Decimal("2.40"), None]
    with pytest.raises(UsageError, match="no results"):
        cinnabar.read(tmp_path / "a.txt")


class Exact(BaseModel):
    """A record with numbers that a float cannot hold."""

    amount: Decimal
    rate: float
    parts: list[Decimal] = []
    day: date | None = None


class Strict(Exact):
    """The same, of a class that takes no other types."""

    model_config = ConfigDict(strict=True)


LONG = "1234567890123456.789"


@pytest.mark.parametrize("schema", [Exact, Strict])
def test_numbers_keep_all_their_digits(schema: type[Exact]) -> None:
    reader = Reader[Exact](schema)
    rate = LONG if schema is Exact else "0.1"
    found = reader(f'{{"amount": {LONG}, "rate": {rate}, "parts": [0.1, -{LONG}], "day": "2026-02-03"}}')
    assert (found.amount, found.rate, found.day) == (Decimal(LONG), float(rate), date(2026, 2, 3))
    assert found.parts == [Decimal("0.1"), -Decimal(LONG)]
    assert reader('{"amount": 2.50, "rate": 0.1}').amount == Decimal("2.50")


def test_numbers_without_a_class_are_floats_unless_a_float_loses_digits() -> None:
    found = Reader[dict[str, Any]]({"type": "object"})(f'{{"a": 0.1, "b": {LONG}, "c": 1e400, "d": 2.50, "e": 7}}')
    assert found == {"a": 0.1, "b": Decimal(LONG), "c": Decimal("1e400"), "d": 2.5, "e": 7}
    assert {name: type(value) for name, value in found.items()} == {
        "a": float, "b": Decimal, "c": Decimal, "d": float, "e": int,
    }  # fmt: skip


def test_data_frames_keep_all_digits() -> None:
    exact = pa.table(
        {
            "path": ["a", "b"],
            "long": pa.array([Decimal(LONG), None], pa.decimal128(38, 3)),
            "short": pa.array([Decimal("1.5"), Decimal("0.1")], pa.decimal128(38, 3)),
            "each": pa.array([[Decimal(LONG)], []], pa.list_(pa.decimal128(38, 3))),
        }
    )
    frame = in_pandas(exact)
    assert frame["long"].tolist() == [Decimal(LONG), None]
    assert (str(frame["short"].dtype), frame["short"].tolist()) == ("float64", [1.5, 0.1])
    assert [list(one) for one in frame["each"]] == [[Decimal(LONG)], []]


def test_sql_asks_all_views(out: Path) -> None:
    rows = cinnabar.read(out).sql("select count(*) as values, min(field) as first from fields")
    assert rows == [{"values": 9, "first": "/delivered_on"}]


def test_a_table_holds_the_documents_of_its_own_call_alone(out: Path, mails: Path) -> None:
    table = cinnabar.extract([mails / "1183.txt"], Delivery, out=out)
    assert [Path(found.path).name for found in table] == ["1183.txt"]
    assert len(table.to_pandas()) == 1
    assert table.failures == []
    assert len(cinnabar.read(out)) == 3


def test_a_temporary_folder_goes_with_its_table(mails: Path) -> None:
    table = cinnabar.extract(mails / "1182.txt", {"type": "object", "properties": {"weight": {"type": "number"}}})
    folder = table.out
    assert table.records == [{"weight": 2.4}]
    with table:
        pass
    assert not folder.exists()
    with pytest.raises(UsageError, match="out="):
        _ = table.records
    assert "closed" in repr(table)
    other = cinnabar.extract(mails / "1182.txt", Weighed)
    folder = other.out
    assert other.records == [Weighed(2.4)]
    del other
    gc.collect()
    assert not folder.exists()


def test_a_table_without_any_record_is_empty(mails: Path, tmp_path: Path) -> None:
    table = cinnabar.extract(mails / "broken.pdf", Delivery, out=tmp_path / "tables")
    assert (table.records, [*table], len(table.to_pandas()), table.to_arrow().num_rows) == ([], [], 0, 0)
    assert len(table.failures) == 1


def test_documents_come_as_they_are_done(mails: Path) -> None:
    async def names() -> list[str]:
        extracting = cinnabar.aextract(mails, Delivery, batch=2)
        found = [one async for one in extracting]
        assert extracting.table is not None
        assert len(extracting.table) == 3
        assert {type(one).__name__ for one in found} == {"Found", "Failure"}
        first = next(one for one in found if isinstance(one, cinnabar.Found))
        assert isinstance(first.record, Delivery)
        assert first.values["/weight"].text == "2.4"
        return sorted(Path(one.path).name for one in found)

    assert asyncio.run(names()) == ["1182.txt", "1183.txt", "1184.txt", "broken.pdf"]


def test_an_extraction_can_be_awaited_while_other_work_goes_on(mails: Path) -> None:
    async def both() -> tuple[int, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        other = asyncio.create_task(tick())
        table = await cinnabar.aextract(mails / "1182.txt", Delivery)
        other.cancel()
        return len(table), ticks

    records, ticks = asyncio.run(both())
    assert records == 1
    assert ticks > 1


def test_a_loop_that_is_left_ends_the_run_and_keeps_what_is_committed(mails: Path, tmp_path: Path) -> None:
    async def first() -> str:
        stream = cinnabar.aextract(mails, Delivery, out=tmp_path / "tables", batch=1)
        async for found in stream:
            return found.path
        return ""

    assert asyncio.run(first())
    table = cinnabar.extract(mails, Delivery, out=tmp_path / "tables")
    assert len(table) == 3


def test_an_extraction_is_done_once(mails: Path) -> None:
    async def twice() -> None:
        extracting = cinnabar.aextract(mails / "1182.txt", Delivery)
        await extracting
        await extracting

    with pytest.raises(UsageError, match="call aextract again"):
        asyncio.run(twice())


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"schema": "no_such_schema"}, "there is no such file"),
        ({"schema": Delivery, "effort": "huge"}, "--effort: expected one of instant"),
        ({"schema": Delivery, "efort": "low"}, "efort: expected one of"),
        ({"schema": Delivery, "model": "/nowhere"}, "expected `default` or a folder"),
        ({"schema": Delivery, "budget": 1}, "expected mercury-2"),
        ({"schema": Delivery, "server": {"budget": 1}}, "server is gone: `budget=` is a keyword"),
        ({"schema": {"type": "string", "pattern": "(a)\\1"}}, "pattern"),
        ({"schema": 7}, "expected a name"),
        ({"schema": Delivery, "paths": []}, "at least one file"),
    ],
)
def test_wrong_arguments_are_told_before_any_document_is_read(said: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"paths": "nothing-here"} | said
    with pytest.raises(UsageError, match=message):
        cinnabar.extract(**given)
    with pytest.raises(UsageError, match=message):
        cinnabar.aextract(**given)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing-here"):
        cinnabar.extract(tmp_path / "nothing-here", Delivery)


def test_a_folder_of_several_schemas_wants_one_named(out: Path, mails: Path) -> None:
    cinnabar.extract(mails / "1182.txt", Weighed, out=out)
    with pytest.raises(UsageError, match="has the schemas Delivery, Weighed; name one"):
        cinnabar.read(out)
    assert cinnabar.read(out, "Weighed").records == [{"weight": 2.4}]
    assert cinnabar.read(out, Weighed).records == [Weighed(2.4)]
    with pytest.raises(SchemaError, match="no schema of this name"):
        cinnabar.read(out, "weighed")
    with pytest.raises(UsageError, match="expected one of its schemas"):
        cinnabar.read(out, "invoice")


def test_a_name_that_the_package_lacks_is_told() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'extrakt'; it has .*extract"):
        _ = cinnabar.extrakt
    assert {"extract", "outlines", "read"} <= {*dir(cinnabar)}
    for name in cinnabar.__all__:
        assert getattr(cinnabar, name) is not None


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = {*sys.modules}; import cinnabar; new = {name.split('.')[0] for name in sys.modules};"
        "print(sorted(new - before - {*sys.stdlib_module_names}), 'asyncio' in new or 'inspect' in new)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['cinnabar'] False"


def test_the_folders_of_the_package_need_no_module_of_the_api() -> None:
    code = "import sys, cinnabar.apps.cli.main; print([n for n in sys.modules if n.startswith('cinnabar.results')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_that_was_kept_in_the_folder_is_used_unless_another_is_named(
    mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.extraction.run.batch import assignment

    asked: list[tuple[Path, list[str], str | None]] = []

    def model_for(out: Path, names: list[str], model: str | None) -> str:
        asked.append((out, names, model))
        return model or "/nowhere/kept"

    monkeypatch.setattr(assignment, "model_for", model_for)
    with pytest.raises(UsageError, match="/nowhere/kept"):
        cinnabar.extract(mails, Delivery, out=tmp_path)
    with pytest.raises(UsageError, match="/nowhere/other"):
        cinnabar.extract(mails, Delivery, out=tmp_path, model="/nowhere/other")
    assert asked == [(tmp_path, ["Delivery"], None), (tmp_path, ["Delivery"], "/nowhere/other")]


def test_bytes_and_open_files_are_documents(mails: Path, tmp_path: Path) -> None:
    data = (mails / "1182.txt").read_bytes()
    page = b"<html><body><p>your parcel NK 7730 1190 was delivered on 14 March 2026.</p></body></html>"
    with (mails / "1183.txt").open("rb") as file:
        table = cinnabar.extract(
            [data, io.BytesIO(page), file, ("x/1184.txt", (mails / "1184.txt").read_bytes()), mails / "1182.txt"],
            Delivery,
            out=tmp_path / "out",
        )
    paths = {Path(found.path).name for found in table}
    assert len(table) == 4 and {"1183.txt", "1184.txt"} < paths
    assert table.summary is not None and table.summary.skips == {"duplicate": 1}
    again = cinnabar.extract(data, Delivery, out=tmp_path / "out")
    assert again.summary is not None and again.summary.skips == {"done": 1}
    (one,) = cinnabar.extract(("a.txt", data), Delivery).records
    assert one.parcel == "NK 7730 1182"


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (io.StringIO("text"), "mode 'rb'"),
        (7, "expected paths, bytes"),
        ([None], "expected paths, bytes"),
        ([("a.txt", 7)], "expected paths, bytes"),
        ([], "or bytes, got none"),
    ],
)
def test_what_is_no_document_is_told(documents: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        cinnabar.extract(documents, Delivery)


def test_names_of_bytes_are_kept_apart_and_empty_bytes_are_a_failure() -> None:
    documents = [("a.txt", b"Weight: 2.4 kg"), ("a.txt", b"Weight: 3 kg"), ("a.txt", b"")]
    table = cinnabar.extract(documents, Weighed)
    assert {found.path: found.record.weight for found in table} == {"a.txt": 2.4, "a (2).txt": 3.0}
    assert [(failure.path, failure.code) for failure in table.failures] == [("a (3).txt", "empty")]


def test_progress_is_told_to_a_function_and_on_standard_error(
    mails: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[cinnabar.Progress] = []
    cinnabar.extract(mails, Delivery, batch=1, progress=told.append)
    assert told[0] == cinnabar.Progress(4) and told[-1] == cinnabar.Progress(4, 3, 1)
    assert [now.done for now in told] == sorted(now.done for now in told) and len(told) > 2
    # Confidence that was fitted with older rules is told, whatever else is.
    assert [line for line in capsys.readouterr().err.splitlines() if "was fitted with" not in line] == []

    async def read() -> None:
        await cinnabar.aextract(mails / "1182.txt", Delivery, progress=True)

    asyncio.run(read())
    assert capsys.readouterr().err.splitlines()[-1:] == ["cinnabar: 1 of 1 documents: 1 written"]
    with pytest.raises(UsageError, match="progress: expected True"):
        cinnabar.extract(mails, Delivery, progress="yes")  # type: ignore[arg-type]


def test_the_keywords_are_those_of_the_options_of_a_run() -> None:
    named, own = get_type_hints(Options), {name: RunPlan.model_fields[name] for name in PLAN_KEYWORDS}
    assert named.pop("budget") == str | float | Decimal | None and own.pop("budget")
    assert named == {name: field.annotation for name, field in (own | RunOptions.model_fields).items()}


def test_type_checkers_know_the_keywords() -> None:
    # mypy, which reads the tests, fails where one of these is no error.
    for wrong in (
        lambda: cinnabar.extract("nothing", Delivery, effort="huge"),  # type: ignore[arg-type]
        lambda: cinnabar.extract("nothing", Delivery, efort="low"),  # type: ignore[call-arg]
        lambda: cinnabar.aextract("nothing", Delivery, device="gpu"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError):
            wrong()


DATE = {"type": "string", "format": "date"}
IBAN = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"}
PAYMENT = {"iban": {"type": "string"}, "amount": {"type": "number"}, "due": DATE}
PAID = {"type": "object", "properties": PAYMENT, "required": [*PAYMENT]}


@pytest.mark.parametrize(
    "properties",
    [
        PAYMENT,
        {"iban": IBAN, "amount": {"type": "number", "minimum": 0.01}, "due": DATE},
        {"payment": PAID},
        {"payments": {"type": "array", "minItems": 1, "items": PAID}},
    ],
)
def test_a_demanded_value_that_the_text_lacks_is_not_made_up(properties: dict[str, Any]) -> None:
    schema = {"title": "payment", "type": "object", "properties": properties, "required": [*properties]}
    table = cinnabar.extract([b"hello", ("a.eml", b"Subject: hello\n\nhello"), ("b.md", b"# hello")], schema)
    assert table.records == []
    assert {failure.code for failure in table.failures} == {"missing"} and len(table.failures) == 3
    for failure in table.failures:
        assert any(pointer.endswith("/iban") for pointer in failure.pointers)
