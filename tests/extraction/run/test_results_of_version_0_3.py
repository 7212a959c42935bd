"""A folder of results that version 0.3 made is read, shown, corrected, filled again and forgotten by this one."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT

from cinnabar.apps.cli.main import run
from cinnabar.engine.version import VERSIONS
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector, corrections
from cinnabar.extraction.documents.mailboxes.oauth import Login
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.left_over import LEFT_OVER, LEFT_VIEWS
from cinnabar.extraction.store.reading import connect, query, views_in

FOLDER = ROOT / "tests" / "data" / "results_0_3"
PACKET = "inbox/bills/packet.pdf#pages="
BILLS = {
    "inbox/bills/first.txt": ("R-1a", "120.50"),
    "inbox/bills/mailed.eml": ("R-4", "77.25"),
    f"{PACKET}1-2": ("R-2", "210.40"),
    f"{PACKET}3-3": ("R-3", "98.50"),
}


def commanded(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command says as JSON."""
    capsys.readouterr()
    status = run([*words, "--out", "tables", "--json"])
    told = capsys.readouterr()
    assert status == 0, told.err
    return json.loads(told.out)


def extracted(capsys: pytest.CaptureFixture[str], kind: str, schema: str, *more: str) -> dict[str, Any]:
    """What a run of this version says, in the folder of 0.3."""
    words = ("extract", f"inbox/{kind}", "--schema", f"{schema}.schema.json", *more)
    result: dict[str, Any] = commanded(capsys, *words)
    return result


