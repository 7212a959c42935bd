"""Whatever a store's order and faults: a listing yields each object once, and few bytes wait at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cinnabar.errors import RunError
from cinnabar.extraction.documents.stores import backend
from cinnabar.extraction.documents.stores import store as ahead
from cinnabar.extraction.documents.stores.backend import Fault, Folder, StoredObject, list_objects
from cinnabar.extraction.documents.stores.store import FetchAhead, KeptBytes


def stored(key: str, size: int = 1) -> StoredObject:
    return StoredObject(key, size, "v", None)


class Flaky:
    """A store that lists its keys in their order, or as they are, and breaks off at these counts of objects."""

    threads = 1

    def __init__(self, keys: list[str], breaks: list[int], in_order: bool) -> None:
        self.keys, self.breaks, self.in_order = keys, list(breaks), in_order
        self.asked: list[str] = []

    def entries(self, folder: Folder, after: str) -> Iterator[StoredObject]:  # noqa: ARG002
        self.asked.append(after)
        left = self.breaks.pop() if self.breaks else len(self.keys) + 1
        for one in sorted(self.keys, key=str.encode) if self.in_order else self.keys:
            # As obstore does where the store itself cannot begin behind a key.
            if one.encode() <= after.encode():
                continue
            left -= 1
            if left < 0:
                raise Fault("broken off")
            yield stored(one)
        if left < 0:
            raise Fault("broken off")

    def fetch(self, one: StoredObject) -> tuple[bytes, str]:
        return one.key.encode(), one.version

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_WAITS", (0.0,) * 30)


@given(
    st.lists(st.text("aä/-~\U0001f600", min_size=1, max_size=4), unique=True, max_size=12),
    st.lists(st.integers(0, 12), max_size=25),
    st.booleans(),
)
@example(["aa", "a"], [1], False)  # An order that begins well says nothing of its end.
def test_a_listing_that_breaks_off_neither_skips_nor_doubles(
    keys: list[str], breaks: list[int], in_order: bool
) -> None:
    store = Flaky(keys, breaks, in_order)
    assert [one.key for one in list_objects(store, "s3://b", "")] == sorted(keys)


def test_a_listing_in_order_goes_on_behind_its_last_key() -> None:
    store = Flaky([f"{n:02}" for n in range(10)], [3, 4], in_order=True)
    assert len(list_objects(store, "s3://b", "")) == 10
    assert store.asked == ["", "03", "06"]


def test_a_listing_that_only_breaks_off_ends_the_run() -> None:
    with pytest.raises(RunError, match="run the same command again"):
        list_objects(Flaky(["a"], [0] * 100, in_order=True), "s3://b", "")


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
