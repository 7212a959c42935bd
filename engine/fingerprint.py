"""What a record's key says of the engine; known before anything is loaded."""

from __future__ import annotations

import hashlib
from dataclasses import astuple

from cinnabar.engine.effort import Effort
from cinnabar.engine.version import VALUES_VERSION


def engine_fingerprint(model: str, effort: Effort) -> str:
    """Names the model (by its own fingerprint) and everything of the engine that a record depends on."""
    parts = repr((VALUES_VERSION, model, astuple(effort)[1:]))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]
