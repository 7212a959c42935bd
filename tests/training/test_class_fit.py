"""The fit of described options on made examples, whose best weights are known."""

from __future__ import annotations

import random

import numpy as np
import pytest
from training.class_fit import (
    AskedChoice,
    described,
    fitted_options,
    fitted_presence,
    judged,
    kind_schema,
    presence_signs,
)

from cinnabar.schemas import compile_schema

TITLES = {name: (name, f"A {name}.") for name in ("invoice", "letter", "recipe", "licence", "weather", "notice")}


def asked(draw: np.random.Generator, owner: str, *, present: bool = True, absent: float = -3.0) -> AskedChoice:
    """A choice of four options whose right one is more like the document; the reader knows nothing."""
    alike, reader = draw.normal(0.1, 0.02, 4), draw.normal(0, 1, 4)
    truth = (int(draw.integers(4)),) if present else ()
    alike[list(truth)] += 0.2
    return AskedChoice(owner, "own", "/kind", reader - np.logaddexp.reduce(reader), absent, alike, np.zeros(4), truth)


def some(count: int = 30) -> list[AskedChoice]:
    draw = np.random.default_rng(1)
    return [asked(draw, f"set{at % 3}", present=at % 2 == 0) for at in range(count)]


def test_the_sign_that_tells_the_right_option_gets_the_weight() -> None:
    reader, alike, printed = fitted_options(some())
    assert alike > 10 and reader < 0.5 and printed < 1e-3


def test_a_choice_has_a_value_if_an_option_is_like_its_document() -> None:
    data = some()
    presence = fitted_presence(data)
    odds = [float(presence_signs(one) @ presence) for one in data]
    assert min(odds[::2]) > max(odds[1::2])
    assert (presence[:2] >= 0).all()


def test_only_an_absence_that_the_reader_thinks_likelier_than_a_value_counts() -> None:
    signs = [presence_signs(asked(np.random.default_rng(3), "one", absent=at))[0] for at in (-5, -1, 2)]
    assert signs == [0, 0, -2]


def test_a_choice_without_its_right_option_has_probabilities_of_the_others() -> None:
    one = asked(np.random.default_rng(2), "one")
    rest = one.without_truth()
    assert (rest.truth, len(rest.alike), rest.source) == ((), 3, "taken away")
    assert float(np.exp(rest.reader).sum()) == pytest.approx(1.0)
    assert rest.group != one.group


def test_each_set_is_judged_by_a_fit_on_the_others() -> None:
    report = judged(some(60))
    rows = [line for line in report.splitlines() if "| own |" in line]
    assert len(rows) == 3 and all("| 10 | 1.00 | 1.00 |" in row for row in rows)


def test_the_kind_of_a_document_is_among_the_options_or_null() -> None:
    found = set()
    for seed in range(30):
        schema, truth = kind_schema(TITLES, "letter", random.Random(seed))
        ((name, value),) = truth.items()
        slot = compile_schema(schema).form.slots[0]
        assert len(slot.options) >= 3 and slot.nullable
        assert ('"letter"' in slot.options) == (value == "letter")
        found.add((name, value))
    assert {value for _, value in found} == {"letter", None}


def test_no_weight_of_the_configuration_is_negative() -> None:
    new = described(np.array([0.125, 9.0, 7.5]), np.array([1.0, 2.0, -4.0]))
    assert (new.printed, new.nothing) == (7.5, 4.0)
    assert described(np.array([0.125, 9.0, 7.5]), np.array([1.0, 2.0, 4.0])).nothing == 0.0
