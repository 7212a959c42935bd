"""Codes of a column of choices: by name, by a legend, by their letters, and the last one by what is left."""

from __future__ import annotations

import pytest

from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.tables.column_codes import options_of_cells
from cinnabar.schemas import compile_schema


def told(options: list[str], cells: list[str], around: str = "") -> dict[str, str]:
    schema = {"type": "object", "required": ["x"], "properties": {"x": {"enum": options}}}
    form = compile_schema(schema).form
    return options_of_cells(form.slots[0], load_model("default").form(form), cells, around)


def test_a_cell_that_prints_an_option_stands_for_it() -> None:
    assert told(["open", "closed"], ["Open", "closed", "lost"]) == {"Open": '"open"', "closed": '"closed"'}


def test_codes_with_the_letters_of_one_option_each_stand_for_them() -> None:
    found = told(["open", "closed", "reopened"], ["O", "C", "R", "O"])
    assert found == {"O": '"open"', "C": '"closed"', "R": '"reopened"'}


def test_the_code_that_is_left_stands_for_the_option_that_is_left() -> None:
    assert told(["water", "soil", "air"], ["AQ", "SO", "A"]) == {"SO": '"soil"', "A": '"air"', "AQ": '"water"'}


def test_a_legend_goes_before_letters() -> None:
    legend = "Codes: A = closed, B = open"
    assert told(["open", "closed", "altered"], ["A", "B", "B"], legend) == {"A": '"closed"', "B": '"open"'}


@pytest.mark.parametrize("cells", [["X", "Y"], ["O", "C", "R", "Z"], ["O", "X"]])
def test_codes_that_do_not_fit_the_options_stand_for_nothing(cells: list[str]) -> None:
    assert told(["open", "closed", "late"], cells) == {}


def test_marks_of_yes_and_no_stand_for_true_and_false() -> None:
    schema = {"type": "object", "required": ["x"], "properties": {"x": {"type": "boolean"}}}
    form = compile_schema(schema).form
    found = options_of_cells(form.slots[0], load_model("default").form(form), ["Y", "N", "Ja", "?"], "")
    assert found == {"Y": "true", "N": "false", "Ja": "true"}
