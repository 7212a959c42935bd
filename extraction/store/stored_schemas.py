"""Finds the schemas that records were made under."""

from __future__ import annotations

from pathlib import Path

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.path_safety import own_name
from cinnabar.schemas import SchemaSource, load_schema
from cinnabar.schemas.errors import RunError
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.reading.texts import read_schema


def latest_source(out: Path, name: str) -> SchemaSource | None:
    """Returns the last version of a schema that has records in this folder, None if none of this name has."""
    used = [entry for entry in manifests.read_live(out) if entry.schema_name == name and entry.records]
    return source_of(out, name, used[-1].schema_fingerprint) if used else None


def source_of(out: Path, name: str, fingerprint: str) -> SchemaSource:
    """Returns the schema with this fingerprint, from the library or the folder.

    Raises RunError if the folder has lost it.
    """
    for known in LIBRARY:
        source = load_schema(known)
        if source.fingerprint == fingerprint:
            return source
    path = out / "schemas" / f"{own_name('digest', fingerprint)}.json"
    try:
        schema = read_schema(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: the schema cannot be read ({error}); run extract with it again") from error
    loaded = load_schema(schema)
    return SchemaSource(name, loaded.schema, None, fingerprint)
