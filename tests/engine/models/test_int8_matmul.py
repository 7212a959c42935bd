"""Products in 8-bit integers agree with those of floats, exactly where both can, and row by row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from cinnabar.engine.models.int8_matmul import (
    Int8Linear,
    project,
    supports_int8,
    use_integer_products,
)

CPU = torch.device("cpu")


@pytest.fixture
def _asked_anew() -> Iterator[None]:
    supports_int8.cache_clear()
    yield
    supports_int8.cache_clear()


def _linear(inputs: int, outputs: int, seed: int = 0, *, eight_bit: bool = False) -> nn.Linear:
    torch.manual_seed(seed)
    linear = nn.Linear(inputs, outputs)
    if eight_bit:
        scale = linear.weight.detach().abs().amax(1, keepdim=True) / 127
        linear.weight = nn.Parameter((linear.weight / scale).round() * scale)
    return linear.requires_grad_(False)


def _off(found: Tensor, x: Tensor, linear: nn.Linear) -> float:
    """The largest error, as a share of the largest sum that rows and weights of these sizes could have."""
    most = x.abs().amax(-1, keepdim=True) * linear.weight.abs().amax(1) * x.shape[-1] + linear.bias.abs().max()
    exact = x.double() @ linear.weight.double().T + linear.bias.double()
    return float(((found - exact).abs() / most).max())


@given(
    rows=st.integers(1, 40),
    inputs=st.sampled_from([8, 64, 384, 1536]),
    size=st.sampled_from([1e-6, 1.0, 1e6]),
    eight_bit=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_layer_in_integers_is_right_to_fifteen_bits(
    rows: int, inputs: int, size: float, eight_bit: bool, seed: int
) -> None:
    linear = _linear(inputs, 16, seed, eight_bit=eight_bit)
    x = torch.randn(rows, inputs) * size
    assert _off(Int8Linear(linear)(x), x, linear) < 2**-15


def test_weights_of_eight_bits_need_one_part_and_others_two() -> None:
    assert Int8Linear(_linear(64, 16, eight_bit=True)).weight.shape == (64, 16)
    assert Int8Linear(_linear(64, 16)).weight.shape == (64, 32)


@given(seed=st.integers(0, 99), rows=st.integers(2, 50), eight_bit=st.booleans())
def test_the_output_of_a_row_depends_on_no_other_row(seed: int, rows: int, eight_bit: bool) -> None:
    layer = Int8Linear(_linear(384, 64, seed, eight_bit=eight_bit))
    x = torch.randn(rows, 384)
    at = seed % rows
    assert torch.equal(layer(x)[at], layer(x[at : at + 1])[0])


def test_layers_that_share_an_input_give_what_each_gives_alone() -> None:
    layers = [Int8Linear(_linear(64, 16, seed)) for seed in range(2)] + [_linear(64, 24)]
    x = torch.randn(3, 5, 64)
    for found, layer in zip(project(x, *layers), layers, strict=True):
        assert torch.equal(found, layer(x))


def test_rows_of_zeros_and_no_rows_at_all_have_an_output() -> None:
    layer = Int8Linear(linear := _linear(64, 16))
    assert torch.equal(layer(torch.zeros(2, 64)), linear.bias.expand(2, 16))
    assert layer(torch.zeros(0, 7, 64)).shape == (0, 7, 16)


def test_what_is_no_number_stays_none() -> None:
    x = torch.zeros(2, 64)
    x[0, 3] = torch.nan
    found = Int8Linear(_linear(64, 16))(x)
    assert found[0].isnan().all() and found[1].isfinite().all()


def test_a_module_in_integers_leaves_the_one_given_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.engine.models.int8_matmul.supports_int8", lambda _: True)
    given_one = nn.Sequential(_linear(64, 16), nn.LayerNorm(16), nn.Sequential(_linear(16, 1)))
    found = use_integer_products(given_one)
    assert isinstance(found[0], Int8Linear) and type(given_one[0]) is nn.Linear
    # One output alone is no product of matrices that every device takes.
    assert found[1] is not None and type(found[2][0]) is nn.Linear
    x = torch.randn(4, 64)
    assert torch.allclose(found(x), given_one(x), atol=1e-3)


def test_a_processor_whose_products_overflow_keeps_its_floats(
    monkeypatch: pytest.MonkeyPatch, _asked_anew: None
) -> None:
    def saturating(a: Tensor, b: Tensor) -> Tensor:
        return (a.int() @ b.int()).clamp(-32768, 32767)

    monkeypatch.setattr(torch, "_int_mm", saturating)
    linear = nn.Sequential(_linear(64, 16))
    assert not supports_int8(CPU)
    assert use_integer_products(linear) is linear


def test_a_processor_with_slow_products_keeps_its_floats(monkeypatch: pytest.MonkeyPatch, _asked_anew: None) -> None:
    seconds = cycle([2.0, 1.0])
    monkeypatch.setattr("cinnabar.engine.models.int8_matmul._seconds", lambda *_: next(seconds))
    monkeypatch.setattr(torch, "_int_mm", lambda a, b: (a.float() @ b.float()).int())
    assert not supports_int8(CPU)


def test_a_device_without_such_products_keeps_its_floats(monkeypatch: pytest.MonkeyPatch, _asked_anew: None) -> None:
    def refused(*_: Tensor) -> Tensor:
        raise RuntimeError("not implemented")

    monkeypatch.setattr(torch, "_int_mm", refused)
    assert not supports_int8(CPU)
