"""Checks of a folder for results: free disk, its lock, its snapshot, and whether this version reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cinnabar.extraction.people.diagnosis.findings import Finding, advises, fails, ok
from cinnabar.extraction.people.diagnosis.machine import disk
from cinnabar.schemas.errors import CinnabarError
from cinnabar.schemas.wording import with_noun


def results_folder(out: Path) -> Iterator[Finding]:
    """The findings about this folder, which need not exist yet."""
    # Cold start: DuckDB and PyArrow, which no other check needs.
    from cinnabar.extraction.corrections.unread import unread_corrections
    from cinnabar.extraction.store.housekeeping import runs, status

    check = f"folder {out}"
    if out.exists() and not out.is_dir():
        yield fails(check, "a file", "name a folder with --out")
        return
    above = next(one for one in (out.absolute(), *out.absolute().parents) if one.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        yield fails(check, f"{above} cannot be written by this user", "change its rights, or choose another --out")
    yield disk("disk", above, "free some, or choose another --out")
    if not os.access(above, os.R_OK | os.X_OK):  # told above; nothing in it can be looked at
        return
    if not out.exists() or not any(out.iterdir()):
        yield ok(check, "no results yet")
        return
    try:
        present = status(out)
        last = runs(out, 1)
    except CinnabarError as error:
        yield fails("results", str(error), f"cinnabar verify --out {out} tells more")
        return
    for path, why in unread_corrections(out).items():
        yield advises("correction", f"{path.relative_to(out)}: {why}", "see docs/corrections.md, During a run")
    records = sum(present.records.values())
    held = sum(present.quarantined.values())
    yield ok("results", f"{with_noun(records, 'record')}, {held} in quarantine, {with_noun(present.runs, 'run')}")
    yield advises("lock", "a run is writing", "wait for it to end before another one") if present.writing else ok(
        "lock", "free"
    )
    if present.snapshot:
        yield ok("snapshot", "shows the last commit")
    else:
        yield advises("snapshot", "behind the last commit, or the folder has moved", "the next run renews it")
    if last and last[0].seconds is None and not present.writing:
        yield advises("last run", f"{last[0].run_id} did not end", "the same command goes on with the rest")
