"""The report on a device runs in a tiny shape."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from bench.engine import device
from bench.engine.device_shapes import SHAPES
from bench.engine.large_tokenizer import Spelled
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.schemas import compile_schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"), block=8, window=4096)


@pytest.mark.slow
def test_a_row_of_a_device_has_the_time_of_a_pass_and_the_constraints_share(folder: Path) -> None:
    known = load_language_model(folder, "cpu", "float32").tokenizer
    name = {"type": "string", "pattern": "^[a-z]{40}$"}
    schema = {"type": "object", "properties": {"name": name}, "required": ["name"]}
    tokenizer: Any = Spelled(known.vocabulary, None)  # type: ignore[arg-type]
    graph = cached_graph(compile_schema(schema).form, known)
    for rows in (1, 3):
        (row,) = device.pass_rows("tiny", SHAPES["tiny"], tokenizer, graph, torch.device("cpu"), rows)
        assert (row[:2], row[5], len(row)) == (["tiny", str(rows)], "launched", len(device.HEAD))
        milliseconds, rate = float(row[2]), float(row[3].replace(",", ""))
        assert math.isclose(rate * milliseconds / 1000, 4 * rows, rel_tol=0.05)
        assert 0 < float(row[4].rstrip("%")) < 100


def test_a_row_that_fails_stops_no_other_and_is_measured_again_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, calls = tmp_path / "out" / "device.json", list[str]()

    def good() -> list[list[str]]:
        calls.append("good")
        return [["good", "1"], ["good", "2"]]

    def bad() -> list[list[str]]:
        calls.append("bad")
        raise ValueError("no memory")

    assert device.measured({"bad": bad, "good": good}, place, "a") == 1
    assert [line.split("|")[1:3] for line in capsys.readouterr().out.splitlines()] == [
        [" bad ", " failed: ValueError: no memory "], [" good ", " 1 "], [" good ", " 2 "],
    ]  # fmt: skip
    assert device.measured({"bad": bad, "good": good}, place, "a") == 1 and calls == ["bad", "good", "bad"]
    # Another commit, or another device, has nothing yet.
    assert device.measured({"good": good}, place, "b") == 0 and calls[-1] == "good" and len(calls) == 4


def test_without_a_gpu_the_report_says_that_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device.main([]) == 1
    assert capsys.readouterr().err == "no CUDA device: not measured\n"

