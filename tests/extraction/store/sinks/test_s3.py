"""Delta tables in a server that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.held_by_sinks import CHANGES, bring, differing
from tests.support.object_stores import s3_server

from cinnabar.errors import UsageError
from cinnabar.extraction.store.sinks.sink import sink_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as address:
        yield address


def test_s3_holds_what_the_folder_holds(out: Path, bucket: str) -> None:
    address = f"delta+{bucket}/delta"
    for change in (lambda _: None, *CHANGES):
        change(out)
        assert bring(out, address).sent > 0
        assert bring(out, address).sent == 0
        assert differing(out, address) == []


def test_a_bucket_that_is_not_there_is_told_before_work(bucket: str) -> None:
    with pytest.raises(UsageError, match="could not be written to: no such bucket or container"):
        sink_of(f"delta+{bucket}-other/x").check()
