"""Batches that fail have the same attempts in one process, in engine processes, on a cluster and in Prefect's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support import dying_model, reading_model
from tests.support.begun_runs import begun_extraction
from tests.support.dying_model import FailingModel, ThirdLoad
from tests.support.notes import NAMES_ALONE
from tests.support.told_progress import Told

from cinnabar.errors import RunError
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.batch import retries
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.cluster.connection import Cluster, join_cluster
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store

# Each process imports PyTorch when it starts, which takes long on a machine busy with other work.
pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

DRIVERS = ("process", "engines", "cluster", "prefect")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of two processors of this machine."""
    with ExitStack() as stack:
        assignment = Assignment(NAMES_ALONE, ModelSource("reading", FailingModel))
        found = stack.enter_context(join_cluster("local", assignment, processors=2))
        assert found is not None
        # The workers do not have the tests' own modules.
        for module in (reading_model, dying_model):
            found.ray.cloudpickle.register_pickle_by_value(module)
            stack.callback(found.ray.cloudpickle.unregister_pickle_by_value, module)
        yield found


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DELAYS", (0.0, 0.0))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.txt").write_text(f"name={name.upper()}\n")
    return folder


def work(
    driver: str, request: pytest.FixtureRequest, docs: Path, out: Path, told: Told, load: Any = FailingModel
) -> Summary:
    """Extracts the folder by a driver, in batches of three and of one document."""
    options = RunOptions(workers=1, batch=3, engines="2" if driver == "engines" else "1")
    source = ModelSource("reading", load)
    cluster = request.getfixturevalue("cluster") if driver == "cluster" else None
    if driver == "prefect":
        request.getfixturevalue("prefect_server")
    with begun_extraction([docs], NAMES_ALONE, out, source, options, told) as run:
        if driver != "prefect":
            return run.work_through(cluster)
        from cinnabar.flows.tasks import work_on

        from prefect import flow  # isort: skip

        flow(lambda: work_on(run, None), name="failing")()
        return run.finish()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_batch_that_fails_twice_is_filled_on_its_third_attempt(
    driver: str, request: pytest.FixtureRequest, docs: Path, tmp_path: Path
) -> None:
    counted, told = tmp_path / "counted", Told()
    (docs / "b.txt").write_text(f"name=B\ntwice={counted}\n")
    assert work(driver, request, docs, tmp_path / "out", told).written == 4
    assert counted.read_text() == "xxx"
    assert [said.partition(" failed")[0] for said in told.notes] == ["attempt 1 of 3", "attempt 2 of 3"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_batch_that_fails_three_times_fails_the_run_which_names_its_documents(
    driver: str, request: pytest.FixtureRequest, docs: Path, tmp_path: Path
) -> None:
    counted, out = tmp_path / "counted", tmp_path / "out"
    (docs / "d.txt").write_text(f"name=D\nalways={counted}\n")
    said = (
        r"^batch 1 of 1 document \(.*d\.txt\) failed on every attempt: RunError: the disk has a bad moment; committed"
    )
    with pytest.raises(RunError, match=said):
        work(driver, request, docs, out, Told())
    assert counted.read_text() == "xxx"
    assert query(out, "select count(*) from note where name < 'D'").rows == [(3,)]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_model_that_is_loaded_on_the_third_attempt_fills(
    driver: str, request: pytest.FixtureRequest, docs: Path, tmp_path: Path
) -> None:
    summary = work(driver, request, docs, tmp_path / "out", Told(), ThirdLoad(tmp_path / "counted"))
    assert summary.written == 4 and len((tmp_path / "counted").read_text()) >= 3


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_commit_that_fails_is_tried_again(
    driver: str, request: pytest.FixtureRequest, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failed = Store.write, list[str]()

    def write_third(self: Store, folder: str, *given: Any) -> Any:
        if folder.startswith("data") and given[1].num_rows and len(failed) < 2:
            failed.append(folder)
            raise OSError(28, "No space left on device")
        return write(self, folder, *given)

    monkeypatch.setattr(Store, "write", write_third)
    assert work(driver, request, docs, tmp_path / "out", Told()).written == 4
    assert len(failed) == 2


@pytest.mark.parametrize("driver", ["engines", "cluster"])
def test_a_document_whose_processes_end_is_held_back_after_two_attempts_of_its_batch_and_one_alone(
    driver: str, request: pytest.FixtureRequest, docs: Path, tmp_path: Path
) -> None:
    counted, out = tmp_path / "counted", tmp_path / "out"
    (docs / "b.txt").write_text(f"name=B\ndies={counted}\n")
    summary = work(driver, request, docs, out, Told())
    assert (summary.written, summary.reasons) == (3, {"engine_died": 1})
    assert counted.read_text() == "xxx"
    (row,) = query(out, "select q.path, detail, media_type from quarantine q join documents using (document)").rows
    assert Path(row[0]).name == "b.txt" and "each engine that filled it died" in row[1] and row[2] == "text/plain"
