"""Runs with a language model in a folder: extract, escalation, backfill, calibration, a cluster, and bad folders."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from tests.support.begun_runs import backfill
from tests.support.reading_model import READING, ReadingModel
from tests.support.tiny_checkpoint import TRAITS, write_checkpoint
from tests.support.told_progress import Told
from training.confidence_fit import calibrate

from cinnabar.apps.cli.main import run
from cinnabar.engine.language.prepared_requests import PreparedRequest, RequestPreparer
from cinnabar.engine.models.identity import CALIBRATION
from cinnabar.engine.models.language import memory
from cinnabar.engine.models.language.checkpoint import read_contents, weight_bytes
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.identity import checkpoint_fingerprint
from cinnabar.engine.models.reader.calibration import Calibration, Scale, load_calibration, save_calibration
from cinnabar.engine.models.releases import RELEASED
from cinnabar.engine.request import Request
from cinnabar.errors import CinnabarError, ModelError, UsageError
from cinnabar.extraction.corrections.units import record_from
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling import model_sources, run_models
from cinnabar.extraction.filling.model_sources import LanguageSource, ModelSource, model_source
from cinnabar.extraction.filling.passages import chunks_for, passage_of
from cinnabar.extraction.filling.run_models import Escalation, sources_of
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batch.labelled_sets import find_sets
from cinnabar.extraction.run.cluster.connection import join_cluster
from cinnabar.extraction.run.cluster.workers import model_needs, packed_assignment
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.extras import Extra
from cinnabar.schemas import SchemaSource, compile_schema, load_schema

NAME = {"type": "string", "maxLength": 6}
TOTAL = {"type": ["integer", "null"], "minimum": 0, "maximum": 99}
KIND = {"enum": ["a", "b", None]}


def schema(**properties: Any) -> SchemaSource:
    required = [*properties]
    return load_schema({"title": "note", "type": "object", "properties": properties, "required": required})


SOURCE = schema(name=NAME, total=TOTAL)
LATER = schema(name=NAME, total=TOTAL, kind=KIND)
#: With `guess` a record that lacks a demanded value is written, so that there is something to look at.
QUICK = RunOptions(workers=1, effort="low", on_missing="guess")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that writes whole records."""
    return write_checkpoint(tmp_path_factory.mktemp("language"), window=2048, block=8)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.txt").write_text(f"name=N{number}\ntotal={number}\n{'MAYBE' * (number % 2)}")
    return folder


def source_of(folder: Path) -> LanguageSource:
    found = model_source(str(folder), "cpu")
    assert isinstance(found, LanguageSource)
    return found


def unsure() -> ReadingModel:
    """Returns a model that doubts the documents with MAYBE in them."""
    model = ReadingModel()
    model.doubted = "MAYBE"
    return model


def records(out: Path, where: str = "true") -> dict[str, Any]:
    rows = query(out, f"select path, record_json from records where {where}").rows
    return {Path(path).name: json.loads(text) for path, text in rows}


@pytest.mark.slow
def test_every_document_has_a_valid_record_or_a_reason_and_a_second_run_does_nothing(
    checkpoint: Path, docs: Path, tmp_path: Path
) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (docs / "long.txt").write_text("\n".join(f"line {number} of a long document" for number in range(120)))
    out = tmp_path / "out"
    first = extract([docs], SOURCE, out, source_of(checkpoint), QUICK)
    assert (first.inputs, first.written, first.quarantined) == (6, 5, 1) and first.steps > 0
    judge = compile_schema(SOURCE.schema).judge
    assert all(judge.accepts(record) for record in records(out).values())
    second = extract([docs], SOURCE, out, source_of(checkpoint), QUICK)
    assert (second.skipped, second.steps) == (6, 0)
    other = extract([docs], SOURCE, out, source_of(checkpoint), RunOptions(workers=1, effort="instant"))
    assert other.skipped < 6  # other options, another key
    assert other.written + other.quarantined + other.skipped == 6 and "missing" in other.reasons


