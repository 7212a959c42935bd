"""`--examples`: a labelled set in the prompts of a run, its errors before any document is read, and a record's key."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator
from tests.support import mercury_server as mercury
from tests.support.begun_runs import backfill
from tests.support.reading_model import READING
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.remote.serving import RemoteSettings
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.model_sources import LanguageSource, model_source
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.batch import prompt_examples as module
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batch.prompt_examples import PromptExamples, prompt_examples
from cinnabar.extraction.run.cluster.workers import packed_assignment
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import SchemaSource, compile_schema, load_schema

NAME = {"type": "string", "maxLength": 6}
TOTAL = {"type": ["integer", "null"], "minimum": 0, "maximum": 99}


def schema(title: str = "note", **properties: Any) -> SchemaSource:
    return load_schema({"title": title, "type": "object", "properties": properties, "required": [*properties]})


SOURCE = schema(name=NAME, total=TOTAL)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("language"), window=4096, block=8)


def labelled(folder: Path, source: SchemaSource = SOURCE, **changed: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text(json.dumps(source.schema))
    lines = []
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"name=M{number}\ntotal={number}")
        lines.append({"file": f"{number}.txt", "truth": {"name": f"M{number}", "total": number}})
    lines[1]["truth"] |= changed
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"name=N{number}\ntotal={number}")
    return folder


def source_of(folder: Path) -> LanguageSource:
    found = model_source(str(folder), "cpu")
    assert isinstance(found, LanguageSource)
    return found


def quick(examples: Path | None) -> RunOptions:
    said = None if examples is None else str(examples)
    return RunOptions(workers=1, effort="instant", on_missing="guess", on_empty="write", examples=said)


def found(options: RunOptions, model: LanguageSource, *sources: SchemaSource) -> PromptExamples:
    examples = prompt_examples(options, sources or [SOURCE], [model])
    assert examples is not None
    return examples


def test_a_run_shows_its_model_the_set_and_its_records_have_another_key(
    checkpoint: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []
    fill = LanguageEngine.fill

    def watched(engine: LanguageEngine, requests: Any, watcher: Any = None) -> Any:
        for plan in engine._preparer.prepare(requests):
            prompts.append(engine.model.tokenizer.decode(plan.task.prompt).decode())  # type: ignore[union-attr]
        return fill(engine, requests, watcher)

    monkeypatch.setattr(LanguageEngine, "fill", watched)
    own, out = labelled(tmp_path / "set"), tmp_path / "out"
    first = extract([docs], SOURCE, out, source_of(checkpoint), quick(own))
    assert first.written == 3 and all('{"name": "M1", "total": 1}' in prompt for prompt in prompts)
    judge = compile_schema(SOURCE.schema).judge
    assert all(judge.accepts(json.loads(text)) for (text,) in query(out, "select record_json from records").rows)
    assert extract([docs], SOURCE, out, source_of(checkpoint), quick(own)).skipped == 3
    # The folder's name does not count, its content does.
    moved = shutil.move(own, tmp_path / "moved")
    assert extract([docs], SOURCE, out, source_of(checkpoint), quick(moved)).skipped == 3
    assert extract([docs], SOURCE, out, source_of(checkpoint), quick(None)).written == 3
    (moved / "1.txt").write_text("name=M1\ntotal=01")
    assert extract([docs], SOURCE, out, source_of(checkpoint), quick(moved)).written == 3


@pytest.mark.parametrize("alone", [True, False])
def test_engines_elsewhere_get_the_same_examples(checkpoint: Path, tmp_path: Path, alone: bool) -> None:
    own = labelled(tmp_path / "set")
    source = source_of(checkpoint)
    escalation = None if alone else Escalation(source, 0.5)
    assignment = Assignment(SOURCE, source, quick(own), escalation, None, found(quick(own), source))
    sent = pickle.loads(packed_assignment(assignment, pickle))
    shutil.rmtree(own)  # another machine has no such folder
    assert sent.shared_name == assignment.shared_name != Assignment(SOURCE, source, quick(None), escalation).shared_name
    job = sent.job()
    assert assignment.examples is not None and job.engine.examples == assignment.examples.examples
    assert alone or job.tier.filler.examples is not None


def test_a_backfill_shows_the_new_places_of_the_examples(checkpoint: Path, docs: Path, tmp_path: Path) -> None:
    out, later = tmp_path / "out", schema(name=NAME, total=TOTAL, kind={"enum": ["a", "b", None]})
    extract([docs], SOURCE, out, READING, quick(None))
    own = labelled(tmp_path / "set", later)
    with pytest.raises(UsageError, match=r"the record of 0\.txt breaks the schema note"):
        backfill(later, out, source_of(checkpoint), options=quick(own))
    lines = [json.loads(line) for line in (own / "truth.jsonl").read_text().splitlines()]
    whole = [line | {"truth": line["truth"] | {"kind": "b"}} for line in lines]
    (own / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in whole))
    done = backfill(later, out, source_of(checkpoint), options=quick(own))
    assert done is not None and done.written == 3


def unread(*_: Any) -> Any:
    raise AssertionError("a document was read")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"total": "many"}, r"the record of 1.txt breaks the schema note at /total: .*; correct it in .*truth.jsonl"),
        ({"name": None}, r"the record of 1.txt breaks the schema note at /name: "),
        ({"other": 1}, r"the record of 1.txt breaks the schema note at /(other)?: "),
    ],
)
def test_a_record_that_breaks_the_schema_is_told_before_any_document_is_read(
    checkpoint: Path, docs: Path, tmp_path: Path, changed: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = load_schema({**SOURCE.schema, "additionalProperties": False})  # type: ignore[dict-item]
    own = labelled(tmp_path / "set", strict, **changed)
    monkeypatch.setattr("cinnabar.extraction.documents.ingest.sandbox.ParserPool.parse_many", unread)
    with pytest.raises(UsageError, match=said):
        extract([docs], strict, tmp_path / "out", source_of(checkpoint), quick(own))


class Note(BaseModel):
    """A class with a rule that its JSON Schema does not tell."""

    name: str
    total: int | None

    @field_validator("name")
    @classmethod
    def of_whom(cls, name: str) -> str:
        if name == "M1":
            raise ValueError("nobody of this name")
        return name


def test_a_record_that_breaks_a_rule_of_the_class_is_told(checkpoint: Path, tmp_path: Path) -> None:
    own = labelled(tmp_path / "set", load_schema(Note))
    with pytest.raises(UsageError, match=r"record of 1\.txt breaks the schema Note at /name: .*nobody of this name"):
        found(quick(own), source_of(checkpoint), load_schema(Note))


def test_what_cannot_be_shown_is_one_line(checkpoint: Path, docs: Path, tmp_path: Path) -> None:
    own = labelled(tmp_path / "set")
    with pytest.raises(UsageError, match="reader has no prompt, so train it on the set: cinnabar improve --set SET"):
        extract([docs], SOURCE, tmp_path / "out", READING, quick(own))
    with pytest.raises(UsageError, match=r"expected a folder with truth\.jsonl and schema\.json"):
        extract([docs], SOURCE, tmp_path / "out", source_of(checkpoint), quick(docs))
    for path in own.glob("*.txt"):
        path.write_text(" \n")
    with pytest.raises(UsageError, match=r"--examples .*: expected documents with text, found none"):
        extract([docs], SOURCE, tmp_path / "out", source_of(checkpoint), quick(own))
    (own / "truth.jsonl").write_text("")
    with pytest.raises(UsageError, match="expected a set of note, found no labelled document"):
        extract([docs], SOURCE, tmp_path / "out", source_of(checkpoint), quick(own))


def test_each_schema_of_several_has_the_set_of_its_name(checkpoint: Path, tmp_path: Path) -> None:
    other = schema("letter", name=NAME, total=TOTAL)
    labelled(tmp_path / "sets" / "a")
    labelled(tmp_path / "sets" / "b", other)
    source = source_of(checkpoint)
    both = found(quick(tmp_path / "sets"), source, SOURCE, other)
    assert len(both.examples.by_form) == 2
    assert both.fingerprint != found(quick(tmp_path / "sets"), source).fingerprint
    (form,) = found(quick(tmp_path / "sets" / "b"), source, SOURCE, other).examples.by_form
    assert form == compile_schema(other.schema).form.fingerprint
    with pytest.raises(UsageError, match="expected a set of bill, found a, b"):
        found(quick(tmp_path / "sets"), source, schema("bill", name=NAME))


def test_a_server_is_shown_the_set_with_answers_in_its_own_form(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    own = labelled(tmp_path / "set")
    with mercury.running(mercury.Server()) as server:
        source = model_source("mercury-2", settings=RemoteSettings(base_url=server.url))
        first = extract([docs], SOURCE, tmp_path / "out", source, quick(own))
        assert extract([docs], SOURCE, tmp_path / "out", source, quick(own)).skipped == 3
        assert extract([docs], SOURCE, tmp_path / "out", source, quick(None)).written == 3
    assert first.written == 3
    names = query(tmp_path / "out", "select name from note order by name").rows
    assert [name for (name,) in names] == ["N0", "N1", "N2"]
    read_examples = [body for body in server.bodies if len(body["messages"]) == 8]
    assert len(read_examples) == 3 == len(server.bodies) - 3
    for body in read_examples:
        answers = {message["content"] for message in body["messages"] if message["role"] == "assistant"}
        assert answers == {f'{{"name":"M{number}","total":{number}}}' for number in range(3)}


def test_of_a_large_set_a_draw_is_read(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAWN", 2)
    own = labelled(tmp_path / "set")
    (some,) = found(quick(own), source_of(checkpoint)).examples.by_form.values()
    assert len(some) == 2


def test_examples_are_parsed_when_a_document_needs_them(checkpoint: Path, tmp_path: Path) -> None:
    own = labelled(tmp_path / "set")
    examples = found(quick(own), source_of(checkpoint))
    assert "examples" not in vars(examples) and examples.examples is examples.examples
