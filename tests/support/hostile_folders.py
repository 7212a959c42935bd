"""Output folders as a stranger could prepare them: names that lead elsewhere, links, and files with other contents."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.corrected_folder import digest_of, run

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.store.store import Store

#: Changes a folder; the second path is that of a file outside of it.
Damage = Callable[[Path, Path], None]
RUN = "20260101T000000000Z-00000000"


def prepared(out: Path) -> None:
    """A folder with two runs, corrections, a waiting one, and something in each of its caches."""
    run(out)
    correct(out, "a.txt", "/number", '"N"')
    run(out, "e22")
    with Store.open(out):
        correct(out, "b.txt", "/number", '"M"')
    for name, content in {
        f"reports/{RUN}.html": "a.txt",
        f"reports/{RUN}.json": '{"stages": {"read": 1}}',
        f"pages/{digest_of('a.txt')}/{'0' * 64}.json": "{}",
        "encodings/00/0.safetensors": "",
        "remote/1.jsonl": '{"key": "k", "answer": "x", "finish": "", "refusal": "", "tokens": null}\n',
        "models/bill/candidate/model.json": '{"name": "bill", "files": {}, "size": {}}',
        "models/bill/candidate/improvement.json": "{}",
        "models/bill/training/state": "",
    }.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(content)


def correct(out: Path, path: str, pointer: str, text: str) -> None:
    """Corrects a value as a person does."""
    Corrector(out).correct(digest_of(path), "bill", [Change(Action.VALUE, pointer, text)], "eva")


def _manifests(out: Path) -> list[Path]:
    return sorted((out / "manifest").glob("batch-*.json"))


def _in_manifest(change: Callable[[dict[str, Any], Path], Any], at: int = -1, replaced: bool = False) -> Damage:
    def damage(out: Path, victim: Path) -> None:
        path = _manifests(out)[at]
        said = json.loads(path.read_text())
        found = change(said, victim)
        if replaced:
            path = out / "manifest" / "replaced" / path.name
            path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(said if found is None else found))

    return damage


def _file_path(name: str) -> Damage:
    def change(said: dict[str, Any], victim: Path) -> None:
        data = victim.read_bytes()
        for file in said["files"]:
            file["path"] = name.format(victim=victim, up=f"../{victim.parent.name}/{victim.name}")
            file |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "rows": 0}

    return _in_manifest(change)


def _replaced_path(said: dict[str, Any], victim: Path) -> None:
    """A replaced batch, whose files the next opening removes."""
    said["files"] = [{"table": "data", "path": f"../{victim.parent.name}/{victim.name}", "rows": 0, "bytes": 1,
                      "sha256": "0" * 64}]  # fmt: skip


def _set(name: str, value: Any) -> Damage:
    return _in_manifest(lambda said, _: said.__setitem__(name, value))


def _link(name: str, folder: bool = True, keep: bool = False) -> Damage:
    """A name in the folder leads to the victim's folder or file; with `keep` the victim has the file's bytes."""

    def damage(out: Path, victim: Path) -> None:
        path = next(out.glob(name), out / name)
        target = victim.parent if folder else victim
        if path.is_dir():
            path.rename(path.with_name(path.name + ".was"))
        elif path.exists():
            if keep:
                target = victim.parent / "copy"
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    return damage


def _pipe(name: str) -> Damage:
    """A name in the folder is that of a pipe, which gives nothing and never ends."""

    def damage(out: Path, _: Path) -> None:
        path = next(out.glob(name), out / name)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)

    return damage


def _waiting(change: dict[str, Any], correction: dict[str, Any] | None = None) -> Damage:
    def damage(out: Path, victim: Path) -> None:
        (path,) = (out / "waiting").glob("*.json")
        said = json.loads(path.read_text())
        for holder, some in ((said, change), (said["corrections"][0], correction or {})):
            for name, value in some.items():
                holder[name] = value.format(victim=victim.with_suffix("")) if isinstance(value, str) else value
        path.write_text(json.dumps(said))

    return damage


def rewritten(out: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Changes the files of a table, with the sizes and checksums in their manifests."""
    for path in _manifests(out):
        said = json.loads(path.read_text())
        for file in said["files"]:
            if file["table"] == table:
                own = out / file["path"]
                rows = change(pq.read_table(own))
                pq.write_table(rows, own)
                file |= {
                    "bytes": own.stat().st_size,
                    "sha256": hashlib.sha256(own.read_bytes()).hexdigest(),
                    "rows": rows.num_rows,
                }
        path.write_text(json.dumps(said))


