"""The precision of the reader: a setting, a part of a record's key, and every value of it works."""

from __future__ import annotations

from typing import get_args

import pytest
from tests.support.tiny_network import BILL, bill, passage_of, tiny_network, wordpieces

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.identity import fingerprint_of
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.request import Filled, Request
from cinnabar.engine.settings import (
    Precision,
    in_precision,
    precision_asked,
    reading_precision,
)
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.model_sources import ModelByName, ModelSource, model_source
from cinnabar.schemas import compile_schema


def test_the_reader_has_int8_unless_another_precision_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CINNABAR_PRECISION", raising=False)
    assert (precision_asked(), reading_precision()) == (None, "int8")
    monkeypatch.setenv("CINNABAR_PRECISION", "bfloat16")
    assert reading_precision() == "bfloat16"
    assert len({in_precision("m", one) for one in ("int8", "float32", "bfloat16")}) == 2


def test_an_unknown_precision_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_PRECISION", "w4a16")
    with pytest.raises(UsageError, match="CINNABAR_PRECISION=w4a16: expected one of int8, float32, bfloat16"):
        model_source("default", "cpu")


def test_a_run_fixes_the_precision_for_all_of_its_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_PRECISION", "bfloat16")
    low = model_source("default", "cpu")
    monkeypatch.setenv("CINNABAR_PRECISION", "float32")
    high = model_source("default", "cpu")
    assert isinstance(low, ModelSource) and isinstance(low.load, ModelByName)
    assert low.load.precision == "bfloat16"
    assert high.fingerprint == fingerprint_of("default") != low.fingerprint
    assert low.fingerprint == in_precision(high.fingerprint, "bfloat16")


@pytest.mark.parametrize("precision", ["int8", "float32", "bfloat16"])
def test_a_loaded_model_has_the_precision_that_is_set_and_the_fingerprint_of_its_source(
    monkeypatch: pytest.MonkeyPatch, precision: Precision
) -> None:
    monkeypatch.setenv("CINNABAR_PRECISION", precision)
    source = model_source("default", "cpu")
    assert isinstance(source, ModelSource)
    for model in (source.load(), load_model("default", "cpu")):
        assert isinstance(model, ExtractiveReader) and model.precision == precision
        assert model.fingerprint == source.fingerprint


@pytest.mark.parametrize("precision", ["int8", "float32", "bfloat16"])
def test_the_model_reads_in_either_precision(precision: Precision) -> None:
    model = ExtractiveReader(tiny_network(), wordpieces(), "tiny", precision=precision)
    form = compile_schema(BILL).form
    (filled,) = Engine(model, "low").fill([Request("a", form, passage_of(bill(1)[0]))])
    assert form.judge is None or filled.record  # type: ignore[union-attr]
    assert model.fingerprint == in_precision("tiny", precision)
    assert (model.fingerprint == "tiny") == (precision != "bfloat16")


def test_int8_and_float32_give_the_same_record_and_nearly_the_same_confidence() -> None:
    form = compile_schema(BILL).form
    requests = [Request("a", form, passage_of(bill(1)[0]))]
    int8, float32 = (
        Engine(ExtractiveReader(tiny_network(), wordpieces(), "tiny", precision=precision), "low").fill(requests)[0]
        for precision in get_args(Precision)[:2]
    )
    assert isinstance(int8, Filled) and isinstance(float32, Filled)
    assert int8.record == float32.record
    for path, leaf in float32.leaves.items():
        assert int8.leaves[path].confidence == pytest.approx(leaf.confidence, abs=0.01)
