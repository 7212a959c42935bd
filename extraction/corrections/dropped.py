"""Refuses a version of a schema that has no place for values that people corrected."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress

from cinnabar.extraction.corrections.carrying import lost_places
from cinnabar.extraction.corrections.changes import counting_of, in_force
from cinnabar.extraction.corrections.renaming import renamed_correction, renames_since
from cinnabar.extraction.corrections.stored import correction_rows
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.compiling.changes import Renames
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.errors import RunError, UsageError
from cinnabar.schemas.reading.schema_object import WAS


def check_corrections_kept(store: Store, source: SchemaSource, compiled: CompiledSchema) -> None:
    """Raises UsageError, with the places, if corrections in force have values that this schema cannot hold.

    A version that has records in the folder was let in before.
    """
    commits = store.commits()
    if any(entry.schema_fingerprint == source.fingerprint and entry.records for entry in commits):
        return
    rows, lost = correction_rows(store.out, commits), Counter[str]()
    renames: dict[str, Renames] = defaultdict(Renames)
    for older in {one.schema_fingerprint for pair in rows.pairs if pair[1] == source.name for one in rows.of(pair)}:
        with suppress(RunError):
            renames[older] = renames_since(store.out, source.name, older, compiled)
    for pair in rows.pairs:
        if pair[1] == source.name:
            known = [renamed_correction(one, renames[one.schema_fingerprint]) for one in in_force(rows.of(pair))]
            for _, unit in counting_of(known):
                lost.update({_template(pointer) for pointer in lost_places(unit, compiled.form)})
    if lost:
        places = ", ".join(f"{place or '/'} ({count})" for place, count in lost.most_common(8))
        raise UsageError(
            f"{source.name}: this version of the schema has no place for values that people corrected: {places};"
            f' name the old property with "{WAS}" in the one that takes its place, keep the type, or give up these'
            " corrections with --drop-corrections"
        )


def _template(pointer: str) -> str:
    return "/".join("*" if step.isdecimal() else step for step in pointer.split("/"))
