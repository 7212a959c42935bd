"""The table prior: tables score the fields of a list's items and the places where items begin."""

from __future__ import annotations

from tests.engine.models.reader.priors.test_tables import GOODS, TABLE
from tests.support.prior_pages import given

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.table_prior import table_prior


def _of_fields(text: str, at: str) -> dict[str, float]:
    asked = given(GOODS, text)
    piece = asked.page.columns.pieces.at(text.index(at))
    scores = table_prior(asked).values
    return {path.rpartition("/")[2]: float(own[piece]) for path, own in scores.items()}


def _of_rows(text: str, at: str) -> float:
    asked = given(GOODS, text)
    return float(table_prior(asked).rows["/goods"][asked.page.columns.pieces.at(text.index(at))])


def test_a_cell_scores_for_the_field_of_its_head_and_against_the_others() -> None:
    said = _of_fields(TABLE, "A-17")
    assert 0 < said["article_number"] <= DEFAULT_PRIORS.table_prior.own
    assert said["quantity"] < 0 and said["price"] < 0


def test_a_value_starts_where_its_cell_does() -> None:
    assert _of_fields(TABLE, "A-17")["article_number"] > _of_fields(TABLE, "17")["article_number"] > 0


def test_a_column_without_a_name_scores_for_no_field() -> None:
    text = TABLE.replace("Article number", "Zzz           ")
    assert _of_fields(text, "A-17")["article_number"] == 0


def test_a_full_line_begins_an_item_and_a_line_with_one_cell_does_not() -> None:
    text = TABLE + "           and more\n"
    assert 0 < _of_rows(text, "1          B-4") <= DEFAULT_PRIORS.table_prior.row
    assert _of_rows(text, "and more") < 0


def test_an_item_begins_with_the_first_cell_of_its_line() -> None:
    assert _of_rows(TABLE, "1          B-4") > _of_rows(TABLE, "B-4")


def test_outside_of_the_table_there_are_no_items() -> None:
    assert _of_rows("Dear customer\n" + TABLE, "Dear") < 0
