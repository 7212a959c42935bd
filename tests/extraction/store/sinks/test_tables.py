"""Tables of PostgreSQL and Delta equal the views of a folder after runs, corrections, deaths and rivals."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.corrected_folder import LATER, digest_of, run
from tests.support.held_by_sinks import CHANGES, bring, correct, differing, held_by, held_by_folder

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.stores import object_backend
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.store.sinks import delta, postgresql
from cinnabar.extraction.store.sinks import sink as tables_module
from cinnabar.extraction.store.sinks.sink import sink_of
from cinnabar.extraction.store.store import Store

ODD = {
    "title": "odd",
    "type": "object",
    "properties": {
        "xmin": {"type": ["string", "null"]},
        'say "hi", `you`; $1': {"type": ["number", "null"], "x-cinnabar-decimals": 2},
        "ü" * 40: {"type": ["string", "null"], "format": "date"},
        "ü" * 40 + "!": {"type": ["string", "null"]},
        "a.b": {"type": ["object", "null"], "properties": {"deep part": {"type": "number", "x-cinnabar-decimals": 2}}},
        "nothing": {"type": "null"},
        "when": {"type": ["string", "null"], "format": "date-time"},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "key": {"type": ["boolean", "null"]},
        "digest": {"type": ["number", "null"]},
        "cinnabar_key": {"type": ["string", "null"]},
        "Cinnabar_Digest": {"type": ["string", "null"]},
        "_cinnabar_row": {"type": ["string", "null"]},
        "named": {"type": "object", "properties": {"": {"type": "string"}}},
        "both": {"type": "object", "properties": {"": {"type": "string"}, "a`b": {"type": "string"}}},
    },
}
#: What sinks call those fields whose names they need themselves.
RENAMED = {f"{name}_": name for name in ("cinnabar_key", "Cinnabar_Digest", "_cinnabar_row")}


def odd_record(number: int) -> dict[str, Any]:
    return {
        "xmin": ["=1+1", "", "a\0b\\u0000", 'say "hi"\t\n', None][number % 5],
        'say "hi", `you`; $1': [1.5, -2, None][number % 3],
        "ü" * 40: "2026-02-03",
        "ü" * 40 + "!": "€\U0001f600",
        "a.b": None if number % 2 else {"deep part": 0.1},
        "nothing": None,
        "when": "2026-02-03T10:00:00.125+02:00",
        "rows": [[], [number, 2]],
        "key": number % 2 == 0,
        "digest": 1e-7,
        "cinnabar_key": f"key {number}",
        "Cinnabar_Digest": "a digest",
        "_cinnabar_row": "a row",
        "named": {"": "nobody"},
        "both": {"": "nobody", "a`b": "somebody"},
    }


def write(out: Path, schema: dict[str, Any], records: list[dict[str, Any]], workload: Any) -> None:
    """Stores records of the documents `0.txt`, `1.txt` and so on."""
    with Store.open(out) as store:
        begun = workload.begin(store, schema, "engine-1", inputs=[f"{i}.txt" for i in range(len(records))])
        begun.commit_batch([workload.written(f"{i}.txt", record) for i, record in enumerate(records)])
        begun.finish()


@pytest.fixture(params=["delta", pytest.param("postgresql", marks=pytest.mark.slow)])
def address(request: pytest.FixtureRequest, tables: str) -> str:
    """A sink of each kind, which nothing has been brought to."""
    if request.param == "delta":
        return tables
    return f"{request.getfixturevalue('database')}?schema={request.node.name[:40]}"


@contextmanager
def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> Iterator[None]:
    """Has something happen once, after a sink and its folder were read and before anything is sent."""
    with monkeypatch.context() as patched:
        for module in (delta, postgresql):
            patched.setattr(module, "views_of", _once(module.views_of, act))
        yield


def _once(views_of: Callable[..., Any], act: Callable[[], object]) -> Callable[..., Any]:
    waiting = [act]

    @contextmanager
    def read(out: Path) -> Iterator[Any]:
        with views_of(out) as views:
            if waiting:
                waiting.pop()()
            yield views

    return read


@pytest.mark.slow
def test_tables_equal_the_views_after_each_change(out: Path, address: str) -> None:
    sent = [bring(out, address).sent]
    for change in CHANGES:
        assert differing(out, address) == []
        change(out)
        sent.append(bring(out, address).sent)
        assert bring(out, address).sent == 0
    assert differing(out, address) == []
    # A correction of one of three documents sends its rows, and not those of the others.
    assert sent[2] < sent[1]


@pytest.mark.slow
def test_a_correction_reaches_the_tables_and_a_forgotten_document_leaves_them(out: Path, address: str) -> None:
    bring(out, address)
    correct(out)
    assert 0 < bring(out, address).sent < 40
    assert any('"number": "corrected"' in row for row in held_by(address)["bill"])
    forget(out, digest_of("b.txt"))
    bring(out, address)
    assert differing(out, address) == []
    assert not any(digest_of("b.txt") in row for table in held_by(address).values() for row in table)


def test_unusual_columns_and_values_arrive(tmp_path: Path, address: str, workload: Any) -> None:
    out = tmp_path / "odd"
    write(out, ODD, [odd_record(i) for i in range(6)], workload)
    bring(out, address)
    if address.startswith("delta"):
        assert differing(out, address, RENAMED) == []
        return
    # PostgreSQL has other names for columns that are too long, or that every table of it has.
    assert differing(out, address, RENAMED) == ["odd", "odd_history"]
    text = next(iter(held_by(address)["odd"]))
    fitting = {postgresql._fit_name(name): name for name in ("xmin", "ü" * 40, "ü" * 40 + "!")}
    assert len(fitting) == 3 and all(f'"{name}"' in text and len(name.encode()) <= 63 for name in fitting)
    assert differing(out, address, RENAMED | fitting) == []


@pytest.mark.slow
def test_a_document_leaves_a_table_with_any_name_of_a_column(tmp_path: Path, tables: str, workload: Any) -> None:
    out, name = tmp_path / "odd", "one ` alone"
    schema = {"title": "odd", "type": "object", "properties": {name: {"type": "string"}}}
    write(out, schema, [{name: "a"}, {name: "b"}], workload)
    assert bring(out, tables).sent > 0 == bring(out, tables).sent
    forget(out, digest_of("0.txt"))
    bring(out, tables)
    assert differing(out, tables) == [] and len(held_by(tables)["odd"]) == 1


@pytest.mark.slow
def test_columns_in_another_order_arrive(out: Path, address: str) -> None:
    run(out, "e3", LATER)
    bring(out, address)
    run(out, "e4", LATER | {"properties": dict(reversed(LATER["properties"].items())), "minProperties": 1})
    assert bring(out, address).sent > 0
    assert differing(out, address) == []


@pytest.mark.slow
def test_views_with_names_of_other_tables_arrive(tmp_path: Path, address: str, workload: Any) -> None:
    out, titles = tmp_path / "odd", ("cinnabar_new", "cinnabar_sink", "jsonb", "pg_class", "pg_description")
    lines = {"type": "array", "items": {"type": "string"}}
    for title in titles:
        schema = {"title": title, "type": "object", "properties": {"relname": {"type": "string"}, "lines": lines}}
        write(out, schema, [{"relname": title, "lines": ["a"]}, {"relname": "b", "lines": []}], workload)
    bring(out, address)
    assert bring(out, address).sent == 0
    forget(out, digest_of("0.txt"))
    bring(out, address)
    views, held = held_by_folder(out), held_by(address)
    if address.startswith("postgresql"):
        held["cinnabar_sink"] = held.pop(postgresql._fit_name("cinnabar_sink"))
    assert held == views and held["cinnabar_new"].total() == 1


@pytest.mark.slow
def test_a_rival_that_was_faster_is_not_undone(out: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(out, address)
    rivals = []

    def rival() -> None:
        run(out, "e22")
        rivals.append(threading.Thread(target=bring, args=(out, address)))
        rivals[0].start()
        # PostgreSQL has the rival wait until this one is done; of Delta it is done first.
        rivals[0].join(10 if address.startswith("delta") else 1)

    correct(out)
    with meanwhile(monkeypatch, rival):
        sink_of(address).bring(out)
    rivals[0].join()
    assert differing(out, address) == []


@pytest.mark.slow
def test_what_a_killed_delivery_has_not_sent_the_next_one_sends(
    out: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    bring(out, address)
    before = held_by(address)
    run(out, "e22")
    for step in (0, 1, 2):
        seen = [0]

        def deadly(table: Callable[..., Any], step: int = step, seen: list[int] = seen) -> Callable[..., Any]:
            def changed(*args: Any) -> Any:
                if seen[0] == step:
                    raise Killed
                seen[0] += 1
                return table(*args)

            return changed

        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(delta.DeltaSink, "_sync", deadly(delta.DeltaSink._sync))
            patched.setattr(postgresql, "_sync", deadly(postgresql._sync))
            sink_of(address).bring(out)
        if address.startswith("postgresql"):
            assert held_by(address) == before
    bring(out, address)
    assert differing(out, address) == []


def test_tables_of_others_and_an_older_folder_are_refused(tmp_path: Path, out: Path, address: str) -> None:
    older = tmp_path / "older"
    shutil.copytree(out, older)
    correct(out)
    bring(out, address)
    with pytest.raises(UsageError, match="expected an earlier state of this folder"):
        bring(older, address)
    assert differing(out, address) == []


@pytest.mark.slow
def test_a_table_whose_view_has_gone_holds_nothing(out: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(out, address)
    assert held_by(address)["lists"]
    every = tables_module.Views.all
    monkeypatch.setattr(tables_module.Views, "all", lambda self: [one for one in every(self) if one.name != "lists"])
    correct(out)
    bring(out, address)
    assert not held_by(address).get("lists")


def test_a_delta_table_that_is_not_ours_is_left_alone(out: Path, tables: str) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    place = f"{tables.removeprefix('delta:')}/bill"
    write_deltalake(place, pa.table({"mine": [1]}))
    with pytest.raises(UsageError, match="there is a table bill already"):
        bring(out, tables)
    assert DeltaTable(place).version() == 0


def test_an_error_of_delta_has_no_colours(out: Path, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_sink: Any, _out: Path) -> None:
        raise OSError("refused\n \x1b[31m↳\x1b[0m not allowed")

    monkeypatch.setattr(delta.DeltaSink, "_sync_tables", refused)
    with pytest.raises(RunError, match=r"tables: refused ↳ not allowed$"):
        bring(out, tables)


def test_no_password_is_taken_or_told(out: Path) -> None:
    for wrong in (
        "postgresql://me:geheim@db/x",
        "postgresql://me@db/x?password=geheim",
        "postgresql://me@db/x?sslmode=require&sslpassword=geheim",
        "postgresql://me:geh@eim@db/x",
    ):
        with pytest.raises(UsageError, match="without a password") as raised:
            sink_of(wrong, out)
        assert "geh" not in str(raised.value)
    assert sink_of("postgresql://me@db:5433/x?sslmode=require&schema=a%20b", out).address == (
        "postgresql://me@db:5433/x?schema=a b"
    )


def test_a_database_that_does_not_answer_is_told_before_work(out: Path) -> None:
    with pytest.raises(UsageError, match=r"postgresql://me@127\.0\.0\.1:1/x"):
        sink_of("postgresql://me@127.0.0.1:1/x", out).check()


def test_no_error_of_a_store_shows_the_password_of_its_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://someone:s3cr3t@127.0.0.1:9")
    monkeypatch.setattr(object_backend, "_RETRY", {"max_retries": 0})
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "x")
    with pytest.raises(UsageError) as refusal:
        sink_of("delta+s3://bucket/x").check()
    assert "s3cr3t" not in str(refusal.value)
