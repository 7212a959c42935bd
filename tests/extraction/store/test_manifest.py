"""Where the manifests lie: those that count in one folder, replaced ones in another."""

from __future__ import annotations

import pytest

from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store

ROWS = "SELECT path, name FROM note ORDER BY ALL"


@pytest.fixture
def merged(out, workload, monkeypatch):
    """A folder with a merge of four batches and two more batches."""
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", 4)
    with Store.open(out) as store:
        run = workload.begin(store)
        for number in range(4):
            run.commit_batch([workload.written(f"{number}.txt")])
        run.finish()
    return out


def numbers(folder):
    return {manifests.number_of(path) for path in folder.glob("*.json")}


def test_replaced_manifests_lie_apart_so_that_readers_take_those_that_count(merged):
    counting = {entry.number for entry in manifests.live(manifests.read_all(merged))}
    assert numbers(merged / manifests.FOLDER) == counting
    assert len(numbers(merged / manifests.REPLACED)) == 4 and not numbers(merged / manifests.REPLACED) & counting
    assert manifests.read_live(merged) == manifests.live(manifests.read_all(merged))


def test_a_folder_with_all_manifests_in_one_place_reads_the_same_and_is_sorted_by_the_next_run(merged):
    before, apart = query(merged, ROWS), numbers(merged / manifests.REPLACED)
    for path in (merged / manifests.REPLACED).iterdir():
        path.rename(merged / manifests.FOLDER / path.name)
    assert query(merged, ROWS) == before
    Store.open(merged).close()
    assert query(merged, ROWS) == before
    assert numbers(merged / manifests.REPLACED) == apart and not numbers(merged / manifests.FOLDER) & apart
    assert verify(merged).problems == []


def test_a_merge_that_counts_no_longer_gives_its_batches_back(merged):
    before = query(merged, ROWS)
    (merge,) = [entry for entry in manifests.read_all(merged) if entry.replaces]
    manifests.remove(merged, merge)
    Store.open(merged).close()
    assert query(merged, ROWS) == before
    assert numbers(merged / manifests.REPLACED) == set()
    assert verify(merged).problems == []


def test_a_reader_that_meets_a_merge_lists_the_folder_again(merged, monkeypatch):
    expected, real, moved = manifests.read_live(merged), manifests.read, []

    def read(path):
        if not moved:
            # The writer moved this one since the folder was listed.
            moved.append(path.rename(merged / path.name))
            with pytest.raises(FileNotFoundError):
                real(path)
            moved[0].rename(path)
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(manifests, "read", read)
    assert manifests.read_live(merged) == expected and moved
