"""Which SQL of a user is run: queries over the views of a folder, and nothing that writes or reads elsewhere."""

from __future__ import annotations

import random
import re
from pathlib import Path

import duckdb
import pytest
from tests.support.effort import first

import cinnabar
from cinnabar.errors import UsageError
from cinnabar.extraction.store.exporting import export
from cinnabar.extraction.store.queries import locked_connection, single_query, time_limit
from cinnabar.extraction.store.reading import connect, query
from cinnabar.extraction.store.stored_records import Selection, select

# {out} is the folder, {data} a committed Parquet file, {secret} a file elsewhere, {new} one that is not there.
HOSTILE = [
    # Statements that are no query, bare and behind words that explain.
    "COPY note TO '{new}'",
    "COPY (SELECT 'x') TO '{data}' (FORMAT csv, USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY note TO '{new}'",
    "/* /* */ explain select 1 -- */ explain analyze copy (select 'x') to '{new}'",
    "/* /* */ select 1 -- */ copy (select 'x') to '{new}'",
    "explain/**/analyze/**/copy (select 'x') to '{new}'",
    "explain (analyze) copy (select 'x') to '{new}'",
    "explain analyze explain analyze copy (select 'x') to '{new}'",
    "select 1; copy (select 'x') to '{new}'",
    "select 1;;copy (select 'x') to '{new}';",
    "select $$;$$; copy (select 'x') to '{new}'",
    "select e'\\''; copy (select 'x') to '{new}' --'",
    "EXPORT DATABASE '{new}'",
    "IMPORT DATABASE '{out}'",
    "ATTACH '{new}' AS other",
    "ATTACH '{out}/cinnabar.duckdb' AS other",
    "INSTALL httpfs",
    "LOAD '{new}'",
    "SET GLOBAL allowed_paths = ['{secret}']",
    "SET enable_external_access = true",
    "RESET allowed_paths",
    "PRAGMA profiling_output = '{new}'",
    "PRAGMA add_parquet_key('k', '0123456789112345')",
    "CALL enable_logging(storage = 'file', storage_path = '{new}')",
    "CREATE TABLE t AS SELECT 1",
    "CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "CREATE MACRO f() AS TABLE SELECT 1",
    "DROP VIEW note",
    "DELETE FROM note",
    "EXPLAIN FROM note",
    "SELECT getenv('HOME')",
    "PREPARE p AS COPY (SELECT 1) TO '{new}'",
    "USE memory",
    # Statements within a query.
    "WITH x AS (COPY (SELECT 'x') TO '{new}') FROM x",
    "WITH x AS (COPY (SELECT 'x') TO '{data}' (FORMAT csv, USE_TMP_FILE false)) FROM x",
    "EXPLAIN ANALYZE WITH x AS (COPY (SELECT 'x') TO '{new}') FROM x",
    "FROM (WITH x AS (COPY (SELECT 'x') TO '{new}') FROM x)",
    "SELECT (WITH x AS (COPY (SELECT 'x') TO '{new}') SELECT 1 FROM x)",
    "SUMMARIZE (WITH x AS (COPY (SELECT 'x') TO '{new}') FROM x)",
    "DESCRIBE (WITH x AS (COPY (SELECT 'x') TO '{new}') FROM x)",
    "FROM (DESCRIBE (WITH x AS (COPY (SELECT 'x') TO '{data}' (FORMAT csv, USE_TMP_FILE false)) FROM x))",
    "PIVOT (WITH x AS (COPY (SELECT 'x') TO '{data}' (FORMAT csv, USE_TMP_FILE false)) FROM x) ON x IN (1)",
    "WITH x AS (INSERT INTO note SELECT * FROM note RETURNING *) FROM x",
    "WITH x AS (UPDATE note SET name = '' RETURNING name) FROM x",
    "WITH x AS (DELETE FROM note RETURNING *) FROM x",
    # Functions and files.
    "FROM read_text('{secret}')",
    "FROM read_blob('{secret}')",
    "FROM read_csv('{secret}')",
    "FROM read_json('{secret}')",
    "FROM read_parquet('{out}/../elsewhere/*.parquet')",
    "FROM read_duckdb('{out}/cinnabar.duckdb', table_name = 'note')",
    "FROM sniff_csv('{secret}')",
    "FROM glob('/etc/*')",
    "FROM \"READ_TEXT\"('{secret}')",
    "FROM system.main.read_text('{secret}')",
    "FROM '{secret}'",
    'FROM "{secret}"',
    "FROM '{out}/*.txt'",
    "FROM 'http://127.0.0.1:9/x.csv'",
    "FROM 's3://bucket/x.parquet'",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "FROM note, LATERAL (SELECT * FROM read_text('{secret}'))",
    "FROM note WHERE name IN (SELECT content FROM read_text('{secret}'))",
    "PIVOT (FROM read_text('{secret}')) ON size IN (1)",
    "FROM query('SELECT * FROM read_text(''{secret}'')')",
    "FROM query('WITH x AS (COPY (SELECT 1) TO ''{new}'') FROM x')",
    "FROM query_table(['{secret}'])",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{secret}'')'))",
    "FROM json_execute_serialized_sql(json_serialize_sql('WITH x AS (COPY (SELECT ''x'') TO ''{data}'' (FORMAT csv,"
    " USE_TMP_FILE false)) FROM x'))",
    "FROM main.JSON_execute_serialized_SQL('{}')",
    "FROM enable_logging(storage = 'file', storage_path = '{new}')",
    "FROM enable_profiling(save_location = '{new}')",
    "FROM force_checkpoint('memory')",
    "FROM duckdb_secrets()",
    "FROM which_secret('s3://x', 's3')",
    "FROM create_external_resource('x')",
    # Addresses in memory: a process that follows them dies.
    "FROM arrow_scan(1, 2, 3)",
    "FROM python_map_function(1)",
    "FROM secret_rows",
]

