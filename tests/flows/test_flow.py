"""The Prefect flow does what the command does, and tries a batch again."""

from __future__ import annotations

from pathlib import Path

import mercury_server as mercury
import pytest

from cinnabar.extraction.run import Extraction
from cinnabar.extraction.storage.reading import query
from cinnabar.extraction.storage.records import Outcome
from cinnabar.schemas.errors import UsageError


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_tries_a_failed_batch_again_and_a_second_flow_has_nothing_to_do(
    notes: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.flows.extract import extract_folder

    real, calls = Extraction.work, []

    def work(self: Extraction, number: int) -> list[Outcome]:
        calls.append(number)
        if calls == [0, 1]:
            raise OSError("the disk had a bad moment")
        return real(self, number)

    monkeypatch.setattr(Extraction, "work", work)
    where = ([str(notes)], str(notes.parent / "note.json"), str(tmp_path / "out"), str(tiny_model), "cpu")
    first = extract_folder(*where, workers=1, batch=2)
    assert calls == [0, 1, 1]
    assert (first["inputs"], first["written"], first["quarantined"]) == (4, 3, 1)
    second = extract_folder(*where, workers=1)
    assert (second["skipped"], second["steps"], len(calls)) == (4, 0, 3)
    assert query(tmp_path / "out", "select count(*) from note").rows == [(3,)]


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_asks_a_server_and_its_key_is_no_parameter(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.flows.extract import extract_folder
    from cinnabar.flows.parameters import Server

    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    with mercury.running(mercury.Server()) as server:
        found = extract_folder(
            [str(notes)],
            str(notes.parent / "note.json"),
            str(tmp_path / "out"),
            "mercury-2",
            workers=1,
            remote=Server(base_url=server.url, budget="1.00"),
        )
    assert (found["written"], found["quarantined"]) == (3, 1)
    assert found["usage"]["requests"] == len(server.bodies) == 3


@pytest.mark.usefixtures("prefect_server")
def test_wrong_use_is_not_tried_again(
    notes: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cinnabar.flows.extract import extract_folder

    calls = []

    def work(_: Extraction, number: int) -> list[Outcome]:
        calls.append(number)
        raise UsageError("--device cuda: there is none")

    monkeypatch.setattr(Extraction, "work", work)
    with pytest.raises(UsageError, match="cuda"):
        extract_folder([str(notes)], "receipt", str(tmp_path / "out"), str(tiny_model))
    assert calls == [0]
