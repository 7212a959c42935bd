"""The page asks a fetched language model for a document; a person takes its values over one by one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.fetched_release import NAME, fetched_release
from tests.support.review_server import review_of
from tests.support.reviewed_folder import TEXT, write_folder

from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.engine.models.releases import RELEASED
from cinnabar.extraction.review.asking import _fetched_model
from cinnabar.extraction.review.review import Review
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.spelling import begin_with


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results folder, on a machine without a fetched model so far."""
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    return write_folder(tmp_path)


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    with Review(folder, "Grace") as review:
        yield TestClient(review_app(review, Improving(folder, ("/bin/false",))), raise_server_exceptions=False)


def place(client: TestClient, name: str) -> dict[str, Any]:
    listed = client.get("/api/list").json()["list"]
    rows = client.get("/api/documents", params={"list": listed}).json()["rows"]
    (row,) = (one for one in rows if one["path"].endswith(name))
    return {"document": row["document"], "schema": row["schema_name"]}


def test_the_model_proposes_values_with_their_words_and_stores_nothing(client: TestClient, tmp_path: Path) -> None:
    fetched_release(tmp_path / "models")
    at = place(client, "letter.txt")
    before = client.get("/api/state", params=at).json()
    found = client.post("/api/ask", json=at).json()
    leaves = {one["pointer"]: one for one in found["leaves"]}
    assert found["model"] == NAME and leaves["/day"]["value"] == '"2026-03-17"'
    ((start, end),) = leaves["/day"]["spans"]
    assert TEXT[start:end] == "17 March 2026" and 0 < leaves["/day"]["confidence"] <= 1
    assert client.get("/api/state", params=at).json() == before
    assert query(tmp_path / "out", "SELECT count(*) FROM corrections").rows == [(0,)]


def test_without_a_fetched_model_a_sentence_says_what_brings_one(client: TestClient) -> None:
    answer = client.post("/api/ask", json=place(client, "letter.txt"))
    assert answer.status_code == 400 and f"`cinnabar model fetch {NAME}`" in answer.json()["error"]


def test_the_model_of_the_folder_is_asked_and_else_the_largest_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    larger = max(RELEASED, key=lambda name: RELEASED[name].size)
    shutil.copytree(fetched_release(tmp_path / "models"), tmp_path / "models" / larger)
    monkeypatch.setattr("cinnabar.extraction.filling.planned_models.free_memory", lambda: None)
    assert _fetched_model(folder) == larger
    begin_with(folder, NAME)
    assert _fetched_model(folder) == NAME


@pytest.mark.slow
def test_a_proposal_is_marked_in_the_document_and_one_click_makes_it_a_correction(
    chromium: Any, folder: Path, tmp_path: Path
) -> None:
    fetched_release(tmp_path / "models")
    with review_of(folder) as served:
        page = chromium.new_context(viewport={"width": 1500, "height": 950}).new_page()
        page.set_default_timeout(60_000)
        page.goto(served.address)
        page.fill(".search", "letter.txt")
        page.wait_for_function("() => document.querySelectorAll('.row').length === 1")
        page.click(".row")
        page.wait_for_function("() => document.querySelector('.bar .title').textContent.includes('letter.txt')")
        page.wait_for_selector(".block pre span")
        page.click('.value[data-pointer="/carrier"]')
        page.keyboard.press("m")
        proposal = page.locator('.field:has([data-pointer="/carrier"]) .proposal')
        proposal.wait_for()
        assert NAME in proposal.inner_text() and "Take it" in proposal.inner_text()
        assert page.locator(".block mark.proposed").count() > 0
        assert "reads the same" in page.locator('.field:has([data-pointer="/day"]) .proposal').inner_text()
        assert query(folder, "SELECT count(*) FROM corrections").rows == [(0,)]
        proposed = proposal.locator("bdi").first.inner_text()
        proposal.get_by_role("button", name="Take it").click()
        proposal.wait_for(state="detached")
        page.wait_for_selector('.app[data-saving="0"]')
        assert page.locator('.value[data-pointer="/carrier"]').inner_text() == proposed
        page.context.close()
    told = "SELECT f.value, f.origin, f.evidence_text FROM parcel AS p JOIN fields AS f USING (document)"
    rows = query(folder, f"{told} WHERE field = '/carrier' AND path LIKE '%letter.txt'").rows
    assert rows == [(proposed, "human", proposed)]
    assert query(folder, "SELECT pointer, who FROM corrections").rows == [("/carrier", "Grace")]
