"""Runs over documents of several kinds: each goes to one schema or to none, once, and stays there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support import packet_files
from tests.support.begun_runs import backfill, begun_backfill, begun_extraction
from tests.support.reading_model import READING, ReadingModel

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.filling.routing.routing import Route, Routing
from cinnabar.extraction.maintenance.packets import amend, packet_around
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.packets import PacketStatement
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.stored_records import Selection
from cinnabar.schemas import load_schema

# The model is untrained, so that its records may be empty.
OPTIONS = RunOptions(workers=1, batch=3, on_empty="write")


def schema_of(title: str, description: str, field: str) -> dict[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": {field: {"type": ["string", "null"]}},
        "required": [field],
    }


BILL = load_schema(schema_of("bill", "A bill for goods.", "name"))
LETTER = load_schema(schema_of("letter", "A letter to a friend.", "friend"))
NOTE = load_schema(schema_of("note", "A note on a fridge.", "name"))


class ByFirstWord:
    """A router that takes the first word of a document for its kind, and counts the documents."""

    routed: list[str] = []  # noqa: RUF012, one list for all instances is the purpose

    def __init__(self, routing: Routing) -> None:
        self._names = routing.names

    def route(self, document: Document) -> Route:
        type(self).routed.append(Path(document.path).name)
        word = document.text.split()[0]
        if word == "broken":
            raise ValueError("no vectors")
        found = word if word in self._names else None
        return Route(found, {name: 0.9 if name == found else 0.02 for name in self._names})


@pytest.fixture
def by_first_word(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("cinnabar.extraction.filling.routing.router.Router", ByFirstWord)
    monkeypatch.setattr(ByFirstWord, "routed", [])
    return ByFirstWord.routed


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    """An inbox and its results, which were read by relative paths, and what the run returned; no test changes them."""
    base = tmp_path_factory.mktemp("routed")
    docs = base / "inbox"
    docs.mkdir()
    for number in range(4):
        (docs / f"bill{number}.txt").write_text(f"bill\nname=N{number}\n")
        (docs / f"letter{number}.txt").write_text(f"letter\nfriend=F{number}\n")
    (docs / "poem.txt").write_text("poem\nname=nobody\n")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (docs / "copy.txt").write_bytes((docs / "bill0.txt").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cinnabar.extraction.filling.routing.router.Router", ByFirstWord)
        patch.chdir(base)
        return base, run(Path("inbox"), Path("out"), BILL, LETTER)


@pytest.fixture(scope="module")
def routed(first: tuple[Path, Summary]) -> Path:
    return first[0]


@pytest.fixture
def inbox(routed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the inbox, in the working directory of the test."""
    shutil.copytree(routed / "inbox", tmp_path / "inbox")
    monkeypatch.chdir(tmp_path)
    return Path("inbox")


@pytest.fixture
def out(routed: Path, tmp_path: Path) -> Path:
    """A copy of the results."""
    return shutil.copytree(routed / "out", tmp_path / "out")


def run(inbox: Path, out: Path, *schemas: Any, options: RunOptions = OPTIONS) -> Summary:
    return extract([inbox], schemas[0], out, READING, options, routing=Routing(schemas))


def outcomes(out: Path) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for path, *rest in query(out, "select path, outcome, code, schema_name from outcomes order by run_id").rows:
        found.setdefault(Path(path).name, []).append(tuple(rest))
    return found


def test_each_document_is_in_the_table_of_its_schema_and_has_one_outcome(first: tuple[Path, Summary]) -> None:
    out, summary = first[0] / "out", first[1]
    assert (summary.inputs, summary.written, summary.quarantined, summary.skipped) == (11, 8, 1, 2)
    assert summary.skips == {"duplicate": 1, "other_kind": 1}
    assert [(part["schema"], part["written"]) for part in summary.routed] == [("bill", 4), ("letter", 4)]
    assert summary.routing_ms is not None
    assert {row[0] for row in query(out, "select name from bill").rows} == {"N0", "N1", "N2", "N3"}
    assert {row[0] for row in query(out, "select friend from letter").rows} == {"F0", "F1", "F2", "F3"}
    found = outcomes(out)
    assert len(found) == 11 and all(len(rows) == 1 for rows in found.values())
    assert found["poem.txt"][0][:2] == ("skipped", "other_kind")
    # An unreadable file has no kind: the first schema's quarantine holds it.
    assert found["broken.pdf"][0][::2] == ("quarantined", "bill")
    details = query(out, "select detail from outcomes where code = 'other_kind'").rows
    assert details == [("bill 0.02, letter 0.02, another kind 0.96",)]


