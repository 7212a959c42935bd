"""A served flow runs on its schedule, and a deployed flow runs on request, on a real Prefect server.

Server, runner and worker are processes of their own, and the tests look at them by their files and over HTTP: a Prefect
client in this process would leave sockets open. The settings make them look for work more often than usual.

All of it has to hold on two busy cores. A schedule of a few seconds starts a process each time and plans a hundred runs
ahead, which kept a server from answering for minutes. So one test has a schedule, of half a minute, and the others ask
their deployments to run.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support import imap_server
from tests.support.documentation import put_files
from tests.support.message_receivers import receiving

from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store
from cinnabar.flows.prefect_server import answers

ROOT = Path(__file__).resolve().parents[2]
OFTEN = {
    "PREFECT_RUNNER_POLL_FREQUENCY": "1",
    "PREFECT_WORKER_QUERY_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "5",
}
#: The runner waits this long for a server with a slow database. If the server refused to start a run, that run would
#: keep its deployment's one slot for 300 seconds, and all runs due meanwhile would be cancelled.
PATIENT = {
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    "PREFECT_SERVER_DATABASE_TIMEOUT": "120",
    "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "120",
    "PREFECT_API_REQUEST_TIMEOUT": "240",
}
TEXT = {"type": ["string", "null"]}
SCHEMA: dict[str, Any] = {
    "title": "note",
    "type": "object",
    "properties": {"day": {"type": ["string", "null"], "format": "date"}},
    "required": ["day"],
}


class Place:
    """A folder with a mail and a schema, and the address of the server that the test starts there."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.folder, self.api = folder, f"http://127.0.0.1:{self.port}/api"
        (folder / "note.json").write_text(json.dumps(SCHEMA))
        (folder / "mails").mkdir()
        (folder / "mails" / "1.eml").write_bytes(imap_server.mail(1))
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
        self.env |= OFTEN | PATIENT | {"PREFECT_HOME": str(folder / ".prefect"), "DO_NOT_TRACK": "1"}
        self.env["PREFECT_SERVER_API_PORT"] = self.port
        #: The settings of the server's clients.
        self.known = {"PREFECT_API_URL": self.api}
        self.env |= {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "OMP_NUM_THREADS": "1"}

    def run(self, *words: str, **env: str) -> str:
        """Run a command to its end; its output."""
        where: Any = {"cwd": self.folder, "env": self.env | env, "timeout": 300}
        done = subprocess.run(
            [sys.executable, *words], **where, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def running(self, *words: str, **env: str) -> Iterator[None]:
        """A command that goes on until it is interrupted."""
        log = self.folder / f"{'-'.join(words[1:4])}.log"
        with (
            log.open("wb") as file,
            subprocess.Popen(
                [sys.executable, *words], cwd=self.folder, env=self.env | env, stdout=file, stderr=file
            ) as process,
        ):
            try:
                yield
            except AssertionError as failure:
                raise AssertionError(f"{failure}\n{log.read_text()}") from None
            finally:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                process.kill()

    def ask(self, what: str, **body: Any) -> Any:
        """The server's answer to a POST; None if it does not answer.

        A server on a busy machine says 5xx while its database has no free connection.
        """
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.api}/{what}", data, {"Content-Type": "application/json"})
        said = ""
        for _ in range(30):
            try:
                with urllib.request.urlopen(request, timeout=120) as reply:
                    return json.loads(reply.read() or b"null")
            except urllib.error.HTTPError as refused:
                # An unclosed response becomes a warning in some later test.
                with refused:
                    said = f"{what}: {refused.code} {refused.read().decode()}"
                assert refused.code >= 500, said
            time.sleep(2)
        raise AssertionError(said)

    def deployed(self, name: str) -> Any:
        """The server's record of the deployment of this name."""
        (found,) = (one for one in self.ask("deployments/filter") if one["name"] == name)
        return found

    def start(self, deployment: str) -> None:
        """Ask the server to run it now."""
        self.run("-m", "prefect", "deployment", "run", deployment, **self.known)

    def deploy(self, name: str, model: Path, *parameters: str, **yours: str) -> None:
        """Deploy this deployment of prefect.yaml to a work pool, which is made if it is missing."""
        pool = ["-m", "prefect", "work-pool", "create", "cinnabar", "--type", "process", "--overwrite"]
        self.run(*pool, **self.known)
        deploy = ["-m", "prefect", "--no-prompt", "deploy", "--prefect-file", str(ROOT / "prefect.yaml")]
        said = ("device=cpu", "on_empty=write", *parameters)
        mine = [word for one in (f"model={model}", *said) for word in ("--param", one)]
        self.run(*deploy, "--name", name, *mine, **self.known, **yours)

    def working(self) -> AbstractContextManager[None]:
        """Run a worker of that pool."""
        return self.running("-m", "prefect", "worker", "start", "--pool", "cinnabar", **self.known)

    def serving(self) -> AbstractContextManager[None]:
        """Run a server of Prefect."""
        where = ["--host", "127.0.0.1", "--port", self.port]
        return self.running("-m", "prefect", "server", "start", *where)

    def states(self, deployment: str) -> list[tuple[str, str]]:
        """The states of its runs and their messages, the oldest first."""
        asked = {"deployments": {"name": {"any_": [deployment]}}, "sort": "EXPECTED_START_TIME_ASC"}
        runs = [one["state"] for one in self.ask("flow_runs/filter", **asked)]
        return [(one["name"], str(one["message"])) for one in runs if one["name"] != "Scheduled"]

    def heartbeats(self, since: datetime) -> int:
        """The number of heartbeats that runs have sent after this time.

        By their own times: the server counts events seconds after it has received them.
        """
        asked = {"event": {"name": ["prefect.flow-run.heartbeat"]}, "occurred": {"since": since.isoformat()}}
        return int(self.ask("events/filter", filter=asked)["total"])

    def processes(self) -> set[int]:
        """All processes that were started here: all of them have this folder as their home."""
        mine = f"PREFECT_HOME={self.env['PREFECT_HOME']}".encode()
        found = set()
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mine in environment.read_bytes().split(b"\0"):
                    found.add(int(environment.parent.name))
        return found

    def end(self, *left: int) -> None:
        """Kill all processes that were started here, but for some."""
        for process in self.processes() - {*left}:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)


