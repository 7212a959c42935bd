"""The registry of rules: each has a name and weights, and a changed set of rules changes the model's fingerprint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, RULES, PriorConfig
from cinnabar.engine.models.reader.priors.priors import PRIORS
from cinnabar.engine.models.reader.scoring.reranking import RERANKERS
from cinnabar.errors import UsageError


def test_every_rule_of_the_registries_can_be_switched_off_and_has_weights() -> None:
    of_choices = {"printed_options", "described_options"}
    others = {"absence_prior", "doubtful_rows", "single_item", "bound_tables"} | of_choices
    assert set(RULES) == PRIORS.keys() | RERANKERS.keys() | others
    assert len(RULES) == len(PRIORS) + len(RERANKERS) + len(others)
    assert all(hasattr(DEFAULT_PRIORS, rule) for rule in RULES)


def test_an_unknown_rule_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"expected some of label_prior, .*bound_tables, got 'labels'"):
        PriorConfig(without=frozenset({"labels", "proximity"}))


def test_no_weight_is_below_zero() -> None:
    with pytest.raises(ValueError, match=r"label_prior\.own: expected at least 0, got -1"):
        PriorConfig(label_prior=replace(DEFAULT_PRIORS.label_prior, own=-1))


def test_only_other_rules_than_the_default_change_the_fingerprint() -> None:
    weights = PriorConfig(proximity=replace(DEFAULT_PRIORS.proximity, lines=4.0))
    configs = [PriorConfig(without=frozenset({rule})) for rule in RULES]
    configs += [PriorConfig(without=frozenset(RULES)), weights]
    names = [config.fingerprint("abc") for config in configs]
    assert PriorConfig().fingerprint("abc") == "abc"
    assert len({"abc", *names}) == len(names) + 1
    assert names != [config.fingerprint("abd") for config in configs]
