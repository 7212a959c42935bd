"""Objects are fetched ahead: few bytes wait at a time, and some are kept."""

from __future__ import annotations

import threading

import pytest

from cinnabar.extraction.documents.buckets import fetch_ahead as ahead
from cinnabar.extraction.documents.buckets.bucket import StoredObject
from cinnabar.extraction.documents.buckets.fetch_ahead import FetchAhead, KeptBytes


def stored(key: str, size: int = 1) -> StoredObject:
    return StoredObject(key, size, "v", None)


def test_few_bytes_wait_and_all_objects_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_WAITING", 100)
    lock, here, most = threading.Lock(), 0, 0

    def fetch(one: StoredObject) -> tuple[bytes, str]:
        nonlocal here, most
        with lock:
            here += one.size
            most = max(most, here)
        return one.key.encode(), "v"

    objects = [stored(f"{n}", 30) for n in range(40)] + [stored("large", 500)]
    fetching = FetchAhead(fetch, 8)
    fetching.expect(objects)
    for one in [*objects[5:], *objects[:5]]:
        assert fetching.take(one) == (one.key.encode(), "v")
        with lock:
            here -= one.size
    fetching.close()
    # Those that are asked for out of their turn are fetched at once, beside the others.
    assert most <= 500 + 100 + 30


def test_kept_bytes_come_back_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_KEPT", 1 << 20)
    kept = KeptBytes()
    kept.keep("a", b"1" * 400_000)
    kept.keep("b", b"2" * 800_000)
    kept.keep("c", b"3" * 400_000)
    assert [kept.get(key) for key in "abcd"] == [b"1" * 400_000, None, b"3" * 400_000, None]
    kept.close()
