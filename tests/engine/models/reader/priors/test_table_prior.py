"""What tables say of the fields of a list's items and of where these begin."""

from __future__ import annotations

from tests.engine.models.reader.priors.test_tables import TABLE, tables
from tests.tiny_network import wordpieces

from cinnabar.engine.models.reader.priors.table_prior import OWN, ROW, told_of_fields, told_of_rows


def _of_fields(text: str, at: str) -> dict[str, float]:
    pieces = wordpieces().pieces(text)
    told = told_of_fields(tables(text), len(pieces))
    return {path.rpartition("/")[2]: float(said[pieces.at(text.index(at))]) for path, said in told.items()}


def _of_rows(text: str, at: str) -> float:
    pieces = wordpieces().pieces(text)
    return float(told_of_rows(tables(text)["/goods"], len(pieces))[pieces.at(text.index(at))])


def test_a_cell_is_told_of_the_field_of_its_head_and_against_the_others() -> None:
    said = _of_fields(TABLE, "A-17")
    assert 0 < said["article_number"] <= OWN
    assert said["quantity"] < 0 and said["price"] < 0


def test_a_value_starts_where_its_cell_does() -> None:
    assert _of_fields(TABLE, "A-17")["article_number"] > _of_fields(TABLE, "17")["article_number"] > 0


def test_a_column_without_a_name_is_told_of_no_field() -> None:
    text = TABLE.replace("Article number", "Zzz           ")
    assert _of_fields(text, "A-17")["article_number"] == 0


def test_a_full_line_begins_an_item_and_a_line_with_one_cell_does_not() -> None:
    text = TABLE + "           and more\n"
    assert 0 < _of_rows(text, "1          B-4") <= ROW
    assert _of_rows(text, "and more") < 0


def test_an_item_begins_with_the_first_cell_of_its_line() -> None:
    assert _of_rows(TABLE, "1          B-4") > _of_rows(TABLE, "B-4")


def test_outside_of_the_table_there_are_no_items() -> None:
    assert _of_rows("Dear customer\n" + TABLE, "Dear") < 0
