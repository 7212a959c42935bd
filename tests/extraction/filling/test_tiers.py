"""Tiers: unsure values go to the upper model, sure ones are frozen, and the record is one and valid."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support import mercury_server as mercury
from tests.support.begun_runs import begun_extraction
from tests.support.reading_model import ReadingModel
from tests.support.remote_forms import NOTE, form_of, request

from cinnabar.engine.fill.choices import drop_unlikely_values
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.remote.serving import RemoteSettings
from cinnabar.engine.request import Failed, Filled, Filler, Leaf, Request, Result
from cinnabar.engine.work_time import seconds_to_answer
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.model_sources import ModelSource, RemoteSource, model_source
from cinnabar.extraction.filling.overlay.given import known_to_model
from cinnabar.extraction.filling.overlay.sure_values import sure_values
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.filling.stages import MergedRecord
from cinnabar.extraction.filling.tiers import Tier, _answers, _is_asked, escalate
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema
from cinnabar.schemas.form.form import Form

SOURCE = load_schema(
    {
        "title": "note",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "total": {"type": ["number", "null"]},
            "city": {"type": ["string", "null"]},
        },
        "required": ["name", "total", "city"],
    }
)


class Unsure(ReadingModel):
    """Read as the model without weights does, and be half sure of fields that the document calls `maybe`."""

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Any) -> Any:
        scores = super().score(forms, memories, rows, canvas)
        for at, one in enumerate(canvas.instances):
            name = one.slot.path.rsplit("/", 1)[1]
            if f"maybe {name}" in memories[one.request]:
                scores.absent_logit[at] = 0.0
                scores.candidate_logits[at] = scores.candidate_logits[at].clamp(max=0.5)
        return scores


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(6):
        doubt = "maybe total\n" if number % 2 else ""
        text = f"name=N{number}\ntotal={number}.5\ncity=Bonn\n{doubt}"
        (folder / f"{number}.txt").write_text(text)
    return folder


def upper(server: mercury.Server, **changed: Any) -> RemoteSource:
    found = model_source("mercury-2", settings=RemoteSettings(base_url=server.url, **changed))
    assert isinstance(found, RemoteSource)
    return found


def run(docs: Path, out: Path, source: RemoteSource, **options: Any) -> Summary:
    lower = ModelSource("unsure", Unsure)
    escalation = Escalation(source, 0.8)
    return extract([docs], SOURCE, out, lower, RunOptions(workers=1, **options), escalation=escalation)


def test_only_unsure_fields_of_unsure_documents_go_up(docs: Path, tmp_path: Path, server: Any) -> None:
    summary = run(docs, tmp_path / "out", upper(server))
    assert (summary.written, summary.quarantined) == (6, 0)
    assert summary.usage is not None
    assert (summary.usage["escalated_documents"], summary.usage["escalated_fields"]) == (3, 3)
    assert query(tmp_path / "out", "SELECT model FROM runs").rows == [("unsure, mercury-2",)]
    assert summary.usage["requests"] == 3 and summary.usage["cost"] == f"{server.cost.normalize():f}"
    for body in server.bodies:
        assert list(body["response_format"]["json_schema"]["schema"]["properties"]) == ["total"]
        assert '"/city": "Bonn"' in body["messages"][1]["content"]
    rows = query(tmp_path / "out", "select name, total, city from note order by name").rows
    assert rows == [(f"N{number}", number + 0.5, "Bonn") for number in range(6)]
    sure = "select count(*) from fields where pointer = '/name' and confidence > 0.9 and page is null"
    assert query(tmp_path / "out", sure).rows == [(6,)]
    found = "select count(*) from fields where evidence_text is null"
    assert query(tmp_path / "out", found).rows == [(0,)]


def test_an_interrupted_run_pays_for_one_batch_twice_at_most(docs: Path, tmp_path: Path, server: Any) -> None:
    out, source = tmp_path / "out", upper(server, concurrency=1)
    lower = ModelSource("unsure", Unsure)
    escalation = Escalation(source, 0.8)
    with (
        pytest.raises(KeyboardInterrupt),
        begun_extraction([docs], SOURCE, out, lower, RunOptions(workers=1, batch=2), escalation=escalation) as begun,
    ):
        begun._commits.begin().commit_batch = lambda _batch: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore
        begun.work(0)
    asked = len(server.bodies)
    assert asked > 0
    summary = run(docs, out, source, batch=2)
    assert summary.written == 6 and summary.usage is not None
    assert summary.usage["requests"] == 3 == len(server.bodies) - asked and not (out / "remote").exists()


def test_a_budget_leaves_the_rest_for_another_run(docs: Path, tmp_path: Path, server: Any) -> None:
    out = tmp_path / "out"
    none = run(docs, out, upper(server, budget=Decimal(0)))
    assert (none.written, none.skipped, none.quarantined) == (3, 3, 0) and server.bodies == []
    assert none.usage is not None and none.usage["left"] == 3
    left = "select count(*) from outcomes where outcome = 'skipped' and code = 'budget'"
    assert query(out, left).rows == [(3,)]
    rest = run(docs, out, upper(server))
    assert (rest.written, rest.skipped) == (3, 3)


def test_an_upper_failure_keeps_the_lower_record_in_quarantine(docs: Path, tmp_path: Path, server: Any) -> None:
    server.fault = lambda _number, _body: "no json"
    summary = run(docs, tmp_path / "out", upper(server))
    assert (summary.written, summary.reasons) == (3, {"invalid_answer": 3})
    held = query(tmp_path / "out", "select record_json from quarantine").rows
    assert all(json.loads(record)["city"] == "Bonn" for (record,) in held)


def test_wrong_escalations_are_refused() -> None:
    source = RemoteSource.__new__(RemoteSource)
    with pytest.raises(UsageError, match="--below"):
        Escalation(source, 1.5)
    with pytest.raises(UsageError, match="--escalate-to"):
        begun_extraction([], SOURCE, Path("x"), source, escalation=Escalation(source, 0.5))


def filled(record: dict[str, Any], unsure: dict[str, float], rows: dict[str, float] | None = None) -> Filled:
    """A record of NOTE that is sure of all values except the named ones."""

    def leaves(value: Any, pointer: str) -> dict[str, Leaf]:
        if isinstance(value, dict):
            return {k: v for name, part in value.items() for k, v in leaves(part, f"{pointer}/{name}").items()}
        if isinstance(value, list):
            return {k: v for at, part in enumerate(value) for k, v in leaves(part, f"{pointer}/{at}").items()}
        origin = "absent" if value is None else "copied"
        return {pointer: Leaf(json.dumps(value), 0.95, origin=origin)}

    found = leaves(record, "")
    for pointer in ("/kind", "/paid", "/seller/city"):
        found.setdefault(pointer, Leaf(None, 0.95, origin="absent"))
    found = {at: replace(leaf, confidence=unsure.get(at, leaf.confidence)) for at, leaf in found.items()}
    chances = rows or {f"/lines/{at}": 0.9 for at in range(len(record["lines"]))}
    return Filled("x", record, found, {at: (0, p) for at, p in chances.items()}, 1, 0)


LINES = [{"what": "a", "price": 1}, {"what": "b", "price": 2}]


def known(form: Form, read: Filled, below: float, lists: bool = True) -> dict[str, str | None]:
    return known_to_model(sure_values(form, read, below, lists)).known


def test_sure_values_and_sure_absences_are_frozen() -> None:
    form = form_of(NOTE)
    draft = filled({"name": "Ada", "day": None, "lines": []}, {"/name": 0.5, "/paid": 0.1})
    assert known(form, draft, 0.8) == {"/day": "null", "/kind": None, "/seller/city": None}


def test_rows_that_are_sure_are_frozen_value_by_value_and_other_lists_go_up_whole() -> None:
    form = form_of(NOTE)
    record = {"name": "Ada", "day": None, "lines": LINES}
    unsure = {"/lines/1/price": 0.3}
    frozen = known(form, filled(record, unsure), 0.8)
    assert {at for at in frozen if "lines" in at} == {"/lines/0/what", "/lines/0/price", "/lines/1/what"}
    doubtful = filled(record, unsure, {"/lines/0": 0.9, "/lines/1": 0.4})
    assert not any("lines" in at for at in known(form, doubtful, 0.8))
    nothing = filled(record, {"/lines/1/price": 0.3, "/lines/1/what": 0.3})
    assert not any("lines" in at for at in known(form, nothing, 0.8))
    assert not any("lines" in at for at in known(form, filled(record, unsure), 0.8, lists=False))


@pytest.mark.slow
def test_freezing_a_list_of_thousands_of_rows_takes_no_longer_for_each_than_a_short_one() -> None:
    schema = json.loads(json.dumps(NOTE))
    del schema["properties"]["lines"]["maxItems"]
    item = schema["properties"]["lines"]["items"]["properties"]
    item |= {
        "note": {"type": "string"},
        "from": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    form = form_of(schema)
    draft = filled({"name": "Ada", "day": None, "lines": LINES * 1500}, {"/name": 0.5})
    absent = [f"/lines/{at}/{name}" for at in range(3000) for name in ("note", "from/city")]
    leaves = dict(draft.leaves) | {at: Leaf(None, 0.95, origin="absent") for at in absent}
    begin = time.process_time()
    frozen = known(form, replace(draft, leaves=leaves), 0.8)
    assert time.process_time() - begin < 5
    assert len([at for at in frozen if "lines" in at]) == 12_000 and frozen["/lines/2999/from/city"] is None


def test_our_own_engine_keeps_frozen_values() -> None:
    form = form_of(NOTE)
    known: dict[str, str | None] = {"/name": '"Ada"', "/kind": None, "/paid": "true"}
    text = "name=Eve\nkind=a\npaid=false\nday=2024-01-01\n"
    (found,) = Engine(ReadingModel()).fill([request(form, text, known)])
    assert isinstance(found, Filled)
    assert json.loads(found.record) == {"name": "Ada", "day": "2024-01-01", "paid": True, "lines": []}
    assert found.leaves["/kind"].text is None


def test_a_list_that_may_lack_rows_goes_up_whole_even_if_it_is_empty() -> None:
    form = form_of(NOTE)
    whole = filled({"name": "Ada", "day": None, "lines": LINES}, {})
    assert any("lines" in at for at in known(form, replace(whole, lists={"/lines": 0.9}), 0.8))
    assert not any("lines" in at for at in known(form, replace(whole, lists={"/lines": 0.3}), 0.8))
    empty = filled({"name": "Ada", "day": None, "lines": []}, {})
    page = parse(b"Ada", "page.txt")
    for chance, asked in ((0.9, False), (0.3, True)):
        lower = MergedRecord(page, replace(empty, lists={"/lines": chance}))
        assert _is_asked(form, lower, Tier(lambda: Engine(ReadingModel()), 0.8), ()) == asked


def test_a_text_that_is_to_be_worded_is_the_language_models_however_sure_the_reader_is() -> None:
    name: dict[str, Any] = {"type": ["string", "null"], "x-cinnabar-written": True}
    form = form_of({"type": "object", "properties": {"name": name, "day": {"type": ["string", "null"]}}})
    page = parse(b"name=Eve\nday=Monday\n", "page.txt")
    slots = {slot.path: slot.index for slot in form.slots}
    read = {"name": "Ada", "day": "Friday"}
    sure = {f"/{at}": Leaf(json.dumps(one), 0.99, slot=slots[f"/{at}"]) for at, one in read.items()}
    draft = Filled("", read, sure, {}, 1, 0)
    tier = Tier(lambda: Engine(ReadingModel()), 0.8, prefer_confident=True)
    (found,), counts = escalate([MergedRecord(page, draft)], form, tier)
    assert isinstance(found, Filled) and json.loads(found.record)["name"] == "Eve" and counts.documents == 1


def test_a_value_that_neither_model_believes_is_null_where_it_may_be() -> None:
    text: dict[str, Any] = {"type": ["string", "null"]}
    worded = text | {"x-cinnabar-written": True}
    part = {"type": "object", "properties": {"many": {"type": "array", "items": text}, "named": {"type": "string"}}}
    pair = {"type": "array", "prefixItems": [text, text], "items": False, "minItems": 2}
    fields = {"doubted": text, "likely": text, "worded": worded, "part": part, "pair": pair}
    form = form_of({"type": "object", "properties": fields})
    slots = {slot.path.replace("*", "0"): slot.index for slot in form.slots}
    chances = {
        "/doubted": 0.34, "/likely": 0.36, "/worded": 0.1, "/part/many/0": 0.1, "/part/named": 0.1,
        "/pair/0": 0.1, "/pair/1": 0.9,
    }  # fmt: skip
    leaves = {at: Leaf('"a"', one, absence=0.5, slot=slots[at]) for at, one in chances.items()}
    record = {"doubted": "a", "likely": "a", "worded": "a", "part": {"many": ["a"], "named": "a"}, "pair": ["a", "a"]}
    found = drop_unlikely_values(form, Filled("", record, leaves, {"/part/many/0": (0, 0.5)}, 1, 0))
    assert json.loads(found.record) == record | {"doubted": None, "pair": [None, "a"]}
    changed = {at: leaf for at, leaf in found.leaves.items() if leaf != leaves[at]}
    assert {at: (leaf.text, leaf.confidence, leaf.origin) for at, leaf in changed.items()} == dict.fromkeys(
        ("/doubted", "/pair/0"), ("null", 0.5, "absent")
    )


@pytest.mark.parametrize(("longest", "whats"), [(None, ["x", "y", "z"]), (2, ["x", "y", "z"]), (1, ["a", "b"])])
def test_a_list_too_long_for_the_stronger_model_stays_while_other_values_are_asked(
    longest: int | None, whats: list[str]
) -> None:
    form = form_of(NOTE)
    page = parse(b"name=Eve\n- what=x price=7\n- what=y price=8\n- what=z price=9\n", "page.txt")
    rows = {"/lines/0": 0.2, "/lines/1": 0.2}
    doubts = {f"/lines/{row}/{name}": 0.1 for row in (0, 1) for name in ("what", "price")}
    draft = filled({"name": "Ada", "day": None, "lines": LINES}, doubts | {"/name": 0.1}, rows)
    tier = Tier(lambda: Engine(ReadingModel()), 0.8, prefer_confident=True, max_list_rows=longest)
    (found,), counts = escalate([MergedRecord(page, draft)], form, tier)
    assert isinstance(found, Filled)
    record = json.loads(found.record)
    assert (record["name"], [row["what"] for row in record["lines"]]) == ("Eve", whats)
    # The first model doubts the document on the whole, so the sure fields are asked too.
    assert counts.fields == (5 if longest == 1 else 9)
    # A document in which nothing else is in doubt is not asked about.
    sure = filled({"name": "Ada", "day": None, "lines": LINES}, doubts, rows)
    (_,), counts = escalate([MergedRecord(page, sure)], form, tier)
    assert counts.documents == (0 if longest == 1 else 1)


def test_the_reading_of_a_list_that_adds_up_counts_and_totals_and_unprinted_counts_of_a_model_do_not() -> None:
    names = {"what": {"type": "string"}, "count": {"type": ["number", "null"]}, "price": {"type": "number"}}
    rows = {"type": "array", "items": {"type": "object", "properties": names, "required": [*names]}}
    fields = {"lines": rows, "total": {"type": "number"}}
    form = form_of({"type": "object", "properties": fields, "required": [*fields]})
    prices = {"Oak": "7.50", "Elm": "9.25", "Fir": "4.50", "Sum": "21.25"}
    text = "".join(f"- what={what} price={price}\n" for what, price in prices.items()) + "total=21.25\n"
    page = parse(text.encode(), "page.txt")
    slots = {slot.path.rsplit("/", 1)[1]: slot.index for slot in form.slots}
    leaves = {f"/lines/0/{name}": Leaf("9.25", 0.6, slot=slots[name]) for name in ("what", "price")}
    leaves["/total"] = Leaf("21.25", 0.6, slot=slots["total"])
    read = {"lines": [{"what": "Elm", "count": None, "price": 9.25}], "total": 21.25}
    draft = Filled("", read, leaves, {"/lines/0": (0, 0.6)}, 1, 0)
    tier = Tier(lambda: Engine(ReadingModel()), 0.9, prefer_confident=True)
    (found,), _ = escalate([MergedRecord(page, replace(draft, lists={"/lines": 0.95}))], form, tier)
    assert isinstance(found, Filled) and found.others == {}
    assert [row["what"] for row in json.loads(found.record)["lines"]] == ["Oak", "Elm", "Fir"]


def test_a_list_that_does_not_add_up_asks_however_sure_it_is() -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}}
    form = form_of({"type": "object", "properties": {"lines": rows, "total": {"type": "number"}}})
    text = "- price=7.50\n- price=9.25\ntotal=16.75\n"
    slots = {slot.path.rsplit("/", 1)[1]: slot.index for slot in form.slots}
    for count, asked in ((1, 1), (2, 0)):
        prices = [7.5, 9.25][:count]
        spans = [(8, 12), (21, 25)]
        read = {f"/lines/{at}/price": (str(one), spans[at]) for at, one in enumerate(prices)} | {
            "/total": ("16.75", (32, 37))
        }
        leaves = {at: Leaf(one, 0.99, (span,), slot=slots[at[-5:]]) for at, (one, span) in read.items()}
        record = {"lines": [{"price": one} for one in prices], "total": 16.75}
        draft = Filled("", record, leaves, {f"/lines/{at}": (0, 0.99) for at in range(count)}, 1, 0, {"/lines": 0.99})
        tier = Tier(lambda: Engine(ReadingModel()), 0.6, prefer_confident=True)
        (found,), counts = escalate([MergedRecord(parse(text.encode(), "page.txt"), draft)], form, tier)
        assert isinstance(found, Filled) and counts.documents == asked
        if asked:
            assert [row["price"] for row in json.loads(found.record)["lines"]] == [7.5, 9.25]


@pytest.mark.parametrize("around", ["open names", "a nullable object", "a refused mix"])
def test_a_long_list_stays_where_its_object_is_taken_as_a_whole(around: str) -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"what": {"type": "string"}}}}
    own: dict[str, Any] = {"name": {"type": ["string", "null"]}, "lines": rows}
    schema: dict[str, Any] = {"type": "object", "properties": own}
    held: dict[str, Any] = {"name": "Ada", "lines": LINES}
    if around == "open names":
        schema["additionalProperties"] = {"type": "integer"}
    elif around == "a nullable object":
        schema = {
            "type": "object",
            "properties": {"o": {"type": ["object", "null"], "properties": {"lines": rows}}, "name": own["name"]},
        }
        held = {"o": {"lines": LINES}, "name": "Ada"}
    else:
        schema["not"] = {"properties": {"name": {"const": "Eve"}}, "required": ["name"]}
    form = form_of(schema)
    record = json.loads(json.dumps(held).replace(', "price": 1', "").replace(', "price": 2', ""))
    at = "/o/lines" if "o" in record else "/lines"
    leaves = {f"{at}/{row}/what": Leaf(json.dumps(one["what"]), 0.2) for row, one in enumerate(LINES)}
    leaves["/name"] = Leaf('"Ada"', 0.1)
    counted = {f"{at}/{row}": (row, 0.3) for row in (0, 1)}
    draft = Filled("d", record, leaves, counted, 1, 0, {at: 0.3})
    tier = Tier(lambda: Engine(ReadingModel()), 0.8, prefer_confident=True, max_list_rows=1)
    (found,), _ = escalate([MergedRecord(parse(b"name=Eve\n", "page.txt"), draft)], form, tier)
    assert isinstance(found, Filled)
    kept = json.loads(found.record)
    assert [row["what"] for row in kept.get("o", kept)["lines"]] == ["a", "b"]
    assert {f"{at}/0/what", f"{at}/1/what"} <= found.leaves.keys() and len(found.rows) == 2


def test_a_bound_of_seconds_is_that_of_each_document_and_shared_by_its_passages() -> None:
    asked = list[tuple[str, float | None]]()

    class Timed(Filler):
        def fill(self, requests: Sequence[Request]) -> list[Result]:
            asked.extend((one.id, seconds_to_answer()) for one in requests)
            return [Failed(one.id, "too_slow") for one in requests]

    form, page = form_of(NOTE), parse(b"name=Ada", "page.txt")
    own = [[Request(at, form, passage_of(page)) for at in ids] for ids in ("ab", "c")]
    tier = Tier(Timed, 0.8, True, seconds=6.0)  # type: ignore[arg-type]
    assert [one.id for one in _answers(own, tier)] == ["a", "b", "c"]
    assert asked == [("a", 3.0), ("b", 3.0), ("c", 6.0)]


def test_with_two_rounds_what_the_model_doubts_is_asked_once_more_beside_its_surer_values() -> None:
    asked = list[tuple[str, dict[str, str | None]]]()

    class Doubting(Filler):
        def fill(self, requests: Sequence[Request]) -> list[Result]:
            asked.extend((one.id, dict(one.known)) for one in requests)
            return [self.read(one) for one in requests]

        def read(self, one: Request) -> Result:
            if one.id == "lost" and len(asked) > 3:
                return Failed(one.id, "engine_error")
            again = "/name" in one.known
            leaves = {"/name": Leaf('"Ada"', 1.0, origin="known") if again else Leaf('"Ada"', 0.9)}
            leaves["/total"] = Leaf("7", 0.8 if again else 0.95 if one.id == "sure" else 0.3)
            return Filled(one.id, {"name": "Ada", "total": 7}, leaves, {}, 1, 0)

    places = {"name": {"type": "string"}, "total": {"type": "number"}}
    form, page = form_of({"type": "object", "properties": places}), parse(b"name=Ada", "page.txt")
    requests = [Request(at, form, passage_of(page)) for at in ("sure", "doubted", "lost")]
    found = _answers([requests], Tier(Doubting, 0.8, True, rounds=2))  # type: ignore[arg-type]
    assert [at for at, _ in asked] == ["sure", "doubted", "lost", "doubted", "lost"]
    assert all(known == {"/name": '"Ada"'} for _, known in asked[3:])
    leaves = [one.leaves for one in found if isinstance(one, Filled)]
    totals = [(one["/name"].confidence, one["/total"].confidence) for one in leaves]
    assert totals == [(0.9, 0.95), (0.9, 0.8), (0.9, 0.3)]
    asked.clear()
    _answers([requests], Tier(Doubting, 0.8, True))  # type: ignore[arg-type]
    assert len(asked) == 3


def test_rows_that_are_told_in_the_second_round_stay_where_they_were_found() -> None:
    class Doubting(Filler):
        def fill(self, requests: Sequence[Request]) -> list[Result]:
            return [self.read("/lines/0/what" in one.known) for one in requests]

        def read(self, again: bool) -> Result:
            leaves = {"/lines/0/what": Leaf('"a"', 0.9), "/name": Leaf('"Ada"', 0.9 if again else 0.1)}
            rows, lists = ({"/lines/0": (0, 1.0)}, {}) if again else ({"/lines/0": (7, 0.8)}, {"/lines": 0.9})
            return Filled("d", {"name": "Ada", "lines": [{"what": "a"}]}, leaves, rows, 1, 0, lists)

    line = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    fields = {"name": {"type": "string"}, "lines": {"type": "array", "items": line}}
    form, page = form_of({"type": "object", "properties": fields, "required": ["name", "lines"]}), parse(b"a", "a.txt")
    tier = Tier(Doubting, 0.8, True, rounds=2)  # type: ignore[arg-type]
    (found,) = _answers([[Request("d", form, passage_of(page))]], tier)
    assert isinstance(found, Filled) and found.leaves["/name"].confidence == 0.9
    assert found.rows == {"/lines/0": (7, 0.8)} and found.lists == {"/lines": 0.9}