ASKED = [
    "SELECT name, size FROM note WHERE size > 1 ORDER BY size DESC LIMIT 3",
    "FROM note",
    "VALUES (1), (2)",
    "-- a comment\nSELECT 1 /* /* and */ another */",
    "SELECT 1;",
    "DESCRIBE note",
    "DESCRIBE SELECT * FROM note",
    "SUMMARIZE note",
    "SHOW TABLES",
    "FROM (DESCRIBE note)",
    "PIVOT note ON size IN (5, 6)",
    "UNPIVOT note ON size INTO NAME n VALUE v",
    "WITH x AS (FROM note), y AS MATERIALIZED (FROM x) FROM y",
    "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) FROM r",
    "SELECT 1 UNION ALL BY NAME SELECT 2",
    "SELECT * EXCLUDE (name), COLUMNS('s.*') FROM note",
    "SELECT path, unnest(flags) FROM note",
    "FROM note, unnest([1, 2]) AS t(i)",
    "FROM range(3), generate_series(2) AS g(i)",
    "FROM note AS a ASOF JOIN note AS b ON a.size >= b.size",
    "FROM note SEMI JOIN fields USING (document)",
    "SELECT count(DISTINCT name) FILTER (size > 1), string_agg(name ORDER BY size) FROM note GROUP BY ALL HAVING true",
    "SELECT row_number() OVER (PARTITION BY size ORDER BY name) AS n FROM note QUALIFY n = 1",
    "SELECT DISTINCT ON (size) name FROM note ORDER BY size, name NULLS LAST",
    "SELECT * FROM note USING SAMPLE 3 ROWS",
    "SELECT CASE WHEN size > 1 THEN 'a' ELSE name[1:2] END, size::VARCHAR, TRY_CAST(name AS INT) FROM note",
    "SELECT list_transform([1], lambda x: x + 1), {'a': 1}.a, MAP {'a': 1}, date '2026-01-01' + INTERVAL 1 DAY",
    "SELECT value_json ->> '$', json_extract(value_json, '$') FROM fields",
    "SELECT (SELECT max(size) FROM note), EXISTS (FROM note), size IN (FROM range(9)) FROM note",
    "FROM json_each('[1, 2]')",
    "SELECT table_name FROM information_schema.tables",
    "SELECT view_name FROM duckdb_views() WHERE NOT internal",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, workload) -> Path:
    out = tmp_path_factory.mktemp("results") / "it's out"
    workload.work(out)
    secret = out.parent / "secret.csv"
    secret.write_text("secret\nhunter2\n")
    return out


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}


def _spelled(sql: str, out: Path) -> str:
    names = {
        "out": out,
        "data": next((out / "data").rglob("*.parquet")),
        "secret": out.parent / "secret.csv",
        "new": out.parent / "new",
    }
    return re.sub(r"\{(out|data|secret|new)\}", lambda found: str(names[found[1]]).replace("'", "''"), sql)


