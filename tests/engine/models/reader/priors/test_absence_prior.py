"""The absence prior: scores of places change the probability that a value is absent."""

from __future__ import annotations

import torch

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.priors import absence_prior

WEIGHTS, TABLE = DEFAULT_PRIORS.absence_prior, DEFAULT_PRIORS.table_prior


def test_a_cell_below_its_head_makes_absence_less_likely_and_a_line_without_one_more() -> None:
    scores = torch.zeros(1, 3, 4)
    scores[0, 0, 1], scores[0, 1] = TABLE.own, -TABLE.others
    region = torch.full((1, 3, 4), 3)
    found = absence_prior(scores, region, torch.ones(1, 3, 4, dtype=torch.bool), DEFAULT_PRIORS)[0]
    assert found.tolist() == [-WEIGHTS.present, WEIGHTS.empty, 0.0]


def test_only_allowed_places_of_the_own_row_change_absence() -> None:
    scores = torch.zeros(1, 1, 4)
    scores[..., 1] = TABLE.own
    allowed = torch.ones(1, 1, 4, dtype=torch.bool)
    other_row = torch.tensor([[[3, 6, 3, 3]]])
    assert absence_prior(scores, other_row, allowed, DEFAULT_PRIORS).item() == 0
    allowed[..., 1] = False
    assert absence_prior(scores, torch.full((1, 1, 4), 3), allowed, DEFAULT_PRIORS).item() == 0


def test_a_label_without_a_value_leaves_absence_unchanged() -> None:
    nowhere = torch.zeros(1, 1, 4, dtype=torch.bool)
    region = torch.zeros(1, 1, 4, dtype=torch.long)
    assert absence_prior(torch.zeros(1, 1, 4), region, nowhere, DEFAULT_PRIORS).item() == 0