def _column(table: str, column: str, value: Any, kind: pa.DataType | None = None) -> Damage:
    """All rows of a column have another value, and the column perhaps another type."""

    def damage(out: Path, victim: Path) -> None:
        def change(rows: pa.Table) -> pa.Table:
            at = rows.schema.get_field_index(column)
            said = value.format(victim=f"../../{victim.parent.name}") if isinstance(value, str) else value
            own = kind or rows.schema.field(at).type
            return rows.set_column(at, pa.field(column, own), pa.array([said] * len(rows), own))

        rewritten(out, table, change)

    return damage


def _without(table: str, column: str) -> Damage:
    return lambda out, _: rewritten(out, table, lambda rows: rows.drop_columns([column]))


def _file(name: str, content: str | bytes) -> Damage:
    def damage(out: Path, victim: Path) -> None:
        path = next(out.glob(name), out / name)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data.replace(b"{victim}", str(victim).encode()))

    return damage


def _column_named(name: str) -> Damage:
    """The records have a column more, and those of another version have it too, so that a view unites them."""

    def damage(out: Path, victim: Path) -> None:
        own = name.format(victim=victim)
        rewritten(out, "data", lambda rows: rows.append_column(own, pa.array(["x"] * len(rows), TEXT)))
        said = json.loads((path := _manifests(out)[0]).read_text())
        path.write_text(json.dumps(said | {"schema_fingerprint": "0" * 64}))

    return damage


def _database(out: Path, victim: Path) -> None:
    """The database is a stranger's, whose views read a file, and the folder says that it is ours."""
    path = out / "cinnabar.duckdb"
    path.unlink()
    with duckdb.connect(str(path)) as connection:
        for view in ("_snapshot", "bill", "outcomes", "runs", "fields"):
            connection.execute(f"CREATE VIEW {view} AS SELECT 2 AS batch, content FROM read_text('{victim}')")
    (out / "snapshot.json").write_text(json.dumps([99, 1, str(out), path.stat().st_size, path.stat().st_mtime_ns]))


def _module(out: Path, victim: Path) -> None:
    """The schema has the name of a class in a module of the folder, which is the working folder too."""
    (out / "evil.py").write_text(f"open({str(victim)!r}, 'w').write('was run')\nBill = {{}}\n")
    for path in _manifests(out):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_name": "evil:Bill"}))


