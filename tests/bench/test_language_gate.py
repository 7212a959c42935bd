"""The gate: branches and whole records of a tiny model answer in one prompt, go on where they ended, are compared."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench import language_gate
from bench.language_gate import better, cells_of, main
from bench.recording import Row
from tests.support.tiny_checkpoint import TRAITS, write_checkpoint

from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.models.language.language_model import ChatTemplate, load_language_model
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.schemas import compile_schema

CAUSAL = replace(TRAITS, visibility="causal", noise="none", block=1, shift=True, window=8192)
NAME = language_gate.GROUPS["left out"][0]
TEXTS = ["Total: 12.50 of Anna", "Total: 3.00 of Ben"]
SCHEMA = {
    "title": "bill",
    "type": "object",
    "properties": {
        "author": {"type": ["string", "null"], "maxLength": 8},
        "total": {"type": ["number", "null"]},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": 2},
    },
    "required": ["author", "total", "names"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gate")
    write_checkpoint(root / "model", traits=CAUSAL, family="qwen3")
    folder = root / "sets" / NAME
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    truths = [{"author": "Anna", "total": 12.5, "names": []}, {"author": None, "total": 3, "names": ["Ben"]}]
    for at, text in enumerate(TEXTS):
        (folder / f"{at}.txt").write_text(text)
    lines = (json.dumps({"file": f"{at}.txt", "truth": truth}) for at, truth in enumerate(truths))
    (folder / "truth.jsonl").write_text("\n".join(lines))
    return root


def answers(data: Path, file: Path, way: str, limit: int = 2) -> list[dict[str, Any]]:
    told = {"sets": data / "sets", "model": str(data / "model"), "adapter": False, "way": way, "limit": limit}
    language_gate.ask(argparse.Namespace(answers=file, **told))
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_answers_are_kept_with_their_shares_and_not_asked_for_again(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    first = answers(data, file, "branches", limit=1)
    assert [one["file"] for one in first] == ["0.txt"] and first[0]["record"].keys() == SCHEMA["properties"].keys()
    noted = {path: null for path, _, null, *_ in first[0]["notes"]}
    assert {"/author", "/total"} <= noted.keys() and all(0 <= null <= 1 for null in noted.values())
    both = answers(data, file, "branches")
    assert both[0] == first[0] and [one["file"] for one in both] == ["0.txt", "1.txt"]
    assert answers(data, file, "branches") == both


def test_notes_change_no_record_and_spell_it(data: Path) -> None:
    model = load_language_model(data / "model", "cpu", fields=False)
    requests = [Request("a", compile_schema(SCHEMA).form, text_passage(text)) for text in TEXTS]
    noted = language_gate.Records(model, denoiser=language_gate.NotedDenoiser(model))
    for request, plain in zip(requests, DiffusionEngine(model).fill(requests), strict=True):
        language_gate.NOTES.clear()
        assert noted.fill([request]) == [plain] and isinstance(plain, Filled)
        assert json.loads("".join(text for text, *_ in language_gate.NOTES)).keys() == json.loads(plain.record).keys()
        shares = [shares for _, *shares in language_gate.NOTES if shares]
        assert shares and all(0 < share <= 1 and 0 <= null <= 1 for share, null in shares)


def test_branches_and_records_have_one_prompt(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: dict[str, list[str]] = {"branches": [], "records": []}
    render = ChatTemplate.render
    for way, seen in asked_for.items():
        monkeypatch.setattr(
            ChatTemplate, "render", lambda chat, said, seen=seen: seen.append(repr(said)) or render(chat, said)
        )
        answers(data, tmp_path / way, way, limit=1)
    prompts = [{one for one in seen if TEXTS[0] in one} for seen in asked_for.values()]
    assert prompts[0] == prompts[1] and len(prompts[0]) == 1


def test_the_better_of_both_is_taken_field_by_field() -> None:
    line = {"file": "0.txt", "truth": {"a": "x", "b": None, "c": 2, "items": ["p", "q"]}, "also_accepted": {"c": [3]}}
    fields = {"record": {"a": "x", "b": "made up", "c": 1, "items": ["p"]}, "line": line, "set": NAME, "file": "0.txt"}
    whole = fields | {"record": {"a": "y", "b": None, "c": 3, "items": ["p", "r"]}}
    best = better({"branches": fields, "records": whole})
    assert best["record"] == {"a": "x", "b": None, "c": 3, "items": ["p"]}
    cells = cells_of([{"branches": fields, "records": whole, "better": best}])
    assert cells[1:] == ["0.500; 0.500; 0.857", "+0.000; +0.357", "1.000; 0.000; 0.000", "0: 0.00", "2; 1; 0"]


def test_the_report_has_a_row_of_all_sets_of_a_group_and_of_each(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / way for way in ("branches", "records")]
    for file in files:
        answers(data, file, file.name)
    kept: list[Sequence[Row]] = []
    monkeypatch.setattr(language_gate, "record", lambda *told, **_: kept.append(told[3]))
    monkeypatch.setattr("sys.argv", ["language_gate", "--report", *map(str, files), "--record"])
    main()
    rows = [line.split(" | ")[1:3] for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [[group, "2"] for group in ("all", "left out", NAME)]
    assert [row.what for row in kept[0]] == [f"model: {what}" for what in language_gate.HEAD]