def test_a_backfill_fills_a_new_column_of_rows_that_stay(checkpoint: Path, tmp_path: Path) -> None:
    def lines(**columns: Any) -> SchemaSource:
        item = {"type": "object", "properties": columns, "required": [*columns]}
        return schema(name=NAME, lines={"type": "array", "items": item})

    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    (docs / "rows.txt").write_text("name=N\n- what=figs\n- what=pears\n")
    (docs / "none.txt").write_text("name=M\n")
    extract([docs], lines(what=NAME), out, READING, QUICK)
    later = lines(what=NAME, kind=KIND)
    done = backfill(later, out, source_of(checkpoint), options=QUICK)
    assert done is not None and (done.written, done.quarantined) == (2, 0)
    found = records(out, f"schema_fingerprint = '{later.fingerprint}'")
    assert found["none.txt"] == {"name": "M", "lines": []}
    assert [row["what"] for row in found["rows.txt"]["lines"]] == ["figs", "pears"]
    assert all(row["kind"] in ("a", "b", None) for row in found["rows.txt"]["lines"])


def test_a_folder_with_thoughts_of_an_earlier_version_opens_and_goes_on(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows_of = tables.field_rows

    def with_thoughts(outcome: Outcome, key: tables.Key) -> pa.Table:
        rows = rows_of(outcome, key)
        own = rows.slice(0, 1).to_pylist()[0] | {"pointer": "", "field": "", "value_json": '"It says N."'}
        own |= {"origin": tables.THOUGHTS, "confidence": 1.0, "row_confidence": None}
        return pa.concat_tables([rows, pa.Table.from_pylist([own], tables.FIELDS)])

    out, reading = tmp_path / "out", READING
    monkeypatch.setattr(tables, "field_rows", with_thoughts)
    extract([docs], SOURCE, out, reading, QUICK)
    monkeypatch.undo()
    stored_thoughts = "select value, pointer from fields where origin = 'thoughts'"
    assert query(out, stored_thoughts).rows == [("It says N.", "")] * 4
    assert run(["show", "0.txt", "--out", str(out)]) == 0
    assert "It says N." in capsys.readouterr().out
    assert run(["correct", "0.txt", "--out", str(out), "--set", "/total=7"]) == 0
    assert records(out, "latest")["0.txt"] == {"name": "N0", "total": 7}
    done = backfill(LATER, out, reading, options=QUICK)
    assert done is not None and done.written == 4
    # A corrected record keeps the one that it was made from as JSON.
    own = Record.of("{}", (), (), {}, {})
    assert record_from(orjson.loads(orjson.dumps(asdict(own) | {"thoughts": "It says N."}))) == own
    later = f"schema_fingerprint = '{LATER.fingerprint}'"
    assert query(out, f"{stored_thoughts} and {later}").rows == []
    assert records(out, later)["0.txt"]["total"] == 7 and records(out, later)["1.txt"]["name"] == "N1"


def test_a_calibration_is_fitted_and_becomes_part_of_the_models_name(
    checkpoint: Path, docs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoint, folder)
    labelled = tmp_path / "set"
    shutil.copytree(docs, labelled / "docs")
    (labelled / "schema.json").write_text(json.dumps(SOURCE.schema))
    truths = [{"file": f"docs/{n}.txt", "truth": {"name": f"N{n}", "total": n}} for n in range(4)]
    (labelled / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in truths))
    before = source_of(folder)
    done = calibrate(find_sets(labelled), str(folder), "cpu", workers=1)
    assert len(done.leaves()[0]) == 8 and (folder / CALIBRATION).is_file()
    after = source_of(folder)
    assert after.fingerprint != before.fingerprint
    # No record of a model with random weights is right, and now it says so.
    extract([docs], SOURCE, tmp_path / "out", after, QUICK)
    told = query(tmp_path / "out", "select count(*) from fields where confidence >= 0.1 and value <> 'null'").rows
    assert told == [(0,)]
    assert not any(one.right for one in done.leaves()[0])


