"""A small causal model in the place of a release, as `cinnabar model fetch` puts it there, with a calibration."""

from __future__ import annotations

from pathlib import Path

from tests.support.tiny_checkpoint import TRAITS, write_checkpoint

from cinnabar.engine.models.language.identity import checkpoint_fingerprint
from cinnabar.engine.models.reader.calibration import Calibration, Scale, save_calibration
from cinnabar.engine.models.releases import RELEASED

#: The largest release, which a new folder begins with.
NAME = max(RELEASED, key=lambda name: RELEASED[name].size)
_CAUSAL = {"visibility": "causal", "noise": "none", "block": 1, "shift": True, "window": 4096, "family": "qwen3"}


def fetched_release(models: Path) -> Path:
    """Writes the model into this folder of models; its confidence is its own probability."""
    folder = write_checkpoint(models / NAME, traits=TRAITS, **_CAUSAL)
    own = Scale(0.0, {"posterior": 1.0})
    save_calibration(folder, Calibration(own, own, own, checkpoint_fingerprint(folder)))
    return folder
