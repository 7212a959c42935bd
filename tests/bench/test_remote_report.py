"""A thousand documents, and a server that misbehaves every fifth time: none lost, none twice, cost exact."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("INCEPTION_API_KEY", "")  # is put back after the script has set it
    return importlib.import_module("bench.remote_report")


@pytest.mark.parametrize("documents", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_documents_are_accounted_for_once_and_paid_for_exactly(script: Any, documents: int) -> None:
    found = script.measure(documents=documents, share=0.2, seed=1)
    assert found.kept == dict.fromkeys(found.kept, True), found
    assert found.written == documents and found.cost > 0
    faults = {fault: count for fault, count in found.faults.items() if fault != "none"}
    assert set(faults) == set(script.mercury.FAULTS)
    assert sum(faults.values()) > 0.15 * found.requests