def test_a_calibrated_model_has_the_last_word_only_where_it_is_surer(
    checkpoint: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def values(out: Path, escalation: Escalation) -> dict[str, Any]:
        done = extract([docs], SOURCE, out, ModelSource("unsure", unsure), QUICK, escalation=escalation)
        assert done.quarantined == 0
        return records(out)

    for bias, followed in ((-5.0, False), (5.0, True)):
        folder = tmp_path / str(bias)
        shutil.copytree(checkpoint, folder)
        always = Scale(bias, {})
        fitted_for = checkpoint_fingerprint(folder)
        save_calibration(folder, Calibration(always, always, always, fitted_for, values_version=1))
        found = values(tmp_path / f"out{bias}", Escalation(source_of(folder), 0.8, prefer_confident=True))
        right = [found[f"{number}.txt"] == {"name": f"N{number}", "total": number} for number in range(4)]
        assert right == [True, not followed, True, not followed]

    # A document that is too long for the stronger model keeps the record that it has.
    monkeypatch.setattr("cinnabar.engine.language.engine.LanguageEngine.context_beside", _no_room)
    found = values(tmp_path / "out", Escalation(source_of(folder), 0.8, prefer_confident=True))
    assert all(found[f"{number}.txt"] == {"name": f"N{number}", "total": number} for number in range(4))


def test_a_calibrated_model_is_loaded_at_the_first_doubt(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traits = replace(TRAITS, visibility="causal", noise="none", block=1, shift=True, window=8192)
    upper = source_of(write_checkpoint(tmp_path / "causal", traits=traits, family="qwen3"))
    loads = list[str]()
    load = LanguageSource.load
    monkeypatch.setattr(LanguageSource, "load", lambda own: loads.append(own.folder) or load(own))
    one_by_one = QUICK.model_copy(update={"batch": 1})

    def shares(name: str, lower: LanguageSource | ModelSource, escalation: Escalation | None) -> list[float]:
        told = Told()
        extract([docs], SOURCE, tmp_path / name, lower, one_by_one, progress=told, escalation=escalation)
        return told.answered

    sure = Escalation(upper, 0.8, prefer_confident=True)
    assert not any(shares("none", READING, sure)) and loads == []
    some = shares("some", ModelSource("unsure", unsure), sure)
    assert any(some) and all(share < 1 for share in some) and len(loads) == 1
    monkeypatch.setattr(LanguageSource, "load", _gone)
    with pytest.raises(ModelError, match="its files are gone"):
        shares("gone", ModelSource("unsure", unsure), sure)


def _gone(*_: Any) -> None:
    raise ModelError("its files are gone")


def _no_room(*_: Any) -> int:
    raise UsageError("the task and the schema take all tokens")


def test_auto_is_the_reader_with_a_fetched_model_behind_it(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = min(RELEASED, key=lambda name: RELEASED[name].size)
    folder, always = tmp_path / name, Scale(0.0, {})
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path))
    shutil.copytree(checkpoint, folder)
    with pytest.raises(UsageError, match=f"expected a calibration of both models, {name} has none"):
        sources_of(RunPlan.of(escalate_to=name), "auto")
    _, asked = sources_of(RunPlan.of(escalate_to=name, below=0.3), "default")
    assert asked is not None and (asked.threshold, asked.prefer_confident) == (0.3, False)
    fitted_for = checkpoint_fingerprint(folder)
    save_calibration(folder, Calibration(always, always, always, fitted_for, values_version=1))
    source, escalation = sources_of(RunPlan.of(), "auto")
    assert isinstance(source, ModelSource) and escalation is not None and escalation.prefer_confident
    assert escalation.source.fingerprint == source_of(folder).fingerprint
    assert escalation.threshold == run_models.ESCALATE_BELOW
    assert run_models.largest_model() == name
    with monkeypatch.context() as without:
        without.setattr(Extra, "missing_packages", lambda _: ("gguf",))
        assert run_models.largest_model() is None, "a new folder then begins with the reader"
        with pytest.raises(UsageError, match="needs the package gguf"):
            sources_of(RunPlan.of(), "auto")
    # Of a model that the caller named no effort tells the rounds, calibrated or not.
    _, told = sources_of(RunPlan.of(escalate_to=name), "default")
    assert told is not None and told.prefer_confident
    for effort, rounds in [("instant", 0), ("low", 1), ("medium", 1), ("high", 2)]:
        assert (escalation.tier(effort).rounds, told.tier(effort).rounds) == (rounds, 1)
    _, other = sources_of(RunPlan.of(escalate_to=str(folder)), str(checkpoint))
    assert other is not None and not other.prefer_confident
    shutil.rmtree(folder)
    with pytest.raises(UsageError, match="expected a fetched language model that fits the free memory"):
        sources_of(RunPlan.of(), "auto")


def test_a_release_that_an_earlier_version_fetched_gets_the_calibration_of_this_one(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, fitted = min(RELEASED), Scale(0.0, {})
    folder, shipped = tmp_path / name, tmp_path / "shipped"
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path))
    monkeypatch.setattr("cinnabar.engine.models.language.released.SHIPPED", shipped)
    shutil.copytree(checkpoint, folder)
    own = shipped / re.sub(r"\W", "_", name)
    own.mkdir(parents=True)
    of_now = Calibration(fitted, fitted, fitted, checkpoint_fingerprint(folder), {"sets": ["a", "b"]}, values_version=1)
    save_calibration(own, of_now)
    save_calibration(folder, replace(of_now, model="of an earlier version"))
    model_source(name, "cpu")
    assert (folder / "calibration.json").read_text() == (own / "calibration.json").read_text()
    save_calibration(folder, mine := replace(of_now, values_version=2))
    model_source(name, "cpu")
    assert load_calibration(folder, of_now.model) == mine, "one that somebody fitted stays"
    save_calibration(folder, mine := replace(of_now, values_version=0, about={"sets": ["mine"]}))
    model_source(name, "cpu")
    assert load_calibration(folder, of_now.model) == mine, "also one of earlier rules, of which a notice tells"
    save_calibration(folder, replace(of_now, values_version=0, about={"sets": ["a"]}))
    model_source(name, "cpu")
    assert load_calibration(folder, of_now.model) == of_now, "ours of earlier rules is renewed"


