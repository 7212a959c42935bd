"""The model that a command runs if it names none: the one kept by `cinnabar improve --keep`, else the shipped one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def model_in_use(out: Path, schema_names: Sequence[str], asked: str | None) -> str:
    """Returns the model for a run into this folder, and says so if it is one that was kept there."""
    from cinnabar.extraction.quality.kept_models import model_for

    found = model_for(out, schema_names, asked)
    if asked is None and found != "default":
        print(f"cinnabar: model {found}, kept by `improve`; --model default takes the shipped one", file=sys.stderr)
    return found