def wait(what: str, holds: Callable[[], Any], seconds: float = 400.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.2)


def rows(out: Path, sql: str) -> list[tuple[Any, ...]]:
    return query(out, sql).rows if (out / "cinnabar.duckdb").exists() else []


# Prefect's processes take long to start; the tests of the flows have a server of their own, too.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A folder of mails and a server."""
    found = Place(tmp_path_factory.mktemp("deployed"))
    try:
        with found.serving():
            wait("the server", lambda: answers(found.api))
            yield found
    finally:
        found.end()


def test_a_folder_that_is_served_is_read_on_schedule(tmp_path: Path, tiny_model: Path) -> None:
    place = Place(tmp_path)
    out, mark = place.folder / "tables", place.folder / "was_run"
    # Prefect starts the server and each run in the working folder, which may hold such modules.
    for name in ("prefect", "uvicorn", "email"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write(__name__)\nraise SystemExit(7)\n")
    serve = ["-P", "-m", "cinnabar.apps.cli.main", "flows", "serve", "mails", "--schema", "note.json"]
    where = ["--out", "tables", "--model", str(tiny_model), "--on", "empty=write"]
    try:
        with place.running(*serve, *where, "--every", "30"):
            wait("the first run", lambda: rows(out, "select * from runs where finished is not null"))
            assert rows(out, "select path from note") == [("mails/1.eml",)]
            (place.folder / "mails" / "2.eml").write_bytes(imap_server.mail(2))
            wait("the next run", lambda: len(rows(out, "select path from note")) == 2)
            deployed = place.deployed("nightly")
    finally:
        place.end()
    assert not mark.exists()
    described = deployed["parameter_openapi_schema"]["properties"]
    assert described["effort"]["enum"] == ["instant", "low", "medium", "high"]
    assert all(parameter["description"] for parameter in described.values())


def test_the_mailbox_of_prefect_yaml_is_deployed_and_read_by_a_worker(place: Place, tiny_model: Path) -> None:
    out = place.folder / "letters"
    with imap_server.running() as mails:
        mails.deliver(imap_server.mail(1), imap_server.mail(2), b"Rar!1")
        secret = f"Secret(value={imap_server.PASSWORD!r}).save('cinnabar-mailbox')"
        place.run("-c", f"from prefect.blocks.system import Secret; {secret}", **place.known)
        yours = {"CINNABAR_SCHEMA": str(place.folder / "note.json"), "CINNABAR_OUT": str(out)}
        yours["CINNABAR_MAILBOX"] = mails.address()
        place.deploy("mailbox", tiny_model, **yours)
        (due,) = place.deployed("mailbox")["schedules"]
        assert due["active"] and due["schedule"]["interval"] == 900
        with place.working():
            place.start("extract-folder/mailbox")
            ended = ("Completed", "2 written, 1 quarantined (unsupported 1), 0 skipped")
            wait("the first run", lambda: place.states("mailbox") == [ended])
            wait("its log", lambda: "quarantine: unsupported 1: " in json.dumps(place.ask("logs/filter", limit=200)))
    assert len(rows(out, "select * from note")) == 2
    shown = [place.ask(f"{what}/filter", limit=200) for what in ("logs", "flow_runs", "artifacts")]
    said = json.dumps(shown)
    assert all(text in said for text in (";UID=", "a RAR archive", "anna%40example.org"))
    assert imap_server.PASSWORD not in said


def test_the_backfill_of_prefect_yaml_runs_when_it_is_asked_to(place: Place, tiny_model: Path) -> None:
    schema, out = place.folder / "filed.json", place.folder / "filed"
    schema.write_text(json.dumps(SCHEMA))
    read = ["extract", str(place.folder / "mails"), "--schema", str(schema), "--out", str(out)]
    mine = ["--model", str(tiny_model), "--on", "empty=write"]
    place.run("-m", "cinnabar.apps.cli.main", *read, *mine)
    schema.write_text(json.dumps(SCHEMA | {"properties": SCHEMA["properties"] | {"who": TEXT}}))
    place.deploy("backfill", tiny_model, CINNABAR_SCHEMA=str(schema), CINNABAR_OUT=str(out))
    with place.working():
        place.start("backfill-folder/backfill")
        described = "from information_schema.columns where table_name = 'note' and column_name = 'who'"
        wait("the new version", lambda: rows(out, f"select 1 {described}"))
        wait("its records", lambda: len(rows(out, "select who from note")) == 1)


def test_who_serves_again_after_a_kill_finds_no_run_that_blocks_the_next_ones(place: Place, tiny_model: Path) -> None:
    out = place.folder / "served_again"
    serve = ["-m", "cinnabar.apps.cli.main", "flows", "serve", "mails", "--schema", "note.json", "--name", "again"]
    where = ["--out", str(out), "--model", str(tiny_model), "--on", "empty=write"]
    server = place.processes()
    with Store.open(out):
        # Its folder is locked, so that the run waits, alive, until it is killed with what serves it.
        with place.running(*serve, *where, **place.known):
            wait("the deployment", lambda: "again" in [one["name"] for one in place.ask("deployments/filter")])
            place.start("extract-folder/again")
            wait("a run to be killed", lambda: [name for name, _ in place.states("again")] == ["Running"])
            place.end(*server)
        before = place.ask("automations/filter")
    time.sleep(31)
    with place.running(*serve, *where, **place.known):
        wait("the killed run's state", lambda: place.states("again")[0][0] == "Crashed")
        assert "process was killed" in place.states("again")[0][1]
        place.start("extract-folder/again")
        wait("the next run", lambda: place.states("again")[-1][0] == "Completed")
    assert place.ask("automations/filter") == before, "an update would end the watch over other runs"


def test_a_night_with_broken_files_and_a_killed_worker_is_told_outside_of_prefect(
    place: Place, tiny_model: Path
) -> None:
    docs, out = place.folder / "night_letters", place.folder / "night"
    docs.mkdir()
    yours = {"CINNABAR_SCHEMA": str(place.folder / "note.json"), "CINNABAR_OUT": str(out)}
    yours["CINNABAR_DOCUMENTS"] = str(docs)
    place.deploy("nightly-folder", tiny_model, "workers=1", "max_error_rate=0.5", **yours)
    put_files(ROOT / "docs" / "production.md", place.folder)

    def patience(seconds: str) -> None:
        mark = f"from cinnabar.flows.crashed_runs import mark_killed_runs; mark_killed_runs({seconds})"
        place.run("-c", mark, **place.known)

    def night(name: str) -> tuple[str, str]:
        before = len(place.states("nightly-folder"))
        place.start("extract-folder/nightly-folder")
        ended = {"Completed", "Failed", "Crashed", "Cancelled"}
        wait(name, lambda: [one for one, _ in place.states("nightly-folder")[before:] if one in ended])
        return place.states("nightly-folder")[-1]

    log = place.folder / "prefect-worker-start.log"
    with receiving() as (hook, told):
        place.run("alert.py", CINNABAR_ALERT=hook, **place.known)
        server = place.processes()
        with place.working():
            for at in range(12):
                (docs / f"{at}.txt").write_text(f"Letter {at}, 2024-05-01")
            assert night("the first night") == ("Completed", "12 written, 0 quarantined, 0 skipped")
            for at in range(3):
                (docs / f"{at}.pdf").write_bytes(b"%%PDF-1.7\n%d" % at)
            state, broken = night("broken files")
            assert state == "Failed" and broken.startswith("3 of 3 documents in quarantine, more than 0.5 of them:")
            wait("a webhook about broken files", lambda: [one for one in told if "Failed" in one])
            assert "Traceback" not in log.read_text()
            assert broken in next(one for one in told if "Failed" in one)
            # The folder is locked, so the next run waits in it, alive, until it is killed with its worker.
            with Store.open(out):
                place.start("extract-folder/nightly-folder")
                wait("a run to be killed", lambda: place.states("nightly-folder")[-1][0] == "Running")
                wait("its waiting", lambda: "another run is writing here" in log.read_text())
                # Less patience than the three minutes of `alert.py`, which a run on a busy machine may need.
                # The server forgets the runs that it watches, until each sends its next heartbeat.
                patience("50")
                less_patience = datetime.now(UTC)
                wait("a heartbeat", lambda: place.heartbeats(less_patience) > 0)
                place.end(*server)
                wait("the killed run's state", lambda: place.states("nightly-folder")[-1][0] == "Crashed")
            wait("a webhook about the killed run", lambda: "Crashed" in told[-1])
            assert "its process was killed" in told[-1]
        patience("")
        with place.working():
            assert night("the next night") == ("Completed", "0 written, 0 quarantined, 15 skipped")
    # A server whose database was busy sends a message again.
    assert len({*told}) == 2
