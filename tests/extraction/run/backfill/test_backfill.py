"""A backfill: it asks only for new fields, keeps all other values, loses no document, and repeats no work."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT
from tests.support.begun_runs import backfill, begun_backfill
from tests.support.reading_model import ReadingModel

from cinnabar.engine.model import Canvas, Row, Scores
from cinnabar.errors import NotUnited, UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.stored_records import Selection, select
from cinnabar.schemas import SchemaSource, load_schema

# Some documents hold none of the fields that a test asks for.
OPTIONS = RunOptions(workers=1, on_empty="write")
TWELVE = [f"f{number}" for number in range(12)]
LINE = {"what": {"type": "string"}, "price": {"type": "number"}}


class Counting(ReadingModel):
    """Count score passes times asked slots, the passages that were read, and the arrays that were searched."""

    def __init__(self) -> None:
        super().__init__()
        self.work = self.listed = 0

    def find_rows(self, forms: Any, memories: Any) -> list[list[Row]]:
        self.listed += sum(bool(form.arrays) for form in forms)
        return super().find_rows(forms, memories)

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        self.work += canvas.known.count(False)
        return super().score(forms, memories, rows, canvas)


def schema(properties: dict[str, Any], **rest: Any) -> SchemaSource:
    return load_schema({"title": "note", "type": "object", "properties": properties, **rest})


def lines(**more: Any) -> dict[str, Any]:
    item = {"type": "object", "properties": LINE | more, "required": [*(LINE | more)]}
    return {"type": "array", "items": item}


TEXT = {"type": "string"}
MAYBE = {"type": ["string", "null"]}
OLD = schema({"name": TEXT, "city": MAYBE, "na": TEXT, "lines": lines()}, required=["name"])
NEW = schema(
    {"name": TEXT, "day": MAYBE, "city": MAYBE, "lines": lines(vat={"type": ["number", "null"]})},
    required=["name"],
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and their records; tests copy it, since parsers take a second to start."""
    base = tmp_path_factory.mktemp("stored")
    (base / "docs").mkdir()
    for number in range(5):
        city = "city=Bonn\n" if number % 2 else ""
        rows = "".join(f"- what=w{at} price={at}.5 vat={at}\n" for at in range(number))
        (base / "docs" / f"{number}.txt").write_text(f"name=N{number}\nna=x\nday=mon{number}\n{city}{rows}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(base)
        read(Path("docs"), OLD, base / "out")
        read(Path("docs"), NEW, base / "whole")
        shutil.copytree(base / "out", base / "filled")
        assert fill(base / "filled") is not None
    return base


@pytest.fixture
def docs(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(stored, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("docs")


@pytest.fixture
def out(docs: Path) -> Path:
    """Records of the old version."""
    return docs.parent.absolute() / "out"


@pytest.fixture
def filled(docs: Path) -> Path:
    """The records that this backfill wrote in the new version."""
    return docs.parent.absolute() / "filled"


@pytest.fixture
def whole(docs: Path) -> Path:
    """The same documents, read with the new version from the start."""
    return docs.parent.absolute() / "whole"


def read(docs: Path, source: SchemaSource, out: Path, model: ReadingModel | None = None) -> Summary:
    return extract([docs], source, out, of(model or ReadingModel()), OPTIONS)


def of(model: ReadingModel) -> ModelSource:
    return ModelSource(model.fingerprint, lambda: model)


def fill(
    out: Path, source: SchemaSource = NEW, model: ReadingModel | None = None, chosen: Selection | None = None
) -> Summary | None:
    return backfill(source, out, of(model or ReadingModel()), chosen, OPTIONS.model_copy(update={"batch": 2}))


def rows(out: Path, sql: str) -> list[tuple[Any, ...]]:
    return query(out, sql).rows


@pytest.mark.slow
def test_new_fields_are_filled_and_all_else_stays(stored: Path, filled: Path, whole: Path) -> None:
    leaves = "select document, pointer, value_json, confidence, spans from fields order by all"
    before = rows(stored / "out", leaves)
    out = filled
    same = "select path, record_json from note order by path"
    assert rows(out, same) == rows(whole, same)
    after = rows(out, leaves)
    kept = [row for row in before if row[1] != "/na"]
    assert all(row in after for row in kept)
    new = [row for row in after if row not in before]
    assert {row[1].rsplit("/", 1)[1] for row in new} == {"day", "vat"}
    there = f"select distinct pointer from fields where schema_fingerprint = '{NEW.fingerprint}'"
    assert ("/na",) not in rows(out, there) and ("/day",) in rows(out, there)
    found = "select value, evidence_text, row_confidence from fields where pointer = '/lines/1/vat'"
    assert set(rows(out, found)) == {("1", "1", 0.9)}


def test_one_field_added_to_twelve_takes_a_fifth_of_the_work_at_most(docs: Path, tmp_path: Path) -> None:
    old = schema(dict.fromkeys(TWELVE, MAYBE))
    new = schema(dict.fromkeys([*TWELVE, "day"], MAYBE))
    read(docs, old, tmp_path / "out")
    full, part = Counting(), Counting()
    read(docs, new, tmp_path / "whole", full)
    fill(tmp_path / "out", new, part)
    assert 0 < part.work <= 0.2 * full.work
    same = "select record_json from note order by path"
    assert rows(tmp_path / "out", same) == rows(tmp_path / "whole", same)


def test_lists_that_stay_are_not_looked_for(out: Path) -> None:
    model = Counting()
    fill(out, schema({"name": TEXT, "day": MAYBE, "lines": lines()}, required=["name"]), model)
    assert (model.listed, model.work) == (0, 5)


def test_dropping_fields_takes_no_model(out: Path) -> None:
    model = Counting()
    summary = fill(out, schema({"lines": lines(), "name": TEXT}, required=["name"]), model)
    assert summary is not None and summary.written == 5
    assert (model.passages, model.work) == (0, 0)
    assert json.loads(rows(out, "select record_json from note order by path")[1][0]) == {
        "lines": [{"what": "w0", "price": 0.5}], "name": "N1"
    }  # fmt: skip
    assert rows(out, "select distinct field from fields where origin <> 'length' and schema_fingerprint in"
                " (select schema_fingerprint from note) order by 1") == [
        ("/lines/*/price",), ("/lines/*/what",), ("/name",)
    ]  # fmt: skip


def test_old_versions_stay_beside_the_new_one(filled: Path) -> None:
    assert rows(filled, f"select count(*) from note_{OLD.fingerprint[:8]} where na = 'x'") == [(5,)]
    assert rows(filled, "select count(*) from note where day is not null") == [(5,)]
    assert verify(filled).problems == []


def test_a_second_run_does_nothing_and_extract_finds_the_work_done(docs: Path, filled: Path) -> None:
    model = Counting()
    assert fill(filled, model=model) is None
    again = read(docs, NEW, filled, model)
    assert (again.skipped, model.passages, model.work) == (5, 0, 0)


def test_a_missing_or_changed_file_is_reported_and_waits_for_another_run(docs: Path, out: Path) -> None:
    kept = (docs / "2.txt").read_bytes()
    (docs / "2.txt").unlink()
    (docs / "3.txt").write_text("name=other\n")
    summary = fill(out)
    assert summary is not None and (summary.written, summary.skipped) == (3, 2)
    told = "select path, code, detail from outcomes where outcome = 'skipped' order by path"
    (gone, changed) = rows(out, told)
    assert gone[0].endswith("2.txt") and gone[1] == "gone" and "not there" in gone[2]
    assert changed[0].endswith("3.txt") and changed[1] == "changed"
    united = rows(out, "select name, day from note_all order by name")
    assert united == [("N0", "mon0"), ("N1", "mon1"), ("N2", None), ("N3", None), ("N4", "mon4")]
    (docs / "2.txt").write_bytes(kept)
    summary = fill(out)
    assert summary is not None and (summary.inputs, summary.written, summary.skipped) == (2, 1, 1)


def test_the_newest_content_of_a_path_is_filled(docs: Path, out: Path) -> None:
    (docs / "1.txt").write_text("name=Later\nday=sun\n")
    read(docs, OLD, out)
    summary = fill(out)
    assert summary is not None and (summary.inputs, summary.written, summary.skipped) == (5, 5, 0)
    assert rows(out, "select day from note where name = 'Later'") == [("sun",)]


def test_types_that_do_not_unite_are_refused_before_any_work(out: Path) -> None:
    with pytest.raises(NotUnited, match=r"^/lines/\*/price: was a number and is now a text"):
        fill(out, schema({"name": TEXT, "lines": lines(price=TEXT)}))
    assert rows(out, "select count(*) from runs") == [(1,)]


def test_a_backfill_over_no_records_says_so(out: Path, tmp_path: Path) -> None:
    assert fill(out, OLD) is None
    assert fill(out, load_schema({"title": "other", "type": "object", "properties": {"a": TEXT}})) is None
    (tmp_path / "empty").mkdir()
    assert fill(tmp_path / "empty") is None
    assert fill(out, chosen=Selection(source="nowhere")) is None
    assert rows(out, "select count(*) from runs") == [(1,)]
    with pytest.raises(UsageError, match="no results"):
        fill(tmp_path / "absent")


def chosen_names(out: Path, **what: Any) -> list[str]:
    return [Path(found.paths[0]).stem for found in select(out, "note", Selection(**what))]


@pytest.mark.slow
def test_records_are_chosen_by_date_source_model_and_sql(docs: Path, out: Path) -> None:
    everything, now = ["0", "1", "2", "3", "4"], datetime.now(UTC)
    assert chosen_names(out) == everything
    assert chosen_names(out, since=now - timedelta(hours=1), until=now) == everything
    assert chosen_names(out, since=now) == chosen_names(out, until=now - timedelta(hours=1)) == []
    assert chosen_names(out, source=f"{docs}/") == everything
    assert chosen_names(out, source=str(docs / "1.txt")) == chosen_names(out, source="*/1.*") == ["1"]
    assert chosen_names(out, source=str(docs)[:-1]) == []
    assert chosen_names(out, where="city = 'Bonn' -- and no more") == ["1", "3"]
    assert chosen_names(out, where="len(lines) > 2", source="*/4.txt") == ["4"]
    for wrong in ("nonsense =", "1 = 1); drop view note; select (1 = 1", "total > 1"):
        with pytest.raises(UsageError, match="--where"):
            chosen_names(out, where=wrong)
    with pytest.raises(UsageError, match=r'^--where parcelz > 3: there is no column "parcelz", .*\bcity, '):
        chosen_names(out, where="parcelz > 3")


class Unsure(Counting):
    """A model that is half sure of cities, until the test makes it better."""

    better = False

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
        scores = super().score(forms, memories, rows, canvas)
        for at, one in enumerate(canvas.instances):
            if one.slot.path == "/city" and not self.better:
                scores.absent_logit[at] = 0.0
                scores.candidate_logits[at] = scores.candidate_logits[at].clamp(max=0.5)
        return scores


def test_only_values_below_a_confidence_are_asked_again(docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "unsure"
    read(docs, OLD, out, Unsure())
    before = rows(
        out, "select document, pointer, confidence from fields where pointer <> '/city' order by all"
    )
    better = Unsure()
    better.better = True
    summary = fill(out, OLD, better, Selection(below=0.8))
    assert summary is not None and summary.written == better.work == 2
    assert rows(out, "select min(confidence) > 0.9 from fields where pointer = '/city'") == [(True,)]
    after = rows(
        out, "select document, pointer, confidence from fields where pointer <> '/city' order by all"
    )
    assert before == after
    assert fill(out, OLD, better, Selection(below=0.8)) is None
    assert verify(out).problems == []


def test_a_record_that_the_new_schema_refuses_is_asked_as_a_whole(out: Path) -> None:
    properties = {"name": TEXT, "city": MAYBE, "na": TEXT, "lines": lines()}
    model = Counting()
    summary = fill(out, schema(properties, required=["name"], maxProperties=3), model)
    assert summary is not None and summary.written == 5
    # All five records have four properties: one of them has to go.
    assert model.passages == 5
    sizes = "select path, len(json_keys(record_json)) from note order by path"
    assert [size for _, size in rows(out, sizes)] == [3] * 5


def test_an_estimate_tells_the_work_and_stores_nothing(out: Path) -> None:
    begun = begun_backfill(NEW, out, of(ReadingModel()), options=RunOptions(workers=1))
    with begun.run:
        found = begun.estimate()
    assert (found.documents, found.done, found.lost) == (5, 0, 0)
    assert found.asked == ("/day", "/lines/*/vat") and found.dropped == ("/na",)
    assert 20 < found.tokens < 60 and found.seconds >= 0 and found.sampled == 5
    assert rows(out, "select count(*) from runs") == [(1,)]
    assert rows(out, "select count(*) from records") == [(5,)]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tests.extraction.run.backfill import test_backfill as t
from cinnabar.extraction.plan.run_options import RunOptions
chosen = t.begun_backfill(t.NEW, Path(sys.argv[1]), t.of(t.ReadingModel()), options=RunOptions(workers=1, batch=2))
with chosen.run as begun:
    for number in range(int(sys.argv[2])):
        begun.work(number)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_killed_backfill_resumes_and_writes_the_same_rows(out: Path, filled: Path) -> None:
    batches = 1
    command = [sys.executable, "-c", KILLED, str(out), str(batches), str(ROOT)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    model = Counting()
    fill(out, model=model)
    assert model.passages == max(0, 5 - 2 * batches)
    for sql in (
        "select path, record_json, confidence, engine_fingerprint from records order by all",
        "select * exclude (run_id) from fields order by all",
        "select path, document from outcomes where outcome = 'written' order by all",
    ):
        assert rows(out, sql) == rows(filled, sql)
    assert verify(out).problems == []


RENAMED = schema(
    {
        "customer": TEXT | {"x-cinnabar-was": "name"},
        "city": MAYBE,
        "na": TEXT,
        "items": lines() | {"x-cinnabar-was": ["rows", "lines"]},
    },
    required=["customer"],
)
LINES_RENAMED = lines()
LINES_RENAMED["items"] = {
    "type": "object",
    "properties": {"label": {"type": "string", "x-cinnabar-was": "what"}, "price": {"type": "number"}},
    "required": ["label", "price"],
}
ROWS_RENAMED = schema({"name": TEXT, "city": MAYBE, "na": TEXT, "lines": LINES_RENAMED}, required=["name"])


def corrected(out: Path, path: str, *changes: tuple[str, str]) -> str:
    ((document,),) = query(out, f"select document from note where path like '%{path}'").rows
    for pointer, after in changes:
        change = Change(Action.VALUE, pointer, after) if after else Change(Action.ABSENT, pointer)
        Corrector(out).correct(document, "note", [change], "ann")
    return document


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "name", "row"), [(RENAMED, "/customer", "/items/1/what"), (ROWS_RENAMED, "/name", "/lines/1/label")]
)
def test_a_renamed_place_keeps_its_values_its_corrections_and_their_undoing(
    out: Path, source: SchemaSource, name: str, row: str
) -> None:
    document = corrected(out, "3.txt", ("/name", '"Ann & Co"'), ("/lines/1/what", '"nuts"'))
    counting = Counting()
    assert fill(out, source, counting) is not None
    assert counting.work == 0, "a name alone is no reason to ask a model"
    places = f"document = '{document}' and schema_fingerprint = '{source.fingerprint}'"
    of = "select value, origin from fields where pointer = '{}' and " + places
    assert rows(out, of.format(name)) == [("Ann & Co", "human")]
    assert rows(out, of.format(row)) == [("nuts", "human")]
    # Corrections under the new names count too, and all can be taken back.
    Corrector(out).correct(document, "note", [Change(Action.VALUE, row, '"bolts"')], "ben")
    assert rows(out, of.format(row)) == [("bolts", "human")]
    Corrector(out).undo(document, "note", None, "ann")
    assert rows(out, of.format(name))[0][0] == "N3" and rows(out, of.format(row))[0][0] == "w1"


def no_model() -> ReadingModel:
    raise AssertionError("a name alone is no reason to load a model")


@pytest.mark.parametrize("extracts", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_rename_brings_along_records_whose_documents_nobody_can_read(
    docs: Path, out: Path, extracts: bool
) -> None:
    document = corrected(out, "1.txt", ("/name", '"Ann & Co"'))
    leaves = "select document, value_json, confidence, spans, origin, flags, path from fields order by all"
    before, keys = rows(out, leaves), rows(out, "select document, engine_fingerprint from note order by 1")
    for name in ("0.txt", "1.txt"):
        (docs / name).unlink()
    (docs / "2.txt").rename(docs / "moved.txt")
    (docs / "3.txt").write_bytes(b"%PDF-1.7 cut off")
    model = ModelSource(ReadingModel().fingerprint, no_model)
    for again in (False, True):
        if extracts:
            summary = extract([docs / "moved.txt", docs / "4.txt"], RENAMED, out, model, OPTIONS)
            assert (summary.written, summary.skipped) == (0, 2)
        else:
            assert (backfill(RENAMED, out, model, None, OPTIONS) is None) == again
    # A broken file takes no record away.
    assert read(docs, RENAMED, out).quarantined == 1
    assert rows(out, leaves) == before
    assert rows(out, "select document, engine_fingerprint from note order by 1") == keys
    names = rows(out, "select customer from note order by path")
    assert names == [("N0",), ("Ann & Co",), ("N2",), ("N3",), ("N4",)]
    assert rows(out, "select count(*) from documents where media_type <> '' and characters > 0")[0][0] >= 5
    assert verify(out).problems == []
    Corrector(out).undo(document, "note", None, "ann")
    assert rows(out, "select customer from note where path like '%1.txt'") == [("N1",)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "place"),
    [
        (schema({"customer": TEXT, "lines": lines()}, required=["customer"]), "/name (2)"),
        (schema({"name": TEXT, "city": MAYBE, "na": TEXT}, required=["name"]), "/lines (1)"),
        (schema({"name": {"enum": ["N1", "Ben"]}, "lines": lines()}), "/name (1)"),
        # That it is not in the document was said, too.
        (schema({"name": TEXT, "na": TEXT, "lines": lines()}, required=["name"]), "/city (1)"),
    ],
)
def test_a_version_without_place_for_corrected_values_is_refused_before_any_work(
    docs: Path, out: Path, source: SchemaSource, place: str
) -> None:
    corrected(out, "3.txt", ("/name", '"Ann & Co"'), ("/lines/1/what", '"nuts"'))
    corrected(out, "4.txt", ("/name", '"Ben"'), ("/city", ""))
    for work in (lambda: fill(out, source), lambda: read(docs, source, out)):
        with pytest.raises(UsageError, match="x-cinnabar-was") as refusal:
            work()
        assert place in str(refusal.value) and "--drop-corrections" in str(refusal.value)


def test_corrections_are_given_up_when_that_is_said(out: Path) -> None:
    corrected(out, "3.txt", ("/name", '"Ann & Co"'))
    source = schema({"customer": TEXT, "lines": lines()}, required=["customer"])
    options = OPTIONS.model_copy(update={"drop_corrections": True, "on_missing": "guess"})
    assert backfill(source, out, of(ReadingModel()), None, options) is not None
    of_it = f"schema_fingerprint = '{source.fingerprint}' and path like '%3.txt' AND latest"
    assert "correction_left_out" in rows(out, f"select flags from records where {of_it}")[0][0]
