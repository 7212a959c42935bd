"""The predictions of the samples change only together with a number of `engine/version.py`.

`python -m tests.data.test_predictions` records them after such a change.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.support import ROOT

import cinnabar
from cinnabar.engine.version import VERSIONS
from cinnabar.extraction.store.reading import query

SAMPLES = ROOT / "data" / "samples"
KINDS = ("contract", "event", "insurance_mail", "invoice", "receipt")
RECORDED = ROOT / "tests" / "data" / "predictions.json"
#: Files of which another processor may read something else, as it rounds differently; any rule changes more.
ROUNDED = 2


def predictions(out: Path) -> dict[str, str]:
    """What the code reads in the samples: a digest of the record of each file, or why it is held."""
    found = {}
    for kind in KINDS:
        cinnabar.extract(SAMPLES / kind / "docs", kind, out=out)
        written = query(out, f"SELECT path, record_json FROM {kind}").rows
        held = query(out, "SELECT path, code FROM quarantine").rows
        for path, told in (*written, *held):
            short = told if (path, told) in held else hashlib.sha256(told.encode()).hexdigest()[:16]
            found[f"{kind}/{Path(path).name}"] = short
    return found


@pytest.mark.slow
def test_predictions_of_the_samples_change_only_with_a_version(tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text())
    now = predictions(tmp_path / "out")
    changed = [file for file in sorted(now) if now[file] != recorded["predictions"].get(file)]
    advice = "and record the predictions with `python -m tests.data.test_predictions`"
    assert recorded["versions"] == VERSIONS, f"a version was raised: keep it, {advice}"
    assert recorded["predictions"].keys() == now.keys(), f"the samples are others: {advice}"
    assert len(changed) <= ROUNDED, (
        f"the predictions of {', '.join(changed)} changed: raise the part that changed in engine/version.py, {advice}"
    )


if __name__ == "__main__":
    os.environ |= {"CINNABAR_CACHE": "", "CINNABAR_PRECISION": "int8"}
    with TemporaryDirectory() as folder:
        RECORDED.write_text(
            json.dumps({"versions": VERSIONS, "predictions": predictions(Path(folder) / "out")}, indent=1) + "\n"
        )