TEXT, NUMBER = pa.string(), pa.int64()
#: The damages by name; those of `QUICK` run on each change.
CORPUS: dict[str, Damage] = {
    "path above": _file_path("{up}"),
    "path absolute": _file_path("{victim}"),
    "path through a table": _file_path("data/../{up}"),
    "path with a line break": _file_path("data/batch-0000000001.parquet\n"),
    "path with NUL": _file_path("data/\0batch-0000000001.parquet"),
    "path of another batch": _file_path("outcomes/batch-0000000001.parquet"),
    "path of the database": _file_path("cinnabar.duckdb"),
    "replaced path above": _in_manifest(_replaced_path, 0, replaced=True),
    "old replaced path above": _in_manifest(
        lambda said, victim: (_replaced_path(said, victim), said.update(created="2020-01-01T00:00:00+00:00"))[0], 0
    ),
    "table above": _in_manifest(lambda said, _: [file.update(table="../data") for file in said["files"]] and None),
    "number of another": _set("number", 1),
    "number text": _set("number", "../../x"),
    "number huge": _set("number", 10**30),
    "number negative": _set("number", -1),
    "replaces itself": _in_manifest(lambda said, _: said.update(replaces=[said["number"]])),
    "replaces text": _set("replaces", ["../x"]),
    "replaces all": _set("replaces", list(range(1000))),
    "created without zone": _set("created", "2026-01-01T00:00:00"),
    "created in the future": _set("created", "9999-12-31T23:59:59-23:00"),
    "fingerprint above": _set("schema_fingerprint", "../../../../victim"),
    "name above": _set("schema_name", "../../victim"),
    "name a list": _set("schema_name", ["x"]),
    "name as SQL": _in_manifest(lambda said, one: said.update(schema_name=f"x'; COPY (SELECT 1) TO '{one}'; --")),
    "name as a view": _in_manifest(lambda said, one: said.update(schema_name=f"x\" AS FROM read_text('{one}'); --")),
    "name of a module": _module,
    "column as SQL": _column_named("""x" AS y, (SELECT content FROM read_text('{victim}')) AS "z"""),
    "column of a view": _column_named("_superseded"),
    "check that reads": _file(
        "schemas/*.json", '{"x-cinnabar-checks": {"a": "(SELECT content FROM read_text(\'{victim}\')) = number"}}'
    ),
    "check of several queries": _file(
        "schemas/*.json", '{"x-cinnabar-checks": {"a": "number = 1); COPY (SELECT 1) TO \'{victim}\'; SELECT (1"}}'
    ),
    "database of another": _database,
    "log of the database": _file("cinnabar.duckdb.wal", b"\0" * 2000),
    "snapshot no list": _file("snapshot.json", '{"a": 1, "b": 2}'),
    "snapshot far ahead": _file("snapshot.json", f"[{10**14}, {10**14}, []]"),
    "snapshot deep": _file("snapshot.json", "[" * 100_000),
    "link snapshot": _link("snapshot.json", folder=False),
    "pipe snapshot": _pipe("snapshot.json"),
    "counts many": _set("counting", 10**14),
    "counts text": _set("counting", "many"),
    "corrections of no manifest": _file("corrections/batch-0000000099.parquet", b"PAR1PAR1"),
    "name empty": _set("schema_name", ""),
    "files a number": _set("files", 5),
    "manifest a list": _in_manifest(lambda *_: [1]),
    "manifest deep": _file("manifest/batch-0000000001.json", "[" * 100_000),
    "manifest of another format": _set("format", 99),
    "link manifest": _link("manifest"),
    "link data": _link("data"),
    "link schema folder": _link("data/bill"),
    "link table file": _link("outcomes/*.parquet", folder=False),
    "link schemas": _link("schemas"),
    "link waiting": _link("waiting"),
    "link reports": _link("reports"),
    "link aside": _link("aside"),
    "link pages": _link("pages/*"),
    "link encodings": _link("encodings"),
    "link models": _link("models/bill"),
    "link candidate": _link("models/bill/candidate"),
    "link training": _link("models/bill/training"),
    "link journal": _link("remote/1.jsonl", folder=False),
    "link lock": _link(".lock", folder=False),
    "link readers": _link("manifest/readers", folder=False),
    "link database": _link("cinnabar.duckdb", folder=False),
    "pipe manifest": _pipe("manifest/batch-0000000099.json"),
    "pipe readers": _pipe("manifest/readers"),
    "pipe waiting": _pipe("waiting/*.json"),
    "pipe schema": _pipe("schemas/*.json"),
    "pipe lock": _pipe(".lock"),
    "pipe folders": _pipe("folders.json"),
    "link folders": _link("folders.json", folder=False),
    "waiting identity above": _waiting({"identity": "{victim}"}),
    "waiting document above": _waiting({"document": "../../victim"}),
    "waiting fingerprint above": _waiting({}, {"schema_fingerprint": "../../victim"}),
    "waiting value": _waiting({}, {"units": [{"pointer": "/number", "text": "x", "leaves": [], "rows": {}}]}),
    "waiting name": _waiting({"schema_name": "../../victim"}),
    "digest above": _column("outcomes", "document", "{victim}"),
    "digest of pages": _column("outcomes", "document", ".."),
    "run above": _column("runs", "run_id", "{victim}/x"),
    "run empty": _column("runs", "run_id", ""),
    "run null": _column("runs", "run_id", None),
    "run late": _column("runs", "run_id", "99991231T235959999Z-00000000"),
    "arguments no JSON": _column("runs", "arguments", "{{"),
    "arguments a list": _column("runs", "arguments", "[1]"),
    "arguments with wrong parts": _column("runs", "arguments", '{{"paths": 5, "model": [], "passwords": "x"}}'),
    "started null": _column("runs", "started", None),
    "fingerprint of an outcome above": _column("outcomes", "schema_fingerprint", "../../victim"),
    "outcome unknown": _column("outcomes", "outcome", "eaten"),
    "path null": _column("outcomes", "path", None),
    "path of a host": _column("outcomes", "path", "/etc/passwd"),
    "record no JSON": _column("data", "record_json", "{{"),
    "record a number": _column("data", "record_json", "5"),
    "value no JSON": _column("fields", "value_json", "{{"),
    "pointer wrong": _column("fields", "pointer", "lines/x/~9"),
    "confidence null": _column("fields", "confidence", None),
    "confidence not a number": _column("fields", "confidence", float("nan")),
    "origin null": _column("fields", "origin", None),
    "units no JSON": _column("corrections", "units", "{{"),
    "action unknown": _column("corrections", "action", "burn"),
    "facts wrong": _column("documents", "size", "many", TEXT),
    "numbers as document": _column("outcomes", "document", 5, NUMBER),
    "numbers as path": _column("outcomes", "path", 5, NUMBER),
    "texts as confidence": _column("fields", "confidence", "x", TEXT),
    "texts as started": _column("runs", "started", "x", TEXT),
    "numbers as record": _column("data", "record_json", 5, NUMBER),
    "numbers as arguments": _column("runs", "arguments", 5, NUMBER),
    "numbers as correction": _column("corrections", "identity", 5, NUMBER),
    "no document": _without("outcomes", "document"),
    "no pointer": _without("fields", "pointer"),
    "no run": _without("runs", "run_id"),
    "no record": _without("data", "record_json"),
    "no Parquet": _file("data/bill/*/batch-*.parquet", b"PAR1PAR1"),
    "schema no JSON": _file("schemas/*.json", "{"),
    "schema deep": _file("schemas/*.json", "[" * 100_000),
    "schema another": _file("schemas/*.json", '{"type": "string"}'),
    "kept model above": _file(
        "models/bill/current/model.json",
        '{"name": "bill", "size": {}, "files": {"{victim}": "0"}, "base": {"name": "{victim}", "fingerprint": "0"}}',
    ),
    "candidate a list": _file("models/bill/candidate/model.json", "[1]"),
    "figures a list": _file("models/bill/candidate/improvement.json", "[1]"),
    "report of no run": _file("reports/x.html", "a.txt"),
    "stages a list": _file(f"reports/{RUN}.json", '{"stages": [1]}'),
    "page no JSON": _file(f"pages/{digest_of('a.txt')}/{'0' * 64}.json", "{"),
    "folders elsewhere": _file("folders.json", '{"started_from": ["../../../..", "{victim}", 5]}'),
    "folders a number": _file("folders.json", "5"),
    "database broken": _file("cinnabar.duckdb", b"\0" * 20_000),
}
QUICK = ("link data", "waiting identity above", "database of another", "name of a module")


def tree(root: Path) -> dict[str, bytes | None]:
    """The content of all files below a folder, None for a folder; links are not followed."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(root.rglob("*"))
    }
