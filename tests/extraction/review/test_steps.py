"""A stored document is filled again: every state is valid, the last one is what was stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.effort import first
from tests.support.reading_model import READING
from tests.support.second_judge import independent
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.apps.cli.main import run
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.filling.model_sources import ModelSource, model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.review import steps
from cinnabar.extraction.review.steps import WatchedStep, watch
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import SchemaSource, load_schema

SAMPLES = Path(__file__).resolve().parents[3] / "data" / "samples"
NOTE = load_schema(
    {
        "title": "note",
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 40}, "total": {"type": ["integer", "null"]}},
        "required": ["name", "total"],
    }
)
OPTIONS = RunOptions(workers=1, on_missing="guess")


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> ModelSource:
    """A model without weights, which stands for the one that ships."""
    monkeypatch.setattr(steps, "model_source", lambda *_: READING)
    return READING


def stored(tmp_path: Path, text: str, model: Any, options: RunOptions = OPTIONS, source: SchemaSource = NOTE) -> Path:
    (tmp_path / "a.txt").write_text(text)
    out = tmp_path / "out"
    extract([tmp_path / "a.txt"], source, out, model, options)
    return out


def steps_of(out: Path, document: str, schema: str | None = None, model: str | None = None) -> list[WatchedStep]:
    found: list[WatchedStep] = []
    watch(out, document, schema, found.append, model=model)
    return found


def check(found: list[WatchedStep], schema: Any) -> None:
    """Each state is valid to another validator, and nothing is committed twice without a doubt."""
    judge = independent(schema)
    assert judge is not None and found
    committed: set[str] = set()
    for step in found:
        assert judge(step.record), step.record
        assert all(0 <= sure <= 1 for sure in step.confidence.values())
        committed = set() if step.step == 0 else committed - {*step.doubted}
        assert not committed & {*step.committed}
        committed |= {*step.committed}


def files() -> Iterator[tuple[str, Path]]:
    for kind in ("invoice", "event", "insurance_mail", "receipt", "contract"):
        docs = sorted(one for one in (SAMPLES / kind / "docs").iterdir() if one.is_file())
        yield from ((kind, one) for one in docs[1:3])


@pytest.mark.slow
@pytest.mark.parametrize("sample", first(2, files()), ids=lambda sample: sample[1].name)
def test_each_state_of_a_sample_is_valid_and_the_last_is_its_record(sample: tuple[str, Path], tmp_path: Path) -> None:
    (kind, file), out = sample, tmp_path / "out"
    schema = str(SAMPLES / kind / "schema.json") if (SAMPLES / kind / "schema.json").is_file() else kind
    source = load_schema(schema)
    summary = extract([file], source, out, model_source("default", "cpu"), OPTIONS)
    if not summary.written:
        with pytest.raises(UsageError):
            steps_of(out, file.name)
        return
    before = sorted(path for path in out.rglob("*") if path.is_file())
    found = steps_of(out, file.name)
    check(found, source.schema)
    ((record,),) = query(out, "select record_json from records").rows
    assert found[-1].final and found[-1].record == record and not any(step.final for step in found[:-1])
    sure = dict(query(out, "select pointer, confidence from fields where origin <> 'list'").rows)
    assert found[-1].confidence == pytest.approx(sure)
    assert sorted(path for path in out.rglob("*") if path.is_file()) == before


def test_a_long_document_shows_its_passages_one_after_another(tmp_path: Path, reading: ModelSource) -> None:
    lines = "\n".join(f"line {number} of many" for number in range(300))
    out = stored(tmp_path, f"name=first\n{lines}\ntotal=7", reading, OPTIONS.model_copy(update={"context": 256}))
    found = steps_of(out, "a.txt")
    passages = [step.passage for step in found]
    assert passages == sorted(passages) and passages[-1] > 2
    check(found, NOTE.schema)
    assert json.loads(found[-1].record) == {"name": "first", "total": 7}


def test_steps_of_a_language_model_are_valid(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", window=2048, block=8)
    source = load_schema(
        {
            "title": "note",
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 6}, "kind": {"enum": ["a", "b", None]}},
            "required": ["name", "kind"],
        }
    )
    out = stored(tmp_path, "name=N1", model_source(str(folder), "cpu"), OPTIONS, source)
    found = steps_of(out, "a.txt")
    check(found, source.schema)
    # What the last step commits is told by the record itself.
    told = {pointer for step in found for pointer in step.committed}
    assert told and told <= {"/name", "/kind"}
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="--model"):
        steps_of(out, "a.txt")
    check(steps_of(out, "a.txt", model=str(tmp_path / "elsewhere")), source.schema)


def test_a_file_that_is_gone_or_changed_is_told(tmp_path: Path, reading: ModelSource) -> None:
    out = stored(tmp_path, "name=first\ntotal=7", reading)
    (tmp_path / "a.txt").write_text("name=second")
    with pytest.raises(UsageError, match="other bytes"):
        steps_of(out, "a.txt")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(UsageError, match="the file is gone"):
        steps_of(out, "a.txt")
    with pytest.raises(UsageError, match="no outcome under the schema other; the folder has note"):
        steps_of(out, "a.txt", "other")


def test_a_document_that_no_model_can_read_is_told(tmp_path: Path, reading: ModelSource) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    extract([tmp_path / "broken.pdf"], NOTE, tmp_path / "out", reading, OPTIONS)
    with pytest.raises(UsageError, match="cannot be read"):
        steps_of(tmp_path / "out", "broken.pdf")


def test_the_command_prints_a_block_a_step(
    tmp_path: Path, reading: ModelSource, capsys: pytest.CaptureFixture[str]
) -> None:
    out = stored(tmp_path, "name=fi\x1b[31mrst\ntotal=7", reading)
    assert run(["show", "a.txt", "--out", str(out), "--steps"]) == 0
    said = capsys.readouterr().out
    assert "Step 0" in said and "Step 1: 2 committed" in said and "+ 1.00  total: 7" in said
    assert "total" not in said.partition("Step 1")[0], "a block has what its step changed"
    assert "\x1b" not in said
    assert run(["show", "a.txt", "--out", str(out), "--steps", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["step"] for line in lines] == [*range(len(lines))] and lines[-1]["final"]
    assert set(lines[1]) == {"step", "record", "committed", "doubted", "confidence", "passage", "final"}
    assert run(["show", "a.txt", "--out", str(out), "--schema", "note"]) == 2


def test_a_corrected_document_shows_the_steps_of_its_model(tmp_path: Path, reading: ModelSource) -> None:
    out = stored(tmp_path, "name=first\ntotal=7", reading)
    ((digest,),) = query(out, "select document from records").rows
    Corrector(out).correct(digest, "note", [Change(Action.VALUE, "/total", "8")], "ann")
    found = steps_of(out, "a.txt")
    check(found, NOTE.schema)
    assert json.loads(found[-1].record) == {"name": "first", "total": 7}
