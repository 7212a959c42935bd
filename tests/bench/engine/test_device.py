"""The report on a device runs in a tiny shape, and the report on batches compares their records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from bench.engine import batches, device
from bench.engine.constraint_cost import Spelled
from bench.engine.device_shapes import SHAPES
from bench.engine.figures import Settings
from bench.engine.time_model import rows_of
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.diffusion.graph_cache import cached_graph
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.schemas import compile_schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"), block=8, window=4096)


@pytest.mark.slow
def test_a_row_of_a_device_has_the_time_of_a_pass_beside_its_roofline(folder: Path) -> None:
    known = load_language_model(folder, "cpu", "float32").tokenizer
    name = {"type": "string", "pattern": "^[a-z]{40}$"}
    schema = {"type": "object", "properties": {"name": name}, "required": ["name"]}
    tokenizer: Any = Spelled(known.vocabulary, None)  # type: ignore[arg-type]
    graph = cached_graph(compile_schema(schema).form, known)
    for rows in (1, 3):
        (row,) = device.pass_rows("tiny", SHAPES["tiny"], tokenizer, graph, torch.device("cpu"), rows)
        assert (row[:2], row[6], len(row)) == (["tiny", str(rows)], "launched", len(device.HEAD))
        milliseconds, rate = float(row[2]), float(row[4].replace(",", ""))
        assert math.isclose(rate * milliseconds / 1000, 4 * rows, rel_tol=0.05) and 0 <= float(row[3]) < milliseconds
        assert 0 < float(row[5].rstrip("%")) < 100


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


def test_the_model_of_time_says_what_a_pass_waits_for() -> None:
    lines = {(int(row[0]), int(row[1]), row[2]): [float(cell) for cell in row[3:9]] for row in rows_of("sdar-4b")}
    for bytes_, operations, launches, scan, host, whole in lines.values():
        assert math.isclose(max(bytes_, operations) + launches + scan + host, whole, abs_tol=0.03)
    # One row waits for the weights, 128 rows of long blocks for arithmetic; fewer launches never cost time.
    assert lines[1, 32, "11"][0] > lines[1, 32, "11"][1] and lines[128, 32, "11"][0] < lines[128, 32, "11"][1]
    assert all(lines[rows, block, "11"][5] < lines[rows, block, "57"][5] for rows, block, _ in lines)
    # In two parts the device does not wait for the host.
    assert lines[128, 32, "11, two parts"][4] == 0 and lines[128, 32, "11, two parts"][5] < lines[128, 32, "11"][5]


def test_without_a_gpu_the_report_says_that_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device.main([]) == 1
    assert capsys.readouterr().err == "no CUDA device: not measured\n"


def test_batches_of_all_sizes_give_the_same_records(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "TOGETHER", (1, 3))
    monkeypatch.setattr(batches, "DOCUMENTS", 3)
    figures = list(batches.measure(Settings(folder, Path())))
    assert [figure.kept for figure in figures] == [True, True]
    assert all("3 of 3" in figure.got and "found in the cache" in figure.got for figure in figures)