def test_the_same_choice_again_reads_nothing_and_another_choice_routes_again(
    inbox: Path, out: Path, by_first_word: list[str]
) -> None:
    again = run(inbox, out, LETTER, BILL)
    assert (again.written, again.skipped, by_first_word) == (0, 11, [])
    # A third schema: all documents are routed again, but only the new schema's need the model.
    (inbox / "note.txt").write_text("note\nname=milk\n")
    model = ReadingModel()
    third = extract(
        [inbox], BILL, out, ModelSource("reading", lambda: model), OPTIONS, routing=Routing((BILL, LETTER, NOTE))
    )
    assert sorted(by_first_word)[-1] == "poem.txt" and len(by_first_word) == 10
    assert (third.written, model.passages) == (1, 1)
    assert third.skips == {"done": 9, "duplicate": 1, "other_kind": 1}
    by_first_word.clear()
    assert run(inbox, out, BILL, LETTER, NOTE).written == 0 and by_first_word == []


def test_a_run_that_stopped_halfway_goes_on_where_it_was(
    inbox: Path, tmp_path: Path, by_first_word: list[str]
) -> None:
    out = tmp_path / "out"
    with begun_extraction([inbox], BILL, out, READING, OPTIONS, routing=Routing((BILL, LETTER))) as extraction:
        extraction.work(0)
        extraction.work(0)  # a retry of a batch changes nothing
    first = set(by_first_word)
    by_first_word.clear()
    summary = run(inbox, out, BILL, LETTER)
    assert not first & set(by_first_word)
    assert len(query(out, "select * from records").rows) == 8
    assert summary.inputs == 11


@pytest.mark.usefixtures("by_first_word")
def test_records_are_those_of_a_run_with_one_schema(inbox: Path, out: Path, tmp_path: Path) -> None:
    bills = [inbox / f"bill{number}.txt" for number in range(4)]
    extract(bills, BILL, tmp_path / "alone", READING, OPTIONS)
    sql = "select document, pointer, value_json, confidence, engine_fingerprint from fields where schema_name = 'bill'"
    assert sorted(query(out, sql).rows) == sorted(query(tmp_path / "alone", sql).rows)
    # So a run with one schema takes the routed documents for done.
    assert extract(bills, BILL, out, READING, OPTIONS).skips == {"done": 4}


