"""Vectors of labelled documents, stored with the model that was trained on them, for routing."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class LabelledVectors:
    """The vectors of labelled documents by the fingerprint of their schema."""

    vectors: Mapping[str, Vectors] = field(default_factory=dict)

    def fingerprint(self, schemas: Collection[str]) -> str:
        """Returns a hash of the examples of these schemas."""
        digest = hashlib.sha256()
        for schema in sorted(self.vectors.keys() & set(schemas)):
            digest.update(schema.encode() + self.vectors[schema].astype(np.float16).tobytes())
        return digest.hexdigest()[:16]


def load_examples(folder: Path) -> LabelledVectors:
    """Returns the examples in the folder of a model, none if it has none. Raises ModelError for a broken file."""
    path = folder / EXAMPLES_FILE
    if not path.is_file():
        return LabelledVectors()
    try:
        return LabelledVectors({name: rows.astype(np.float32) for name, rows in load_file(path).items()})
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: expected the vectors of labelled documents, got {error}") from error


def save_examples(folder: Path, examples: LabelledVectors) -> None:
    """Writes the examples into the folder of a model."""
    enough = {name: rows for name, rows in examples.vectors.items() if len(rows) >= FEWEST_EXAMPLES}
    kept = {name: rows[:MOST_EXAMPLES].astype(np.float16) for name, rows in enough.items()}
    if kept:
        save_file(kept, folder / EXAMPLES_FILE)
