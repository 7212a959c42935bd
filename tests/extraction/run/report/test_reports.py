"""Each run leaves a report: whole or none, with the truth about the run, and nothing of a forgotten document."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from tests.support.page_in_chromium import chromium
from tests.support.reading_model import READING

from cinnabar.apps.cli.main import run
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.documents.content.document import Evidence, Span
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.report import reports
from cinnabar.extraction.run.report.run_data import gather_run
from cinnabar.extraction.run.stored_run import Run, Summary
from cinnabar.extraction.store.housekeeping import status
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema

__all__ = ["chromium"]
PROPERTIES: dict[str, Any] = {
    "name": {"type": "string", "maxLength": 40},
    "total": {"type": ["integer", "null"]},
    "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}},
}
NOTE = load_schema({"title": "note", "type": "object", "properties": PROPERTIES, "required": [*PROPERTIES]})
OPTIONS = RunOptions(workers=1)
HOSTILE = "<script>alert(1)</script>\u202e'\"&.txt"


def read(folder: Path, out: Path, **texts: str) -> Summary:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return extract([folder], NOTE, out, READING, OPTIONS)


def report_of(summary: Summary) -> str:
    assert summary.report is not None
    return Path(summary.report).read_text()


def many(out: Path, count: int, empty: float = 0.0, held: int = 0, confidence: float = 0.9) -> str:
    """Store a run of this many documents, of which a share has no total; returns its id."""
    with Store.open(out) as store:
        begun = Run(store, NOTE, compile_schema(NOTE.schema), "engine", {"effort": "low", "model": "m"})
        first = len(list(out.rglob("batch-*.json"))) * 100_000
        batch = []
        for at in range(count):
            digest = f"{first + at:064x}"
            total = None if at < empty * count else at
            text = json.dumps({"name": f"n{at}", "total": total, "lines": []})
            seen = Evidence((Span(0, 2),), f"n{at}")
            leaves = (
                LeafRow("/name", f'"n{at}"', confidence, "copied", evidence=seen),
                LeafRow("/total", json.dumps(total), confidence, "absent" if total is None else "copied"),
            )
            info = DocumentInfo(digest, "text/plain", 9, 0, 1, 9)
            record = Record(text, leaves, confidence)
            path = f"docs/{digest[-12:]}.txt"
            if at < held:
                batch.append(Outcome(path, "quarantined", "missing", "no value found", digest, info, record))
            else:
                batch.append(Outcome(path, "written", digest=digest, document=info, record=record))
        begun.commit_batch(batch)
        begun.finish()
    return begun.id


def test_a_run_leaves_a_report_with_its_counts_stages_and_reasons(tmp_path: Path) -> None:
    summary = read(tmp_path / "docs", tmp_path / "out", a="name=x\ntotal=3\n- n=1\n- n=2", b="total=4", c="name=y")
    page = report_of(summary)
    assert summary.report == str(tmp_path / "out" / "reports" / f"{summary.run_id}.html")
    assert "note: 3 documents read" in page and "<code>missing</code>" in page
    assert "b.txt</bdi></a>" in page and (tmp_path / "docs" / "b.txt").as_uri() in page
    stages = json.loads((tmp_path / "out" / "reports" / f"{summary.run_id}.json").read_text())["stages"]
    assert {"parse", "fill", "judge", "store", "fill/encode", "fill/score"} <= set(stages)
    assert all(seconds >= 0 for seconds in stages.values()) and stages["parse"] > 0
    assert summary.run_id in page and "<script" not in page


def test_names_and_values_of_documents_are_escaped(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / HOSTILE.replace("/", "_")).write_text("total=1")
    (docs / os.fsdecode(b"broken\xff<b>.pdf")).write_bytes(b"%PDF-1.7\n<img src=x>")
    page = report_of(read(docs, tmp_path / "out"))
    assert "alert(1)" in page and "<script" not in page and "<b>" not in page and "\u202e" not in page
    assert "&lt;script&gt;" in page and "&lt;b&gt;" in page


# Elements whose content is wider than they are.
_TOO_WIDE = "[...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).length"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_420_pixels_without_a_message_or_a_request(chromium: Any, tmp_path: Path, scheme: str) -> None:
    out = tmp_path / "out"
    many(out, 40)
    texts = {f"{'d' * 40}{at}": f"name=x{at}" for at in range(8)}
    summary = read(tmp_path / "docs", out, **texts, **{"e" * 90: "total=1"})
    assert summary.report is not None
    context = chromium.new_context(viewport={"width": 420, "height": 800}, color_scheme=scheme)
    page, heard = context.new_page(), list[str]()
    page.on("console", lambda message: heard.append(message.text))
    page.on("request", lambda asked: heard.append(asked.url))
    page.goto(Path(summary.report).as_uri())
    assert heard == [Path(summary.report).as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") == 420 and page.evaluate(_TOO_WIDE) == 0
    ink, ground = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    dark, light = sorted((ink, ground), key=lambda text: sum(map(int, re.findall(r"\d+", text))))
    assert (ink, ground) == ((dark, light) if scheme == "light" else (light, dark))
    context.close()


def test_a_run_stands_beside_the_run_before(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = many(out, 60, empty=0.1)
    data = gather_run(out, last := many(out, 60, empty=0.5, held=12, confidence=0.6), {})
    now, before = data["shares"]
    assert now.pop("pace") > 0 and before.pop("pace") > 0
    shares = {"read": 60, "quarantined": 0.2, "empty": 18 / 96, "found": 78, "sure": 0.0, "reviewed": 0, "wrong": None}
    assert now == {"run_id": last} | {name: pytest.approx(share) for name, share in shares.items()}
    shares |= {"quarantined": 0.0, "empty": 6 / 120, "found": 114, "sure": 1.0}
    assert before == {"run_id": first} | {name: pytest.approx(share) for name, share in shares.items()}
    (total,) = [one for one in data["fields"] if one["field"] == "/total"]
    assert total == {"field": "/total", "places": 48, "found": 30, "sure": 0, "before": 1.0, "fields": 2}
    page = reports.write_report(out, last).read_text()
    assert ">20.0%</td>" in page and '>0.0% <span class="soft">-100</span></td>' in page and first in page


def test_the_fields_of_a_list_that_stays_empty_are_told_with_the_run_before(tmp_path: Path) -> None:
    out = tmp_path / "out"
    read(tmp_path / "a", out, a="name=a\n- n=1\n- n=2")
    fields = gather_run(out, read(tmp_path / "b", out, b="name=b").run_id, {})["fields"]
    (field,) = [one for one in fields if one["field"] == "/lines/*/n"]
    before = field.pop("before")
    assert field == {"field": "/lines/*/n", "places": 0, "found": 0, "sure": 0, "fields": 3} and before is not None


def test_the_sums_of_a_report_are_those_of_status_and_sql(tmp_path: Path) -> None:
    out = tmp_path / "out"
    many(out, 30, empty=0.2, held=4, confidence=0.7)
    run_id = many(out, 50, empty=0.3, held=7, confidence=0.85)
    data, stands = gather_run(out, run_id, {}), status(out)
    assert data["stands"] == data["outcomes"] | {"empty": 0} == {"written": 43, "quarantined": 7, "empty": 0}
    assert "stand as this run left them" not in reports.write_report(out, run_id).read_text()
    assert stands.records == {"note": 26 + 43} and stands.quarantined == {"missing": 4 + 7}
    own = f"from fields where run_id = '{run_id}' and value is not null"
    ((found, sure),) = query(out, f"select count(*), count(*) filter (confidence >= 0.8) {own}").rows
    assert (found, sure) == tuple(sum(one[name] for one in data["fields"]) for name in ("found", "sure"))
    assert (data["shares"][0]["found"], data["shares"][0]["sure"]) == (found, sure / found)
    ended = query(out, f"select written, quarantined from runs where run_id = '{run_id}'").rows
    assert ended == [(43, 7)]


def test_a_report_says_what_stands_no_more_as_its_run_left_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_id = many(out, 5, held=2)
    held, *_, written = query(out, "select document from outcomes order by path").rows
    corrector = Corrector(out)
    corrector.correct(held[0], "note", [Change(Action.VALUE, "/name", '"right"')], "ann")
    corrector.correct(written[0], "note", [Change(Action.VALUE, "/name", '"right"')], "ann")
    data = gather_run(out, run_id, {})
    assert data["outcomes"] == {"written": 3, "quarantined": 2}
    assert data["stands"] == {"written": 2, "quarantined": 1, "empty": 0}
    assert (status(out).records, sum(status(out).quarantined.values())) == ({"note": 4}, 1)
    page = reports.write_report(out, run_id).read_text()
    assert "2 records and 1 document in quarantine stand as this run left them" in page


def test_a_report_within_another_page_needs_no_style_and_no_drawing(tmp_path: Path) -> None:
    out, docs = tmp_path / "out", tmp_path / "docs"
    docs.mkdir()
    (docs / "a\n\n# b.txt").write_text("total=1")
    body = reports.embedded(report_of(read(docs, out, c="name=x")))
    assert body.startswith("<h1>") and "<svg" not in body and "<style" not in body and "\n\n" not in body
    assert all(line == line.lstrip() for line in body.splitlines()) and "# b.txt" in body
    pictures = re.findall('src="data:image/svg[+]xml;base64,([^"]*)"', body)
    assert len(pictures) > 5 and all(ElementTree.fromstring(base64.b64decode(one)).get("width") for one in pictures)


@pytest.mark.slow
def test_a_report_does_not_grow_with_the_number_of_documents(tmp_path: Path) -> None:
    out = tmp_path / "out"
    few, lots = (reports.write_report(out, many(out, count, held=count // 2)) for count in (60, 3_000))
    assert lots.stat().st_size < few.stat().st_size + 4_000


def test_a_run_over_finished_documents_has_a_report_too(tmp_path: Path) -> None:
    read(tmp_path / "docs", tmp_path / "out", a="name=x")
    page = report_of(read(tmp_path / "docs", tmp_path / "out"))
    assert "Skipped: done 1" in page


def test_a_report_that_fails_does_not_fail_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise ValueError("no")

    monkeypatch.setattr(reports, "gather_run", failing)
    summary = read(tmp_path / "docs", tmp_path / "out", a="name=x")
    assert summary.written == 1 and summary.report is None
    monkeypatch.undo()
    assert reports.write_report(tmp_path / "out", summary.run_id).is_file()


def test_a_report_that_a_dead_process_began_is_removed_by_the_next_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    torn = out / "reports" / f".part-17-{many(out, 3)}.html"
    torn.parent.mkdir()
    torn.write_text("<")
    assert verify(out).leftovers == [f"reports/{torn.name}"]
    many(out, 1)
    assert not torn.exists()


def test_a_run_that_did_not_end_can_be_reported(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Store.open(out) as store:
        begun = Run(store, NOTE, compile_schema(NOTE.schema), "engine", {"effort": "low"})
    page = reports.write_report(out, begun.id).read_text()
    assert "did not end" in page
    with pytest.raises(UsageError, match="no such run"):
        reports.write_report(out, "20260101T000000000Z-00000000")
    with pytest.raises(UsageError, match="expected the id of a run"):
        reports.write_report(out, "../../x")


def everything(out: Path) -> str:
    """All cells of all Parquet files, and all other files but DuckDB's."""
    cells = (str(pq.read_table(path).to_pydict()) for path in out.rglob("*.parquet"))
    others = (p.read_bytes().decode("latin-1") for p in out.rglob("*") if p.is_file() and p.suffix != ".parquet")
    return "\n".join([*cells, *others])


