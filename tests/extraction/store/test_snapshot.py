"""The snapshot for analysts: typed columns, safe names, and every view from the first run on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from tests.support.cases import each
from tests.support.effort import first

from cinnabar.errors import NotUnited
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.manifest import Manifest, StoredFile, read_live
from cinnabar.extraction.store.names import columns_of, identifier
from cinnabar.extraction.store.reading import query, show
from cinnabar.extraction.store.records import LeafRow, Outcome
from cinnabar.extraction.store.snapshot import (
    DATABASE,
    define_views,
    published_number,
    reserved_words,
    view_names,
)
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.stored_records import Selection, load_records, select
from cinnabar.schemas import compile_schema, load_schema

RICH = {
    "title": "rich",
    "type": "object",
    "properties": {
        "day": {"type": ["string", "null"], "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "price": {"type": "number", "multipleOf": 0.01},
        "ratio": {"type": "number"},
        "count": {"type": "integer"},
        "ok": {"type": "boolean"},
        "nothing": {"type": "null"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string"},
                    "price": {"type": "number", "multipleOf": 0.01},
                    "parts": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
                    },
                },
            },
        },
    },
}


#: The views of a folder of any schema.
OWN = {
    "checks", "corrections", "documents", "fields", "history", "lists", "outcomes", "quarantine", "records", "runs",
    "_fields", "_checks", "_moved", "_superseded",
}  # fmt: skip


def views_beside_ours(out):
    return {row[0] for row in snapshot(out, "SHOW TABLES")} - OWN


def snapshot(out, sql):
    with duckdb.connect(str(out / DATABASE), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def store_records(out, workload, schema, *records):
    with Store.open(out) as store:
        run = workload.begin(store, schema)
        run.commit_batch([workload.written(f"{i}.txt", record) for i, record in enumerate(records)])
        return run.finish()


def test_values_come_back_with_their_types(out, workload):
    full = (
        '{"day":"2024-02-29","at":"2024-02-29T23:30:00+02:00","price":12345678901234567.89,"ratio":0.1,"count":-7,'
        '"ok":false,"nothing":null,"tags":["a","\\u0000b"],"lines":[{"sku":"x","price":0.10,"parts":[{"n":1},{}]},{}]}'
    )
    store_records(out, workload, RICH, full, {"lines": []})
    first, second = snapshot(out, "SELECT * EXCLUDE (record_json), record_json FROM rich ORDER BY path")
    columns = [row[0] for row in snapshot(out, "DESCRIBE rich")]
    first, second = dict(zip(columns, first, strict=True)), dict(zip(columns, second, strict=True))
    assert first["day"] == date(2024, 2, 29)
    assert first["at"].astimezone(UTC) == datetime(2024, 2, 29, 21, 30, tzinfo=UTC)
    assert first["price"] == Decimal("12345678901234567.89")
    assert (first["ratio"], first["count"], first["ok"], first["nothing"]) == (0.1, -7, False, None)
    assert first["tags"] == ["a", "\0b"]
    assert first["lines"] == [
        {"sku": "x", "price": Decimal("0.10"), "parts": [{"n": 1}, {"n": None}]},
        {"sku": None, "price": None, "parts": None},
    ]
    assert first["record_json"] == full
    assert second["lines"] == [] and second["tags"] is None and second["price"] is None
    types = dict(row[:2] for row in snapshot(out, "DESCRIBE rich"))
    assert (types["day"], types["at"], types["price"]) == (
        "DATE",
        "TIMESTAMP WITH TIME ZONE",
        "DECIMAL(38,2)",
    )
    total = "SELECT sum(line.price) FROM (SELECT unnest(lines) AS line FROM rich)"
    assert snapshot(out, total) == [(Decimal("0.10"),)]


def test_every_view_is_there_before_the_first_document(out, workload):
    with Store.open(out) as store:
        workload.begin(store, RICH).finish()
    for view in ("rich", "fields", "documents", "outcomes", "quarantine", "records"):
        assert snapshot(out, f"SELECT count(*) FROM {view}") == [(0,)]
    assert snapshot(out, "SELECT inputs FROM runs") == [(0,)]
    assert dict(row[:2] for row in snapshot(out, "DESCRIBE rich"))["lines"].endswith("[]")


def test_views_that_were_made_over_empty_ones_have_the_columns_of_their_queries(out, workload):
    more = {**RICH, "properties": {**RICH["properties"], "more": {"type": "string"}}}
    for schema in (RICH, workload.SCHEMA, more):
        with Store.open(out) as store:
            run = workload.begin(store, schema)
            run.commit_batch([workload.written("a.txt", {})])
            run.finish()
    with duckdb.connect() as connection:
        define_views(connection, out, read_live(out))
        held = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
        columns = connection.execute(held).fetchall()
        # Before 2.0 DuckDB refuses a view whose query has come to have other columns.
        for view in {row[0] for row in columns}:
            told = [row[:2] for row in connection.execute(f'DESCRIBE SELECT * FROM "{view}"').fetchall()]
            assert sorted(told) == sorted(row[1:] for row in columns if row[0] == view)
    assert len(columns) > 150
    # DuckDB 2.0 stores it as a function, which 1.1 does not have.
    assert not [sql for (sql,) in snapshot(out, "SELECT sql FROM duckdb_views() WHERE NOT internal") if '"if"(' in sql]


def test_a_finished_run_is_never_shown_as_unfinished(out, workload):
    with Store.open(out) as store:
        workload.begin(store).finish()
    assert {tuple(snapshot(out, "SELECT inputs FROM runs")) for _ in range(20)} == {((0,),)}


def test_hostile_names_and_values_come_back_exactly(out, workload):
    name = "x'; DROP VIEW fields; --"
    values = ["'; DROP TABLE runs; --", '"', "\\", "=1+1", "ünï", "\u202e", "a\nb", "%s {0}"]
    properties = {name: {"type": "string"}, 'q"uote': {"type": "string"}, "": {"type": "string"}}
    schema = {"title": 'it\'s; "DROP" SELECT', "type": "object", "properties": properties}
    store_records(out, workload, schema, *({name: v, 'q"uote': v, "": v} for v in values))
    assert views_beside_ours(out) == {"it_s_DROP_SELECT", "it_s_DROP_SELECT_history"}
    rows = snapshot(out, f'SELECT "{name}", "q""uote", _, record_json FROM it_s_DROP_SELECT ORDER BY path')
    assert [row[:3] for row in rows] == [(value,) * 3 for value in values]
    assert [json.loads(row[3])[name] for row in rows] == values
    assert snapshot(out, "SELECT count(*) FROM fields") == [(3 * len(values),)]


def test_our_columns_are_renamed_where_the_user_has_their_name(out, workload):
    properties = {name: {"type": "string"} for name in ("path", "Record_JSON", "run_id", "run_id_", "Total", "total")}
    record = {name: name for name in properties}
    store_records(out, workload, {"title": "clash", "type": "object", "properties": properties}, record)
    query_ = "SELECT path, path_, record_json_, run_id_, run_id__, Total, total_ FROM clash"
    assert snapshot(out, query_) == [("0.txt", "path", "Record_JSON", "run_id", "run_id_", "Total", "total")]


def test_fields_of_any_name_join_every_view_by_document_and_version(out, workload):
    store_records(out, workload, workload.SCHEMA, {"name": "n", "size": 1})
    views = sorted(one for one in OWN if not one.startswith("_"))
    ours = {view: [row[0] for row in query(out, f"DESCRIBE {view}").rows] for view in views}
    assert [view for view in views if not {"path", "document"} <= {*ours[view]}] == ["runs"]
    # Theirs are all names of ours, and those by which the queries of the views name their parts.
    theirs = sorted({"r", "f", "s", "w", "filename", "Document"}.union(*ours.values()), key=str.casefold)
    text = {"type": "string"}
    properties = dict.fromkeys(theirs, text) | {"rows": {"type": "array", "items": text}}
    record = {name: f"their {name}" for name in theirs} | {"rows": ["a"]}
    made = workload.written("0.txt", record)
    made = replace(made, record=replace(made.record, lists={"/rows": 0.5}, checks={"holds": True}))
    with Store.open(out) as store:
        run = workload.begin(store, {"title": "clash", "type": "object", "properties": properties})
        run.commit_batch([made])
        run.finish()
    names = columns_of([*theirs, "rows"], tables.SYSTEM_COLUMNS.names)
    for view in (one for one in views if one not in ("runs", "corrections", "quarantine")):
        by = "document" if view == "documents" else "document, schema_fingerprint"
        columns = ", ".join(f'v."{column}", c."{names[column]}"' for column in ours[view] if column in names)
        rows = query(out, f"SELECT {columns}, v.path = c.path FROM clash AS c JOIN {view} AS v USING ({by})").rows
        assert len(rows) == (len(theirs) + 1 if view in ("fields", "history") else 1)
        for *values, same in rows:
            assert same and values[1::2] == [f"their {column}" for column in ours[view] if column in names]


@each("category", ["reserved", "type_function", "column_name", "unreserved"])
def test_a_schema_with_the_name_of_a_word_of_sql_needs_no_quotes(category):
    now, file = datetime.now(UTC), StoredFile("data", "x", 1, 1, "")
    with duckdb.connect() as connection:
        asked = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = ?"
        words = {row[0] for row in connection.execute(asked, [category]).fetchall()}
        # Before 2.0 DuckDB reserved "grant".
        every = sorted({*words, "grant"})
        made = [Manifest(number, 0, now, word, word, (file,), ()) for number, word in enumerate(every)]
        named = view_names(made, reserved_words(connection))
        assert {*named.values()} == {*words, "grant"} and named["grant_"] == "grant"
        for view, word in named.items():
            connection.execute(f"CREATE VIEW \"{view}\" AS SELECT '{word}' AS word, 1 AS document")
            both = f"SELECT {view}.word FROM {view} JOIN (FROM {view}) AS o USING (document)"
            assert connection.execute(both).fetchall() == [(word,)]


def test_a_run_names_the_models_that_took_part(out, workload):
    usages = [{}, {"escalated_documents": 0}, {"escalated_documents": 3}]
    for number, usage in enumerate(usages):
        with Store.open(out) as store:
            source = load_schema(workload.SCHEMA)
            about = {"model": "0a1b", **({"models": ["reader", "smol"]} if number else {})}
            Run(store, source, compile_schema(source.schema), f"e{number}", about).finish(usage)
    assert query(out, "SELECT model FROM runs ORDER BY run_id").rows == [("0a1b",), ("reader",), ("reader, smol",)]


@pytest.mark.parametrize("title", first(3, ["Runs", "select", "", "fields", "_snapshot", "1st", "日本"]))
def test_a_schema_of_any_name_has_a_view_of_its_own(out, workload, title):
    store_records(out, workload, {**workload.SCHEMA, "title": title}, {"name": "n", "size": 1})
    views = views_beside_ours(out)
    assert len(views) == 2
    for view in views:
        assert snapshot(out, f"SELECT name, size FROM {view}") == [("n", 1)]


def test_a_new_schema_version_takes_the_view_name_and_the_old_one_keeps_a_view(out, workload):
    wider = {**workload.SCHEMA, "properties": {**workload.SCHEMA["properties"], "size": {"type": "string"}}}
    store_records(out, workload, workload.SCHEMA, {"name": "old", "size": 1})
    store_records(out, workload, wider, {"name": "new", "size": "one"})
    (old,) = views_beside_ours(out) - {"note", "note_history"}
    assert old.startswith("note_")
    assert snapshot(out, "SELECT name, size FROM note") == [("new", "one")]
    assert snapshot(out, f"SELECT name, size FROM {old}") == [("old", 1)]
    assert snapshot(out, "SELECT count(*) FROM records WHERE latest") == [(2,)]


def test_a_version_without_records_does_not_take_the_view_name(out, workload):
    older, newer = ({**workload.SCHEMA, "description": text} for text in ("older", "newer"))
    store_records(out, workload, older, {"name": "old", "size": 1})
    store_records(out, workload, newer)
    assert snapshot(out, "SELECT name FROM note") == snapshot(out, "SELECT name FROM note_all") == [("old",)]
    store_records(out, workload, newer, {"name": "new", "size": 1})
    assert snapshot(out, "SELECT name FROM note") == [("new",)]


def test_two_schemas_whose_names_look_alike_both_have_views(out, workload):
    store_records(out, workload, {**workload.SCHEMA, "title": "a b"}, {"name": "first", "size": 1})
    store_records(out, workload, {**workload.SCHEMA, "title": "A-B"}, {"name": "second", "size": 1})
    views = [row[0] for row in snapshot(out, "SHOW TABLES") if row[0].casefold().startswith("a_b")]
    assert len(views) == 4
    assert {snapshot(out, f"SELECT name FROM {view}")[0][0] for view in views} == {"first", "second"}


def test_a_record_that_is_no_object_has_a_column_named_value(out, workload):
    store_records(out, workload, {"title": "list", "type": "array", "items": {"type": "integer"}}, "[1,2]", "[]")
    assert snapshot(out, "SELECT value FROM list ORDER BY path") == [([1, 2],), ([],)]


def test_a_moved_folder_stays_readable_and_gets_a_new_snapshot(out, workload, tmp_path):
    workload.work(out)
    moved = out.rename(tmp_path / "moved")
    assert query(moved, "SELECT count(*) FROM note").rows == [(5,)]
    assert published_number(moved) is None
    Store.open(moved).close()
    assert snapshot(moved, "SELECT count(*) FROM note") == [(5,)]


def test_a_lost_or_broken_snapshot_is_built_anew(out, workload):
    workload.work(out)
    (out / DATABASE).write_bytes(b"torn")
    Store.open(out).close()
    assert snapshot(out, "SELECT count(*) FROM note") == [(5,)]


@pytest.mark.timeout(30)
def test_a_snapshot_of_a_stranger_is_never_opened(out, workload):
    workload.work(out)
    (out / DATABASE).unlink()
    with duckdb.connect(str(out / DATABASE)) as connection:
        endless = "(SELECT sum(a.range * b.range) FROM range(1000000000) a, range(1000000000) b)"
        connection.execute(f"CREATE VIEW _snapshot AS SELECT {endless} AS batch, 'x' AS folder, 1 AS views")
    assert published_number(out) is None
    Store.open(out).close()
    assert published_number(out) is not None
    assert snapshot(out, "SELECT count(*) FROM note") == [(5,)]


@pytest.mark.slow
def test_one_view_unites_the_versions_of_a_schema(out, workload):
    properties = workload.SCHEMA["properties"]
    cents = {**properties, "price": {"type": "number", "multipleOf": 0.01}}
    finer = {
        "lines": {"type": "array", "items": {"type": "integer"}},
        "price": {"type": "number", "multipleOf": 0.0001},
        "name": {"type": "string"},
        "size": {"type": "number"},
    }

    def store(properties, **records):
        with Store.open(out) as folder:
            run = workload.begin(folder, {**workload.SCHEMA, "properties": properties})
            run.commit_batch([workload.written(path, record) for path, record in records.items()])
            run.finish()

    store(properties, a={"name": "a", "size": 1}, b={"name": "b", "size": 2})
    assert "note_all" not in {row[0] for row in snapshot(out, "SHOW TABLES")}
    store(cents, b={"name": "b", "size": 2, "price": 0.25})
    store(finer, c={"name": "c", "size": 4.5, "price": 0.1234, "lines": [1]})
    rows = snapshot(out, "SELECT lines, price, name, size FROM note_all ORDER BY path")
    assert rows == [
        (None, None, "a", 1.0), (None, Decimal("0.2500"), "b", 2.0), ([1], Decimal("0.1234"), "c", 4.5)
    ]  # fmt: skip
    # A version with types that do not unite with the latest one's is not among them.
    store({"name": {"type": "string"}, "size": {"type": "integer"}, "price": {"type": "string"}}, d={
        "name": "d", "size": 1, "price": "much"
    })  # fmt: skip
    rows = snapshot(out, "SELECT price, name FROM note_all ORDER BY path")
    assert rows == [(None, "a"), (None, "b"), ("much", "d")]


def test_a_version_of_other_types_is_refused_unless_it_is_already_stored(out, workload):
    def version(**more):
        properties = {**workload.SCHEMA["properties"], **more}
        return load_schema({**workload.SCHEMA, "properties": properties})

    text, date_ = version(day={"type": "string"}), version(day={"type": "string", "format": "date"})
    for source in (text, date_):  # as older folders have them
        store_records(out, workload, source.schema, {"name": "n", "size": 1})
    with Store.open(out) as store:
        for source in (text, date_):
            store.check_united(source, compile_schema(source.schema))
        number = version(day={"type": "integer"})
        with pytest.raises(NotUnited, match="/day: was a text and is now an integer"):
            store.check_united(number, compile_schema(number.schema))
        other = load_schema({**number.schema, "title": "other"})
        store.check_united(other, compile_schema(other.schema))


def test_an_open_reader_keeps_its_snapshot_while_another_is_published(out, workload):
    workload.work(out)
    with duckdb.connect(str(out / DATABASE), read_only=True) as reader:
        store_records(out, workload, workload.SCHEMA, {"name": "later", "size": 1})
        assert reader.execute("SELECT count(*) FROM note").fetchall() == [(5,)]
        assert query(out, "SELECT count(*) FROM note").rows != []


#: A reader of another process: prints the counts that it sees until a file says that the writer is done, and then once.
READER = """
import json, pathlib, sys, time, duckdb
database, done = map(pathlib.Path, sys.argv[1:])
last = False
while not last:
    last = done.exists()
    with duckdb.connect(str(database), read_only=True) as connection:
        sql = "SELECT (SELECT count(*) FROM note), (SELECT count(*) FROM documents), (SELECT count(*) FROM outcomes)"
        print(json.dumps(connection.execute(sql).fetchone()), flush=True)
    time.sleep(0.02)
