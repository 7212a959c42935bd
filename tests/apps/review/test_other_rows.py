"""A list of which two readings have other numbers of rows: it is in doubt, keeps both, and a person takes either."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.reading_model import ReadingModel
from tests.support.review_server import review_of

from cinnabar.apps.cli.main import run
from cinnabar.engine.model import Row
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.review.review import AskedChange, Review
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema
from cinnabar.schemas.form.form import Form

LINE = {"type": "object", "properties": {"what": {"type": "string"}, "price": {"type": ["number", "null"]}}}
LINES = {"type": "array", "items": LINE | {"required": ["what", "price"]}}
SCHEMA = {"title": "Order", "type": "object", "properties": {"lines": LINES}, "required": ["lines"]}
THREE = [{"what": "Oak", "price": 7.5}, {"what": "Elm", "price": 9.25}, {"what": "Ash", "price": 4.0}]


class Hasty(ReadingModel):
    """Finds the first two rows alone, and doubts the document."""

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        self.doubted = "price"
        return [rows[:2] for rows in super().find_rows(forms, memories)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    rows = "".join(f"- what={row['what']} price={row['price']}\n" for row in THREE)
    (tmp_path / "order.txt").write_text(rows)
    second = Escalation(ModelSource("whole", ReadingModel), 0.9, prefer_confident=True)
    first = ModelSource("hasty", Hasty)
    extract([tmp_path], load_schema(SCHEMA), tmp_path / "out", first, RunOptions(workers=1), escalation=second)
    return tmp_path / "out"


def test_both_readings_are_stored_and_a_person_takes_either(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(out, "SELECT items, confidence, length FROM lists").rows == [(3, 0.69, None)]
    assert query(out, "SELECT flags FROM records").rows == [(["other_rows"],)]
    (document,) = query(out, "SELECT document FROM records").rows[0]
    assert run(["show", "order.txt", "--out", str(out)]) == 0
    assert "2 rows in another reading" in " ".join(capsys.readouterr().out.split())
    with Review(out, "ada") as review:
        state = review.state(document, "Order")
        (listed,) = [leaf for leaf in state["leaves"] if leaf["origin"] == "list"]
        assert json.loads(listed["length"]["other"]) == THREE[:2]
        assert "Two readings of the list /lines have other numbers of rows." in state["why"]
        taken = AskedChange(
            action="list", pointer="/lines", seen=state["seen"]["/lines"], after=listed["length"]["other"]
        )
        after = review.correct(document, "Order", [taken])
        assert json.loads(after["record"])["lines"] == THREE[:2] and "length" not in after["leaves"][-1]
        back = review.undo(document, "Order", None, after["seen"][""])
        assert json.loads(back["record"])["lines"] == THREE
        assert [json.loads(one["length"]["other"]) for one in back["leaves"] if "length" in one] == [THREE[:2]]
    assert query(out, "SELECT flags FROM records WHERE latest").rows == [(["other_rows"],)]


@pytest.mark.slow
def test_one_press_takes_the_other_rows(chromium: Any, out: Path) -> None:
    with review_of(out) as served:
        page = chromium.new_page()
        page.set_default_timeout(60000)
        page.goto(served.address)
        page.wait_for_selector("text=Another reading has 2 rows")
        page.get_by_role("button", name="Take them for Lines").click()
        page.wait_for_selector(".list-of .rows:has-text('2 rows')")
        assert page.locator("text=Another reading").count() == 0
        page.close()
