"""Vectors of labelled documents, stored with the model that was trained on them, for routing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cinnabar.errors import ModelError

Vectors = npt.NDArray[np.float32]

#: The fewest documents of a schema that count as examples, and the most that are kept.
FEWEST_EXAMPLES, MOST_EXAMPLES = 3, 200
#: The file of a model's folder: by the fingerprint of a schema, the vectors of its documents, [N, 384] float16.
EXAMPLES_FILE = "kinds.safetensors"


def load_examples(folder: Path) -> dict[str, Vectors]:
    """Returns the examples in the folder of a model by the fingerprints of their schemas, {} if it has none.

    Raises ModelError for a broken file.
    """
    path = folder / EXAMPLES_FILE
    if not path.is_file():
        return {}
    try:
        return {name: rows.astype(np.float32) for name, rows in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: expected the vectors of labelled documents, got {error}") from error


def save_examples(folder: Path, examples: Mapping[str, Vectors]) -> None:
    """Writes the examples into the folder of a model."""
    enough = {name: rows for name, rows in examples.items() if len(rows) >= FEWEST_EXAMPLES}
    kept = {name: rows[:MOST_EXAMPLES].astype(np.float16) for name, rows in enough.items()}
    if kept:
        save_file(kept, folder / EXAMPLES_FILE)
