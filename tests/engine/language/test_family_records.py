"""A checkpoint of each family fills forms with valid records, and its folder is known to `model check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.effort import first
from tests.support.family_traits import FAMILY_TRAITS
from tests.support.remote_forms import form_of, request
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.models.language.families import FAMILIES
from cinnabar.engine.models.language.inspection import inspect_checkpoint
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.request import Filled, Request

FORM = form_of(
    {
        "type": "object",
        "properties": {
            "number": {"type": "string", "maxLength": 8},
            "day": {"type": ["string", "null"], "format": "date"},
            "kind": {"enum": ["a", "b"]},
        },
        "required": ["number", "day"],
    }
)


@pytest.fixture(scope="module", params=[*FAMILY_TRAITS])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param)
    return write_checkpoint(path, traits=FAMILY_TRAITS[request.param], window=4096)


def filled(model: LanguageModel, effort: str, texts: list[str]) -> list[Filled]:
    asked = [request(FORM, text, {}) for text in texts]
    requests = [Request(f"r{at}", one.form, one.passage, one.known) for at, one in enumerate(asked)]
    results = LanguageEngine(model, effort).fill(requests)
    assert all(isinstance(result, Filled) for result in results), results
    return [result for result in results if isinstance(result, Filled)]


@pytest.mark.parametrize("effort", first(1, ["medium", "instant"]))
def test_records_are_valid_and_independent_of_the_batch(folder: Path, effort: str) -> None:
    model = load_language_model(folder, "cpu", "float32")
    texts = ["No. R-77, 14 March 2026\n" * count for count in (1, 3, 2)]
    together = filled(model, effort, texts)
    assert FORM.judge is not None
    assert all(FORM.judge.accepts(json.loads(result.record)) for result in together)
    for text, result in zip(texts, together, strict=True):
        assert filled(model, effort, [text])[0].record == result.record


def test_the_folder_is_told_without_problems(folder: Path) -> None:
    found = inspect_checkpoint(folder, "cpu")
    assert not found.problems
    traits = load_language_model(folder, "cpu", "float32").traits
    assert found.facts["family"] == FAMILIES[traits.family].title
    assert (found.facts["block"], found.facts["window"]) == (traits.block, traits.window)
    assert found.facts["attention"] == traits.visibility.replace("_", "-")
