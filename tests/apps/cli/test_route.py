"""`cinnabar extract` with several schemas, and `--related`: the report and the flow."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.reading import query

CaptureResult = pytest.CaptureFixture[str]

TEXTS = {
    "bill.txt": "INVOICE\nInvoice number 881\nInvoice date 12/03/2024\nCustomer: J. Mills\nTotal 48.00\nPlease pay.",
    "cake.txt": "Lemon cake\nServings: 8\nIngredients: 200 g flour, 3 eggs.\nHeat the oven to 180 °C and bake.",
    "friend.txt": "Dear Anna,\nthe weather in Bergen was dreadful, but the cat is well. Write soon.\nLove, Ingrid",
}


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "inbox" / name).write_text(text, encoding="utf-8")
    schema(tmp_path, "invoice", "An invoice: a bill for goods or services.", "invoice_number", "invoice_date", "total")
    schema(tmp_path, "recipe", "A cooking recipe with its ingredients.", "dish", "ingredients", "servings")
    return tmp_path


def schema(folder: Path, title: str, description: str, *fields: str) -> None:
    properties = {name: {"type": ["string", "null"]} for name in fields}
    said = {"title": title, "type": "object", "description": description, "properties": properties}
    (folder / f"{title}.json").write_text(json.dumps(said))


def extract(inbox: Path, model: Path, *more: str) -> int:
    arguments = ["extract", str(inbox / "inbox"), "--out", str(inbox / "out"), "--model", str(model)]
    # The model is untrained, so that its records may be empty.
    return run([*arguments, "--on", "empty=write", *more])


def test_the_report_counts_each_schema_and_the_documents_of_another_kind(
    inbox: Path, tiny_model: Path, capsys: CaptureResult
) -> None:
    both = ["--schema", str(inbox / "invoice.json"), "--schema", str(inbox / "recipe.json")]
    assert extract(inbox, tiny_model, *both, "--on", "missing=guess") == 0
    said = capsys.readouterr().out
    for part in ("invoice, recipe", "1 of another kind", "ms", "to choose the schema", "bill.txt", "cake.txt"):
        assert part in said
    counts = query(inbox / "out", "select schema_name, outcome, count(*) from outcomes group by all").rows
    assert ("invoice", "written", 1) in counts and ("recipe", "written", 1) in counts
    assert extract(inbox, tiny_model, *both, "--on", "missing=guess", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["skips"], again["routing_ms"], again["steps"]) == ({"done": 3}, None, 0)


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_routes_among_a_list_of_schemas_and_shows_the_report_of_each(inbox: Path, tiny_model: Path) -> None:
    from prefect.client.orchestration import get_client

    from cinnabar.flows.extract import extract_folder

    schemas = [str(inbox / "invoice.json"), str(inbox / "recipe.json")]
    out = str(inbox / "out")
    how: dict[str, Any] = {"on_missing": "guess", "on_empty": "write", "workers": 1}
    found = extract_folder([str(inbox / "inbox")], schemas, out, str(tiny_model), "cpu", **how)
    assert (found["written"], found["skips"]) == (2, {"other_kind": 1})
    with get_client(sync_client=True) as client:
        shown = {one.description: str(one.data) for one in client.read_artifacts()}
    of_each = [shown[f"{out}/reports/{part['run_id']}.html"] for part in found["routed"]]
    assert [name in text for name, text in zip(("invoice: ", "recipe: "), of_each, strict=True)] == [True, True]


@pytest.mark.slow
def test_a_schedule_hands_its_choice_to_the_flow(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cinnabar.flows.serve as serving

    found: list[dict[str, Any]] = []
    monkeypatch.setattr("cinnabar.apps.cli.flows.server", lambda: nullcontext("http://there/api"))
    monkeypatch.setattr(serving, "serve", lambda _name, parameters, _schedule: found.append(parameters))
    schemas = [str(inbox / "invoice.json"), str(inbox / "recipe.json")]
    served = ["flows", "serve", str(inbox / "inbox"), "--out", str(inbox / "out"), "--schema", schemas[0]]
    assert run([*served, "--schema", schemas[1]]) == run([*served, "--related", "0.5"]) == 0
    assert (found[0]["record_schema"], "related" in found[0]) == (schemas, False)
    assert (found[1]["record_schema"], found[1]["related"]) == (schemas[0], 0.5)