def test_a_forgotten_document_is_in_no_report(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = read(tmp_path / "docs", out, a="name=x", b="total=1", c="name=z")
    second = read(tmp_path / "other", out, d="name=w")
    untouched = report_of(second)
    found = forget(out, "b.txt", dry_run=True)
    assert found.reports == (first.run_id,) and "b.txt" in report_of(first)
    digest = found.digests[0]
    forget(out, "b.txt")
    assert digest not in everything(out) and digest[:12] not in everything(out)
    assert re.search(r"\bb\.txt", everything(out)) is None
    page = report_of(first)
    assert "note: 2 documents read" in page and "a.txt" in page and report_of(second) == untouched


def test_the_commands_name_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    run_id = many(out, 3)
    assert run(["status", "report", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out / 'reports' / run_id}.html\n"
    assert run(["status", "report", run_id, "--out", str(out), "--to", str(tmp_path / "r.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run_id": run_id,
        "report": str(tmp_path / "r.html"),
    }
    assert (tmp_path / "r.html").is_file()
    assert run(["status", "report", "none", "--out", str(out)]) == 2


@pytest.mark.slow
def test_what_people_changed_stands_beside_what_they_reviewed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_id = many(out, 5, confidence=0.55)
    digests = [digest for (digest,) in query(out, "select document from records order by path").rows]
    corrector = Corrector(out)
    corrector.correct(digests[0], "note", [Change(Action.VALUE, "/name", '"right"')], "ann")
    corrector.correct(digests[1], "note", [Change(Action.ACCEPT, "")], "ann")
    undone = corrector.correct(digests[2], "note", [Change(Action.VALUE, "/name", '"wrong"')], "ann")
    assert undone.corrections
    corrector.undo(digests[2], "note", None, "ann")
    (own,) = gather_run(out, run_id, {})["shares"]
    assert (own["reviewed"], own["wrong"]) == (3, pytest.approx(1 / 3))
    assert ">33.3%</td>" in reports.write_report(out, run_id).read_text()
    # The corrections are runs without a model: no run stands beside them, and the last report is not theirs.
    later = gather_run(out, many(out, 5), {})
    assert [one["read"] for one in later["shares"]] == [5, 5]


def test_the_report_of_the_last_run_is_not_that_of_a_correction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = many(tmp_path / "out", 3)
    ((digest,), *_) = query(tmp_path / "out", "select document from records").rows
    Corrector(tmp_path / "out").correct(digest, "note", [Change(Action.ABSENT, "/total")], "ann")
    assert run(["status", "report", "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run_id"] == run_id
