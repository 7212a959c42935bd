"""Walks are counted by the text of functions: what they call, and how often a reader returns and climbs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import static_calls, walks
from bench.static_calls import Function, calls, named
from bench.walks import heavy_calls, walk_of

LOW = """
from typing import Protocol

class Filler(Protocol):
    def fill(self) -> int: ...

class Base:
    def close(self) -> None: ...
    def end(self) -> None:
        self.close()

def ask(filler: Filler) -> int:
    return filler.fill() + deep()

def deep() -> int:
    return 1

def read(path: str) -> "list[Base]":
    return []
"""
HIGH = """
from dataclasses import dataclass
from functools import cached_property
from shop.low import Base, ask, deep, read

class Clerk(Base):
    def __init__(self, more: "Store") -> None:
        self.more, self.kept = more, read("")
    def fill(self) -> int:
        return 2
    def close(self) -> None:
        deep()
    @cached_property
    def store(self) -> "Store":
        return self.more

@dataclass
class Store:
    clerks: dict[str, Clerk]
    def __post_init__(self) -> None: ...
    def __enter__(self) -> "Store": ...
    def __exit__(self, *_: object) -> None: ...
    def count(self) -> int: ...

def begin(clerk: Clerk) -> None:
    ask(clerk)
    last()

def last() -> None: ...
"""
#: The top of a module whose functions have a clerk and a store.
HEAD = """
from functools import partial
from shop import low
from shop.high import Clerk, Store, last
from shop.low import ask, deep, read
"""
#: Bodies of functions, and what they call.
BODIES = {
    "low.deep()": "deep",
    "deep() if last() else ask(clerk)": "deep last ask",
    "[one.end() for one in clerk.kept]": "end",
    "clerk.store.count()": "store count",
    "clerk.more.count()": "count",
    "[one.fill() for name, one in store.clerks.items()]": "fill",
    "store.clerks['x'].fill()": "fill",
    "next(iter(store.clerks.values())).fill()": "fill",
    "partial(deep, 1)": "deep",
    "sorted([clerk], key=Clerk.fill)": "fill",
    "Store({}).count()": "__post_init__ count",
    "with Store({}) as held:\n        held.count()": "__post_init__ __enter__ __exit__ count",
    "def inner(one: Clerk) -> Clerk:\n        return one\n    inner(clerk).fill()": "fill",
    "other = clerk\n    for each in [other]:\n        each.fill()": "fill",
    "(found := read('')).append(1)\n    found[0].end()": "read end",
    "for base in read(''):\n        base.close()": "read close close",
    "unknown(1).fill()": "",
}


@pytest.fixture(autouse=True)
def _shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of a module below another one."""
    bodies = [f"def body{at}(clerk: Clerk, store: Store):\n    {text}\n" for at, text in enumerate(BODIES)]
    texts = {"shop.low": LOW, "shop.high": HIGH, "shop.bodies": HEAD + "".join(bodies), "shop": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(static_calls, "modules", lambda: {name: tmp_path / name for name in texts})
    monkeypatch.setattr(walks, "folder_of", lambda module: module)
    monkeypatch.setattr(walks, "folders", lambda: {"shop.high": {"shop.low"}, "shop.low": set()})
    kept = [one for one in vars(static_calls).values() if hasattr(one, "cache_clear")]
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


def _function(module: str, name: str) -> Function:
    (found,) = named(module, name)
    assert isinstance(found, Function)
    return found


def test_a_function_calls_what_its_text_names_in_the_order_of_the_text() -> None:
    found = {text: calls(_function("shop.bodies", f"body{at}")) for at, text in enumerate(BODIES)}
    assert {text: " ".join(one.node.name for one in called) for text, called in found.items()} == BODIES


def test_a_call_of_self_is_of_its_own_class_and_another_of_all_below() -> None:
    (base,) = named("shop.low", "Base")
    assert isinstance(base, static_calls.Class)
    (end,) = static_calls.methods((static_calls.Instance(base),), "end")
    assert [one.name for one in calls(end)] == ["shop.low.Base.close"]
    (body,) = (at for at, text in enumerate(BODIES) if "base.close" in text)
    closed = [one.name for one in calls(_function("shop.bodies", f"body{body}")) if one.node.name == "close"]
    assert closed == ["shop.low.Base.close", "shop.high.Clerk.close"]


def test_a_walk_counts_each_function_where_it_is_met_first() -> None:
    walk = walk_of(_function("shop.high", "begin"))
    met = ["begin", "ask", "fill", "fill", "deep", "last"]
    assert [one.node.name for one in walk.met] == met
    # high; low; high, which the protocol's method stands for and is a climb; low; high.
    assert walk.counts() == (5, 2, 3, 1)
    assert [(low.name, high.name) for low, high in walk.climbs] == [("shop.low.ask", "shop.high.Clerk.fill")]


def test_a_walk_within_a_bound_ends_there() -> None:
    assert [one.node.name for one in walk_of(_function("shop.high", "begin"), 1).met] == ["begin", "ask", "last"]


def test_calls_are_named_with_the_stays_that_hang_at_them() -> None:
    named_calls = [(stays, one.node.name) for stays, one in heavy_calls(walk_of(_function("shop.high", "begin")))]
    assert named_calls[0] == (3, "ask")
