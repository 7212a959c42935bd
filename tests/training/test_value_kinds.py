"""The kinds of values that labels of the reading data stand for."""

from __future__ import annotations

import pytest
from training.value_kinds import kind_of_name, kinds_of

from cinnabar.engine.models.weights import VALUE_KINDS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("companies and institutions", "organisation"), ("place of birth", "place"), ("job title", "job"),
        ("person names", "person"), ("card number", "identifier"), ("money amounts", "money"),
        ("dates mentioned", "date"), ("amount", "measure"), ("creative works", "work"), ("durations", "duration"),
        ("book title", "work"), ("age groups", "count"),
    ],
)  # fmt: skip
def test_a_name_is_of_the_kind_of_its_last_known_word(name: str, kind: str) -> None:
    place = kind_of_name(name)
    assert place is not None and VALUE_KINDS[place] == kind


def test_a_name_without_a_known_word_has_no_kind() -> None:
    assert kinds_of(["mouth", "part of", "date"]) == {"date": VALUE_KINDS.index("date")}
