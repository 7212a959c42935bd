"""Fixtures of tests of output folders: the workload, which is a program as well, and a folder."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path

import pytest
from tests.support import store_workload

from cinnabar.extraction.store.compaction import merge_batches
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.store import Store


def compact(out: Path) -> None:
    """Merges all batches of each schema, as a run does with 64 of one level."""
    with Store.open(out) as store:
        groups: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
        for entry in store.commits():
            groups[entry.schema_name, entry.schema_fingerprint].append(entry)
        for group in groups.values():
            if len(group) > 1:
                store.replace(partial(merge_batches, store.out, group))


@pytest.fixture(scope="session")
def workload():
    """The module of that program."""
    return store_workload


@pytest.fixture
def out(tmp_path):
    """An output folder that does not exist yet, with a name that breaks careless quoting."""
    return tmp_path / 'it\'s "out"; drop [1]*'
