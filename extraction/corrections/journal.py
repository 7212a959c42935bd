"""Corrections that wait for their commit: one small file each in the folder `waiting/`, under a lock of its own.

A correction is durable once its file is there, also while a run holds the folder's lock. Whoever holds that lock next
commits it, and removes the file after the commit. A file whose corrections are committed already changes nothing. One
whose corrections no column can hold is moved to `aside/corrections/`, with the path of its document.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from cinnabar.errors import RunError, shorten
from cinnabar.extraction.corrections.changes import Action, Correction, Undo
from cinnabar.extraction.corrections.units import evidence_from, units_from, units_text
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import (
    TEMPORARY,
    UNSTORED,
    WAITING,
    files_aside,
    make_folder,
    sync,
    waited_lock,
    waiting_files,
    write_bytes,
)
from cinnabar.extraction.store.path_safety import check_links, own_name
from cinnabar.schemas.automata.strings import parse

# What the file of an entry has of a correction, beside its units.
_WRITTEN = ("identity", "schema_fingerprint", "action", "pointer", "before", "after", "evidence", "who", "made")


@dataclass(frozen=True, slots=True)
class WaitingCorrection:
    """One call of a person: corrections of one document under one schema, and corrections that were taken back."""

    identity: str
    document: str
    schema_name: str
    corrections: tuple[Correction, ...] = ()
    undone: tuple[Undo, ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        """Returns the document and the name of the schema."""
        return self.document, self.schema_name

    @property
    def identities(self) -> set[str]:
        """Returns the identities of the rows that this entry becomes."""
        return {one.identity for one in self.corrections} | {one.identity for one in self.undone}


def new_identity(after: str = "") -> str:
    """Returns the identity of an entry; it sorts behind `after`, also if the clock was set back."""
    stamp = manifests.now()
    if after:
        last = datetime.strptime(after.split("-")[0], "%Y%m%dT%H%M%S%fZ").replace(tzinfo=stamp.tzinfo)
        stamp = max(stamp, last + timedelta(microseconds=1))
    return f"{stamp:%Y%m%dT%H%M%S%f}Z-{secrets.token_hex(4)}"


@contextlib.contextmanager
def lock_journal(out: Path) -> Iterator[None]:
    """Holds the lock of the waiting corrections, and removes what a dead process left unfinished there.

    Raises InUse if another process holds it for long, RunError if the folder cannot be written to.
    """
    folder = out / WAITING
    check_links(out)
    with _name_storing_errors(out):
        make_folder(folder)
        lock = waited_lock(folder)
    try:
        with _name_storing_errors(out):
            for path in folder.glob(f"{TEMPORARY}*"):
                path.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _name_storing_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{out}: the correction could not be stored ({error.strerror or error}), and nothing was changed; make"
            " room, or get the right to write there, and correct again"
        ) from error


def write(out: Path, entry: WaitingCorrection) -> None:
    """Makes an entry durable. Raises RunError if the disk fails; then it is not there."""
    content = {
        "format": 1,
        "identity": entry.identity,
        "document": entry.document,
        "schema_name": entry.schema_name,
        "corrections": [
            {name: getattr(one, name) for name in _WRITTEN} | {"units": orjson.Fragment(one.fixed)}
            for one in entry.corrections
        ],
        "undone": entry.undone,
    }
    path = out / WAITING / f"{entry.identity}.json"
    with _name_storing_errors(out):
        try:
            write_bytes(path, orjson.dumps(content) + b"\n")
        except OSError:
            # The disk may fail after the rename.
            path.unlink(missing_ok=True)
            raise


def waiting_corrections(out: Path) -> list[WaitingCorrection]:
    """Returns the entries that wait for their commit, oldest first, without those that cannot be read."""
    return _entries(out)[0]


def unread_corrections(out: Path) -> dict[Path, str]:
    """Returns the files of corrections that count nowhere, with the reasons; they stay where they are.

    They wait and cannot be read, or no column could hold their values.
    """
    return _entries(out)[1] | {path: _told_aside(path) for path in files_aside(out)}


def _entries(out: Path) -> tuple[list[WaitingCorrection], dict[Path, str]]:
    entries: list[WaitingCorrection] = []
    reasons: dict[Path, str] = {}
    for path in waiting_files(out):
        try:
            stat = path.stat()
            entries.append(_read(path, (stat.st_ino, stat.st_mtime_ns)))
        except FileNotFoundError:  # committed meanwhile
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            reasons[path] = (
                f"expected a waiting correction of Cinnabar, found something else ({error}); it counts once the file"
                " can be read: mend it, or move it away"
            )
    return entries, reasons


def set_correction_aside(out: Path, entry: WaitingCorrection, path: str, why: Exception) -> None:
    """Moves an entry that cannot be stored out of the way, with the path of its document and the reason."""
    waiting = out / WAITING / f"{entry.identity}.json"
    content = {
        "format": 1,
        "path": path,
        "document": entry.document,
        "schema_name": entry.schema_name,
        "pointers": [one.pointer for one in entry.corrections],
        "why": str(why) or type(why).__name__,
        "entry": orjson.loads(waiting.read_bytes()),
    }
    write_bytes(out / UNSTORED / waiting.name, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    waiting.unlink(missing_ok=True)
    sync(out / WAITING)


def aside_of(path: Path) -> dict[str, Any]:
    """Returns what is told of a correction that could not be stored; {} if its file cannot be read."""
    try:
        content = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _told_aside(path: Path) -> str:
    content = aside_of(path)
    pointers = content.get("pointers")
    places = ", ".join(shorten(str(one)) or "/" for one in pointers[:5]) if isinstance(pointers, list) else ""
    return (
        f"a correction of {content.get('path') or content.get('document') or 'a document'}"
        f"{f' at {places}' if places else ''} could not be stored ({content.get('why', 'the file cannot be read')}) and"
        " does not count; correct the document again, then remove this file"
    )


def remove_waiting(out: Path, entries: Sequence[WaitingCorrection]) -> None:
    """Removes entries after their commit."""
    for entry in entries:
        (out / WAITING / f"{entry.identity}.json").unlink(missing_ok=True)
    if entries:
        sync(out / WAITING)


# Whoever makes an entry reads it for its commit, and a page reads all that wait for each answer.
@lru_cache(maxsize=16)
def _read(path: Path, _: tuple[int, int]) -> WaitingCorrection:
    """Returns the entry in a file of this number and time.

    Raises ValueError or its like if no version of Cinnabar can have written it.
    """
    content = orjson.loads(path.read_bytes())
    if not isinstance(content, dict) or content["format"] != 1:
        raise ValueError("expected a JSON object of the format 1")
    identity, document, name = content["identity"], own_name("digest", content["document"]), content["schema_name"]
    if identity != path.stem:
        raise ValueError(f"it says that it is {str(identity)[:80]!r}, which is not its file's name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"expected the name of a schema, got {str(name)[:80]!r}")
    entry = WaitingCorrection(
        identity,
        document,
        name,
        tuple(_correction_from(one, document, name) for one in content["corrections"]),
        tuple(Undo(**one | {"made": datetime.fromisoformat(one["made"])}) for one in content["undone"]),
    )
    for step in (*((one.identity, one.who) for one in entry.corrections), *((u.identity, u.who) for u in entry.undone)):
        if not own_name("step of a correction", step[0]).startswith(f"{identity}-") or not isinstance(step[1], str):
            raise ValueError(f"expected a step of {identity} by somebody, got {step[0]}")
    for undo in entry.undone:
        own_name("step of a correction", undo.undoes)
    for one in entry.corrections:
        own_name("digest", one.schema_fingerprint)
        texts = [one.before, one.after]
        for pointer in (one.pointer, *(unit.pointer for unit in one.units)):
            if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
                raise ValueError(f"expected a JSON pointer, got {str(pointer)[:80]!r}")
        for unit in one.units:
            texts += [unit.text, *(leaf.value for leaf in unit.leaves)]
        # A text that is no JSON would stop every query of the values.
        for text in texts:
            if text is not None:
                parse(text)
    return entry


def _correction_from(row: dict[str, Any], document: str, name: str) -> Correction:
    same = {one: value for one, value in row.items() if one != "units"} | {
        "action": Action(row["action"]),
        "evidence": evidence_from(row["evidence"]),
        "made": datetime.fromisoformat(row["made"]),
    }
    fixed = units_text(units_from(orjson.dumps(row["units"]).decode()))
    return Correction(**same, document=document, schema_name=name, fixed=fixed)
