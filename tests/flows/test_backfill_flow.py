"""The flow of a backfill does the work of the command, one task for each batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.reading import query


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_the_flow_fills_only_the_new_fields(
    notes: Path,
    tiny_model: Path,
    tmp_path: Path,
    writing: Callable[[Path], AbstractContextManager[None]],
) -> None:
    from cinnabar.flows.backfill import backfill_folder

    schema, out = tmp_path / "note.json", tmp_path / "out"
    arguments = ["extract", str(notes), "--schema", str(schema), "--out", str(out)]
    assert run([*arguments, "--model", str(tiny_model), "--on", "empty=write"]) == 0
    changed = json.loads(schema.read_text())
    changed["properties"]["done"] = {"type": ["boolean", "null"]}
    schema.write_text(json.dumps(changed))
    options: dict[str, Any] = {"model": str(tiny_model), "device": "cpu", "workers": 1, "batch": 2}
    moved = (notes / "1.txt").rename(tmp_path / "moved.txt")
    done = backfill_folder(str(schema), str(out), others=[str(moved)], **options)
    assert (done["inputs"], done["written"]) == (3, 3)
    assert query(out, "select count(*) from note_all where schema_fingerprint is not null").rows == [(3,)]
    with writing(out):
        again = backfill_folder(str(schema), str(out), **options)
    assert again == {}
