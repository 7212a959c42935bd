"""A process that dies at any step of a correction, and corrections beside a run in another process."""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest
from bench.faulty_disk import Faults
from tests.support import ROOT
from tests.support.corrected_folder import commit_waiting_of, digest_of, run, value_of

from cinnabar.extraction.corrections import Action, Change, Corrector, corrections
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.reading import query

A = digest_of("a.txt")
PROGRAM = [sys.executable, "-m", "tests.support.corrected_folder"]


def number(out):
    return query(out, f"SELECT number FROM bill WHERE document = '{A}'").rows[0][0]


def change(out, undoes):
    if undoes:
        Corrector(out).undo(A, "bill", None, "eva")
    else:
        Corrector(out).correct(A, "bill", [Change(Action.VALUE, "/number", '"N"')], "eva")


def counted(out, undoes, seen):
    """Writes the operations on the disk of this change, each as the ways in which it can be broken."""
    faults, write = Faults(), Path.write_text
    faults.install()
    change(out, undoes)
    write(seen, json.dumps(faults.seen))


def broken(out, undoes, point, way):
    Faults(point, way).install()
    change(out, undoes)


def in_child(work, *args):
    """The exit code of a process that does this work.

    It is forked from a process without threads: DuckDB, Arrow and torch do not survive a fork beside theirs.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    child = context.Process(target=work, args=args)
    child.start()
    child.join()
    return child.exitcode


def chosen(points, share):
    """The operations at which to kill: every thirteenth, or a random share of them; the seed is printed."""
    if share is None:
        return range(2, len(points), 13)
    seed = int(os.environ.get("CRASH_SEED", secrets.randbelow(10**6)))
    print(f"CRASH_SEED={seed}")
    some = random.Random(seed).sample(range(2, len(points)), int(share * (len(points) - 2)))
    # The first one comes before the correction is durable, the last one behind it.
    return sorted({2, *some, len(points) - 1})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("undoes", "share"),
    [(False, None), (False, 0.4), (True, 0.4)],
)
def test_a_process_killed_at_any_step_leaves_a_correction_whole_or_none(tmp_path, undoes, share):
    start = tmp_path / "start"
    run(start)
    if undoes:
        change(start, undoes=False)

    values = ["N", "a-e1"] if undoes else ["a-e1", "N"]
    shutil.copytree(start, tmp_path / "whole")
    assert in_child(counted, tmp_path / "whole", undoes, tmp_path / "seen") == 0
    points = json.loads((tmp_path / "seen").read_text())
    assert len(points) > 15
    seen = set()
    for point in chosen(points, share):
        for way in [one for one in ("before", "torn") if one in points[point]]:
            out = tmp_path / f"{point}-{way}"
            shutil.copytree(start, out)
            status = in_child(broken, out, undoes, point, way)
            assert status in (-signal.SIGKILL, -signal.SIGXFSZ)
            durable = len(list(out.glob("waiting/2*.json"))) == 1 or number(out) == values[1]
            commit_waiting_of(out)
            assert number(out) == values[durable]
            assert len(corrections(out)) == (0 if durable == undoes else 1)
            assert query(out, "SELECT count(*) FROM corrections").rows[0][0] == (1 if undoes else int(durable))
            assert list(out.glob("waiting/2*.json")) == []
            checked = verify(out, clean=True)
            assert checked.problems == [] and checked.leftovers == []
            seen.add(durable)
            # The same correction again, as a person would.
            change(out, undoes)
            assert number(out) == values[1]
            assert [path for path in out.rglob("*") if ".part-" in path.name] == []
            shutil.rmtree(out)
    assert seen == {False, True}


@pytest.mark.slow
def test_programs_correct_while_another_process_runs_into_the_folder(tmp_path):
    out = tmp_path / "out"
    run(out)

    def meanwhile():
        programs = [
            subprocess.Popen([*PROGRAM, out, digest_of(f"{name}.txt"), "/number", f'"{name}"'], cwd=ROOT)
            for name in "abc"
        ]
        assert [program.wait(60) for program in programs] == [0, 0, 0]
        assert len(corrections(out)) == 3 and number(out) == "a-e1"

    run(out, "engine", between=meanwhile)
    assert number(out) == "a"
    assert query(out, "SELECT list(number ORDER BY number), count(*) FROM bill").rows == [(["a", "b", "c"], 3)]
    assert query(out, "SELECT list(total ORDER BY path)[1]::DOUBLE FROM bill").rows == [
        (value_of("a.txt", "engine")["total"],)
    ]
    assert verify(out).problems == []