def test_a_folder_of_neither_kind_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected `default` or a folder with model.json.*config.json and \*.safet"):
        model_source(str(tmp_path))


def test_a_wrong_name_is_told_with_the_models_there_are(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    shutil.copytree(checkpoint, tmp_path / "models" / "qwen2.5-coder-0.5b")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cinnabar.toml").write_text('[models."openai:mine"]\nbase_url = "https://models.example/v1"\n')
    told = (
        r"reader \(shipped\); auto, qwen2.5-coder-0.5b \(fetched\);"
        r" qwen2.5-coder-1.5b \(brought by `cinnabar model fetch`\); mercury-2, .*, openai:mine, openai:NAME"
    )
    with pytest.raises(UsageError, match=told):
        model_source("qwen2.5-coder-15b")
    with pytest.raises(UsageError, match=told):
        sources_of(RunPlan(escalate_to="qwen2.5-coder-15b"), "default")


def test_a_folder_of_the_name_default_does_not_stand_for_the_shipped_model(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(checkpoint, tmp_path / "default")
    monkeypatch.chdir(tmp_path)
    assert isinstance(model_source("default", "cpu"), ModelSource)
    assert isinstance(model_source("./default", "cpu"), LanguageSource)


def unreadable(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def of_no_family(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "mamba"}')


def without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def without_a_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def with_a_template_that_raises(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no') }}")


@pytest.mark.parametrize(
    "damage", [unreadable, of_no_family, without_weights, without_a_tokenizer, with_a_template_that_raises]
)
def test_a_bad_folder_is_one_line_before_any_document_is_read(
    checkpoint: Path, docs: Path, tmp_path: Path, damage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoint, folder)
    damage(folder)

    def read(*_: Any) -> Any:
        raise AssertionError("a document was read")

    monkeypatch.setattr("cinnabar.extraction.filling.batch_reader.BatchReader.read", read)
    with pytest.raises(CinnabarError) as problem:
        extract([docs], SOURCE, tmp_path / "out", model_source(str(folder), "cpu"), QUICK)
    assert "\n" not in str(problem.value) and str(tmp_path) in str(problem.value)


def test_what_does_not_go_together_is_refused(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(model: str, **options: Any) -> None:
        sources_of(RunPlan.of(**options), model)

    monkeypatch.setenv("INCEPTION_API_KEY", "key")
    check("default", escalate_to=str(checkpoint), below=0.5, steps=2)
    check(str(checkpoint), escalate_to="mercury-2", steps=2, budget="1")
    with pytest.raises(UsageError, match="expected mercury-2, openai:NAME, a fetched language model, or the folder"):
        check("default", escalate_to=str(tmp_path))
    with pytest.raises(UsageError, match="--budget: expected mercury-2 or openai:NAME with it"):
        check("default", escalate_to=str(checkpoint), budget="1")
    with pytest.raises(UsageError, match="no rules that can be switched off"):
        model_source(str(checkpoint), without=["label_prior"])


def test_a_worker_loads_the_same_folder_or_says_what_it_lacks(checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoint, folder)
    assignment = Assignment(SOURCE, source_of(folder), QUICK, Escalation(source_of(folder), 0.5))
    assert model_needs(assignment) == ("cpu", 2 * source_of(folder).memory) and source_of(folder).memory > 100_000
    sent = pickle.loads(packed_assignment(assignment, pickle))
    assert sent.fingerprint == assignment.fingerprint
    assert sent.job().engine.model.folder == folder
    (folder / "tokenizer_config.json").write_text((folder / "tokenizer_config.json").read_text() + " ")
    with pytest.raises(ModelError, match="its files are others than those that the run began with"):
        sent.model.load()
    shutil.rmtree(folder)
    with pytest.raises(ModelError, match="expected the folder of the language model on every machine"):
        sent.model.load()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_cluster_writes_the_records_of_one_machine(checkpoint: Path, docs: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    source = source_of(checkpoint)
    alone = extract([docs], SOURCE, tmp_path / "alone", source, QUICK)
    with join_cluster("local", Assignment(SOURCE, source), processors=1) as cluster:
        shared = extract([docs], SOURCE, tmp_path / "shared", source, QUICK, cluster=cluster)
    assert (shared.written, shared.quarantined) == (alone.written, alone.quarantined) == (4, 0)
    assert records(tmp_path / "shared") == records(tmp_path / "alone")


def with_free(monkeypatch: pytest.MonkeyPatch, folder: Path, tokens: int) -> None:
    """Lets the machine have room for the weights and a request of so many tokens."""
    traits = read_family(folder)[1]
    weights = weight_bytes(read_contents(folder, traits), "float32")
    beside = 2 * max(tokens * memory.position_bytes(traits, "float32"), memory.pass_bytes(traits, "float32", tokens))
    monkeypatch.setattr(model_sources, "free_memory", lambda _: weights + beside)


def test_a_machine_without_room_for_the_window_is_told_before_any_document(
    checkpoint: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, seen = source_of(checkpoint), Told()
    with_free(monkeypatch, checkpoint, 1024)
    done = extract([docs], SOURCE, tmp_path / "out", source, QUICK, seen)
    assert (done.written, len(seen.notes)) == (4, 1)
    assert re.search(r"more than about 7\d\d tokens goes .* window is 2,048; context = 7\d\d cuts it", seen.notes[0])
    with monkeypatch.context() as patched:
        patched.setattr(LanguageSource, "load", lambda _: pytest.fail("the model was loaded"))
        with pytest.raises(UsageError, match=r"context 1000: expected at most 7\d\d; .* each token \d+ bytes more"):
            extract([docs], SOURCE, tmp_path / "asked", source, QUICK.model_copy(update={"context": 1000}))
        with_free(patched, checkpoint, 40)
        with pytest.raises(UsageError, match=r"free on cpu, too little for any document; take a smaller model"):
            extract([docs], SOURCE, tmp_path / "none", source, QUICK)
    # Passages that fit are no reason for a note, nor is a machine with room for the window.
    fitting = QUICK.model_copy(update={"context": 700})
    extract([docs], SOURCE, tmp_path / "fits", source, fitting, seen)
    with_free(monkeypatch, checkpoint, 2048)
    extract([docs], SOURCE, tmp_path / "all", source, QUICK, seen)
    assert len(seen.notes) == 1


def test_a_document_beyond_the_window_of_a_language_model_is_cut_into_passages(checkpoint: Path) -> None:
    engine = source_of(checkpoint).filler("instant", None)
    text = "\n".join(f"line {number} of a long document" for number in range(400))
    document = parse(text.encode(), "long.txt")
    form = compile_schema(SOURCE.schema).form
    room, whole = engine.context_beside(form), engine.count_tokens(text)
    assert whole > engine.model.traits.window > room
    found = chunks_for(document, engine, form=form)
    assert len(found) > whole // room
    assert (found[0].start, found[-1].end) == (0, len(text))
    for one, after in pairwise(found):
        assert one.start < after.start < one.end < after.end
    requests = [Request(str(at), form, passage_of(document, one.start, one.end)) for at, one in enumerate(found)]
    for one, plan in zip(found, RequestPreparer(engine.model).prepare(requests), strict=True):
        assert engine.count_tokens(text[one.start : one.end]) <= room
        assert isinstance(plan, PreparedRequest) and plan.task is not None
        assert len(plan.task.prompt) + plan.task.budget <= engine.model.traits.window
    # The scaled window is the one that counts.
    shorter = dict(json.loads((checkpoint / "config.json").read_text()))
    scaling = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 2048}
    longer = checkpoint.with_name("longer")
    shutil.copytree(checkpoint, longer)
    (longer / "config.json").write_text(json.dumps(shorter | {"rope_scaling": scaling}))
    stretched = source_of(longer).filler("instant", None)
    assert stretched.context_tokens == 8 * engine.context_tokens
    assert [*chunks_for(document, stretched, form=form)] == [Chunk(0, len(text))]
