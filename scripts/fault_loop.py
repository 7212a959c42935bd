"""A run is exactly once: it is broken at every place where it touches the disk, run again, and compared.

A run over a few documents is made to fail at its first mkdir, open, write, fsync, rename or unlink, then
at its second, and so on until one passes. It fails in five ways: an I/O error, a full disk (from there on
every write fails), death by kill -9 just before it, just after it, and in the middle of a write, with
half of the bytes on disk. After each the folder is read (whole batches, or none), the same command is run
again, and its rows are compared with those of a run that nothing happened to, run ids and times apart;
then `verify --clean` must find nothing wrong and leave nothing over.

Every case is a process of its own. It is forked from one that has loaded everything, for speed; nothing
in the product knows of this: Python's and Arrow's ways to the disk are wrapped from here. DuckDB writes
from C++: its snapshot fails as a whole, or in the middle by a limit on the size of files.

    make faults                    every case, 20 random kills, two runs at once, and a clock that jumps
    make faults ARGS="--every 9"   every ninth case
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from reading_model import ReadingModel

from cinnabar.extraction import reader
from cinnabar.extraction.ingest.dispatch import parse
from cinnabar.extraction.run import Options, extract
from cinnabar.extraction.sources import ModelSource
from cinnabar.extraction.storage import manifest, snapshot
from cinnabar.extraction.storage.reading import connect
from cinnabar.extraction.storage.verification import verify
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import CinnabarError, DocumentError, UsageError

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {"name": {"type": "string"}, "total": {"type": ["number", "null"], "multipleOf": 0.01}},
    "required": ["name", "total"],
}
#: What a table says of a document, beside the run that wrote it.
ROWS = {
    "records": "SELECT * EXCLUDE (run_id) FROM records ORDER BY ALL",
    "note": "SELECT * EXCLUDE (run_id) FROM note ORDER BY ALL",
    "fields": "SELECT * EXCLUDE (run_id) FROM fields ORDER BY ALL",
    "documents": "SELECT * EXCLUDE (run_id) FROM documents ORDER BY ALL",
    "outcomes": "SELECT * EXCLUDE (run_id) FROM outcomes WHERE outcome <> 'skipped' ORDER BY ALL",
}
#: Bytes of a Parquet file that are written at a time.
PIECE = 1024
_FAILED = 7


def make_documents(folder: Path, count: int) -> Path:
    """A folder of so many documents; of every ten one cannot be parsed and one has the bytes of another."""
    folder.mkdir(parents=True)
    for number in range(count):
        path = folder / f"{number:04d}.txt"
        if number % 10 == 3:
            path.with_suffix(".pdf").write_bytes(b"%PDF-1.7\nnothing " + str(number).encode())
        elif number % 10 == 4:
            path.write_text(f"name=N{number - 2}\ntotal={number - 2}.50\n")
        else:
            path.write_text(f"name=N{number}\ntotal={number}.50\n")
    return folder


class Here:
    """Parses in this process, in place of the workers, which have nothing to do with the disk."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def parse_many(self, paths: Sequence[Path]) -> list[tuple[Path, Any]]:
        return [(path, self.parse_one(path)) for path in paths]

    @staticmethod
    def parse_one(path: Path) -> Any:
        try:
            return parse(path.read_bytes(), str(path))
        except DocumentError as problem:
            return problem

    def close(self) -> None:
        """Nothing to end."""


def run_once(docs: Path, out: Path, batch: int = 3) -> None:
    """The run that is looked at."""
    model = ReadingModel()
    source = ModelSource(model.fingerprint, lambda: model)
    extract([docs], load_schema(SCHEMA), out, source, Options(workers=1, batch=batch))