def _refused(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    try:
        connection.execute(single_query(connection, sql)).fetchall()
    except (UsageError, duckdb.Error):
        return True
    return False


def test_a_query_writes_nothing_and_reads_no_other_file(folder, monkeypatch):
    secret_rows = duckdb.sql("SELECT 'hunter2' AS secret").to_arrow_table()  # a name that a query may not reach
    assert secret_rows.num_rows == 1 and len(HOSTILE) >= 60
    monkeypatch.chdir(folder.parent)
    before = _contents(folder)
    with connect(folder, "sql") as connection:
        for sql in HOSTILE:
            assert _refused(connection, _spelled(sql, folder)), sql
            assert _contents(folder) == before, sql
        assert connection.execute("SELECT count(*) FROM note").fetchall() == [(5,)]


@pytest.mark.parametrize("sql", first(3, HOSTILE[::13]))
def test_sql_and_export_and_conditions_refuse_in_one_line(folder, tmp_path, sql):
    before, asked = _contents(folder), _spelled(sql, folder)
    conditions = (asked, f"true); {asked}; SELECT (true", f"true) UNION ALL ({asked}", f"EXISTS ({asked})")
    for ask in (
        lambda: query(folder, asked),
        lambda: export(folder, asked, "csv", tmp_path / "answer.csv", sql=True),
        lambda: cinnabar.read(folder).sql(asked),
        *(lambda where=where: select(folder, "note", Selection(where=where)) for where in conditions),
    ):
        with pytest.raises(UsageError) as raised:
            ask()
        assert "LINE" not in str(raised.value).split()
    assert _contents(folder) == before and not [*tmp_path.iterdir()]


def test_queries_of_every_kind_are_answered(folder):
    with connect(folder, "sql") as connection:
        for sql in ASKED:
            assert connection.execute(single_query(connection, sql)).description, sql


def test_a_refusal_says_what_to_do(folder):
    for sql, message in (
        ("-- nothing", "expected one query, got none"),
        ("SELECT 1; SELECT 2", "expected one query, got 2"),
        ("SET autoinstall_known_extensions = true", "expected a query, got SET"),
        ("WITH x AS (COPY (SELECT 1) TO 'y') FROM x", r"a query that only reads, got one with COPY; .*DuckDB itself"),
        ("FROM read_csv('x.csv')", "a query reads the views of the folder and no other file"),
        ("FROM 'x.csv'", "a query reads the views of the folder and no other file"),
        ("EXPLAIN FROM note", "expected a query, got EXPLAIN; .* for the rest use DuckDB itself"),
        ("PIVOT note ON size", r"expected PIVOT with its values, such as ON size IN \(1, 2\)"),
    ):
        with pytest.raises(UsageError, match=message):
            query(folder, sql)


def test_a_query_takes_the_memory_and_the_time_that_it_may():
    for memory, sql, seconds, message in (
        ("2GB", "SELECT count(*) FROM range(1_000_000_000) AS a(i), range(1_000_000_000) AS b(j)", 0.2, "Interrupted"),
        ("100MB", "SELECT list(i) FROM range(100_000_000) AS a(i)", 20, "Out of Memory"),
    ):
        with locked_connection(memory=memory) as connection:
            with pytest.raises(duckdb.Error, match=message), time_limit(connection, seconds):
                connection.execute(single_query(connection, sql)).fetchall()
            assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_nothing_is_written_by_texts_of_random_pieces(folder, monkeypatch):
    """Pieces of comments, quotes and statements in any order: an answer or a refusal, and no file."""
    monkeypatch.chdir(folder.parent)
    pieces = [
        "/*", "*/", "--", "\n", ";", "'", "''", '"', "$$", "$a$", "(", ")", "e'\\'", "\x00", "\u00a0", "\ufeff",
        "explain ", "analyze ", "select 1 ", "from note ", "with x as ", "copy (select 'x') to 'made' ",
        "(format csv, use_tmp_file false) ", "set x = 1 ", "/**/", "\r", "attach 'made' ",
        "copy note to 'made'", "(copy (select 1) to 'made')",
    ]  # fmt: skip
    draw, before = random.Random(33), _contents(folder)
    with connect(folder, "sql") as connection:
        for _ in range(2_000):
            asked = "".join(draw.choices(pieces, k=draw.randint(1, 9)))
            try:
                connection.execute(single_query(connection, asked)).fetchall()
            except (UsageError, duckdb.Error, ValueError):
                continue
    assert _contents(folder) == before
