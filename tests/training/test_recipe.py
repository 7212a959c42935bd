"""The recipe: it holds back the same documents on every machine, and keeps groups together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from training.recipe import HELD_BACK, SetRecipe, is_held_back, load_recipe

FILES = [f"document {i}.pdf" for i in range(2000)]


def test_the_same_documents_are_held_back_on_every_machine() -> None:
    held = [i for i, file in enumerate(FILES[:40]) if is_held_back(file, {})]
    assert held == [3, 8, 11, 15, 19, 20, 25, 29, 37]
    assert abs(sum(is_held_back(file, {}) for file in FILES) / len(FILES) - HELD_BACK) < 0.03


def test_a_salt_holds_back_other_documents() -> None:
    salted = SetRecipe(salt="own")
    assert [f for f in FILES if is_held_back(f, {}, salted)] != [f for f in FILES if is_held_back(f, {})]


@given(st.text(), st.text(max_size=20), st.text(max_size=20))
def test_documents_of_a_group_stay_together(seller: str, one: str, two: str) -> None:
    recipe = SetRecipe(group="/seller/name")
    truth = {"seller": {"name": seller}}
    assert is_held_back(one, truth, recipe) == is_held_back(two, truth | {"total": 3}, recipe)


def test_a_document_without_a_group_is_drawn_by_its_file() -> None:
    recipe = SetRecipe(group="/seller/name")
    for truth in ({}, {"seller": None}, {"seller": {"name": None}}, None, []):
        assert all(is_held_back(f, truth, recipe) == is_held_back(f, {}) for f in FILES[:99])


def test_the_recipe_of_the_shipped_weights_can_be_read() -> None:
    recipe = load_recipe()
    assert recipe.sets
    assert all(s.weight >= 0 and (not s.group or s.group.startswith("/")) for s in recipe.sets.values())
    assert not recipe.sets.keys() & set(recipe.left_out)
