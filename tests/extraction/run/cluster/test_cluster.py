"""A run over a cluster writes the same rows as a run on one machine, even where processes die."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont
from tests.support import reading_model
from tests.support.begun_runs import begun_backfill
from tests.support.notes import NAMES_ALONE, NOTE, write_notes
from tests.support.reading_model import ReadingModel

from cinnabar import extras
from cinnabar.errors import DocumentError, ModelError, RunError, UsageError
from cinnabar.extraction.documents.content.inputs import Sent
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.filling.model_sources import ModelSource, model_source
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.filling.routing.routing import Routing
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batched_run import driver_of
from cinnabar.extraction.run.cluster import connection
from cinnabar.extraction.run.cluster.connection import Cluster, Heartbeat, check_cluster, join_cluster
from cinnabar.extraction.run.cluster.supervisor import EngineSlot, engine_slots, parser_machines
from cinnabar.extraction.run.cluster.workers import Filling, packed_assignment, shipments_of
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import load_schema

# Each process imports PyTorch when it starts, which takes long on a machine busy with other work.
pytestmark = pytest.mark.timeout(900)


class Deadly(ReadingModel):
    """A model that ends its process at the word DIE."""

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        if any("DIE" in passage.text for passage in passages):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(passages)


def source(load: Any = Deadly) -> ModelSource:
    return ModelSource("reading", load)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of two processors of this machine."""
    with ExitStack() as stack:
        found = stack.enter_context(join_cluster("local", Assignment(NOTE, source()), processors=2))
        assert found is not None
        # The workers do not have the tests' own modules.
        for module in (reading_model, sys.modules[__name__]):
            found.ray.cloudpickle.register_pickle_by_value(module)
            stack.callback(found.ray.cloudpickle.unregister_pickle_by_value, module)
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = write_notes(tmp_path / "docs", 44)
    (docs / "mail.eml").write_text("From: a@b.example\nSubject: name=Mail\n\ntotal=3.25\n")
    return docs


def written(out: Path) -> list[Any]:
    """All rows that a run wrote, except its id and its times."""
    records = "document, engine_fingerprint, confidence, flags, record_json"
    fields = "document, pointer, value_json, confidence, origin, page, spans, flags"
    return [
        sorted(query(out, f"select {columns} from {table}").rows, key=str)
        for table, columns in (
            ("records", records),
            ("fields", fields),
            ("outcomes", "path, outcome, code, detail, document, duplicate_of"),
        )
    ]


def processes(name: str) -> list[int]:
    """Descendants of this process with this text in their command line."""
    parents, lines = dict[int, int](), dict[int, str]()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            lines[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue

    def ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and ours(parents[pid]))

    return sorted(pid for pid, line in lines.items() if name in line and ours(pid))


def gone(*names: str) -> bool:
    """Whether no such process is left, or none soon."""
    deadline = time.monotonic() + 120
    while any(map(processes, names)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(processes, names))


class Killer(ProgressListener):
    """End one process of each kind during the run, one kind at each of the first commits."""

    kinds = ("processes.worker", "ray::Parsing", "ray::Filling")

    def __init__(self) -> None:
        self.killed: dict[str, int] = {}

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        if len(self.killed) < len(self.kinds) and outcomes[0].status != "skipped":
            kind = self.kinds[len(self.killed)]
            self.killed[kind] = processes(kind)[0]
            os.kill(self.killed[kind], signal.SIGKILL)


