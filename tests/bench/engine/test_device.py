"""The report on a device runs in a tiny shape, and the report on batches compares their records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from bench.engine import batches, device
from bench.engine.constraint_cost import Spelled
from bench.engine.figures import Settings
from tiny_checkpoint import write_checkpoint

from cinnabar.engine.diffusion.kept_graphs import kept_graph
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.schemas import compile_schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"), block=8, window=4096)


@pytest.mark.slow
def test_the_table_of_a_device_has_a_line_for_each_number_of_rows(folder: Path) -> None:
    known = load_language_model(folder, "cpu", "float32").tokenizer
    name = {"type": "string", "pattern": "^[a-z]{40}$"}
    schema = {"type": "object", "properties": {"name": name}, "required": ["name"]}
    tokenizer: Any = Spelled(known.vocabulary, None)  # type: ignore[arg-type]
    graph = kept_graph(compile_schema(schema).form, known)
    cpu = torch.device("cpu")
    lines = device.rows_of(device.SHAPES["tiny"], tokenizer, graph, cpu, (1, 3))
    assert [line[0] for line in lines] == ["1", "3"] and {line[5] for line in lines} == {"launched"}
    for rows, line in zip((1, 3), lines, strict=True):
        positions, tokens = (float(line[at].replace(",", "")) for at in (2, 3))
        assert math.isclose(positions / tokens, 32 / 4, rel_tol=0.02) and tokens > rows
        assert 0 < float(line[4].rstrip("%")) < 100


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
