"""The lexicon of concepts in several languages, and the vectors learned from it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tests.support.tiny_network import wordpieces
from torch import Tensor
from training.lexicon import (
    LANGUAGES,
    columns,
    fit_letters,
    lexicon,
    names_of_fields,
)

from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.models.reader.inputs.letter_ngrams import BUCKETS, spelt_names, words_of_pieces
from cinnabar.engine.models.reader.loading import load_network
from cinnabar.engine.models.reader.network.lexical_signals import VALUES, vectors_of


def _likest(table: Tensor, asked: str, *known: str) -> str:
    own, *others = vectors_of(table.numpy(), (asked, *known), wordpieces())
    return known[int((np.stack(others) @ own).argmax())]


def _lines() -> list[tuple[str, list[str]]]:
    folder = Path(str(files("training.generator") / "concepts"))
    return [
        (f"{path.name}:{number}", line.split("\t"))
        for path in sorted(folder.glob("*.tsv"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]


def test_each_line_has_a_column_for_each_language_and_names_in_two_of_them() -> None:
    for place, line in _lines():
        assert len(line) == 1 + len(LANGUAGES), place
        assert line[0].strip() and sum(bool(column.strip()) for column in line[1:]) >= 2, place


def test_concepts_have_several_names_and_held_out_families_none() -> None:
    assert len(lexicon()) > 2000 and all(len(names) > 1 for names in lexicon())
    assert all(len(names) > 1 for names in names_of_fields())


def test_names_of_one_concept_become_alike_and_of_others_stay_apart() -> None:
    concepts = [["invoice date", "Rechnungsdatum"], ["tenant", "Mieter"], ["meter", "Zähler"]]
    table = fit_letters(wordpieces(), concepts, fields=[], steps=30)
    assert table.shape == (BUCKETS, VALUES) and not table[0].any() and table.isfinite().all()
    for asked, likest in concepts:
        others = [name for own in concepts for name in own if name != asked]
        assert _likest(table, asked, *others) == likest


@pytest.mark.slow
def test_a_name_of_two_concepts_is_not_counted_against_either() -> None:
    seen: list[float] = []
    twice = [["due date", "Datum"], ["date of birth", "Datum"]]
    fit_letters(wordpieces(), twice, fields=[], steps=101, report=lambda _, loss: seen.append(loss))
    assert seen[-1] < 0.1 * seen[0]


def test_labels_are_learned_as_the_words_that_pages_have() -> None:
    printed = wordpieces().pieces("MwSt.-Betrag")
    page = words_of_pieces(printed, 0, len(printed), wordpieces())
    (learned,) = spelt_names([wordpieces().ids("MwSt.-Betrag")], wordpieces())
    assert np.array_equal(page.spelt[page.word], learned[:2])
    assert any("MwSt." in concept["de"] for concept in columns())


@pytest.mark.parametrize(
    ("asked", "likest", "other"),
    [
        ("meter number", "Zählernummer", "Kundennummer"),
        ("tenant", "Locataire", "Bailleur"),
        ("date of birth", "Fecha de nacimiento", "Fecha de entrega"),
        ("seller", "Venditore", "Acquirente"),
        ("warehouse keeper of the day", "Lagerist", "Wetter"),
    ],
)
def test_the_shipped_vectors_know_labels_of_other_languages(asked: str, likest: str, other: str) -> None:
    network, _ = load_network(SHIPPED)
    assert _likest(network.letters.weight, asked, other, likest) == likest