@pytest.mark.slow
def test_pages_that_ocr_read_on_a_cluster_are_kept_and_sent_out_again(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    page = Image.new("L", (600, 160), 255)
    ImageDraw.Draw(page).text((40, 40), "name=Ada\ntotal=3.25", fill=0, font=ImageFont.load_default(40))
    page.save(tmp_path / "scan.png")
    options, out = RunOptions(workers=1), tmp_path / "out"
    extract([tmp_path / "scan.png"], NOTE, out, source(), options, cluster=cluster)
    (kept,) = out.glob("pages/*/*.json")
    kept.write_bytes(kept.read_bytes().replace(b"Ada", b"Eva"))
    extract([tmp_path / "scan.png"], NAMES_ALONE, out, source(), options, cluster=cluster)
    assert query(out, "select value_json from _fields where pointer = '/name' order by value_json").rows == [
        ('"Ada"',), ('"Eva"',),
    ]  # fmt: skip


KINDS = [
    load_schema(
        {
            "title": title,
            "description": said,
            "type": "object",
            "properties": {name: {"type": ["string", "null"]} for name in fields},
        }
    )
    for title, said, *fields in (
        ("invoice", "An invoice: a bill for goods or services.", "invoice_number", "customer", "net_amount", "total"),
        ("recipe", "A cooking recipe with its ingredients.", "dish", "ingredients", "servings"),
    )
]
MIXED = (
    "INVOICE\nInvoice number: {0}\nCustomer: J. Mills\nNet amount 40.00\ntotal=48.0{0}\nPlease pay within 30 days.",
    "Lemon cake\nservings={0}\nIngredients: 200 g flour, 3 eggs.\nHeat the oven to 180 °C and bake for 40 minutes.",
    "Dear Anna {0},\nthe weather in Bergen was dreadful, but the cat is well. Write soon.\nLove, Ingrid",
)


@pytest.mark.slow
def test_a_cluster_sends_each_document_to_the_schema_that_one_machine_chooses(
    cluster: Cluster, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(9):
        (docs / f"{number}.txt").write_text(MIXED[number % 3].format(number), encoding="utf-8")
    options, routing = RunOptions(workers=1, batch=2), Routing(tuple(KINDS))
    alone = extract([docs], KINDS[0], tmp_path / "alone", source(), options, routing=routing)
    spread = extract([docs], KINDS[0], tmp_path / "spread", source(), options, cluster=cluster, routing=routing)
    assert written(tmp_path / "spread") == written(tmp_path / "alone")
    assert (spread.written, spread.skips) == (alone.written, alone.skips) == (6, {"other_kind": 3})
    again = extract([docs], KINDS[0], tmp_path / "spread", source(None), options, cluster=cluster, routing=routing)
    assert (again.skipped, again.steps) == (9, 0)


def test_a_machine_that_chooses_schemas_or_reads_differently_is_refused() -> None:
    assignment = Assignment(KINDS[0], model_source(), RunOptions(), routing=Routing(tuple(KINDS)))
    sent, place = pickle.dumps(assignment), socket.gethostname()
    assert assignment.shared_name.split()[0] == replace(assignment, routing=None).shared_name == assignment.fingerprint
    with pytest.raises(UsageError, match=rf"^{place}: .* chooses their schemas differently"):
        Filling(1).start(sent, f"{assignment.fingerprint} {'0' * 16}")
    with pytest.raises(UsageError, match=rf"^{place}: .* reads documents differently"):
        Filling(1).start(sent, f"{'0' * 16} {'0' * 16}")


@pytest.mark.slow
def test_the_rows_are_those_of_one_machine_whichever_process_is_killed(
    cluster: Cluster, folder: Path, tmp_path: Path
) -> None:
    options, killer = RunOptions(workers=1, batch=3), Killer()
    alone = extract([folder], NOTE, tmp_path / "alone", source(), options)
    spread = extract([folder], NOTE, tmp_path / "spread", source(), options, killer, cluster=cluster)
    assert sorted(killer.killed) == sorted(Killer.kinds)
    assert written(tmp_path / "spread") == written(tmp_path / "alone")
    assert (spread.inputs, spread.written, spread.steps) == (48, 45, alone.steps)
    assert gone("ray::Filling", "ray::Parsing", "processes.worker")
    again = extract([folder], NOTE, tmp_path / "spread", source(None), options, cluster=cluster)
    assert (again.skipped, again.steps) == (48, 0)


@pytest.mark.slow
def test_a_backfill_over_a_cluster_writes_the_same_rows_whichever_process_is_killed(
    cluster: Cluster, folder: Path, tmp_path: Path
) -> None:
    options, killer, rows, steps = RunOptions(workers=1, batch=3), Killer(), list[Any](), list[int]()
    extract([folder], NAMES_ALONE, tmp_path / "before", source(), options)
    model = source(ReadingModel)
    for out, spread in (("alone", False), ("spread", True)):
        shutil.copytree(tmp_path / "before", tmp_path / out)
        progress = killer if spread else ProgressListener()
        (folder / "07.txt").write_text("name=N7\ntotal=7.50\n")
        with begun_backfill(NOTE, tmp_path / out, model, None, options, progress).run as begun:
            (folder / "07.txt").write_text("name=another\n")
            if spread:
                begun.drive(driver_of(1, cluster))
            else:
                for number in range(len(begun.batches)):
                    begun.work(number)
            steps.append(begun.finish().steps)
        rows.append(written(tmp_path / out))
    assert sorted(killer.killed) == sorted(Killer.kinds)
    assert rows[0] == rows[1] and steps[0] == steps[1] > 0
    out = tmp_path / "spread"
    assert query(out, "select count(*) from note where total is not null").rows == [(44,)]
    told = query(out, "select path, detail from outcomes where code = 'changed'").rows
    assert [(Path(path).name, "was changed while" in detail) for path, detail in told] == [("07.txt", True)]
    assert gone("ray::Filling", "ray::Parsing", "processes.worker")


@pytest.mark.slow
def test_a_document_that_keeps_killing_its_engine_is_held_back_and_the_rest_is_stored(
    cluster: Cluster, tmp_path: Path
) -> None:
    for name in ("a", "b", "poison"):
        (tmp_path / f"{name}.txt").write_text("DIE\n" if name == "poison" else f"name={name}\n")
    paths, out = [*tmp_path.glob("*.txt")], tmp_path / "out"
    found = extract(paths, NOTE, out, source(), RunOptions(workers=1, batch=1), cluster=cluster)
    assert (found.written, found.reasons) == (2, {"engine_died": 1})
    (detail,) = query(out, "select detail from quarantine").rows[0]
    assert "each engine that filled it died (ActorDiedError: " in detail and "\n" not in detail
    assert gone("ray::Filling", "ray::Parsing", "processes.worker")


@pytest.mark.slow
def test_a_model_that_does_not_fit_gives_the_error_of_one_machine(cluster: Cluster, tmp_path: Path) -> None:
    def load() -> ReadingModel:
        raise ModelError("its weights are not there")

    (tmp_path / "a.txt").write_text("name=A\n")
    with pytest.raises(ModelError, match=r"^its weights are not there"):
        extract([tmp_path / "a.txt"], NOTE, tmp_path / "out", source(load), cluster=cluster)


def test_a_lost_cluster_is_one_line(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    felt = Heartbeat(cluster)
    felt.check()
    with socket.create_server(("127.0.0.1", 0)) as server:
        nowhere = server.getsockname()
    monkeypatch.setattr(felt, "_head", nowhere)
    felt.check()  # it may come back
    monkeypatch.setattr(connection, "HEAD_GRACE", -1.0)
    with pytest.raises(RunError, match=r"the cluster is gone: its head has not answered .*refused.*again"):
        felt.check()
    monkeypatch.setattr(felt, "_here", nowhere)
    with pytest.raises(RunError, match="the cluster is gone: Ray has ended on this machine"):
        felt.check()


def test_a_cluster_is_joined_by_its_address(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "JOIN_LIMIT", 120.0)  # a busy machine is no failure
    check_cluster(cluster.ray.get_runtime_context().gcs_address, Assignment(NOTE, source()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("here", "expected auto, local or HOST:PORT"),
        ("ray://127.0.0.1:10001", "expected auto, local or HOST:PORT"),
        ("127.0.0.1:1", "--ray 127.0.0.1:1: no answer (Connection refused)"),
        ("no.such.host.invalid:6379", "no answer"),
        ("127.0.0.1:{silent}", "no Ray cluster answers within 2 s"),
    ],
)
def test_a_wrong_address_is_one_line_before_any_work(
    address: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from cinnabar.apps.cli.main import run

    monkeypatch.setattr(connection, "JOIN_LIMIT", 2.0)
    (tmp_path / "a.txt").write_text("Paid 3.50\n")
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = address.format(silent=silent.getsockname()[1])
        arguments = [str(tmp_path / "a.txt"), "--schema", "receipt", "--out", str(out)]
        assert run(["extract", *arguments, "--ray", address]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"cinnabar: --ray {address}: ") and said in line
    assert not out.exists()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=re.escape('pip install "cinnabar-extract[ray]"')):
        check_cluster("local", Assignment(NOTE, source()))


def test_a_cluster_refuses_remote_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INCEPTION_API_KEY", "key")
    remote = model_source("mercury-2")
    with pytest.raises(UsageError, match=r"^--ray: .* got --model with one behind a server"):
        check_cluster("auto", Assignment(NOTE, remote))
    with pytest.raises(UsageError, match=r"^--ray: .* got --escalate-to with one behind a server"):
        check_cluster("auto", Assignment(NOTE, source(), escalation=Escalation(remote, 0.8)))


def machine(name: str, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"NodeID": name, "Alive": alive, "Resources": {"memory": 64 << 30, **resources}}


def test_an_engine_has_a_gpu_or_a_processor_and_its_memory() -> None:
    head, plain, both = machine("head", CPU=0), machine("plain", CPU=3), machine("both", CPU=16, GPU=2)
    gone, small = machine("gone", alive=False, CPU=64), machine("small", CPU=8, memory=float(2 << 30))
    all_of_them = [head, plain, both, gone, small]
    assert engine_slots(all_of_them) == [
        EngineSlot("plain", 1),
        EngineSlot("both", 8, 1),
        EngineSlot("small", 4),
        EngineSlot("plain", 1),
        EngineSlot("both", 8, 1),
        EngineSlot("small", 4),
        EngineSlot("plain", 1),
    ]
    assert engine_slots(all_of_them, "cuda") == [EngineSlot("both", 8, 1)] * 2
    assert engine_slots([both], "cpu") == [EngineSlot("both", 1)] * 16
    assert parser_machines(all_of_them) == ["plain", "both", "small"]
    with pytest.raises(UsageError, match="expected a machine that offers a GPU, got 2 without"):
        engine_slots([head, plain], "cuda")
    with pytest.raises(UsageError, match="expected a machine that offers a processor, got 1 without"):
        engine_slots([head])


@pytest.mark.slow
def test_a_users_pydantic_class_is_sent_to_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray import cloudpickle

    (tmp_path / "claims.py").write_text(
        "from pydantic import BaseModel, field_validator\n"
        "class Claim(BaseModel):\n    number: int\n"
        "    @field_validator('number')\n    @classmethod\n    def known(cls, number):\n"
        "        if number == 7:\n            raise ValueError('seven is taken')\n        return number\n"
    )
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("claims", None)
    assignment = Assignment(load_schema("claims:Claim"), model_source(), RunOptions())
    (tmp_path / "packed").write_bytes(packed_assignment(assignment, cloudpickle))
    (tmp_path / "claims.py").unlink()
    del sys.modules["claims"]  # monkeypatch would put it back for the tests behind this one
    elsewhere = (
        "import pickle, sys; found = pickle.load(open('packed', 'rb'));"
        "print(found.fingerprint, [v.message for v in found.validator.check('{\"number\": 7}')])"
    )
    done = subprocess.run([sys.executable, "-c", elsewhere], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{assignment.fingerprint} ['Value error, seven is taken']"


def test_an_assignment_is_sent_without_its_derived_objects() -> None:
    assignment = Assignment(NOTE, model_source(), RunOptions(effort="high"))
    assert assignment.compiled_schema.form and assignment.validator
    there = pickle.loads(pickle.dumps(assignment))
    kept = {"source", "model", "options", "escalation", "routing", "examples"}
    assert there == assignment and set(vars(there)) == kept


def test_a_file_that_became_unreadable_harms_only_itself(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("name=B\n")
    inputs = [Input(str(path), path) for path in (tmp_path / "a.txt", tmp_path / "b.txt")]
    gone, there = shipments_of(inputs, [None, None])
    assert isinstance(gone.content, DocumentError) and gone.content.code == "not_a_file"
    assert isinstance(there.content, Sent)
    assert (there.content.name, there.content.data) == (tmp_path / "b.txt", b"name=B\n")


@pytest.mark.parametrize("engines", ["2", "auto"])
def test_ray_and_engines_are_refused_together_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engines: str
) -> None:
    from cinnabar.apps.cli.main import run

    (tmp_path / "a.txt").write_text("a")
    given = ["--out", str(tmp_path / "out"), "--ray", "local", "--engines", engines]
    assert run(["extract", str(tmp_path / "a.txt"), "--schema", "receipt", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"cinnabar: --engines {engines}: expected 1 with --ray")
    assert line.endswith("leave out --engines to use the cluster, or --ray to use this machine alone")
    assert not (tmp_path / "out").exists()