@pytest.mark.usefixtures("by_first_word")
def test_a_document_whose_choice_fails_is_in_quarantine_and_tried_again_on_demand(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("broken\nname=x\n")
    summary = run(file, tmp_path / "out", BILL, LETTER)
    assert summary.reasons == {"internal_error": 1}
    assert run(file, tmp_path / "out", BILL, LETTER).skips == {"done": 1}
    file.write_text("bill\nname=x\n")
    assert run(file, tmp_path / "out", BILL, LETTER, options=RunOptions(workers=1, retry_quarantined=True)).written == 1


INVOICE = load_schema(
    {
        "title": "invoice",
        "description": "An invoice: a bill for goods or services.",
        "type": "object",
        "properties": {
            name: {"type": ["string", "null"]}
            for name in ("invoice_number", "invoice_date", "customer", "net_amount", "vat", "total")
        },
    }
)
RECIPE = load_schema(
    {
        "title": "recipe",
        "description": "A cooking recipe with its ingredients.",
        "type": "object",
        "properties": {
            name: {"type": ["string", "null"]} for name in ("dish", "ingredients", "servings", "oven_temperature")
        },
    }
)
TEXTS = {
    "rechnung.txt": "Muster GmbH\nRechnung\nRechnungsnummer: 4711\nRechnungsdatum: 3. Mai 2024\nKunde: Frau Sommer\n"
    "Nettobetrag 100,00 EUR\nMwSt 19 % 19,00 EUR\nGesamtbetrag 119,00 EUR\nZahlbar in 14 Tagen.",
    "bill.txt": "Harbour Supplies Ltd\nINVOICE\nInvoice number 881-A\nInvoice date 12/03/2024\nCustomer: J. Mills\n"
    "2 ropes at 20.00\nNet amount 40.00\nVAT 20% 8.00\nTotal 48.00\nPlease pay within 30 days.",
    "cake.txt": "Lemon cake\nServings: 8\nIngredients: 200 g flour, 150 g sugar, 3 eggs, one lemon.\n"
    "Heat the oven to 180 °C. Beat eggs and sugar, fold in the flour, bake for 40 minutes.",
    "log.txt": "2024-05-01 10:00:01 sshd[311]: Accepted publickey for root from 10.0.0.4 port 5122\n"
    "2024-05-01 10:00:07 kernel: eth0: link up, 1000 Mbps, full duplex\n",
    "friend.txt": "Dear Anna,\nthe weather in Bergen was dreadful, but we walked up the mountain twice and the cat is"
    " well. Write soon and tell me about the new house.\nLove, Ingrid",
}


def test_bills_in_two_languages_and_a_recipe_find_their_tables_and_strangers_none(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in TEXTS.items():
        (docs / name).write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    summary = extract([docs], INVOICE, out, READING, OPTIONS, routing=Routing((INVOICE, RECIPE)))
    assert (summary.written, summary.skips) == (3, {"other_kind": 2})
    assert {Path(row[0]).name for row in query(out, "select path from invoice").rows} == {"rechnung.txt", "bill.txt"}
    assert {Path(row[0]).name for row in query(out, "select path from recipe").rows} == {"cake.txt"}
    only = tmp_path / "only"
    related = extract([docs], RECIPE, only, READING, OPTIONS, routing=Routing((RECIPE,), 0.5))
    assert (related.written, related.skips) == (1, {"other_kind": 4})


@pytest.mark.usefixtures("by_first_word")
def test_a_long_document_is_overtaken_and_comes_to_its_schema_all_the_same(inbox: Path, tmp_path: Path) -> None:
    (inbox / "a_long.txt").write_text("bill\nname=long\n" + "word " * 17_000)
    out = tmp_path / "out"
    summary = run(inbox, out, BILL, LETTER)
    assert (summary.inputs, summary.written) == (12, 9)
    assert ("long",) in query(out, "select name from bill").rows


DATED = load_schema(
    {
        "title": "bill",
        "description": "A bill for goods, and a reminder.",
        "type": "object",
        "properties": {name: {"type": ["string", "null"]} for name in ("name", "day")},
        "required": ["name"],
    }
)


def refill(out: Path, model: ReadingModel, least: float | None = None, **chosen: Any) -> Any:
    routing = None if least is None else Routing((DATED,), least)
    asked = ModelSource("reading", lambda: model)
    return backfill(DATED, out, asked, Selection(**chosen), OPTIONS, routing=routing)


@pytest.mark.usefixtures("by_first_word")
def test_a_backfill_opens_no_document_of_another_kind(inbox: Path, out: Path) -> None:
    for path in (*inbox.glob("letter*"), inbox / "poem.txt", inbox / "broken.pdf"):
        path.unlink()
    summary = refill(out, ReadingModel())
    assert (summary.inputs, summary.written, summary.skipped) == (4, 4, 0)
    assert refill(out, ReadingModel()) is None


@pytest.mark.slow
def test_a_record_whose_document_a_later_choice_sent_elsewhere_is_left_out(
    inbox: Path, tmp_path: Path, by_first_word: list[str]
) -> None:
    out = tmp_path / "out"
    extract([inbox / "letter1.txt", inbox / "bill1.txt", inbox / "poem.txt"], BILL, out, READING, OPTIONS)
    run(inbox, out, BILL, LETTER)
    begun = begun_backfill(DATED, out, READING, options=OPTIONS)
    with begun.run:
        assert begun.estimate().elsewhere == 2
    begun = begun_backfill(BILL, out, READING, options=OPTIONS)
    with begun.run:
        assert begun.estimate().elsewhere == 0  # their records are of this version already
    by_first_word.clear()
    # bill1 and the three that the choice added; not letter1 and poem.
    assert refill(out, ReadingModel()).written == 4
    assert query(out, "select count(*) from records where schema_name = 'letter'").rows == [(4,)]
    # Read on purpose since, a document is of this schema again.
    extract([inbox / "poem.txt"], NOTE, out, READING, OPTIONS)
    assert refill(out, ReadingModel()) is None
    extract([inbox / "poem.txt"], BILL, out, READING, RunOptions(workers=1, effort="high"))
    assert refill(out, ReadingModel()).written == 1


def test_a_choice_without_the_schema_leaves_its_records_alone(
    inbox: Path, tmp_path: Path, by_first_word: list[str]
) -> None:
    out = tmp_path / "out"
    extract([inbox / "bill1.txt"], BILL, out, READING, OPTIONS)
    run(inbox / "bill1.txt", out, LETTER, NOTE)
    assert by_first_word == ["bill1.txt"]
    assert refill(out, ReadingModel()).written == 1


@pytest.mark.slow
def test_a_backfill_compares_documents_of_no_schema_again_and_leaves_out_other_kinds(
    inbox: Path, tmp_path: Path, by_first_word: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    (inbox / "reminder.txt").write_text("reminder\nname=late\nday=monday\n")
    run(inbox, out, BILL, LETTER)
    assert outcomes(out)["reminder.txt"][-1][1] == "other_kind"
    by_first_word.clear()
    # The new version is for reminders, too, and not for the first bill.
    known = {"reminder.txt": "bill", "bill0.txt": "other", "copy.txt": "other"}

    def route(self: ByFirstWord, document: Document) -> Route:
        type(self).routed.append(Path(document.path).name)
        found = known.get(Path(document.path).name, document.text.split()[0])
        return Route(found if found == "bill" else None, {"bill": 0.9 if found == "bill" else 0.1})

    monkeypatch.setattr(ByFirstWord, "route", route)
    model = ReadingModel()
    summary = refill(out, model, 0.5)
    assert sorted(by_first_word) == ["bill0.txt", "bill1.txt", "bill2.txt", "bill3.txt", "poem.txt", "reminder.txt"]
    assert (summary.written, summary.skips) == (4, {"other_kind": 2})
    found = query(out, "select name, day from bill_all where name = 'late'").rows
    assert found == [("late", "monday")]
    assert query(out, "select count(*) from bill").rows == [(4,)]  # bill0 keeps its old record
    by_first_word.clear()
    assert refill(out, model, 0.5) is None and by_first_word == []
    # The record is that of an extraction.
    fresh = tmp_path / "fresh"
    extract([inbox / "reminder.txt"], DATED, fresh, READING, OPTIONS)
    sql = "select document, pointer, value_json, confidence, spans from fields where value_json = '\"late\"'"
    assert query(fresh, sql).rows == query(out, sql).rows
    assert extract([inbox / "reminder.txt"], DATED, out, READING, OPTIONS).skips == {"done": 1}


@pytest.mark.usefixtures("by_first_word")
def test_options_that_choose_records_leave_documents_without_one_alone(inbox: Path, out: Path) -> None:
    assert refill(out, ReadingModel(), 0.5, where="name = 'N1'").inputs == 1
    (inbox / "poem.txt").unlink()
    gone = refill(out, ReadingModel(), 0.5, source=str(inbox / "poem.txt"))
    assert (gone.inputs, gone.skips) == (1, {"gone": 1})


@pytest.mark.slow
@pytest.mark.usefixtures("by_first_word")
def test_a_part_of_a_packet_goes_to_the_schema_that_a_person_chose(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "packet.pdf").write_bytes(packet_files.three())
    out, options = tmp_path / "out", RunOptions(workers=1, split=True, on_empty="write")
    assert run(tmp_path / "in", out, BILL, LETTER, options=options).skips == {"other_kind": 3}
    amend(out, packet_around(out, "packet.pdf"), PacketStatement(kinds={3: "letter", 6: "poem"}), "ada")
    summary = run(tmp_path / "in", out, BILL, LETTER, options=options)
    assert (summary.written, summary.skips) == (1, {"done": 1, "other_kind": 1})
    found = query(out, "select documents.path, packet_kind from documents join letter using (document)").rows
    assert [(Path(path).name, kind) for path, kind in found] == [("packet.pdf#pages=3-5&kind=letter", "letter")]
    amend(out, packet_around(out, "packet.pdf"), PacketStatement(kinds={3: "bill"}), "ada")
    assert run(tmp_path / "in", out, BILL, LETTER, options=options).written == 1
    tables = [query(out, f"select count(*) from {name}").rows[0][0] for name in ("bill", "letter")]
    assert tables == [1, 0]
