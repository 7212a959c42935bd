"""Published copies and Delta tables in a server that speaks S3."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest
from held_by_sinks import CHANGES, bring, correct, differing
from object_stores import s3_server
from obstore.exceptions import AlreadyExistsError

from cinnabar.apps.cli.main import run as command
from cinnabar.extraction.store.sinks.addresses import sink_of
from cinnabar.schemas.errors import UsageError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as address:
        yield address


def test_s3_holds_what_the_folder_holds(out: Path, bucket: str, capsys: pytest.CaptureFixture[str]) -> None:
    published, tables = f"{bucket}/some/prefix", f"delta+{bucket}/delta"
    for change in (lambda _: None, *CHANGES):
        change(out)
        for address in (published, tables):
            assert bring(out, address).sent > 0
            assert bring(out, address).sent == 0
            assert differing(out, address) == []
    capsys.readouterr()
    assert command(["sql", "select count(*) as n from bill", "--out", published, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 4}]


def test_of_two_writers_at_once_one_commits_and_the_other_finds_it_done(
    out: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{bucket}/two"
    bring(out, address)
    correct(out)
    put, both = obstore.put, threading.Barrier(2)
    refused: list[bool] = []

    def at_once(store: Any, path: str, data: Any, **options: Any) -> Any:
        if not path.startswith("manifests/"):
            return put(store, path, data, **options)
        both.wait(60)
        try:
            put(store, path, data, **options)
            refused.append(False)
        except AlreadyExistsError:
            refused.append(True)
            raise

    monkeypatch.setattr(obstore, "put", at_once)
    sent: list[int] = []
    writers = [threading.Thread(target=lambda: sent.append(sink_of(address).bring(out).sent)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert sorted(refused) == [False, True] and len(sent) == 2 and min(sent) == 0
    assert differing(out, address) == []


def test_a_bucket_that_is_not_there_is_told_before_work(bucket: str) -> None:
    for address in (f"{bucket}-other/x", f"delta+{bucket}-other/x"):
        with pytest.raises(UsageError, match="could not be written to: no such bucket or container"):
            sink_of(address).check()
