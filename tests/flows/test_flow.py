"""The Prefect flow: it does the work of the command, retries a failed batch, and names failures."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support import imap_server
from tests.support import mercury_server as mercury

from cinnabar.apps.cli.main import run
from cinnabar.errors import InUse, RunError, UsageError
from cinnabar.extraction.documents.mailboxes.oauth import Login
from cinnabar.extraction.filling.pipeline import Batch
from cinnabar.extraction.plan import left_options
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store
from cinnabar.flows.prefect_server import secret


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_tries_a_failed_batch_again_and_a_second_flow_has_nothing_to_do(
    notes: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.flows.extract import extract_folder

    real, calls = BatchedRun.fill, []

    def fill(self: BatchedRun, number: int) -> Batch:
        calls.append(number)
        if calls == [0, 1]:
            raise OSError("the disk had a bad moment")
        return real(self, number)

    monkeypatch.setattr(BatchedRun, "fill", fill)
    where = ([str(notes)], str(notes.parent / "note.json"), str(tmp_path / "out"), str(tiny_model), "cpu")
    first = extract_folder(*where, on_empty="write", workers=1, batch=2)
    assert calls == [0, 1, 1]
    assert (first["inputs"], first["written"], first["quarantined"]) == (4, 3, 1)
    second = extract_folder(*where, on_empty="write", workers=1)
    assert (second["skipped"], second["steps"], len(calls)) == (4, 0, 3)
    assert query(tmp_path / "out", "select count(*) from note").rows == [(3,)]


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_asks_a_server_and_its_key_is_no_parameter(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.flows.extract import extract_folder

    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    with mercury.running(mercury.Server()) as server:
        monkeypatch.setenv("INCEPTION_BASE_URL", server.url)
        found = extract_folder(
            [str(notes)],
            str(notes.parent / "note.json"),
            str(tmp_path / "out"),
            "mercury-2",
            on_empty="write",
            workers=1,
            budget="1.00",
        )
    assert (found["written"], found["quarantined"]) == (3, 1)
    assert found["usage"]["requests"] == len(server.bodies) == 3


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("prefect_server")
def test_the_flow_can_run_on_a_cluster(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    from cinnabar.flows.extract import extract_folder

    where = ([str(notes)], str(notes.parent / "note.json"))
    how: dict[str, Any] = {"model": str(tiny_model), "device": "cpu", "workers": 1, "batch": 2, "on_empty": "write"}
    alone = extract_folder(*where, str(tmp_path / "alone"), **how)
    spread = extract_folder(*where, str(tmp_path / "spread"), **how, ray="local")
    assert (spread["written"], spread["quarantined"], spread["steps"]) == (3, 1, alone["steps"])
    sql = "select path, engine_fingerprint, confidence, record_json from records order by path"
    assert query(tmp_path / "spread", sql).rows == query(tmp_path / "alone", sql).rows
    with pytest.raises(UsageError, match=r"--ray 127\.0\.0\.1:1: no answer"):
        extract_folder(*where, str(tmp_path / "never"), **how, ray="127.0.0.1:1")
    assert not (tmp_path / "never").exists()


@pytest.mark.usefixtures("prefect_server")
def test_a_stored_deployment_runs_with_a_parameter_that_is_gone_at_its_default_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.flow_engine import run_flow

    from cinnabar.flows.extract import extract_folder

    gone = left_options.LeftOption(["none"], "a query does it")
    monkeypatch.setattr(left_options, "LEFT_OPTIONS", {"left_option": gone})
    (tmp_path / "docs").mkdir()
    stored = {"paths": [str(tmp_path / "docs")], "record_schema": "receipt", "out": str(tmp_path / "out")}

    def state_with(value: list[str]) -> Any:
        return run_flow(extract_folder, parameters=stored | {"left_option": value}, return_type="state")

    failed = state_with(["some"])
    assert failed.is_failed() and "left_option is gone: a query does it" in failed.message
    assert not (tmp_path / "out").exists()
    assert state_with(["none"]).is_completed()


@pytest.mark.usefixtures("prefect_server")
def test_wrong_use_is_not_retried(
    notes: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.flows.extract import extract_folder

    calls = []

    def fill(_: BatchedRun, number: int) -> Batch:
        calls.append(number)
        raise UsageError("device cuda: there is none")

    monkeypatch.setattr(BatchedRun, "fill", fill)
    with pytest.raises(UsageError, match="cuda"):
        extract_folder([str(notes)], "receipt", str(tmp_path / "out"), str(tiny_model))
    assert calls == [0]


@pytest.mark.usefixtures("prefect_server")
def test_too_much_in_quarantine_fails_the_run_in_a_sentence_that_names_the_reasons(
    notes: Path, tiny_model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from prefect.client.orchestration import get_client

    from cinnabar.flows.extract import extract_folder

    where = ([str(notes)], str(notes.parent / "note.json"), str(tmp_path / "out"), str(tiny_model), "cpu")
    state = extract_folder(*where, on_empty="write", workers=1, max_error_rate=0.2, return_state=True)
    expected = r"1 of 4 documents in quarantine, more than 0\.2 of them: truncated 1 \(.*broken\.pdf.*\)\."
    assert state.is_failed() and re.fullmatch(expected, state.message)
    assert "Traceback" not in caplog.text and state.message in caplog.text
    assert "quarantine: truncated 1: " in caplog.text
    with pytest.raises(RunError, match=expected):
        state.result()
    assert query(tmp_path / "out", "select count(*) from note").rows == [(3,)]
    (report,) = (tmp_path / "out" / "reports").glob("*.html")
    with get_client(sync_client=True) as client:
        shown = {one.description: one.data for one in client.read_artifacts() if one.key == "cinnabar-report"}
    assert "<code>truncated</code> 1" in shown[str(report)] and report.stem in shown[str(report)]


@pytest.mark.usefixtures("prefect_server")
def test_the_states_of_a_flow_tell_counts(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    from cinnabar.flows.extract import extract_folder

    where = ([str(notes)], str(notes.parent / "note.json"), str(tmp_path / "out"), str(tiny_model), "cpu")
    state = extract_folder(*where, on_empty="write", workers=1, return_state=True)
    assert state.is_completed() and state.message == "3 written, 1 quarantined (truncated 1), 0 skipped"
    state = extract_folder(*where, on_empty="write", workers=1, return_state=True)
    assert state.is_completed() and state.message == "0 written, 0 quarantined, 4 skipped"


@pytest.mark.usefixtures("prefect_server")
def test_a_flow_over_an_empty_folder_is_no_failure(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    from cinnabar.flows.extract import extract_folder

    (tmp_path / "empty").mkdir()
    where = (str(notes.parent / "note.json"), str(tmp_path / "out"), str(tiny_model), "cpu")
    assert extract_folder([str(tmp_path / "empty")], *where, max_error_rate=0.0)["inputs"] == 0
    with pytest.raises(UsageError, match="no such file or folder"):
        extract_folder([str(tmp_path / "nowhere")], *where)


def test_a_flow_that_waits_for_a_folder_begins_when_the_writing_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.flows import flow_run as output_lock

    monkeypatch.setattr(output_lock, "LOOK", 0.05)
    said: list[str] = []
    other = Store.open(tmp_path)
    with pytest.raises(InUse, match="another run is writing here"):
        output_lock.begun_alone(lambda: Store.open(tmp_path), 0, said.append)
    assert said == []
    with pytest.raises(InUse, match="another run is writing here"):
        output_lock.begun_alone(lambda: Store.open(tmp_path), 0.2, said.append)
    (line,) = said
    assert line.startswith(f"{tmp_path}: another run is writing here (process {os.getpid()}); waiting")
    ending = threading.Timer(0.3, other.close)
    ending.start()
    output_lock.begun_alone(lambda: Store.open(tmp_path), 60, said.append).close()
    ending.join()
    assert len(said) == 2


@pytest.mark.usefixtures("prefect_server")
def test_a_parameter_that_a_deployment_left_empty_is_named() -> None:
    from cinnabar.flows.backfill import backfill_folder
    from cinnabar.flows.extract import extract_folder

    why = "an environment variable was not set when it was deployed"
    with pytest.raises(UsageError, match=f"paths, record_schema, out: .*empty.*{why}"):
        extract_folder([""], "", " ")
    with pytest.raises(UsageError, match=f"out: .*empty.*{why}"):
        backfill_folder("invoice", "")


@pytest.mark.usefixtures("prefect_server")
def test_a_service_without_its_secret_or_mailbox_is_refused_at_once(
    notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from prefect.blocks.system import Secret

    import cinnabar.flows.extract  # noqa: F401, it sets what Prefect reads from the environment

    Secret(value=imap_server.PASSWORD).save("letters")  # type: ignore[call-arg]
    away = "imap://anna%40example.org@127.0.0.1:1/INBOX"
    for path, option, name, expected in (
        (str(notes), "--password-block", "nope", "nope: Prefect has no such Secret block"),
        (away, "--password-block", "letters", "127.0.0.1:1"),
    ):
        served = ["flows", "serve", path, "--schema", "receipt", "--out", str(tmp_path / "out")]
        assert run([*served, option, name]) == 2
        told = capsys.readouterr().err
        assert expected in told and told.count("\n") == 1


@pytest.mark.usefixtures("prefect_server")
def test_a_login_in_a_secret_block_is_replaced_there() -> None:
    import cinnabar.flows.extract  # noqa: F401, it sets what Prefect reads from the environment

    from prefect.blocks.system import Secret  # isort: skip

    old, new = Login("client", "home", "hush", "refresh-1"), Login("client", "home", "hush", "refresh-2")
    Secret(value=old.text()).save("mailbox-login")
    place = secret("mailbox-login")
    assert Login.of(place()) == old
    place.write(new.text())
    assert Login.of(place()) == Login.of(secret("mailbox-login")()) == new
    assert "refresh" not in repr(place)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--every", "9", "--cron", "0 2 * * *"], "expected --every or --cron, got both"),
        (["--every", "0"], "--every: expected seconds above 0, got 0"),
        (["--cron", "at two"], "--cron: expected five fields"),
        (["--timezone", "Mars/Olympus", "--cron", "0 2 * * *"], "--timezone: expected a name such as"),
        (["--model", "nowhere"], "nowhere"),
        (["--related", "7"], "--related: expected 0 to 1, got 7"),
        (["--cron", "0 2 * * *"], "http://127.0.0.1:1/api: no Prefect server answers there"),
    ],
)
def test_a_schedule_that_cannot_work_is_refused_at_once(
    notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    import cinnabar.flows.extract  # noqa: F401, it sets what Prefect reads from the environment

    from prefect.settings import PREFECT_API_URL, temporary_settings  # isort: skip

    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:1/api"}):
        out = str(tmp_path / "out")
        assert run(["flows", "serve", str(notes), "--schema", "receipt", "--out", out, *options]) == 2
    told = capsys.readouterr().err
    assert expected in told and told.count("\n") == 1