#: The versions of parts that have risen since, as they were.
OF_0_3 = {
    "engine": 31, "reader": 30, "merging": 21, "plain": 13, "pdf": 15, "mail": 13, "office": 14, "parsing": 15,
    "web": 13,
}  # fmt: skip
#: What its keys call the reader: its weights, which are today's, and its calibration.
READER_OF_0_3 = "ec920b977e4c5dc3"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder and its inputs, in which the test works with the rules of 0.3; its results."""
    for part, number in OF_0_3.items():
        monkeypatch.setitem(VERSIONS, part, number)
    for user in ("engine.models.reader.loading", "extraction.filling.model_sources"):
        monkeypatch.setattr(f"cinnabar.{user}.fingerprint_of", lambda _: READER_OF_0_3)
    shutil.copytree(FOLDER, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place" / "tables"


def bills(out: Path) -> dict[str, tuple[Any, ...]]:
    found = query(out, "SELECT path, invoice_number, total::VARCHAR FROM bill").rows
    return {path: tuple(values) for path, *values in found}


def test_the_first_run_reads_no_document_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders = extracted(capsys, "orders", "order")
    # What nothing reads any more is gone.
    assert not [name for name in LEFT_OVER if (place / name).exists()]
    assert (orders["inputs"], orders["skipped"], orders["steps"]) == (5, 5, 0)
    read = extracted(capsys, "bills", "bill", "--split")
    assert (read["inputs"], read["skipped"], read["steps"]) == (4, 4, 0)
    # The correction that waited is stored.
    assert bills(place) == BILLS and not [*(place / "waiting").glob("*.json")]
    assert not verify(place).problems


def test_rules_that_have_changed_since_read_its_documents_once(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERSIONS, "merging", OF_0_3["merging"] + 1)
    words = ["extract", "inbox/bills", "--schema", "bill.schema.json", "--out", "tables", "--split"]
    assert run(words) == 0
    assert "4 documents have a record of other rules" in capsys.readouterr().err
    assert run(words) == 0
    assert "have a record" not in capsys.readouterr().err
    assert bills(place)["inbox/bills/first.txt"] == BILLS["inbox/bills/first.txt"], "what a person said stays"


def test_a_run_and_forget_say_what_of_an_earlier_version_they_remove(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["forget", "f1.txt", "--out", "tables", "--dry-run"]) == 0
    names = ", ".join(f"{name} ({held})" for name, held in LEFT_OVER.items() if (place / name).exists())
    told = f"of an earlier version, and read by nothing any more: {names}"
    assert f"would be removed: {told}" in capsys.readouterr().out and (place / "encodings").is_dir()
    assert run(["extract", "inbox/orders", "--schema", "order.schema.json", "--out", "tables"]) == 0
    assert f"removed {told}" in capsys.readouterr().err
    assert run(["extract", "inbox/orders", "--schema", "order.schema.json", "--out", "tables"]) == 0
    assert "earlier version" not in capsys.readouterr().err


def test_all_that_the_folder_holds_is_shown_before_a_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = {**BILLS, "inbox/bills/mailed.eml": ("R-4", "77.10")}
    assert bills(place) == stored
    told = query(place, "SELECT path, carrier, amount::VARCHAR FROM freight").rows
    assert [*map(tuple, told)] == [("inbox/freight/f1.txt", "C-7", "18.90")]
    held = query(place, "SELECT path, code FROM quarantine ORDER BY path").rows
    assert [*map(tuple, held)] == [
        ("inbox/orders/broken.pdf", "truncated"), ("inbox/orders/greeting.txt", "empty_record"),
    ]
    made = {(one.who, str(one.action)) for one in corrections(place)}
    assert made >= {("Ada", "value"), ("Bob", "value"), ("Cleo", "audit")}
    for words in (["status"], ["sql", "from checks"], ["quarantine", "list"], ["show", "first.txt"]):
        assert commanded(capsys, *words)
    with pytest.raises(UsageError, match=r"the view case_checks is gone: .*docs/recipes.md"):
        query(place, "SELECT * FROM case_checks")
    (part,) = commanded(capsys, "show", f"{PACKET}3-3")
    assert part["path"] == f"{PACKET}3-3"


def test_every_view_and_column_is_there_or_said_to_be_gone(place: Path) -> None:
    before = json.loads((FOLDER / "views.json").read_text())
    with connect(place) as connection:
        shown = {*views_in(connection)}
        for view in shown:
            there = {row[0] for row in connection.execute(f'DESCRIBE "{view}"').fetchall()}
            assert {*before[view]} <= there, view
    assert before.keys() - shown == LEFT_VIEWS.keys()
    for view, instead in LEFT_VIEWS.items():
        with pytest.raises(UsageError, match=f"^sql: the view {view} is gone: {re.escape(instead)}$"):
            query(place, f"SELECT * FROM {view}")


def test_a_part_of_its_packet_is_corrected_and_forgotten(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ((document,),) = query(place, f"SELECT document FROM bill WHERE path = '{PACKET}1-2'").rows
    change = Change(Action.VALUE, "/seller", json.dumps("Blue River Mills"))
    Corrector(place).correct(document, "bill", [change], "Ada")
    assert query(place, f"SELECT seller FROM bill WHERE path = '{PACKET}1-2'").rows == [("Blue River Mills",)]
    assert commanded(capsys, "forget", f"{PACKET}3-3", "--yes")["results"]["rows"]["data"]
    assert set(bills(place)) == BILLS.keys() - {f"{PACKET}3-3"}
    assert not verify(place).problems


def test_a_schema_with_a_keyword_that_is_gone_is_refused_and_its_records_are_corrected(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["extract", "inbox/freight", "--schema", "freight.schema.json", "--out", "tables"]) == 2
    told = capsys.readouterr().err
    assert "x-cinnabar-lookup is gone" in told and "docs/recipes.md" in told
    ((document,),) = query(place, "SELECT document FROM freight").rows
    state = Corrector(place).correct(document, "freight", [Change(Action.VALUE, "/carrier", '"C-8"')], "Ada")
    assert state.record is not None and json.loads(state.record.text)["carrier"] == "C-8"
    assert query(place, "SELECT carrier FROM freight").rows == [("C-8",)] and not verify(place).problems


@pytest.mark.slow  # It loads the shipped model.
def test_a_part_of_its_packet_is_filled_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(Path("bill.schema.json").read_text())
    schema["properties"]["currency"] = {"type": ["string", "null"]}
    Path("bill.schema.json").write_text(json.dumps(schema))
    commanded(capsys, "backfill", "--schema", "bill.schema.json")
    assert bills(place) == BILLS
    assert query(place, "SELECT count(*) FROM bill WHERE currency IS NULL").rows == [(4,)]


def test_the_stored_deployment_runs_unless_it_has_a_value_that_is_gone() -> None:
    from cinnabar.flows.extract import extract_folder

    stored = json.loads((FOLDER / "deployment.json").read_text())
    assert extract_folder.validate_parameters(stored)["paths"] == ["inbox/orders"]
    with pytest.raises(UsageError, match=r"^sink is gone: .*Parquet"):
        extract_folder.validate_parameters(stored | {"sink": ["delta:lake"]})


def test_the_saved_login_of_a_mailbox_is_one_of_this_version() -> None:
    login = Login.of((FOLDER / "mailbox.login").read_text().strip())
    assert login is not None and (login.client_id, login.refresh_token) == ("1b7c2f08-aaaa", "no-secret-of-value")