"""


@pytest.mark.slow
def test_readers_beside_a_writer_see_whole_batches_and_never_fewer(out, workload, tmp_path):
    done = tmp_path / "done"
    with Store.open(out) as store:
        run = workload.begin(store)
        store.publish()
        command = [sys.executable, "-c", READER, str(out / DATABASE), str(done)]
        readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for batch in range(20):
            names = [f"{batch}-{at}" for at in range(5)]
            run.commit_batch([workload.written(f"{name}.txt", {"name": name, "size": 1}) for name in names])
            store.publish()
            time.sleep(0.1)
        done.touch()
        seen = [[json.loads(line) for line in reader.communicate()[0].splitlines()] for reader in readers]
    for counts in seen:
        assert all(notes == documents == outcomes and notes % 5 == 0 for notes, documents, outcomes in counts)
        assert counts == sorted(counts) and counts[-1] == [100] * 3
    assert all(reader.returncode == 0 for reader in readers)


def test_paths_are_stored_as_printable_text(out, workload):
    with Store.open(out) as store:
        run = workload.begin(store, inputs=["bad\udcff\x1b[31m/ü.txt"])
        run.commit_batch([workload.written("bad\udcff\x1b[31m/ü.txt", {"name": "n", "size": 1})])
        run.finish()
    assert snapshot(out, "SELECT path FROM note") == [("bad\\udcff\\x1b[31m/ü.txt",)]


def test_identifiers_are_plain():
    assert identifier("Insurance mail!") == "Insurance_mail"
    assert identifier("9 lives") == "_9_lives"
    assert identifier("") == identifier("日本") == "schema"
    assert len(identifier("x" * 500)) == 60


def test_fields_have_their_flags_and_the_confidence_of_their_row(out, workload):
    item = workload.written("a.txt", {"lines": [{"sku": "x"}]})
    leaves = (
        LeafRow("/lines/0/sku", '"x"', 0.9, "generated", flags=("generated", "no_evidence")),
        LeafRow("/ok", None, 0.8, "absent"),
    )
    record = replace(item.record, leaves=leaves, rows={"/lines/0": 0.625})
    with Store.open(out) as store:
        run = workload.begin(store, RICH)
        run.commit_batch([replace(item, record=record)])
        run.finish()
    rows = snapshot(out, "SELECT pointer, row_confidence, flags FROM fields ORDER BY pointer")
    assert rows == [("/lines/0/sku", 0.625, ["generated", "no_evidence"]), ("/ok", None, [])]


def test_results_that_were_written_before_fields_had_flags_can_be_read(out, workload, monkeypatch):
    new = {"flags", "row_confidence"}
    before = pa.schema([field for field in tables.FIELDS if field.name not in new])
    monkeypatch.setattr(tables, "FIELDS", before)
    store_records(out, workload, workload.SCHEMA, {"name": "old", "size": 1})
    assert query(out, "SELECT DISTINCT flags, row_confidence FROM fields").rows == [(None, None)]
    monkeypatch.undo()
    store_records(out, workload, workload.SCHEMA, {"name": "new", "size": 1}, {"name": "newer", "size": 1})
    assert len(query(out, "SELECT flags FROM fields").rows) == 4


def test_the_snapshot_has_the_storage_version_that_every_duckdb_since_1_1_opens(out, workload):
    workload.work(out)
    header = (out / "cinnabar.duckdb").read_bytes()[:24]
    assert header[8:12] == b"DUCK"
    # The version number of DuckDB 1.0 and 1.1; 1.2 writes 65, and 2.0 alone reads 999.
    assert int.from_bytes(header[12:20], "little") == 64


def test_each_list_has_a_row_with_its_length_and_its_confidence(out, workload):
    schema = {
        "title": "bill",
        "type": "object",
        "properties": {"lines": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}},
    }
    outcome = workload.written("a.txt", {"lines": [[1, 2], []]})
    leaves = tuple(LeafRow(f"/lines/0/{at}", str(at + 1), 0.9, "copied") for at in range(2))
    rows = {"/lines/0": 0.8, "/lines/1": 0.7, "/lines/0/0": 0.9, "/lines/0/1": 0.9}
    lists = {"/lines": 0.6, "/lines/0": 0.95, "/lines/1": 0.4}
    record = replace(outcome.record, leaves=leaves, rows=rows, lists=lists)
    with Store.open(out) as store:
        run = workload.begin(store, schema)
        run.commit_batch([replace(outcome, record=record)])
        run.finish()
    asked = "select path, pointer, field, items, confidence, row_confidence from lists order by pointer"
    assert query(out, asked).rows == [
        ("a.txt", "/lines", "/lines", 2, 0.6, None),
        ("a.txt", "/lines/0", "/lines/*", 2, 0.95, 0.8),
        ("a.txt", "/lines/1", "/lines/*", 0, 0.4, 0.7),
    ]
    (shown,) = show(out, "a.txt")
    places = [(row["pointer"], row["value"], row["origin"]) for row in shown.fields]
    assert places == [
        ("/lines", "2", "list"),
        ("/lines/0", "2", "list"),
        ("/lines/0/0", "1", "copied"),
        ("/lines/0/1", "2", "copied"),
        ("/lines/1", "0", "list"),
    ]
    (found,) = load_records(out, select(out, "bill", Selection(below=0.5))).values()
    assert (found.lists, found.leaves) == (lists, leaves)
    assert found.rows.items() >= {"/lines/0/0": 0.9, "/lines/0/1": 0.9}.items()
    assert select(out, "bill", Selection(below=0.3)) == []


def rows_of(out, view="note"):
    return snapshot(out, f"SELECT path, name FROM {view} ORDER BY ALL")


def run_over(store, workload, *outcomes, engine="e1", **arguments):
    source = load_schema(workload.SCHEMA)
    run = Run(store, source, compile_schema(source.schema), engine, arguments)
    run.commit_batch([workload.written(path, {"name": content, "size": 1}, content) for path, content in outcomes])
    run.finish()


def test_a_path_that_was_read_with_other_bytes_counts_once(out, workload):
    with Store.open(out) as store:
        run_over(store, workload, ("a.txt", "one"), ("b.txt", "two"), ("gone.txt", "three"))
        run_over(store, workload, ("a.txt", "changed"), ("b.txt", "two"))
    assert rows_of(out) == [("a.txt", "changed"), ("b.txt", "two"), ("gone.txt", "three")]
    assert rows_of(out, "note_history") == [("a.txt", "changed"), ("a.txt", "one"), *rows_of(out)[1:]]
    assert snapshot(out, "SELECT count(*) FROM records WHERE latest") == [(3,)]
    assert snapshot(out, "SELECT count(DISTINCT document) FROM fields") == [(3,)]


@pytest.mark.slow
def test_bytes_that_lie_at_another_path_or_come_back_keep_their_row(out, workload):
    with Store.open(out) as store:
        run_over(store, workload, ("a.txt", "one"), ("copy.txt", "one"))
        run_over(store, workload, ("a.txt", "changed"))
        store.publish()
        assert [name for _, name in rows_of(out)] == ["changed", "one"]
        run_over(store, workload, ("copy.txt", "also changed"))
        store.publish()
        assert [name for _, name in rows_of(out)] == ["changed", "also changed"]
        run_over(store, workload, ("a.txt", "one"))
    assert [name for _, name in rows_of(out)] == ["one", "also changed"]


def test_who_fills_or_corrects_an_older_content_does_not_bring_it_back(out, workload):
    with Store.open(out) as store:
        run_over(store, workload, ("a.txt", "one"))
        run_over(store, workload, ("a.txt", "changed"))
        for engine, arguments in (("e2", {"backfill": {}}), ("e3", {tables.COMMAND: tables.CORRECT})):
            run_over(store, workload, ("a.txt", "one"), engine=engine, **arguments)
    assert rows_of(out) == [("a.txt", "changed")]


def test_messages_of_a_shrunk_mailbox_and_unreadable_files_supersede_nothing(out, workload):
    with Store.open(out) as store:
        run_over(store, workload, ("m.mbox#1", "first"), ("m.mbox#2", "second"), ("a.txt", "one"))
        run_over(store, workload, ("m.mbox#1", "second"))
        run = workload.begin(store)
        run.commit_batch([Outcome("a.txt", "quarantined", "broken", "half written", "f" * 64)])
        run.finish()
    assert [name for _, name in rows_of(out)] == ["one", "first", "second"]