def rows_of(out: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What the folder says, run ids and times apart."""
    with connect(out) as connection:
        return {name: connection.execute(sql).fetchall() for name, sql in ROWS.items()}


@dataclass
class Faults:
    """Breaks the operation with number `point`, counted from 0, in one way; only counts where it is -1."""

    point: int = -1
    way: str = ""
    full: bool = False
    #: Of each operation so far: the ways in which it can be broken.
    seen: list[tuple[str, ...]] = field(default_factory=list)

    def around(
        self, act: Callable[[], Any], torn: Callable[[], Any] | None = None, writes: bool = False
    ) -> Any:
        """Do this operation, or fail at it. `torn` does half of it; `writes` says whether it takes space."""
        here = len(self.seen) == self.point
        usual = ("error", "before", "after")
        self.seen.append((*usual, *(("full",) if writes else ()), *(("torn",) if torn else ())))
        if self.full and writes:
            raise OSError(28, "No space left on device")
        if not here:
            return act()
        if self.way == "error":
            raise OSError(5, "Input/output error")
        if self.way == "full":
            self.full = True
            if writes:
                raise OSError(28, "No space left on device")
            return act()
        if self.way == "after":
            act()
        if self.way == "torn" and torn is not None:
            torn()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("dead")

    def install(self) -> None:
        """Wrap this process's ways to the disk."""
        # Only a power cut could tell whether the disk was waited for.
        os.fsync = lambda _: None
        for module, name in ((os, "fsync"), (os, "replace"), (os, "mkdir"), (os, "unlink")):
            setattr(module, name, self._wrapped(getattr(module, name), writes=name == "mkdir"))
        # pathlib took its own references when it was imported, in some releases of Python.
        Path.replace = lambda path, target: os.replace(path, target) or Path(target)  # noqa: PTH105
        Path.unlink = lambda path, missing_ok=False: self._unlink(path, missing_ok)
        Path.write_bytes = lambda path, data: self._write_bytes(path, data)
        self._arrow()
        self._duckdb()

    def _wrapped(self, act: Callable[..., Any], writes: bool) -> Callable[..., Any]:
        return lambda *args, **more: self.around(lambda: act(*args, **more), writes=writes)

    @staticmethod
    def _unlink(path: Path, missing_ok: bool = False) -> None:
        try:
            os.unlink(path)  # noqa: PTH108
        except FileNotFoundError:
            if not missing_ok:
                raise

    def _write_bytes(self, path: Path, data: bytes) -> int:
        with path.open("wb", buffering=0) as stream:
            self.around(lambda: stream.write(data), lambda: stream.write(data[: len(data) // 2]), writes=True)
        return len(data)

    def _arrow(self) -> None:
        faults = self
        writer = pq.ParquetWriter

        class Sink:
            """A file of which every write is counted."""

            def __init__(self, path: Path) -> None:
                self.stream = faults.around(lambda: path.open("wb", buffering=0), writes=True)
                self.closed = False

                self.waiting = b""
                self.length = 0

            def write(self, data: Any) -> int:
                self.waiting += bytes(data)
                self.length += len(data)
                if len(self.waiting) >= PIECE:
                    self.flush()
                return len(data)

            def flush(self) -> None:
                data, self.waiting = self.waiting, b""
                half = data[: len(data) // 2]
                if data:
                    faults.around(
                        lambda: self.stream.write(data), lambda: self.stream.write(half), writes=True
                    )

            def tell(self) -> int:
                return self.length

            def close(self) -> None:
                if not self.closed:
                    self.flush()
                    self.stream.close()
                self.closed = True

        def write_table(rows: pa.Table, where: Path, **more: Any) -> None:
            with pa.PythonFile(Sink(where), mode="w") as sink, writer(sink, rows.schema, **more) as file:
                file.write_table(rows)

        pq.write_table = write_table

    def _duckdb(self) -> None:
        build = snapshot.define_views

        def half(*args: Any) -> None:
            # The kernel ends the process in the middle of a write that would make a file too large.
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
            build(*args)
            args[0].execute("CHECKPOINT")

        def define(*args: Any) -> None:
            if self.full and self._is_file(args[0]):
                resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
            self.around(lambda: build(*args), lambda: half(*args))

        snapshot.define_views = define

    @staticmethod
    def _is_file(connection: Any) -> bool:
        return any(row[0] for row in connection.execute("SELECT path FROM duckdb_databases()").fetchall())


def in_child(work: Callable[[], None], said: Path | None = None) -> int:
    """Do this in a forked process; its exit status, below 0 for a signal. `said` gets its error."""
    child = os.fork()
    if child == 0:
        status = _FAILED + 1
        try:
            work()
            status = 0
        except CinnabarError as error:
            status = _FAILED
            if said is not None:
                said.write_text(f"{type(error).__name__}: {error}")
        except BaseException as error:
            if said is not None:
                said.write_text(f"UNCAUGHT {type(error).__name__}: {error}")
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def prepare() -> None:
    """Have everything loaded, and parse in this process."""
    os.fsync = lambda _: None
    reader.ParserPool = Here
    import cinnabar.engine.engine
    import cinnabar.extraction.pipeline  # noqa: F401


def operations(docs: Path, out: Path) -> list[list[str]]:
    """The operations of an undisturbed run: of each the ways in which it can be broken."""
    counted = out.with_suffix(".count")

    def work() -> None:
        faults = Faults()
        write = Path.write_text
        faults.install()
        run_once(docs, out)
        write(counted, json.dumps(faults.seen))

    status = in_child(work, out.with_suffix(".said"))
    if status:
        raise SystemExit(f"the undisturbed run failed: {out.with_suffix('.said').read_text()}")
    found: list[list[str]] = json.loads(counted.read_text())
    return found


def check_case(docs: Path, out: Path, point: int, way: str, expected: dict[str, Any]) -> list[str]:
    """What is wrong after a run that was broken at this point in this way, and then run again."""
    said = out.with_suffix(".said")

    def broken() -> None:
        Faults(point, way).install()
        run_once(docs, out)

    wrong = []
    status = in_child(broken, said)
    if way in ("before", "after", "torn"):
        if status not in (-signal.SIGKILL, -signal.SIGXFSZ):
            wrong.append(f"expected it to be killed, got status {status}")
    elif status not in (0, _FAILED):
        wrong.append(f"expected one clear error, got status {status}: {_read(said)}")
    elif status == _FAILED and "\n" in _read(said).strip():
        wrong.append(f"expected one line, got {_read(said)!r}")
    if found := manifest.live(manifest.read_all(out)):
        manifest.check_digests(out, found)
        rows = rows_of(out)
        wrong += [f"{name}: {row} is new" for name in rows for row in rows[name] if row not in expected[name]]
    status = in_child(lambda: run_once(docs, out), said)
    if status:
        return [*wrong, f"the second run failed: {_read(said)}"]
    return wrong + differences(out, expected)


def differences(out: Path, expected: dict[str, Any]) -> list[str]:
    """In what this folder is other than expected, after `verify --clean`."""
    wrong = []
    for name, rows in rows_of(out).items():
        lost = [row for row in expected[name] if row not in rows]
        more = [row for row in rows if row not in expected[name]]
        if lost or more or len(rows) != len(expected[name]):
            wrong.append(
                f"{name}: {len(lost)} lost, {len(more)} others, {len(rows)} of {len(expected[name])}"
            )
    checked = verify(out, clean=True)
    wrong += [f"verify: {problem.path}: {problem.detail}" for problem in checked.problems]
    left = [path for path in out.rglob("*") if ".part-" in path.name] + checked.leftovers
    return wrong + [f"left over: {path}" for path in left]


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def fault_loop(root: Path, documents: int, every: int = 1, first: int = 0, tell: bool = False) -> list[str]:
    """Every case, or every so many; what is wrong."""
    docs = make_documents(root / "docs", documents)
    seen = operations(docs, root / "whole")
    expected = rows_of(root / "whole")
    cases = [(point, way) for point, ways in enumerate(seen) for way in ways][first::every]
    wrong, began = [], time.monotonic()
    for number, (point, way) in enumerate(cases):
        out = root / f"{point}-{way}"
        wrong += [
            f"{way} at operation {point}: {what}" for what in check_case(docs, out, point, way, expected)
        ]
        shutil.rmtree(out, ignore_errors=True)
        if tell and number % 100 == 99:
            print(f"{number + 1} of {len(cases)} cases, {len(wrong)} wrong, {time.monotonic() - began:.0f} s")
    if tell:
        ways = ", ".join(f"{way} {count}" for way, count in Counter(way for _, way in cases).items())
        print(f"{len(seen)} operations, {len(cases)} cases ({ways}): {len(wrong)} wrong")
    return wrong


def start_run(docs: Path, out: Path, batch: int) -> subprocess.Popen[bytes]:
    """The run as a process of its own, with parser workers."""
    program = [sys.executable, __file__, "--one-run", str(docs), str(out), str(batch)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def random_kills(root: Path, documents: int, kills: int, seed: int = 0, tell: bool = False) -> list[str]:
    """Kill one run after another at random moments, all over one folder, until one ends; what is wrong."""
    docs = make_documents(root / "docs", documents)
    began = time.monotonic()
    with start_run(docs, root / "whole", 4) as whole:
        _, error = whole.communicate()
    if whole.returncode:
        return [f"the undisturbed run failed: {error.decode()}"]
    length = time.monotonic() - began
    expected = rows_of(root / "whole")
    chance = random.Random(seed)
    out, died = root / "killed", 0
    while died < kills:
        with start_run(docs, out, 4) as run:
            # Each goes on where the last one died, so moments are spread over what is left, with the start.
            with suppress(subprocess.TimeoutExpired):
                run.wait(timeout=length * chance.uniform(0.15, 1.0))
            run.kill()
            run.communicate()
        if run.returncode == -signal.SIGKILL:
            died += 1
        elif run.returncode == 0:  # it was done before its time: another folder
            if wrong := differences(out, expected):
                return wrong
            out = root / f"killed-{died}"
    with start_run(docs, out, 4) as run:
        _, error = run.communicate()
    if run.returncode:
        return [f"the last run failed: {error.decode()}"]
    if tell:
        print(f"{documents} documents, {died} kills at random moments of a run of {length:.1f} s")
    return differences(out, expected)


def two_at_once(root: Path, documents: int) -> list[str]:
    """Two runs over the same folder: one wins, the other says so in one line; what is wrong."""
    docs = make_documents(root / "docs", documents)
    expected_status = {0, 2}
    first, second = start_run(docs, root / "both", 2), start_run(docs, root / "both", 2)
    said = [run.communicate()[1].decode() for run in (first, second)]
    wrong = []
    statuses = [first.returncode, second.returncode]
    if set(statuses) - expected_status or 0 not in statuses:
        wrong.append(
            f"expected one run to win and the other to have status 2 or nothing to do, got {statuses}"
        )
    for status, line in zip(statuses, said, strict=True):
        if status == 2 and ("another run is writing here" not in line or len(line.splitlines()) != 1):
            wrong.append(f"expected one clear line, got {line!r}")
    if in_child(lambda: run_once(docs, root / "whole", 2)):
        wrong.append("the undisturbed run failed")
    return wrong + differences(root / "both", rows_of(root / "whole"))


def jumping_clock(root: Path, documents: int, seed: int = 0) -> list[str]:
    """Runs whose clock jumps by up to ten years either way whenever it is asked; what is wrong."""
    docs = make_documents(root / "docs", documents)
    real, chance = manifest.now, random.Random(seed)

    def jump() -> None:
        manifest.now = lambda: real() + timedelta(days=chance.uniform(-3650, 3650))

    def broken(point: int) -> None:
        jump()
        Faults(point, "before").install()
        run_once(docs, root / "out")

    def whole(out: Path) -> None:
        jump()
        run_once(docs, out)

    run_status = in_child(lambda: run_once(docs, root / "whole"))
    for point in (20, 50, 80, 110):
        in_child(lambda point=point: broken(point))
    said = root / "said"
    for _ in range(2):
        if run_status or in_child(lambda: whole(root / "out"), said):
            return [f"a run failed: {_read(said)}"]
    wrong = differences(root / "out", rows_of(root / "whole"))
    with connect(root / "out") as connection:
        ids = connection.execute("SELECT run_id FROM runs").fetchall()
    if len(ids) != len(set(ids)):
        wrong.append(f"run ids are there twice: {ids}")
    return wrong


def one_run(docs: Path, out: Path, batch: int) -> int:
    """A run with parser workers, as the command would do it."""
    try:
        run_once(docs, out, batch)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def main() -> int:
    """Run what the arguments ask for; 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description="Break a run everywhere, run it again, compare.")
    parser.add_argument("--documents", type=int, default=5, help="documents of each case")
    parser.add_argument("--every", type=int, default=1, help="only every so many cases")
    parser.add_argument("--kills", type=int, default=20, help="random kills")
    parser.add_argument("--many", type=int, default=300, help="documents of the run that is killed at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one-run", nargs=3, metavar=("DOCS", "OUT", "BATCH"), help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.one_run:
        return one_run(Path(said.one_run[0]), Path(said.one_run[1]), int(said.one_run[2]))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        found = {"random kills": random_kills(root / "kills", said.many, said.kills, said.seed, tell=True)}
        found["two runs at once"] = two_at_once(root / "two", 20)
        prepare()
        found["a clock that jumps"] = jumping_clock(root / "clock", said.documents, said.seed)
        found["faults"] = fault_loop(root / "faults", said.documents, said.every, tell=True)
    print(json.dumps({name: len(wrong) for name, wrong in found.items()}))
    for name, wrong in found.items():
        for what in wrong[:20]:
            print(f"{name}: {what}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
