"""The device chooses the kernels, unless the environment demands some that can run there."""

from __future__ import annotations

import pytest
import torch

from cinnabar.engine.models import backend
from cinnabar.engine.models.backend import KERNELS_VARIABLE, backend_of
from cinnabar.errors import UsageError

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def undemanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KERNELS_VARIABLE, raising=False)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(backend, "find_spec", lambda name: name)


def test_a_gpu_has_triton_and_a_cpu_has_not() -> None:
    assert (backend_of(CPU), backend_of(CUDA)) == ("plain", "triton")


def test_a_gpu_without_triton_has_plain_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "find_spec", lambda _: None)
    assert backend_of(CUDA) == "plain"
    monkeypatch.setenv(KERNELS_VARIABLE, "triton")
    with pytest.raises(UsageError, match="expected the package triton"):
        backend_of(CUDA)


def test_the_environment_demands_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KERNELS_VARIABLE, "plain")
    assert backend_of(CUDA) == "plain"
    monkeypatch.setenv(KERNELS_VARIABLE, "triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert backend_of(CPU) == "triton"


def test_kernels_that_cannot_run_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KERNELS_VARIABLE, "triton")
    with pytest.raises(UsageError, match="TRITON_INTERPRET=1 for Triton's interpreter, got the device cpu"):
        backend_of(CPU)
    monkeypatch.setenv(KERNELS_VARIABLE, "cuda")
    with pytest.raises(UsageError, match="CINNABAR_KERNELS=cuda: expected one of plain, triton"):
        backend_of(CPU)
