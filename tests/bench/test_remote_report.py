"""A misbehaving server and a thousand documents: none is lost, none is stored twice, and the cost is exact."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("INCEPTION_API_KEY", "")  # restores it after the script has set it
    return importlib.import_module("bench.remote_report")


@pytest.mark.slow
def test_every_document_has_one_outcome_and_costs_add_up_exactly(script: Any) -> None:
    found = script.measure(documents=1000, share=0.2, seed=1)
    assert found.kept == dict.fromkeys(found.kept, True), found
    assert found.written == 1000 and found.cost > 0
    faults = {fault: count for fault, count in found.faults.items() if fault != "none"}
    assert set(faults) == set(script.mercury.FAULTS)
    assert sum(faults.values()) > 0.15 * found.requests
