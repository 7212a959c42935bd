"""Schemas of clients: compiled in processes first, each once, and slow ones stop nobody."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakSet

import pytest

from cinnabar.apps.server import schema_cache
from cinnabar.apps.server.errors import ApiError
from cinnabar.apps.server.schema_cache import SchemaCache
from cinnabar.apps.server.schema_worker import problem_of
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.schemas import load_schema
from cinnabar.schemas.automata.automaton import Automaton

#: Patterns of determinised automata with thousands of states: together they take some ten seconds.
SLOW = {
    "type": "object",
    "properties": {f"p{n}": {"type": "string", "pattern": f"(a|b)*a(a|b){{{10 + n % 3}}}{n}"} for n in range(60)},
}


@pytest.fixture(scope="module")
def cache() -> Iterator[SchemaCache]:
    made = SchemaCache(6.0)
    made.warm()
    yield made
    made.close()


def test_schemas_are_kept_as_far_as_their_bytes_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_cache, "_KEPT_BYTES", 1 << 20)
    cache = SchemaCache(20.0)
    large = [{"enum": [f"{kind}{at}" for at in range(500)]} for kind in "abcdefgh"]

    async def prepare() -> list[int]:
        return [(await cache.prepare(one, "schema")).size for one in (*large, large[-1], large[0])]

    try:
        sizes = asyncio.run(prepare())
    finally:
        cache.close()
    assert sizes[0] == sizes[-1] > 1 << 18 and len(cache._kept) < 4
    assert sum(one.result().size for one in cache._kept.values()) <= 1 << 20


KINDS: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "texts": lambda n, i: {"type": "string", "pattern": f"^{n}x{i}", "maxLength": 30},
    "steps": lambda n, i: {"type": "integer", "multipleOf": 101 + 10 * n + i},
    "choices": lambda n, i: {"enum": [f"{n} {i} {at}" for at in range(40)]},
    "formats": lambda n, i: {"type": "string", "format": "uuid", "pattern": f"{n % 10}{i % 10}"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_kept_any_more_leaves_no_automaton_behind(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1 << 20
    monkeypatch.setattr(schema_cache, "_KEPT_BYTES", most)
    cache = SchemaCache(30.0)
    alive = WeakSet[Automaton]()

    async def prepare(number: int) -> None:
        properties = {f"f{number} {at}": KINDS[kind](number, at) for at in range(3)}
        prepared = await cache.prepare({"type": "object", "properties": properties}, "schema")
        form_questions(prepared.compiled.form)
        for slot in prepared.compiled.form.slots:
            slot.accepts(b"0")
            alive.add(slot.automaton)

    async def prepare_all() -> None:
        for number in range(12):
            await prepare(number)

    try:
        asyncio.run(prepare_all())
        assert sum(one.result().size for one in cache._kept.values()) <= most
        # One that is too large to be kept is remembered until the next one is dropped.
        few = asyncio.run(cache.prepare({"enum": ["x" * (1 << 14)]}, "schema"))
        del few
        cache._keep_within(0)
        gc.collect()
    finally:
        cache.close()
    assert not [*alive]


def test_the_size_of_a_schema_is_at_least_what_its_automata_take() -> None:
    properties = {kind: make(0, at) for at, (kind, make) in enumerate(KINDS.items())}
    prepared = schema_cache._prepare(load_schema({"type": "object", "properties": properties}))
    taken = 0
    for slot in prepared.compiled.form.slots:
        slot.accepts(b"0")
        rows = slot.automaton._rows
        taken += slot.automaton.transitions.nbytes + sys.getsizeof(rows)
        taken += sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in rows)
    assert prepared.size >= taken


def refused(cache: SchemaCache, schema: Any) -> ApiError:
    with pytest.raises(ApiError) as raised:
        cache.check(json.dumps(schema).encode(), "schema")
    assert (raised.value.status, raised.value.code, raised.value.param) == (400, "invalid_schema", "schema")
    return raised.value


@pytest.mark.slow
def test_a_slow_schema_is_refused_while_others_are_compiled(cache: SchemaCache) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as other:
        slow = other.submit(refused, cache, SLOW)
        time.sleep(0.5)
        cache.check(b'{"type": "string"}', "schema")
        assert not slow.done()
        assert "takes more than 6 s" in slow.result().message
    cache.check(b'{"type": "string"}', "schema")
    assert time.monotonic() - begun < 30


def test_a_schema_is_refused_with_the_place_of_its_keyword(cache: SchemaCache) -> None:
    found = refused(cache, {"properties": {"a": {"pattern": r"(a)\1"}}, "type": "object"})
    assert found.pointer == "/properties/a/pattern" and "backreference" in found.message
    assert refused(cache, {"type": "nothing"}).pointer is None
    with pytest.raises(ApiError) as misspelt:
        asyncio.run(cache.prepare({"type": "object", "propertys": {}}, "schema"))
    assert misspelt.value.pointer == "/propertys" and 'did you mean "properties"' in misspelt.value.message
    for text in ("[]", "{", '{"a": 1e999999999999}'):
        assert problem_of(text) is not None


def test_a_schema_is_compiled_once_and_its_order_of_properties_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, check = list[bytes](), SchemaCache.check
    monkeypatch.setattr(SchemaCache, "check", lambda own, *asked: compiled.append(asked[0]) or check(own, *asked))
    cache = SchemaCache(20)

    async def ask() -> None:
        one = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
        other = {"type": "object", "properties": {"b": {"type": "null"}, "a": {"type": "null"}}}
        first, again = await asyncio.gather(cache.prepare(one, "x"), cache.prepare(one, "y"))
        assert first is again and (await cache.prepare(other, "x")) is not first
        for param in ("x", "y"):
            with pytest.raises(ApiError) as raised:
                await cache.prepare({"type": "nothing"}, param)
            assert raised.value.param == param

    try:
        asyncio.run(ask())
        assert len(compiled) == len({*compiled}) == 3
    finally:
        cache.close()
