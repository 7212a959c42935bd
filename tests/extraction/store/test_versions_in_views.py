"""The views `fields`, `lists` and `checks` hold one record of each document and schema; `history` has the rest."""

from __future__ import annotations

import copy

import duckdb
import pytest
from tests.support.corrected_folder import DOCUMENTS, LATER, SCHEMA, digest_of, outcome_of, run, value_of
from tests.support.store_fixtures import compact

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.judgement import apply_checks
from cinnabar.extraction.store import snapshot
from cinnabar.extraction.store.reading import query, show
from cinnabar.extraction.store.snapshot import DATABASE
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.parsing.metaschema import fingerprint

# The documented query (docs/tables.md).
PLACES = "SELECT field, count(*) AS places FROM fields WHERE schema_name = 'bill' GROUP BY field ORDER BY field"
OLD, NEW = (fingerprint(one) for one in (SCHEMA, LATER))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def later(out, engine="e22", paths=DOCUMENTS, **arguments):
    run(out, engine, LATER, paths=paths, **arguments)


def places(out, field="/number"):
    return dict(query(out, PLACES).rows)[field]


def versions(out, view="fields"):
    paths = "(SELECT DISTINCT document, path FROM outcomes) AS o"
    sql = f"SELECT DISTINCT o.path, v.schema_fingerprint FROM {view} AS v JOIN {paths} USING (document) ORDER BY ALL"
    return dict(query(out, sql).rows)


@pytest.mark.slow
def test_the_documented_query_counts_each_document_once_over_versions_reruns_corrections_and_compaction(out):
    run(out)
    assert places(out) == len(DOCUMENTS)
    later(out, paths=DOCUMENTS[:2])
    assert places(out) == len(DOCUMENTS)
    assert versions(out) == {"a.txt": NEW, "b.txt": NEW, "c.txt": OLD}
    later(out, "another", paths=DOCUMENTS[:2])
    Corrector(out).correct(digest_of("c.txt"), "bill", [Change(Action.VALUE, "/number", '"C"')], "eva")
    Corrector(out).correct(digest_of("a.txt"), "bill", [Change(Action.VALUE, "/number", '"A"')], "eva")
    compact(out)
    assert places(out) == len(DOCUMENTS)
    values = set(query(out, "SELECT value, schema_fingerprint FROM fields WHERE field = '/number'").rows)
    assert values == {("A", NEW), ("b-another", NEW), ("C", OLD)}
    joined = "SELECT count(*) FROM bill JOIN fields USING (document, schema_fingerprint) WHERE field = '/number'"
    assert query(out, joined).rows == [(2,)]
    # What was read under the older version is in the history, and is still shown.
    old = f"SELECT count(*) FROM history WHERE latest AND field = '/number' AND schema_fingerprint = '{OLD}'"
    assert query(out, old).rows == [(3,)]
    assert [len(one.fields) > 0 for one in show(out, "a.txt")] == [True, True]


def test_a_backfill_moves_a_document_to_the_version_of_the_view(out):
    run(out)
    later(out, paths=DOCUMENTS[:1])
    later(out, "e1", paths=DOCUMENTS, backfill={"of": "bill"})
    assert places(out) == len(DOCUMENTS) and set(versions(out).values()) == {NEW}


def test_a_rerun_of_the_older_version_makes_its_view_the_schemas(out):
    run(out)
    later(out)
    run(out, "e9", paths=DOCUMENTS[:1])
    assert query(out, "SELECT DISTINCT schema_fingerprint FROM bill").rows == [(OLD,)]
    assert places(out) == len(DOCUMENTS) and set(versions(out).values()) == {OLD}


def test_a_document_of_another_kind_is_in_neither(out):
    run(out)
    later(out, paths=DOCUMENTS[:2])
    Corrector(out).correct(digest_of("a.txt"), "bill", [Change(Action.OTHER_KIND, "")], "eva")
    assert set(versions(out)) == {"b.txt", "c.txt"} and places(out) == 2


def test_lists_and_checks_hold_one_record_too(out):
    older = copy.deepcopy(SCHEMA)
    older["x-cinnabar-checks"] = {"named": "number <> ''"}
    newer = copy.deepcopy(older)
    newer["properties"]["due"] = {"type": ["string", "null"]}
    for schema, engine, paths in ((older, "e1", DOCUMENTS), (newer, "e22", DOCUMENTS[:2])):
        source = load_schema(schema)
        made = [outcome_of(path, engine, value_of(path, engine), schema=schema) for path in paths]
        made = apply_checks(made, Checks(source, compile_schema(source.schema)), "flag")
        run(out, engine, schema, outcomes=made, paths=paths)
    assert query(out, "SELECT count(*), count(DISTINCT document) FROM checks").rows == [(3, 3)]
    assert query(out, "SELECT count(*), count(DISTINCT document) FROM lists").rows == [(3, 3)]
    assert set(versions(out, "checks").values()) == {fingerprint(older), fingerprint(newer)}


def test_the_snapshot_of_an_older_version_of_the_program_is_built_anew(out, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(snapshot, "_LATEST", "")
        run(out)
        later(out, paths=DOCUMENTS[:2])
    with duckdb.connect(str(out / DATABASE), read_only=True) as connection:
        assert dict(connection.execute(PLACES).fetchall())["/number"] == 5
    Store.open(out).close()
    with duckdb.connect(str(out / DATABASE), read_only=True) as connection:
        assert dict(connection.execute(PLACES).fetchall())["/number"] == 3
