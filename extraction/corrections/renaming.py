"""Brings corrections of an older version of a schema to the names that another version gives their places.

A property tells its former names by `x-cinnabar-was` (docs/backfill.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from cinnabar.errors import RunError
from cinnabar.extraction.corrections.changes import Correction
from cinnabar.extraction.corrections.units import CorrectedPlace
from cinnabar.extraction.store.records import Record
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.canonical import json_text, parse
from cinnabar.schemas.compiling.changes import Renames, changes
from cinnabar.schemas.compiling.compile import CompiledSchema


def renamed_corrections(
    out: Path, corrections: Sequence[Correction], name: str, fingerprint: str
) -> tuple[Correction, ...]:
    """Returns corrections with their places as the version of the schema with this fingerprint names them."""
    return tuple(
        renamed_correction(one, renames_between(out, name, one.schema_fingerprint, fingerprint)) for one in corrections
    )


def renamed_record(record: Record, renames: Renames) -> Record:
    """Returns a record with the new names, in its text and in all that is known of it."""
    if not renames.pairs:
        return record
    moved = renames.pointer
    return replace(
        record,
        text=json_text(renames.value(parse(record.text))),
        leaves=tuple(replace(leaf, pointer=moved(leaf.pointer)) for leaf in record.leaves),
        rows={moved(at): sure for at, sure in record.rows.items()},
        lists={moved(at): sure for at, sure in record.lists.items()},
        lengths={moved(at): note for at, note in record.lengths.items()},
    )


def _renamed_unit(unit: CorrectedPlace, renames: Renames) -> CorrectedPlace:
    return CorrectedPlace(
        renames.pointer(unit.pointer),
        None if unit.text is None else json_text(renames.value(parse(unit.text), unit.pointer)),
        tuple(replace(leaf, pointer=renames.pointer(leaf.pointer)) for leaf in unit.leaves),
        {renames.pointer(at): sure for at, sure in unit.rows.items()},
        {renames.pointer(at): sure for at, sure in unit.lists.items()},
    )


def renamed_correction(one: Correction, renames: Renames) -> Correction:
    """Returns a correction with the new names."""
    if not renames.pairs:
        return one
    units = tuple(_renamed_unit(unit, renames) for unit in one.units)
    return replace(one, pointer=renames.pointer(one.pointer), units=units)


def renames_between(out: Path, name: str, older: str, newer: str) -> Renames:
    """Returns the places that have other names in the newer of two stored versions, by their fingerprints."""
    return _renames(out.absolute(), name, older, newer) if newer not in ("", older) else Renames()


@lru_cache(maxsize=64)
def _renames(out: Path, name: str, older: str, newer: str) -> Renames:
    # Without a version that is lost, nothing tells its names.
    with suppress(RunError):
        return renames_since(out, name, older, compile_schema(source_of(out, name, newer).schema))
    return Renames()


def renames_since(out: Path, name: str, older: str, compiled: CompiledSchema) -> Renames:
    """Returns the places that have other names in a schema than in this stored version. Raises RunError if it is lost.
    """
    return changes(compile_schema(source_of(out, name, older).schema), compiled).renames
